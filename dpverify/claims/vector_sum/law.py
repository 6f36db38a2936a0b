"""The exact laws of what `protocols.vector_sum` sends and estimates, given what users hold.

A user reports coordinate j with probability pi_j, and then the value v with the probability of `VectorSum.report_law`:
so a coordinate's reports are a sum over users of independent rows, and its estimate is a function of how many there are
and of what they add up to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.sums import summed
from protocols.vector_sum import VectorSum

__all__ = ["VectorSumLaws", "nearest"]

_SAME = 1e-9
"""Estimates that are as near as this, relative to the largest, are one: so far does their rounding not go."""


class VectorSumLaws:
    """The part of the twin of `VectorSum` that states laws of views and estimates.

    A ValueError says that a law has too many outcomes to be listed.
    """

    def count_law(self, protocol: VectorSum, vectors: ArrayLike, coordinate: int, value: int) -> DiscreteLaw:
        """Return the law of the number of reports (coordinate, value), for vectors of shape (users, dimension)."""
        law = self._summed(protocol, vectors, coordinate, np.eye(protocol.levels + 1, dtype=np.int64)[:, [value]])
        return law.image(lambda rows: rows[:, 0])

    def coordinate_law(self, protocol: VectorSum, vectors: ArrayLike, coordinate: int) -> DiscreteLaw:
        """Return the joint law of the numbers of reports of each value of a coordinate, rows of levels + 1."""
        return self._summed(protocol, vectors, coordinate, np.eye(protocol.levels + 1, dtype=np.int64))

    def estimate_law(self, protocol: VectorSum, vectors: ArrayLike, coordinate: int) -> DiscreteLaw:
        """Return the law of a coordinate's estimate if all users take part, on `estimates` of that coordinate."""
        values = np.arange(protocol.levels + 1)
        law = self._summed(protocol, vectors, coordinate, np.stack([np.ones_like(values), values], axis=1))
        lattice = self.estimates(protocol, coordinate)
        return law.image(lambda rows: nearest(lattice, self._estimated(protocol, coordinate, *rows.T)))

    def estimates(self, protocol: VectorSum, coordinate: int) -> NDArray[np.float64]:
        """Return all values of a coordinate's estimate, in order; of those that rounding alone tells apart, one."""
        n, k = protocol.users, protocol.levels
        reports, total = np.meshgrid(np.arange(n + 1), np.arange(n * k + 1), indexing="ij")
        possible = total <= k * reports
        found = np.unique(self._estimated(protocol, coordinate, reports[possible], total[possible]))
        apart = np.diff(found, prepend=-np.inf) > _SAME * np.abs(found).max()
        return np.asarray(found[apart])

    def _estimated(
        self, protocol: VectorSum, coordinate: int, reports: NDArray[np.int64], total: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        gamma, centre = protocol.blanket_probability, protocol.centre
        debiased = (total / protocol.levels - gamma / 2.0 * reports) / (1.0 - gamma)
        sampled = float(protocol.inclusion_probability[coordinate])
        return np.asarray(protocol.users * centre + (debiased - centre * reports) / sampled)

    def _summed(self, protocol: VectorSum, vectors: ArrayLike, coordinate: int, rows: NDArray[np.int64]) -> DiscreteLaw:
        """Return the law of the sum over users of the row of the value that each reports, 0 for who reports none."""
        distinct, holders = np.unique(np.asarray(vectors, dtype=np.float64), axis=0, return_counts=True)
        sampled = float(protocol.inclusion_probability[coordinate])
        points = np.concatenate([rows, np.zeros_like(rows[:1])])
        each = sampled * protocol.report_law(distinct)[:, coordinate]
        laws = [DiscreteLaw.of(points, np.append(masses, 1.0 - sampled)) for masses in each]
        return summed(list(zip(laws, holders.tolist(), strict=True)))


def nearest(lattice: NDArray[np.float64], estimates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a lattice that estimates are, but for rounding; those that are none of them as they are."""
    at = np.searchsorted((lattice[1:] + lattice[:-1]) / 2.0, estimates)
    near = lattice[at]
    return np.where(np.abs(estimates - near) <= 2.0 * _SAME * np.abs(lattice).max(), near, estimates)
