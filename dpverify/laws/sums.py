"""The exact law of a sum of independent rows of integers: what many users' reports add up to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpverify.laws.discrete import DiscreteLaw
from dpverify.rounding import UNIT

__all__ = ["summed"]

_MOST_CELLS, _MOST_STEPS = 2**20, 2**29


def summed(parts: Sequence[tuple[DiscreteLaw, int]]) -> DiscreteLaw:
    """Return the law of the sum of independent rows, each of which has as many copies as is said.

    Parameters
    ----------
    parts : sequence of (DiscreteLaw, int)
        Laws on rows of integers, shape (atoms, coordinates), and how many independent rows have each: 0 or more.

    Returns
    -------
    DiscreteLaw
        On rows. No term is negative, so that its probabilities are off by relative rounding alone.

    Raises
    ------
    ValueError
        Where the sums span a box of more than 2^20 cells, or there are too many terms: look at fewer coordinates.
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
