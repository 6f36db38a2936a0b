"""What is true of `protocols.lsq.laplacian`; the moments are those of every hashed partition."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dpverify.claims.lsq.base import Array, far_query
from dpverify.claims.lsq.hashing import HashedPartitionClaims
from dpverify.claims.theorem import Theorem, Verdict
from protocols.lsq import LaplacianBinning, LSQFamily
from protocols.lsq.hashing import HashedPartition

__all__ = ["LaplacianBinningClaims"]

_FAR = 800.0
"""Bandwidths at which the kernel is exactly 0 in floats."""


class LaplacianBinningClaims(HashedPartitionClaims):
    """The twin of `LaplacianBinning`."""

    name: ClassVar[str] = "laplacian-binning"
    protocol: ClassVar[type[LSQFamily]] = LaplacianBinning
    domain: ClassVar[str] = "all of R^d"
    theorems: ClassVar[tuple[Theorem, ...]] = (
        Theorem(
            name="wagner2025-laplacian-exponential-lsq",
            source="wagner2025, section 2.3 (after Wagner et al. 2023)",
            statement="The Laplacian and exponential kernels are beta-approximate (O(1/beta), 1, 1)-LSQable",
            hypotheses=(),
            verdict=Verdict.HOLDS,
            finding="With Q = 1/beta buckets the bias is (1 - k)/Q exactly. Not the best: with a random sign per cell "
            "both are exactly (Q, 1, 1)-LSQable for every Q from 1 (beta = 0); this is `signed`. The exponential "
            "kernel needs points in a ball of known radius for f to be computable.",
        ),
    )

    def bad_queries(self, family: HashedPartition, x: Array, instances: int, noise: float) -> Array:  # noqa: D102
        near = x[:16] + 0.7 * family.bandwidth / family.dimension
        return np.concatenate([far_query(x, _FAR * family.bandwidth), x.mean(axis=0, keepdims=True), near, x[:16]])
