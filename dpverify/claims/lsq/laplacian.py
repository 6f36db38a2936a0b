"""What is true of `protocols.lsq.laplacian`; the moments are those of every hashed partition."""

from __future__ import annotations

import numpy as np

from dpverify.claims.lsq.base import Array, far_query
from dpverify.claims.lsq.hashing import HashedPartitionClaims
from dpverify.papers.entries import stated
from protocols.lsq import LaplacianBinning
from protocols.lsq.hashing import HashedPartition

__all__ = ["LaplacianBinningClaims"]

_FAR = 800.0
"""Bandwidths at which the kernel is exactly 0 in floats."""


class LaplacianBinningClaims(HashedPartitionClaims):
    """The twin of `LaplacianBinning`."""

    name = "laplacian-binning"
    kernel = "laplacian"
    protocol = LaplacianBinning
    domain = "all of R^d"
    theorems = stated("wagner2025/lsq", "laplacian")

    def bad_queries(self, family: HashedPartition, x: Array, instances: int, noise: float) -> Array:
        near = x[:16] + 0.7 * family.bandwidth / family.dimension
        return np.concatenate([far_query(x, _FAR * family.bandwidth), x.mean(axis=0, keepdims=True), near, x[:16]])
