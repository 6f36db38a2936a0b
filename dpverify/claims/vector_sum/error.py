"""The exact error of `protocols.vector_sum`, and what scott2022 counts of it.

A user of coordinate x, sampled with probability pi, contributes `m(x) / pi - (x - centre)^2` to the variance of the
sum, with m the second moment of her debiased report about the centre. It is linear in x between the levels, because
the rounding is a mixture of the two neighbouring levels with mean x.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.vector_sum import VectorSum

__all__ = ["VectorSumError"]


class VectorSumError:
    """The part of the twin of `VectorSum` that states its error."""

    def _second_moments(self, protocol: VectorSum) -> NDArray[np.float64]:
        """Return E (debiased report - centre)^2 given each rounded value, shape (levels + 1,)."""
        gamma, values = protocol.blanket_probability, np.arange(protocol.levels + 1) / protocol.levels
        squares = ((values - gamma / 2.0) / (1.0 - gamma) - protocol.centre) ** 2
        return np.asarray((1.0 - gamma) * squares + gamma * squares.mean())

    def mse(self, protocol: VectorSum, vectors: ArrayLike) -> NDArray[np.float64]:
        """Return the exact mean squared error of the estimated sum, per coordinate, shape (dimension,).

        - vectors (array_like, shape (participants, dimension)): In [0, 1].
        """
        array = np.asarray(vectors, dtype=np.float64)
        grid = np.arange(protocol.levels + 1) / protocol.levels
        moments = np.interp(array, grid, self._second_moments(protocol))
        terms = moments / protocol.inclusion_probability - (array - protocol.centre) ** 2
        return np.asarray(terms.sum(axis=0), dtype=np.float64)

    def worst_mse(self, protocol: VectorSum) -> float:
        """Return the largest mean squared error of the estimated sum over all datasets, summed over the coordinates."""
        moments, grid = self._second_moments(protocol), np.arange(protocol.levels + 1) / protocol.levels
        slopes, total = np.diff(moments) * protocol.levels, 0.0
        for pi in protocol.inclusion_probability:
            # Between levels the term is concave with second derivative -2.
            x = np.clip(protocol.centre + slopes / (2.0 * pi), grid[:-1], grid[1:])
            terms = (moments[:-1] + slopes * (x - grid[:-1])) / pi - (x - protocol.centre) ** 2
            total += float(terms.max())
        return protocol.users * total

    def rmse(self, protocol: VectorSum) -> float:
        """Return the root of `worst_mse` per coordinate for the mean of the vectors, in the unit of the inputs."""
        return math.sqrt(self.worst_mse(protocol) / protocol.dimension) / protocol.users

    def sampled_mse(self, protocol: VectorSum, values: ArrayLike) -> float:
        """Return the error that Theorem 4.6 bounds, where every user holds one of these values in all coordinates.

        The error against the sum over the **sampled** coordinates, over all coordinates, in units of (n/d)^2: the
        worst over the given values.
        """
        gamma, k = protocol.blanket_probability, protocol.levels
        x = np.asarray(values, dtype=np.float64)
        fraction = k * x - np.floor(k * x)
        variance = (1.0 - gamma) * fraction * (1.0 - fraction) / k**2 + gamma * (k + 2.0) / (12.0 * k)
        variance += gamma * (1.0 - gamma) * (x - 0.5) ** 2
        scale = protocol.sampled * protocol.dimension**2 / (protocol.users * (1.0 - gamma) ** 2)
        return float(scale * variance.max())
