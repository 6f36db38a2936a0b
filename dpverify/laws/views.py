"""Laws of shuffled views, from the independent integers that the messages add up to: bits that were kept, and noise."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.laws import noise
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.rounding import UNIT

__all__ = [
    "TAIL",
    "by_sign",
    "discrete_laplace",
    "kept_ones",
    "negative_binomial",
    "one_count",
    "rows",
    "total",
    "two_counts",
]

TAIL = 1e-18
"""The mass that may be cut off at each side of a part: no audit can tell it from 0."""
_MOST_CELLS = 2**22
_MOST_PRODUCTS = 2**35
"""Some seconds."""


def kept_ones(ones: int, drop_probability: float) -> IntegerLaw:
    """Return the law of how many ones are left when each is dropped independently."""
    return noise.binomial(ones, drop_probability, TAIL).mirrored(ones)


def negative_binomial(shape: float, p: float) -> IntegerLaw:
    """Return NB(shape, p), which is 0 at shape 0: the noise of no one."""
    return noise.negative_binomial(shape, p, TAIL) if shape > 0.0 else point_mass(0)


def discrete_laplace(p: float) -> IntegerLaw:
    """Return the law of pmf proportional to `p^|z|`."""
    return noise.discrete_laplace(-math.log(p), TAIL) if p > 0.0 else point_mass(0)


def _sum(a: IntegerLaw, b: IntegerLaw) -> IntegerLaw:
    if a.pmf.size * b.pmf.size > _MOST_PRODUCTS:
        raise CapacityError(
            f"the law of a sum of parts with {a.pmf.size} and {b.pmf.size} atoms is needed, but at most "
            f"{_MOST_PRODUCTS:.2g} pairs of these are added up."
        )
    pmf = np.convolve(a.pmf, b.pmf)
    error = a.relative_error + b.relative_error + (min(a.pmf.size, b.pmf.size) + 4.0) * UNIT
    return IntegerLaw(a.start + b.start, pmf, error, a.tail_below + b.tail_below, a.tail_above + b.tail_above)


def total(*parts: IntegerLaw) -> IntegerLaw:
    """Return the law of the sum of independent variables; it is missing at most the tails of all."""
    return functools.reduce(_sum, parts)


def rows(law: IntegerLaw, row: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> DiscreteLaw:
    """Return the law of `row(X)`, for a function of whole arrays that returns distinct outcomes."""
    return DiscreteLaw.of(row(law.support), law.pmf, min(1.0, law.tail_below + law.tail_above))


def one_count(law: IntegerLaw) -> DiscreteLaw:
    """Return the law of a view with one symbol, as rows of one count."""
    return rows(law, lambda count: count[:, np.newaxis])


def by_sign(difference: NDArray[np.int64], alphabet: tuple[int, ...]) -> NDArray[np.int64]:
    """Return rows of counts whose messages +1 and -1 add up to this, and which are no more than that takes.

    ValueError if these are not the symbols.
    """
    if sorted(alphabet) != [-1, 1]:
        raise ValueError(f"alphabet={alphabet} must hold the symbols 1 and -1 for views by their difference.")
    return np.stack([np.maximum(symbol * difference, 0) for symbol in alphabet], axis=-1)


def two_counts(up: IntegerLaw, down: IntegerLaw, both: IntegerLaw) -> DiscreteLaw:
    """Return the joint law of (U + F, D + F), for independent U, D and F.

    ValueError if the box of both counts has more than 2^22 cells: audit the counts one by one instead.
    """
    sides = (up.pmf.size + both.pmf.size - 1, down.pmf.size + both.pmf.size - 1)
    if sides[0] * sides[1] > _MOST_CELLS:
        raise ValueError(f"the two counts span {sides[0]} x {sides[1]} cells, but at most {_MOST_CELLS} are allowed.")
    table, block = np.zeros(sides), np.outer(up.pmf, down.pmf)
    for z, mass in enumerate(both.pmf):
        table[z : z + up.pmf.size, z : z + down.pmf.size] += mass * block
    u, v = np.nonzero(table > 0)
    outside = sum(law.tail_below + law.tail_above for law in (up, down, both))
    points = np.stack([u + up.start + both.start, v + down.start + both.start], axis=-1)
    return DiscreteLaw(points, table[u, v], min(1.0, outside))
