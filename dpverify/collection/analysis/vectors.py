"""Intervals of vector sums: of each coordinate's mean over users, whatever their vectors are.

Who reports a coordinate is drawn whatever she holds: given how many do, they are a uniform subset. By Hoeffding's
theorem on samples without replacement (1963, theorem 4) the moment generating function of the sum of their values is no
larger than that of as many independent ones, each of a user drawn anew; and of a coordinate x, rounded at random to one
of k levels and then replaced, it is no larger than that of 0 or k with the same mean, for an exponential is convex. So
with a mean m it is at most `((1 - gamma) (1 - m + m e^(s k)) + gamma U(s))^M`, U that of a uniform level. Markov's
inequality then bounds both tails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpverify.collection.analysis.intervals import between
from dpverify.collection.query import Asked
from dpverify.collection.rotations.means import mean_rows, strange_counts
from dpverify.laws.messages import TAIL
from dpverify.laws.noise import binomial
from protocols.sums.vectors import UnaryVectorSum
from protocols.vector_sum import VectorSum

__all__ = ["VECTORS", "coordinate_interval", "of_vectors", "strange_coordinates", "strange_vectors"]

VECTORS = (VectorSum, UnaryVectorSum)

_TRIED = np.geomspace(0.25, 64.0, 193)
"""Tilts, as multiples of the one that is best for the largest variance: smaller variances want larger ones."""
_STEPS = 60
_ROUNDED = 1e-14


def of_vectors(
    asked: Asked, counts: NDArray[np.int64], users: int, side: float
) -> Iterator[tuple[int, int, float, float, float]]:
    """Yield run, coordinate, estimate and both ends of all coordinates: of counts of shape (runs, messages)."""
    if asked.turned is not None:
        for at, row in enumerate(mean_rows(asked.turned, counts[0], users, side)):
            yield 0, at, *row
        return
    for run, rows in enumerate(_by_coordinate(asked.protocol, counts)):
        for at, row in enumerate(rows):
            yield run, at, *coordinate_interval(asked.protocol, row, users, side)


def strange_vectors(asked: Asked, counts: NDArray[np.int64], users: int, side: float) -> list[str]:
    """Return a sentence for what has, at each side of each count, at most a probability of `side`."""
    if asked.turned is not None:
        return strange_counts(asked.turned, counts[0], users, side)
    runs = _by_coordinate(asked.protocol, counts)
    return [said for rows in runs for said in strange_coordinates(asked.protocol, rows, users, side)]


def _by_coordinate(protocol: VectorSum, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return counts.reshape(len(counts), protocol.dimension, protocol.levels + 1)


def coordinate_interval(
    protocol: VectorSum, counts: NDArray[np.int64], users: int, side: float
) -> tuple[float, float, float]:
    """Return an estimate of the sum of one coordinate over users, and the ends of an interval for it.

    Parameters
    ----------
    protocol : VectorSum
        Whose reports are counted.
    counts : ndarray of int64, shape (levels + 1,)
        Of the reports of this coordinate, by level.
    users : int
        How many took part.
    side : float
        How likely each end misses at most.

    Returns
    -------
    tuple of float
        The estimate, unbiased given how many reports there are, and both ends, in [0, users]; half of the users and
        everything where there is no report.
    """
    reports, levels, gamma = int(counts.sum()), protocol.levels, protocol.blanket_probability
    if not reports:
        return users / 2.0, 0.0, float(users)
    total = int(counts @ np.arange(levels + 1))
    mean = (total / (reports * levels) - gamma / 2.0) / (1.0 - gamma)
    low = _least(protocol, total, reports, side)
    high = 1.0 - _least(protocol, reports * levels - total, reports, side)
    return users * mean, users * low, users * high


def _least(protocol: VectorSum, total: int, reports: int, side: float) -> float:
    """Return a mean below which so large a total is at most as likely as `side`: 0 if it is likelier even there."""
    levels, gamma = protocol.levels, protocol.blanket_probability
    s = math.sqrt(-8.0 * math.log(side) / reports) / levels * _TRIED
    uniform = np.expm1(-s * (levels + 1)) / (np.expm1(-s) * (levels + 1))
    none, missing = np.exp(-s * levels), s * (reports * levels - total)
    limit = math.log(side) - _ROUNDED * (1.0 + reports * s * levels)

    def refuted(mean: float) -> bool:
        grown = np.log((1.0 - gamma) * ((1.0 - mean) * none + mean) + gamma * uniform)
        return bool((reports * grown + missing <= limit).any())

    low, high = 0.0, 1.0
    if not refuted(low):
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def strange_coordinates(protocol: VectorSum, counts: NDArray[np.int64], users: int, side: float) -> list[str]:
    """Return a sentence for each coordinate that was reported by more, or fewer, users than draw it.

    The counts have shape (dimension, levels + 1); `side` is how likely each is too large, and too small, at most.
    """
    found, reported = list[str](), counts.sum(axis=1)
    for share in sorted(set(protocol.inclusion_probability.tolist())):
        more, fewer = (binomial(users, min(1.0, share * end), TAIL) for end in (1.0 + 2.0**-52, 1.0 - 2.0**-52))
        low, high = between([more], [fewer if share < 1.0 else more], side)
        at = np.flatnonzero((protocol.inclusion_probability == share) & ((reported < low) | (reported > high)))
        found += [f"coordinate {c} has {reported[c]:,} reports, but must have [{low:,}, {high:,}]." for c in at]
    return found
