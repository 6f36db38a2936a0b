"""What is true of `protocols.lsq.exponential`; the moments are those of every hashed partition."""

from __future__ import annotations

import numpy as np

from dpverify.claims.lsq.base import Array
from dpverify.claims.lsq.hashing import HashedPartitionClaims
from dpverify.claims.lsq.laplacian import LaplacianBinningClaims
from protocols.lsq import ExponentialTessellation
from protocols.lsq.hashing import HashedPartition

__all__ = ["ExponentialTessellationClaims"]


class ExponentialTessellationClaims(HashedPartitionClaims):
    """The twin of `ExponentialTessellation`."""

    name = "exponential-tessellation"
    kernel = "exponential"
    protocol = ExponentialTessellation
    domain = "the family's ball"
    theorems = LaplacianBinningClaims.theorems

    def least_density(self, family: HashedPartition, x: Array) -> float:
        assert isinstance(family, ExponentialTessellation)
        return float(np.exp(-(np.linalg.norm(x, axis=1) + family.radius) / family.bandwidth).mean())

    def bad_queries(self, family: HashedPartition, x: Array, instances: int, noise: float) -> Array:
        assert isinstance(family, ExponentialTessellation)
        # Scaled copies of the mean, through 0 to the far side, where the density is least.
        mean = x.mean(axis=0, keepdims=True)
        direction = mean / max(float(np.linalg.norm(mean)), 1e-300)
        return np.concatenate([np.linspace(-family.radius, family.radius, 21)[:, np.newaxis] * direction, x[:16]])
