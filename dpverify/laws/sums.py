"""Exact laws of what many users' reports add up to: sums of rows of integers, how many hold a one, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass

__all__ = ["Mixture", "numbers_of_ones", "summed"]

_MOST_CELLS, _MOST_STEPS = 2**20, 2**29


def summed(parts: Sequence[tuple[DiscreteLaw, int]]) -> DiscreteLaw:
    """Return the law of the sum of independent rows, each of which has as many copies as is said.

    - parts: Laws on rows of integers, shape (atoms, coordinates), and how many independent rows have each: 0 or more.

    Returns: On rows. No term is negative, so that its probabilities are off by relative rounding alone. Raises
    ValueError where the sums span a box of more than 2^20 cells, or there are too many terms: look at fewer
    coordinates.
    """
    low = sum(copies * law.points.min(axis=0) for law, copies in parts)
    sides = 1 + sum(copies * np.ptp(law.points, axis=0) for law, copies in parts)
    cells = math.prod(int(side) for side in sides)
    if cells > _MOST_CELLS or cells * sum(copies * law.atoms for law, copies in parts) > _MOST_STEPS:
        raise ValueError(f"the sums span {sides.tolist()} cells, but at most {_MOST_CELLS} are allowed.")
    # In the box of all sums a row has one number, and numbers of rows add up as the rows do.
    table = np.zeros(cells)
    table[0] = 1.0
    for law, copies in parts:
        places = np.ravel_multi_index(tuple((law.points - law.points.min(axis=0)).T), tuple(sides))
        for _ in range(copies):
            grown = np.zeros(cells)
            for place, mass in zip(places.tolist(), law.pmf.tolist(), strict=True):
                grown[place:] += mass * table[: cells - place]
            table = grown
    (found,) = np.nonzero(table)
    points = np.stack(np.unravel_index(found, tuple(sides)), axis=1) + low
    left_out = sum(copies * law.outside for law, copies in parts)
    return DiscreteLaw(points, table[found], min(1.0, left_out * (1.0 + 8.0 * UNIT)))


def numbers_of_ones(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the laws of how many of independent users hold a one, shape (columns, users + 1).

    - chances (ndarray of float64, shape (users, columns)): The probability of a one, by user, in each of several
      columns.
    """
    users, columns = chances.shape
    laws = np.zeros((columns, users + 1))
    laws[:, 0] = 1.0
    for chance in np.clip(chances, 0.0, 1.0)[:, :, np.newaxis]:
        shifted = laws[:, :-1] * chance
        laws *= 1.0 - chance
        laws[:, 1:] += shifted
    return laws


@dataclass(frozen=True, eq=False)
class Mixture:
    """Laws on common outcomes, of which one at random is drawn from.

    - points (ndarray, shape (atoms,) or (atoms, coordinates)): The outcomes of any of them.
    - table (ndarray of float64, shape (laws, atoms)): Their probabilities under each.
    - outside (ndarray of float64, shape (laws,)): What each has left out.
    """

    points: NDArray[Any]
    table: NDArray[np.float64]
    outside: NDArray[np.float64]

    @classmethod
    def of(cls, laws: Sequence[DiscreteLaw]) -> Mixture:
        """Return some laws, at least one, on the outcomes of any of them."""
        points = np.unique(np.concatenate([law.points for law in laws]), axis=0)
        every = DiscreteLaw(points, np.full(len(points), 1.0 / len(points)))
        table = np.zeros((len(laws), len(points)))
        for row, law in zip(table, laws, strict=True):
            row[every.index(law.points)] = law.pmf
        return cls(points, table, np.array([law.outside for law in laws]))

    def image(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> Mixture:
        """Return the laws of `function(outcome)`, for a function that maps no two outcomes to the same."""
        return Mixture(function(self.points), self.table, self.outside)

    @property
    def listed(self) -> DiscreteLaw:
        """The outcomes, as likely each: what samples are looked up in."""
        return DiscreteLaw(self.points, np.full(len(self.points), 1.0 / len(self.points)))

    def law(self, weights: NDArray[np.float64]) -> DiscreteLaw:
        """Return the law where each is drawn from with this probability, shape (laws,)."""
        return DiscreteLaw.of(self.points, weights @ self.table, min(1.0, float(weights @ self.outside)))
