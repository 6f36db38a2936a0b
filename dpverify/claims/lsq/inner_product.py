"""What is true of `protocols.lsq.inner_product`.

Both errors are quadratic forms in the query, so the largest one over a ball is an eigenvalue. They grow with |y|^2: the
domain is the unit ball, which wagner2025 needs too (Definition 2.1 bounds g(y)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpverify.claims.lsq.base import (
    Array,
    LinearPairClaims,
    LSQClaims,
    ball_radius,
    largest_eigenvalue,
    linear_spread,
    squared_change_of,
)
from dpverify.papers.entries import stated
from dpverify.rounding import UNIT, spectral_norm
from protocols.lsq import Identity, LSQFeatures, RandomSigns
from protocols.lsq.inner_product import Signs

__all__ = ["IdentityClaims", "RandomSignsClaims"]

_MARGIN = Fraction(1, 10**9)
"""By how much the square of a norm is kept below the ball's, relatively: far more than it is off by as computed."""


def _accuracy(size: float, x: Array) -> tuple[float, float]:
    """Return M and r: a sum of d products, or of n users, is off by d or n units of the product of norms (Cauchy)."""
    return size, (4.0 * (x.shape[0] + x.shape[1]) + 16.0) * UNIT


def _norm(y: Array | None) -> float:
    return 1.0 if y is None else float(np.linalg.norm(y)) * (1.0 + 1e-9)


class RandomSignsClaims(LSQClaims[RandomSigns]):
    """The twin of `RandomSigns`."""

    name = "random-signs"
    protocol = RandomSigns
    domain = "the unit ball"
    theorems = stated("wagner2025/lsq", "inner_product")

    def accuracy(self, family: RandomSigns, x: Array, y: Array | None = None) -> tuple[float, float]:
        """Return M = |y| and r; the three terms of `product` are at most |y|^2, 2 |y|^2 and 2 |y|^2."""
        return _accuracy(_norm(y), x)

    def expected(self, family: RandomSigns, x: Array, y: Array) -> Array:
        return family.kernel(x, y[np.newaxis])[:, 0]

    def product(self, family: RandomSigns, x: Array, z: Array, y: Array) -> Array:
        # Signs meet in pairs: the three pairings of four factors, less what is counted thrice on the diagonal.
        pairings = float(y @ y) * (x @ z.T) + 2.0 * np.multiply.outer(x @ y, z @ y)
        return np.asarray(pairings - 2.0 * (x * y**2) @ z.T)

    def rounded_square(self, family: RandomSigns, x: Array, y: Array) -> Array:
        return np.full(len(x), family.dimension * float(y @ y))

    def query_square(self, family: RandomSigns, y: Array) -> float:
        return float(y @ y)

    def _form(self, family: RandomSigns, x: Array, instances: int, noise: float) -> Array:
        n, d, mean = len(x), family.dimension, x.mean(axis=0)
        others = np.outer(mean, mean) - x.T @ x / n**2
        form = (d / n + np.trace(others) + noise) * np.eye(d) - np.outer(mean, mean)
        return np.asarray((form + 2.0 * others - 2.0 * np.diag(np.diag(others))) / instances)

    def largest_mse(self, family: RandomSigns, x: Array, instances: int, noise: float) -> float:
        """Return the largest eigenvalue of the quadratic form, which is attained."""
        return largest_eigenvalue(self._form(family, x, instances, noise))[0]

    def bad_queries(self, family: RandomSigns, x: Array, instances: int, noise: float) -> Array:
        return largest_eigenvalue(self._form(family, x, instances, noise))[1]

    def squared_change(self, features: LSQFeatures) -> float:
        """Return at most `sigma^2 / d`, sigma the largest singular value of the I sign vectors that were drawn."""
        assert isinstance(features, Signs)
        return squared_change_of(features, linear_spread(features.signs, ball_radius(features)))

    def in_ball(self, features: LSQFeatures) -> bool:
        """Return True, as for every linear map."""
        return True

    def distant_points(self, features: LSQFeatures) -> Iterator[Array]:
        """Yield the first sign vector as a point, whose bit is R exactly, and its opposite, if the ball has them."""
        assert isinstance(features, Signs)
        if ball_radius(features) >= 1.0:
            yield np.stack([features.signs[0], -features.signs[0]]) / math.sqrt(features.signs.shape[1])

    def query_norm(self, features: LSQFeatures) -> float:
        assert isinstance(features, Signs)
        return spectral_norm(features.signs)


class IdentityClaims(LinearPairClaims[Identity]):
    """The twin of `Identity`: `E[f(x) . g(y)] = clip(x) . y`, biased where points are clipped."""

    name = "identity"
    protocol = Identity

    def accuracy(self, family: Identity, x: Array, y: Array | None = None) -> tuple[float, float]:
        """Return M, at least |x| |y| and R sqrt(d) |y|, and r."""
        longest = float(np.linalg.norm(x, axis=1).max()) * (1.0 + 1e-9)
        return _accuracy(max(family.R * math.sqrt(family.dimension), longest) * _norm(y), x)

    def squared_change(self, features: LSQFeatures) -> float:
        """Return at most rho^2 / R^2: clipping is a contraction, and exact."""
        return squared_change_of(features, 2.0 * ball_radius(features))

    def bits_in_full(self, features: LSQFeatures) -> int:
        """Return rho^2 / R^2, rounded down: those of (R, ..., R, 0, ..., 0), well within the ball, and its opposite."""
        family = features.family
        if family.radius is None:
            return family.Q
        return min(family.Q, math.floor(Fraction(family.radius) ** 2 / Fraction(family.R) ** 2 * (1 - _MARGIN)))

    def query_norm(self, features: LSQFeatures) -> float:
        return 1.0
