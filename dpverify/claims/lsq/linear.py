"""What is true of `protocols.lsq.linear`: exact for the map that was drawn, clipping included.

**What clipping does on average over maps.** For a rotation uniform on all of them and |x| = 1, a row u has the law of a
uniform unit vector: given u . x, the rest of u is symmetric, so that `E[clip(u.x) (u.y)] = (x.y) E[clip(u.x) (u.x)]`.
Summed over rows, clipping multiplies the density by one number c for all points and queries: `kept_share`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy

from dpverify.claims.lsq.base import (
    FEWEST_BITS,
    Array,
    LinearPairClaims,
    ball_radius,
    linear_spread,
    squared_change_of,
)
from dpverify.claims.shared.distant import aligned, climbed, farthest
from dpverify.rounding import UNIT, spectral_norm
from protocols.lsq import Identity, LinearMap, LSQFamily, LSQFeatures

__all__ = ["LinearMapClaims", "kept_share", "unbiased"]

_RANGES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Ranges that are tried, in standard deviations of a rotated coordinate."""
_MOST_ROTATIONS, _RUNGS = 4, 4
"""Of a point, below each other: more would reduce what rounding adds still further."""
_LEAST_PART = 512
"""So many rows at least have their norm bounded together: fewer would take longer for what is called for each."""
_BEYOND = 1.0 + 1e-9
"""By how much features that are to be clipped exceed the range: far more than they are off by as computed."""


class LinearMapClaims(LinearPairClaims[LinearMap]):
    """The twin of `LinearMap`: `E[f(x) . g(y)] = clip(G x) . g(y)`, biased where features are clipped."""

    name = "linear-map"
    kernel = "inner-product"
    protocol = LinearMap

    def rungs(self, dimension: int) -> list[int]:
        """Return the rows of up to four rotations below each other, and of parts of one, each twice the one before."""
        found = [_MOST_ROTATIONS * dimension]
        while len(found) < _RUNGS and found[-1] // 2 >= min(FEWEST_BITS, dimension):
            found.append(found[-1] // 2)
        return found[::-1]

    def offered(self, dimension: int, bandwidth: float, bits: int) -> list[tuple[LSQFamily, int]]:
        """Return rotations of so many rows by their range, and beside a full one the identity."""
        maps = [LinearMap(dimension, "haar", reach / math.sqrt(dimension), bits, radius=1.0) for reach in _RANGES]
        found: list[tuple[LSQFamily, int]] = [(unbiased(each), 1) for each in maps if each.limit <= 1.0]
        return [*found, (Identity(dimension, radius=1.0), 1)] if bits == dimension else found

    def accuracy(self, family: LinearMap, x: Array, y: Array | None = None) -> tuple[float, float]:
        """Return M, at least |f(x)| |g(y)| and |x| |y|, and r.

        Computed features and queries are off by d u times the Frobenius norm of their matrix and the vector's norm.
        """
        (n, d), rows = x.shape, family.Q
        stretch = self.query_norm(self.pair(family))
        largest = max(family.R * math.sqrt(rows), float(np.linalg.norm(x, axis=1).max()) * (1.0 + 1e-9))
        size = largest * max(stretch, 1.0) * (1.0 if y is None else float(np.linalg.norm(y)) * (1.0 + 1e-9))
        mapping = 4.0 * d * math.sqrt(rows) * max(1.0, family.weight / stretch)
        return size, (4.0 * (n + d + rows) + mapping + 16.0) * UNIT

    def squared_change(self, features: LSQFeatures) -> float:
        """Return at most `rho^2 sigma^2 / R^2`, sigma the largest singular value of G: clipping is a contraction."""
        assert isinstance(features.family, LinearMap)
        return squared_change_of(
            features, linear_spread(features.family.matrix, ball_radius(features), stretch=_stretch(features.family))
        )

    def distant_points(self, features: LSQFeatures) -> Iterator[Array]:
        """Yield points at which as many rows as the ball allows are clipped, whose features are longest, and others."""
        family, radius = features.family, ball_radius(features)
        assert isinstance(family, LinearMap)
        clipped = np.full((1, family.Q), family.R * _BEYOND)
        ends = [
            np.concatenate([aligned(family.matrix, sign * clipped, radius) for sign in (1.0, -1.0)]),
            farthest(family.matrix, radius),
        ]
        yield from ends
        if radius < math.inf:
            yield from climbed(family.matrix, family.R, radius, np.stack([points[0] for points in ends]))

    def query_norm(self, features: LSQFeatures) -> float:
        assert isinstance(features.family, LinearMap)
        return _stretch(features.family) * features.family.weight * (1.0 + 4.0 * UNIT)


def _stretch(family: LinearMap) -> float:
    """Return an upper bound on the largest singular value of G, which few of the parameters fix."""
    return _known_stretch(LinearMap(family.dimension, family.kind, rows=family.rows, seed=family.seed))


@functools.lru_cache(maxsize=16)
def _known_stretch(family: LinearMap) -> float:
    """Return it: of parts below each other the squares add up to no less than that of all, and of rotations to that."""
    if family.kind == "signs":
        return spectral_norm(family.matrix)
    step = family.columns * max(1, _LEAST_PART // family.columns)
    known, (whole, rest) = _squares(family.kind, family.dimension, family.seed), divmod(family.Q, step)
    for first in range(step * len(known), step * whole, step):
        known.append(spectral_norm(family.matrix[first : first + step]) ** 2)
    squares = [*known[:whole], spectral_norm(family.matrix[step * whole :]) ** 2 if rest else 0.0]
    return math.sqrt(math.fsum(squares)) * (1.0 + 8.0 * UNIT)


@functools.lru_cache(maxsize=4)
def _squares(kind: str, dimension: int, seed: int) -> list[float]:
    """Return the squares of what parts of the same number of rows stretch by at most, as far as they were asked for."""
    return []


def kept_share(limit: float, columns: int) -> float:
    """Return c: what clipping leaves of the density of unit vectors, on average over rotations.

    - limit: R, positive.
    - columns: D, at least 2.

    Returns: In (0, 1]; 1 - c is the bias, relative to the density. Exact for kind "haar", up to rounding, and an
    estimate for the others, whose rows are nearly as spread.

    `D E[min(U^2, R |U|)]` for an entry U of a uniform unit vector: U^2 has the law Beta(1/2, (D-1)/2).
    """
    if limit >= 1.0:
        return 1.0
    half = (columns - 1) / 2.0
    inside = float(scipy.special.betainc(1.5, half, limit**2))
    mean = math.exp(math.lgamma(columns / 2.0) - math.lgamma((columns + 1) / 2.0)) / math.sqrt(math.pi)
    return inside + limit * columns * mean * math.pow(1.0 - limit**2, half)


def unbiased(family: LinearMap) -> LinearMap:
    """Return the map with the gain that makes up for its clipping on average; see `kept_share`."""
    return replace(family, gain=1.0 / kept_share(family.limit, family.columns))
