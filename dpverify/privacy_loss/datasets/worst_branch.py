"""The largest of a family's sums along a line, by branch and bound: what stands for many pairs is divided if it counts.

Each pair of a family is below that of some branch, or of a part of it, and so are sums of its moduli. So the largest
sum of the branches that are left bounds that of every pair, however they were chosen.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.datasets.covers import Branch

__all__ = ["MOST_SPLITS", "Worst", "worst_branch"]

MOST_SPLITS = 300
"""Of one search, unless told otherwise."""


class Worst(NamedTuple):
    """An upper bound on the largest sum, the branches or their parts, and an upper bound on the sum of each."""

    largest: float
    leaves: list[Branch]
    sums: NDArray[np.float64]


def worst_branch(
    branches: Sequence[Branch],
    above: Callable[[Sequence[Branch]], Sequence[float]],
    sum_of: Callable[[Branch], float],
    *,
    least: float = -math.inf,
    enough: float = math.inf,
    most_splits: int = MOST_SPLITS,
) -> Worst:
    """Return a bound on the largest sum of what some branches stand for.

    - branches: At least one.
    - above: Returns a bound on each sum that is quick to compute; it is told of every branch before `sum_of` is.
    - sum_of: Returns an upper bound on the sum of one.
    - least: Sums below this are not looked at: it bounds them all.
    - enough: A branch of a larger sum is divided, if it has parts.
    - most_splits: How many are divided at the most.
    """
    number, splits = itertools.count(), 0
    queue = [(-high, next(number), branch, False) for high, branch in zip(above(branches), branches, strict=True)]
    heapq.heapify(queue)
    while -queue[0][0] > least:
        high, _, branch, known = heapq.heappop(queue)
        if not known:
            heapq.heappush(queue, (max(high, -sum_of(branch)), next(number), branch, True))
            continue
        parts = branch.split() if -high > enough and splits < most_splits else ()
        if not parts:
            heapq.heappush(queue, (high, next(number), branch, True))
            least = -high
            break
        splits += 1
        for part, sum_above in zip(parts, above(parts), strict=True):
            heapq.heappush(queue, (max(high, -sum_above), next(number), part, False))
    return Worst(least, [branch for _, _, branch, _ in queue], -np.array([high for high, *_ in queue]))
