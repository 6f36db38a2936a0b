"""What is true of `protocols.lsq.gaussian`.

With a = x - y and c = z - y in bandwidths, `E[f(x) f(z) g(y)^2] = e^(-|a-c|^2) + e^(-|a+c|^2) / 2` for single cosines:
of the product of four, the terms whose phases cancel. For pairs, whose f(x) . g(y) is the cosine of a's phase,
`E[f(x).g(y) f(z).g(y)]` is half of `e^(-|a-c|^2) + e^(-|a+c|^2)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import scipy

from dpverify.claims.lsq.base import (
    Array,
    LSQClaims,
    ball_radius,
    far_query,
    linear_spread,
    pair_mean,
    squared_change_of,
)
from dpverify.claims.shared.distant import aligned
from dpverify.papers.entries import stated
from dpverify.rounding import UNIT
from protocols.lsq import FourierPairs, GaussianFeatures, LSQFeatures
from protocols.lsq.gaussian import Cosines, GaussianKernel

__all__ = ["FourierPairsClaims", "GaussianFeaturesClaims"]

_FAR = 30.0
"""Bandwidths at which the kernel is exactly 0 in floats."""


G = TypeVar("G", bound=GaussianKernel)


class _GaussianClaims(LSQClaims[G]):
    """What single cosines and pairs share."""

    domain = "all of R^d"
    _ends = (0.0, math.pi)
    """Phases at which a feature is R and -R."""

    def accuracy(self, family: G, x: Array, y: Array | None = None) -> tuple[float, float]:
        """Return M = 1 and r; far from the query a + c cancels, by up to 2u |a|, and e^(-s^2) has slopes below 1."""
        size, error = super().accuracy(family, x, y)
        reach = 0.0 if y is None else float(np.linalg.norm(x - y, axis=1).max()) / family.bandwidth
        return size, error + 4.0 * reach * UNIT

    def expected(self, family: G, x: Array, y: Array) -> Array:
        return family.kernel(x, y[np.newaxis])[:, 0]

    def query_square(self, family: G, y: Array) -> float:
        return 1.0

    def bad_queries(self, family: G, x: Array, instances: int, noise: float) -> Array:
        middle = x.mean(axis=0, keepdims=True)
        return np.concatenate([far_query(x, _FAR * family.bandwidth), middle, -middle, x[:16]])

    def squared_change(self, features: LSQFeatures) -> float:
        """Return at most I, and at most `sigma^2 rho^2` for points in a ball of radius rho.

        sigma is the largest singular value of the frequencies that were drawn. Where phases differ by v, a cosine
        differs by at most |v|, and so does a point of the unit circle.
        """
        assert isinstance(features, Cosines)
        family, bits = features.family, features.coordinates
        offset = 6.3 * math.sqrt(features.instances)
        phases = linear_spread(features.frequencies, ball_radius(features), offset)
        # A computed cosine or sine, and its product with R, is off by less than 10 units.
        rounding = 20.0 * family.R * UNIT * math.sqrt(bits)
        return min(self._largest_change(features), squared_change_of(features, family.R * phases + rounding))

    def in_ball(self, features: LSQFeatures) -> bool:
        """Return whether T^2 is that of the features' norm, R sqrt(I) at most, and not that of their change alone."""
        return self.squared_change(features) >= self._largest_change(features)

    def distant_points(self, features: LSQFeatures) -> Iterator[Array]:
        """Yield two points at which a cosine, or the sine of a pair, is 1 and -1 for as many frequencies as possible.

        Independent frequencies may have any phases at once.
        """
        assert isinstance(features, Cosines)
        phases = np.array(self._ends)[:, np.newaxis] - features.offsets
        turned = np.remainder(phases + math.pi, 2.0 * math.pi) - math.pi
        yield aligned(features.frequencies, turned, ball_radius(features))

    def _largest_change(self, features: LSQFeatures) -> float:
        """Return what bounds it for points wherever they are."""
        return float(features.instances)


class GaussianFeaturesClaims(_GaussianClaims[GaussianFeatures]):
    """The twin of `GaussianFeatures`."""

    name = "gaussian-features"
    protocol = GaussianFeatures
    theorems = stated("wagner2025/lsq", "gaussian")

    def bits_in_full(self, features: LSQFeatures) -> int:
        """Return I for points anywhere, as some draw has the same phase everywhere; in a ball, those of two points."""
        return features.coordinates if features.family.radius is None else super().bits_in_full(features)

    def product(self, family: GaussianFeatures, x: Array, z: Array, y: Array) -> Array:
        return np.asarray(family.kernel(x, z) + 0.5 * _mirrored(family, x, z, y))

    def rounded_square(self, family: GaussianFeatures, x: Array, y: Array) -> Array:
        return np.full(len(x), 2.0)

    def largest_mse(self, family: GaussianFeatures, x: Array, instances: int, noise: float) -> float:
        """Return an upper bound over R^d.

        Two users contribute `k(x, z) + e^(-|a+c|^2)/2 - e^(-s)`; see `_mirrored_excess`. A single user contributes
        `2 - e^(-2|a|^2) <= 2`.
        """

        def worst(x: Array, z: Array) -> Array:
            kernel = family.kernel(x, z)
            return np.asarray(kernel + _mirrored_excess(kernel))

        return (2.0 / len(x) + pair_mean(x, worst) + noise) / instances


class FourierPairsClaims(_GaussianClaims[FourierPairs]):
    """The twin of `FourierPairs`."""

    name = "fourier-pairs"
    kernel = "gaussian"
    protocol = FourierPairs
    _ends = (math.pi / 2.0, -math.pi / 2.0)

    def product(self, family: FourierPairs, x: Array, z: Array, y: Array) -> Array:
        return np.asarray(0.5 * (family.kernel(x, z) + _mirrored(family, x, z, y)))

    def rounded_square(self, family: FourierPairs, x: Array, y: Array) -> Array:
        """Return `1 + k(x, y)^4 / 4`.

        Bits are rounded independently: the square is `g_1^2 + g_2^2 + 2 f_1 f_2 g_1 g_2`, with phases v and w
        `1 + sin(2v) sin(2w) / 2`. The sum of the phases is uniform, and the mean of cos(2 (v - w)) is k^4.
        """
        return np.asarray(1.0 + 0.25 * self.expected(family, x, y) ** 4)

    def largest_mse(self, family: FourierPairs, x: Array, instances: int, noise: float) -> float:
        """Return an upper bound over R^d.

        Two users contribute `k(x, z)/2 + e^(-|a+c|^2)/2 - e^(-s)`; see `_mirrored_excess`. A single user contributes
        `1 + k^4/4 - k^2 <= 1`.
        """

        def worst(x: Array, z: Array) -> Array:
            kernel = family.kernel(x, z)
            return np.asarray(0.5 * kernel + _mirrored_excess(kernel))

        return (1.0 / len(x) + pair_mean(x, worst) + noise) / instances

    def _largest_change(self, features: LSQFeatures) -> float:
        """Return I, and a little for rounding: as computed, too, cosine and sine are those of one angle."""
        return squared_change_of(features, 2.0 * math.sqrt(features.instances) * (1.0 + 24.0 * UNIT))


def _mirrored(family: GaussianKernel, x: Array, z: Array, y: Array) -> Array:
    """Return `e^(-|a+c|^2)` for every two points."""
    with np.errstate(over="ignore"):  # it is 0 there
        return np.asarray(np.exp(-np.square(scipy.spatial.distance.cdist(x - y, y - z) / family.bandwidth)))


def _mirrored_excess(kernel: Array) -> Array:
    """Return an upper bound on `e^(-|a+c|^2)/2 - e^(-s)` over all queries, `s = |a|^2 + |c|^2`.

    By the parallelogram law that is `e^(D - 2s)/2 - e^(-s)` with `D = |a-c|^2 <= 2s`, which decreases and then rises to
    0: at most its value at s = D/2 or 0, that is `max(0, 1/2 - sqrt k(x, z))`.
    """
    return np.maximum(0.0, 0.5 - np.sqrt(kernel))
