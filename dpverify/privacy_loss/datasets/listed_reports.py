"""Datasets of randomized response in cells of their numbers of ones, each dominated by one pair, listed by reports.

A curator may reveal, of up to w users, whose report is a fair coin, which it is with probability 2p whatever her bit,
and what the others of them report. With k in [c, c + w] that leaves n - w users of which c hold 1, and a binomial
number of coins. Fewer coins only lose privacy: the pair with so few that next to none of the mass has fewer, and that
mass missing, dominates every dataset of the cell. Narrower cells lose less.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace

from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.losses.pairs import Directions, mixed_reports

__all__ = ["ListedReports", "sure_coins"]

_PARTS = 4
"""Of a cell that is divided: with fewer more is listed on the way to narrow ones."""


def sure_coins(users: int, p: float, tail: float) -> tuple[int, float]:
    """Return how many of some users' reports are coin tosses but with a probability, at most the tail, and that one."""
    # Chernoff: P(X <= mean - d) <= e^(-d^2 / (2 mean)).
    mean, exponent = 2.0 * p * users, -math.log(tail)
    coins = int(mean - math.sqrt(2.0 * mean * exponent) - 1e-9 * mean)
    return (coins, tail) if coins > 0 else (0, 0.0)


class ListedReports:
    """The pairs of cells, and of what they are divided into, each listed when it is first asked for.

    - users: n, the user under attack included.
    - p: The flip probability, in (0, 1/2).
    - tail: About what each pair may leave out.
    """

    def __init__(self, users: int, p: float, tail: float) -> None:
        self._users, self._p, self._tail = users, p, tail
        self.pair = functools.cache(self._pair)

    def _pair(self, first: int, unsure: int) -> Directions:
        """Return what dominates all datasets with `first` to `first + unsure` ones among the others."""
        coins, missing = sure_coins(unsure, self._p, self._tail)
        found = mixed_reports(self._users - unsure + coins, first, self._p, self._tail, coins=coins)
        return Directions(*(replace(pair, missing_mass=pair.missing_mass + missing) for pair in found))

    def branches(self, cells: Sequence[tuple[int, int]]) -> list[Branch]:
        """Return both directions of each cell."""
        return [self.branch(*cell, up=up) for cell in cells for up in (True, False)]

    def branch(self, first: int, unsure: int, *, up: bool) -> Branch:
        """Return one direction of a cell."""
        pair = self.pair(first, unsure)
        parts = functools.partial(self._parts, first, unsure, up)
        return Branch(pair.up if up else pair.down, parts, attained=unsure == 0)

    def _parts(self, first: int, unsure: int, up: bool) -> Sequence[Branch]:
        width = -(-(unsure + 1) // _PARTS)
        starts = range(first, first + unsure + 1, width) if unsure else ()
        return [self.branch(c, min(width - 1, first + unsure - c), up=up) for c in starts]
