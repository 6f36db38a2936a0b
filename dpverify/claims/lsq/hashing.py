"""What is true of `protocols.lsq.hashing`: exact moments for kernels that are the collision probability of a partition.

Both partitions keep three points together with probability `t = sqrt(k(x, z) k(x, y) k(z, y))`: of the grid's range in
each coordinate, and of the hyperplanes that meet a triangle, every piece separates exactly two of the three pairs. With
q = 1/Q, a signed family then has `E[f(x).g(y) f(z).g(y)] = t + (k(x, z) - t) q`, one without signs
`(1-q)(1-2q) t + q (1-q) (k(x, z) + k(x, y) + k(z, y)) + q^2`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpverify.claims.lsq.base import Array, LSQClaims, pair_mean
from protocols.lsq import LSQFamily, LSQFeatures
from protocols.lsq.hashing import HASH_ERROR, HashedPartition

__all__ = ["HashedPartitionClaims"]

_BUCKETS = (2, 4, 8, 16, 32, 64)
_DIRECTIONS = 32
"""Of opposite points that are tried."""


class HashedPartitionClaims(LSQClaims[HashedPartition]):
    """What the twins of the Laplacian and the exponential kernel share."""

    moment_error = HASH_ERROR

    def offered(self, dimension: int, bandwidth: float, bits: int) -> list[tuple[LSQFamily, int]]:
        """Return signs alone, and several numbers of buckets."""
        alone = self.protocol(dimension, bandwidth, 1, True), bits
        return [alone, *((self.protocol(dimension, bandwidth, q), bits // q) for q in _BUCKETS if q < bits)]

    def expected(self, family: HashedPartition, x: Array, y: Array) -> Array:
        """Return k where the buckets are signed and k + (1 - k)/Q, the exact probability of a collision, otherwise."""
        kernel = family.kernel(x, y[np.newaxis])[:, 0]
        return kernel if family.signed else np.asarray(kernel + (1.0 - kernel) / family.Q)

    def product(self, family: HashedPartition, x: Array, z: Array, y: Array) -> Array:
        q = 1.0 / family.Q
        pair, first, second = family.kernel(x, z), family.kernel(x, y[np.newaxis]), family.kernel(z, y[np.newaxis]).T
        together = np.sqrt(pair * first * second)
        if family.signed:
            return np.asarray(together + (pair - together) * q)
        return np.asarray((1 - q) * ((1 - 2 * q) * together + q * (pair + first + second)) + q * q)

    def rounded_square(self, family: HashedPartition, x: Array, y: Array) -> Array:
        return np.ones(len(x))

    def query_square(self, family: HashedPartition, y: Array) -> float:
        return 1.0

    def squared_change(self, features: LSQFeatures) -> float:
        """Return I/2 without signs, where two bits of an instance move by 1/2 at most, and I with them.

        Features are 0, R or -R exactly, and so are the bits' probabilities.
        """
        assert isinstance(features.family, HashedPartition)
        return features.instances * (1.0 if features.family.signed else 0.5)

    def bits_in_full(self, features: LSQFeatures) -> int:
        """Return I for signs alone of points anywhere: some draw separates two of them everywhere.

        In a ball, what two of some points get; 0 where bits are coins but for one of several cells.
        """
        assert isinstance(features.family, HashedPartition)
        alone = features.family.signed and features.family.Q == 1
        return features.coordinates if alone and features.family.radius is None else super().bits_in_full(features)

    def distant_points(self, features: LSQFeatures) -> Iterator[Array]:
        """Yield opposite points on the sphere in some directions, for signs alone: cells know no better guess."""
        family = features.family
        assert isinstance(family, HashedPartition)
        if family.signed and family.Q == 1:
            directions = np.random.default_rng(0).standard_normal((_DIRECTIONS, family.dimension))
            reach = (family.radius or 1.0) * (1.0 - 1e-9)
            directions *= reach / np.linalg.norm(directions, axis=1, keepdims=True)
            yield from np.stack([directions, -directions], axis=1)

    def least_density(self, family: HashedPartition, x: Array) -> float:
        """Return a lower bound on the density over the queries of the domain."""
        return 0.0

    def largest_mse(self, family: HashedPartition, x: Array, instances: int, noise: float) -> float:
        """Return an upper bound over all queries of the domain.

        By Cauchy's inequality the mean of t over all pairs of users is at most `sqrt(A) K`, A the mean of k(x, z) and K
        the density at y. So the error is at most a quadratic function of K, whose largest value is taken.
        """
        q, n = 1.0 / family.Q, len(x)
        pairs = pair_mean(x, family.kernel)
        keep = 1.0 if family.signed else 1.0 - q
        slope = (1.0 - q if family.signed else (1 - q) * (1 - 2 * q)) * math.sqrt(pairs + 1.0 / n)
        bias = 0.0 if family.signed else q

        def bound(density: float) -> float:
            variance = 1.0 / n + keep * q * pairs + slope * density - (keep * density) ** 2 + noise
            return (bias * (1.0 - density)) ** 2 + variance / instances

        low = self.least_density(family, x)
        curvature = 2.0 * (keep**2 / instances - bias**2)
        vertex = (slope / instances - 2.0 * bias**2) / curvature if curvature > 0 else low
        return max(bound(density) for density in (low, min(max(vertex, low), 1.0), 1.0))
