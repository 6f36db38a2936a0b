"""Features that a density estimator may use: by kernel, a ladder of numbers of bits with a choice on every rung.

Where T^2 is spread over many bits, every bitsum's noise is about normal, with a deviation of T times that of the
Gaussian mechanism: so the best of a rung is known before any bitsum is planned.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from dpverify.claims.lsq import LSQ_CLAIMS
from dpverify.claims.lsq.base import LinearPairClaims, LSQClaims
from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, InfeasibleBudgetError
from protocols.classes.frozen import dataclass
from protocols.lsq import LinearMap, LSQFamily, LSQFeatures
from protocols.validation import check_choice, check_integer, check_real

__all__ = [
    "Candidate",
    "Measured",
    "check_kernel",
    "drawn",
    "features_of",
    "has_bandwidth",
    "kernels",
    "ladder",
    "rmse_at_one_point",
    "rmse_of_spread_points",
]

_POINTS = 8


def kernels() -> dict[str, LSQClaims[Any]]:
    """Return the twins whose features density estimators are planned with, by the names of their kernels."""
    return {claims.kernel: claims for claims in LSQ_CLAIMS.values() if claims.kernel}


def has_bandwidth(kernel: str) -> bool:
    """Return whether a kernel is of distances in bandwidths: whether its features have that field."""
    return any(field.name == "bandwidth" for field in fields(kernels()[kernel].protocol))


@dataclass(frozen=True)
class Measured:
    """What a plan for all bits of drawn features needs.

    - bits: I Q.
    - squared_change: T^2.
    - ball: Whether the features are in a ball of that square, too.
    """

    bits: int
    squared_change: float
    ball: bool


@dataclass(frozen=True)
class Candidate:
    """Features that may be the best of their rung.

    - family: Their family.
    - pairs: I.
    - change: About T^2: that of maps that differ in their range alone is worked out from one of them.
    """

    family: LSQFamily
    pairs: int
    change: float

    def normal_rmse(self, users: int, sigma: float) -> float:
        """Return the error of `rmse_at_one_point` under normal noise, sigma being its deviation where T^2 is 1."""
        return rmse_at_one_point(self.family, self.pairs, users, sigma * math.sqrt(self.change))

    def measured(self) -> Measured:
        """Return the size and T^2 of the features of public seed 0: exact, or an upper bound."""
        return _measured(self.family, self.pairs)


def drawn(family: LSQFamily, pairs: int) -> LSQFeatures:
    """Return the features of public seed 0."""
    return family.sample(pairs, np.random.default_rng(0))


@functools.lru_cache(maxsize=64)
def _measured(family: LSQFamily, pairs: int) -> Measured:
    features, claims = drawn(family, pairs), claims_of(family)
    return Measured(features.coordinates, claims.squared_change(features), claims.in_ball(features))


def features_of(
    kernel: str, dimension: int, bandwidth: float, bits: int, *, name: str = "bits"
) -> tuple[LSQFamily, int]:
    """Return the features of a kernel that are taken unasked, and how many pairs are drawn for so many bits.

    Raises ValueError if there are no features of so many bits; the argument has a name for the message.
    """
    family, pairs = kernels()[kernel].offered(dimension, bandwidth, bits)[0]
    if bits < family.Q or bits % family.Q:
        raise ValueError(f"{name}={bits} must be a multiple of {family.Q} for the kernel {kernel}.")
    return family, pairs


def check_kernel(kernel: str, dimension: int, bandwidth: float, budget: Budget) -> str:
    """Return the kernel after checking it with what belongs to it.

    Raises InfeasibleBudgetError if delta is 0. Raises TypeError or ValueError if an argument is out of range.
    """
    kernel = check_choice("kernel", kernel, tuple(kernels()))
    check_integer("dimension", dimension, low=1)
    check_real("bandwidth", bandwidth, low=1e-100, high=1e100)  # its square stays within the floats
    if bandwidth != 1.0 and not has_bandwidth(kernel):
        raise ValueError(f"bandwidth={bandwidth!r} must be 1 for the kernel {kernel}, which has none.")
    if budget.delta == 0.0:
        raise InfeasibleBudgetError("delta=0 cannot be met here: the law of a joint change has no small largest loss.")
    return kernel


def rmse_at_one_point(family: LSQFamily, pairs: int, users: int, bitsum_rmse: float) -> float:
    """Return the root mean squared error of a density where all users hold one point: what needs no data.

    - family: The features.
    - pairs, users: I and n.
    - bitsum_rmse: That of one bitsum, in users.

    Returns: Exact, over all randomness and, for maps, for the very map. For the inner product it is the larger one of
    two: where the query is the point itself, and where it is orthogonal, a mean over 8 random points of norm 1, or of
    the ball's radius. For kernels of a distance the point does not matter, and the query is the worst that the family's
    twin knows.
    """
    claims = claims_of(family)
    noise = (2.0 * family.R * bitsum_rmse / users) ** 2
    linear = isinstance(claims, LinearPairClaims)
    points = np.random.default_rng(0).standard_normal((_POINTS if linear else 1, family.dimension))
    points *= (family.radius or 1.0) / np.linalg.norm(points, axis=1, keepdims=True)

    def squared(x: np.ndarray, y: np.ndarray) -> float:
        expected = float(claims.expected(family, x, y)[0])
        alone, pair = float(claims.rounded_square(family, x, y)[0]), float(claims.product(family, x, x, y)[0, 0])
        bias = expected - float(family.kernel(x, y[np.newaxis])[0, 0])
        variance = alone / users + (1.0 - 1.0 / users) * pair - expected**2
        return bias**2 + (max(variance, 0.0) + noise * claims.query_square(family, y)) / pairs

    if linear:
        return math.sqrt(max(bias + rest for bias, rest in _of_map(family, pairs, users, noise, points)))
    queries = np.concatenate([points, claims.bad_queries(family, points, pairs, noise)])
    return math.sqrt(max(squared(points, y) for y in queries))


def rmse_of_spread_points(family: LSQFamily, pairs: int, users: int, bitsum_rmse: float) -> float:
    """Return the root mean squared error of an inner product with the mean of points in all directions, of norm 1.

    What a map cuts off cancels there, as it does for no users who all hold one point: what remains is rounding and
    noise, at a query that is orthogonal to a point, as nearly all are.

    - family: A map.
    - pairs, users, bitsum_rmse: As for `rmse_at_one_point`.
    """
    points = np.random.default_rng(0).standard_normal((_POINTS, family.dimension))
    points *= (family.radius or 1.0) / np.linalg.norm(points, axis=1, keepdims=True)
    noise = (2.0 * family.R * bitsum_rmse / users) ** 2
    return math.sqrt(_of_map(family, pairs, users, noise, points)[1][1])


def _of_map(
    family: LSQFamily, pairs: int, users: int, noise: float, points: np.ndarray
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return squared bias and variance at the point that all hold, and at an orthogonal one, each a mean over points.

    As in `squared`, for all pairs of points at once: only the rounding of the one pair of features is random.
    """
    others = np.roll(points, 1, axis=0)
    others -= (points * others).sum(axis=1, keepdims=True) / np.square(points).sum(axis=1, keepdims=True) * points
    others /= np.maximum(np.linalg.norm(others, axis=1, keepdims=True), 1e-300)
    pair, exact = drawn(family, 1), (points * points).sum(axis=1)
    f = pair.f(points)[:, 0]

    def means(side: np.ndarray, density: np.ndarray) -> tuple[float, float]:
        g = pair.g(side)[:, 0]
        bias, rounding = (f * g).sum(axis=1) - density, ((family.R**2 - f**2) * g**2).sum(axis=1) / users
        return float(np.mean(bias**2)), float(np.mean((rounding + noise * (g * g).sum(axis=1)) / pairs))

    return means(points, exact), means(others, (points * others).sum(axis=1))


def ladder(kernel: str, dimension: int, bandwidth: float) -> list[list[Candidate]]:
    """Return the features of every rung, the fewest bits first.

    - kernel, dimension, bandwidth: As `check_kernel` accepts them.
    """
    claims = kernels()[kernel]
    return [_rung(claims.offered(dimension, bandwidth, bits)) for bits in claims.rungs(dimension)]


def _rung(offered: Iterable[tuple[LSQFamily, int]]) -> list[Candidate]:
    found, at_one = [], 0.0
    for family, pairs in offered:
        if isinstance(family, LinearMap):
            features = drawn(family, pairs)
            at_one = at_one or family.limit**2 * claims_of(family).squared_change(features)
            change = min(at_one / family.limit**2, float(features.coordinates))
        else:
            change = _measured(family, pairs).squared_change
        found.append(Candidate(family, pairs, change))
    return found
