"""What is true of `protocols.lsq.gaussian`.

With a = x - y and c = z - y in bandwidths, `E[f(x) f(z) g(y)^2] = e^(-|a-c|^2) + e^(-|a+c|^2) / 2`: of the product of
four cosines, the terms whose phases cancel.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy

from dpverify.claims.lsq.base import Array, LSQClaims, far_query, pair_mean
from dpverify.claims.theorem import Theorem
from dpverify.claims.theorems.lsq import GAUSSIAN
from dpverify.rounding import UNIT
from protocols.lsq import GaussianFeatures, LSQFamily

__all__ = ["GaussianFeaturesClaims"]

_FAR = 30.0
"""Bandwidths at which the kernel is exactly 0 in floats."""


class GaussianFeaturesClaims(LSQClaims[GaussianFeatures]):
    """The twin of `GaussianFeatures`."""

    name: ClassVar[str] = "gaussian-features"
    protocol: ClassVar[type[LSQFamily]] = GaussianFeatures
    domain: ClassVar[str] = "all of R^d"
    theorems: ClassVar[tuple[Theorem, ...]] = GAUSSIAN

    def accuracy(self, family: GaussianFeatures, x: Array, y: Array | None = None) -> tuple[float, float]:
        """Return M = 1 and r; far from the query a + c cancels, by up to 2u |a|, and e^(-s^2) has slopes below 1."""
        size, error = super().accuracy(family, x, y)
        reach = 0.0 if y is None else float(np.linalg.norm(x - y, axis=1).max()) / family.bandwidth
        return size, error + 4.0 * reach * UNIT

    def expected(self, family: GaussianFeatures, x: Array, y: Array) -> Array:  # noqa: D102
        return family.kernel(x, y[np.newaxis])[:, 0]

    def product(self, family: GaussianFeatures, x: Array, z: Array, y: Array) -> Array:  # noqa: D102
        mirrored = np.exp(-np.square(scipy.spatial.distance.cdist(x - y, y - z) / family.bandwidth))
        return np.asarray(family.kernel(x, z) + 0.5 * mirrored)

    def rounded_square(self, family: GaussianFeatures, x: Array, y: Array) -> Array:  # noqa: D102
        return np.full(len(x), 2.0)

    def query_square(self, family: GaussianFeatures, y: Array) -> float:  # noqa: D102
        return 1.0

    def largest_mse(self, family: GaussianFeatures, x: Array, instances: int, noise: float) -> float:
        """Return an upper bound over R^d.

        Two users contribute `k(x, z) + e^(-|a+c|^2)/2 - e^(-s)` with `s = |a|^2 + |c|^2`. By the parallelogram law the
        last two are `e^(D - 2s)/2 - e^(-s)` with `D = |a-c|^2 <= 2s`, which decreases and then rises to 0: at most its
        value at s = D/2 or 0, that is `max(0, 1/2 - sqrt k(x, z))`. A single user contributes `2 - e^(-2|a|^2) <= 2`.
        """

        def worst(x: Array, z: Array) -> Array:
            kernel = family.kernel(x, z)
            return np.asarray(kernel + np.maximum(0.0, 0.5 - np.sqrt(kernel)))

        return (2.0 / len(x) + pair_mean(x, worst) + noise) / instances

    def bad_queries(self, family: GaussianFeatures, x: Array, instances: int, noise: float) -> Array:  # noqa: D102
        middle = x.mean(axis=0, keepdims=True)
        return np.concatenate([far_query(x, _FAR * family.bandwidth), middle, -middle, x[:16]])
