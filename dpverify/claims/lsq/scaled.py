"""What is true of `protocols.lsq.scaled`: exact for the pairs that were drawn, scaling included."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from dpverify.claims.lsq.base import Array, SinglePairClaims, squared_change_of
from dpverify.claims.registry import claims_of
from dpverify.rounding import UNIT
from protocols.lsq import LSQFeatures, ScaledFeatures

__all__ = ["ScaledFeaturesClaims"]


class ScaledFeaturesClaims(SinglePairClaims[ScaledFeatures]):
    """The twin of `ScaledFeatures`: the error is that of its one pair, whose bias counts what scaling takes away."""

    name = "scaled-features"
    protocol = ScaledFeatures
    domain = "the domain of the base's twin"

    def accuracy(self, family: ScaledFeatures, x: Array, y: Array | None = None) -> tuple[float, float]:
        """Return M, at least the kernel and C |g(y)|, and r: that of the base's features, whose coordinates add up."""
        size, error = claims_of(family.base).accuracy(family.base, x, y)
        reach = 1.0 if y is None else float(np.linalg.norm(y)) + 1.0
        most = family.norm * self.query_norm(self.pair(family)) * reach
        return max(size, most), 4.0 * error + 16.0 * (family.Q + len(x) + 8.0) * UNIT

    def largest_mse(self, family: ScaledFeatures, x: Array, instances: int, noise: float) -> float:
        """Return an upper bound: by Cauchy's inequality, from the norms of the features' mean and of a query."""
        f = self.pair(family).f(x)[:, 0]
        query = self.query_norm(self.pair(family))
        kernel = claims_of(family.base).accuracy(family.base, x)[0]
        bias = float(np.linalg.norm(f.mean(axis=0))) * query + kernel
        rounding = float(((family.R**2 - f**2).sum(axis=0) / len(x) ** 2).max())
        return bias**2 + (rounding + noise) * query**2

    def bad_queries(self, family: ScaledFeatures, x: Array, instances: int, noise: float) -> Array:
        return claims_of(family.base).bad_queries(family.base, x, family.instances, noise)

    def squared_change(self, features: LSQFeatures) -> float:
        """Return at most `C^2 / R^2`, and what the base's features allow: scaling is a contraction."""
        family = features.family
        assert isinstance(family, ScaledFeatures)
        base = 2.0 * family.base.R * math.sqrt(claims_of(family.base).squared_change(family.drawn)) * (1.0 + 8.0 * UNIT)
        return min(self._by_norm(features), squared_change_of(features, base + _rounding(family)))

    def in_ball(self, features: LSQFeatures) -> bool:
        """Return whether T^2 is that of the norm C, and not what the base's features allow."""
        return self.squared_change(features) >= self._by_norm(features)

    def _by_norm(self, features: LSQFeatures) -> float:
        assert isinstance(features.family, ScaledFeatures)
        return squared_change_of(features, 2.0 * features.family.norm + _rounding(features.family))

    def distant_points(self, features: LSQFeatures) -> Iterable[Array]:
        """Return those of the base, whose features may be scaled down."""
        assert isinstance(features.family, ScaledFeatures)
        return claims_of(features.family.base).distant_points(features.family.drawn)

    def query_norm(self, features: LSQFeatures) -> float:
        family = features.family
        assert isinstance(family, ScaledFeatures)
        return claims_of(family.base).query_norm(family.drawn) / family.instances * (1.0 + 4.0 * UNIT)


def _rounding(family: ScaledFeatures) -> float:
    """Return what two computed norms, of Q entries, may exceed C by."""
    return 2.0 * (family.Q + 8.0) * UNIT * family.norm
