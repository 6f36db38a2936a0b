"""How much replacing a point can change: the bound of every twin, for the features that were drawn."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverify.claims.lsq.base import LSQClaims
from dpverify.claims.registry import claims_of
from dpverify.claims.shared.distant import opposite_sizes
from protocols.bitsum import RandomizedResponse
from protocols.kde import KernelDensityProtocol
from protocols.lsq import (
    ExponentialTessellation,
    FourierPairs,
    GaussianFeatures,
    Identity,
    LaplacianBinning,
    LinearMap,
    LSQFamily,
    LSQFeatures,
    RandomSigns,
    ScaledFeatures,
)
from protocols.streaming import rounded_bits

BALL = {"radius": 1.0, "outside": "scale"}
LINEAR = [
    Identity(4, **BALL),
    Identity(4, 2.5, radius=0.7),
    RandomSigns(4),
    LinearMap(4, "haar", **BALL),
    LinearMap(3, "hadamard", 1.7, rows=3, **BALL),
    LinearMap(4, "signs", 2.0, rows=9, **BALL),
]
OTHERS = [
    Identity(4),
    Identity(4, 0.6, **BALL),
    LinearMap(4, "haar", 0.5, **BALL),
    GaussianFeatures(4),
    GaussianFeatures(4, 9.0, **BALL),
    FourierPairs(4),
    FourierPairs(4, 9.0, **BALL),
    FourierPairs(4, 2.0, **BALL),
    LaplacianBinning(4, 0.5, 3),
    LaplacianBinning(4, 0.5, 3, True),
    ExponentialTessellation(4, 0.5, 3),
    ScaledFeatures(FourierPairs(4), 6, 1.5),
    ScaledFeatures(FourierPairs(4, 9.0, **BALL), 6, 1.5),
    ScaledFeatures(LinearMap(4, "signs", 2.0, rows=9, **BALL), 1, 2.0),
]

MOVE_LESS = [OTHERS[4], *OTHERS[6:11], OTHERS[12]]
"""Whose points are not that near to 0, but to each other; or whose features have no signs."""


def drawn(family: LSQFamily, instances: int = 7) -> LSQFeatures:
    return family.sample(1 if family.deterministic else instances, np.random.default_rng(1))


def probabilities(features: LSQFeatures, x: np.ndarray) -> np.ndarray:
    """Return those that bits are 1, of shape (points, bits), as the users' side computes them."""
    return features.f(x).reshape(len(x), features.coordinates) / (2.0 * features.family.R) + 0.5


def worst_change(features: LSQFeatures, x: np.ndarray) -> float:
    """Return the largest sum of squares between two of the points, each bit's rounding to a float counted against."""
    p = probabilities(features, x)
    squares = np.square(p[:, np.newaxis] - p).sum(axis=2)
    return float(squares.max()) * (1.0 - 1e-12)


def points_of(family: LSQFamily, count: int) -> np.ndarray:
    """Return pairs of opposite points on the sphere that matters, and others."""
    vectors = np.random.default_rng(2).standard_normal((count, family.dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors *= family.radius or 1.0
    inside = [] if family.requires_unit_vectors else [0.3 * vectors]
    return np.concatenate([vectors, -vectors, *inside])


@pytest.mark.parametrize("family", LINEAR + OTHERS, ids=repr)
def test_no_two_points_change_more(family: LSQFamily) -> None:
    features = drawn(family)
    bound = claims_of(family).squared_change(features)
    assert worst_change(features, points_of(family, 200)) <= bound
    assert 0.0 < bound <= features.coordinates


@pytest.mark.parametrize("family", LINEAR + OTHERS, ids=repr)
def test_single_points_are_in_a_ball_where_that_is_said(family: LSQFamily) -> None:
    features = drawn(family)
    norms = np.square(2.0 * probabilities(features, points_of(family, 200)) - 1.0).sum(axis=1)
    bound, inside = claims_of(family).squared_change(features), claims_of(family).in_ball(features)
    if inside:
        assert norms.max() * (1.0 - 1e-12) <= bound
    assert inside or family in MOVE_LESS


@pytest.mark.parametrize("family", LINEAR, ids=repr)
def test_opposite_points_along_the_worst_direction_attain_it(family: LSQFamily) -> None:
    features = drawn(family)
    images = features.g(np.eye(family.dimension)).reshape(family.dimension, -1)
    worst = np.linalg.svd(images)[0][:, 0] * (family.radius or 1.0)
    found = worst_change(features, np.stack([worst, -worst]))
    assert claims_of(family).squared_change(features) == pytest.approx(found, rel=1e-7)


def test_identity_is_exact_upwards() -> None:
    for dimension, limit in ((384, 0.1), (768, 0.2), (50, 0.3)):
        found = claims_of(Identity(1)).squared_change(drawn(Identity(dimension, limit, radius=1.0)))
        exact = 1 / Fraction(limit) ** 2
        assert 0 <= Fraction(found) / exact - 1 < Fraction(1, 10**11)


def test_signs_change_far_less_than_all_their_bits() -> None:
    # About (1 + sqrt(d/I))^2 I/d of them: 4 of 384.
    features = RandomSigns(384).sample(384, np.random.default_rng(3))
    assert 3.5 < claims_of(features.family).squared_change(features) < 4.5


def test_pairs_change_half_of_their_bits() -> None:
    pairs, cosines = drawn(FourierPairs(4), 30), drawn(GaussianFeatures(4), 60)
    assert pairs.coordinates == cosines.coordinates
    found = [claims_of(features.family).squared_change(features) for features in (pairs, cosines)]
    assert found == pytest.approx([30.0, 60.0], rel=1e-13)
    assert found[0] >= 30.0
    x = np.array([[1e15, 0.0, 0.0, 0.0], [-1.0, 3e11, 0.0, 0.0]])  # phases that are nowhere near exact
    np.testing.assert_allclose(np.square(pairs.f(x)).sum(axis=(1, 2)), 30.0, rtol=1e-14)


def test_buckets_change_by_halves() -> None:
    plain, signed = (drawn(LaplacianBinning(4, 1e-3, 5, signs), 40) for signs in (False, True))
    far = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    assert claims_of(plain.family).squared_change(plain) == 20.0
    assert claims_of(signed.family).squared_change(signed) == 40.0
    assert worst_change(plain, far) > 12.0  # one bucket in five is the same by chance


def test_whatever_the_family_no_instance_changes_more_than_its_sparsity() -> None:
    features = drawn(LaplacianBinning(4, 1e-3, 5, True), 40)
    assert LSQClaims.squared_change(claims_of(features.family), features) == 40.0


def test_points_longer_than_their_computed_norm_are_charged() -> None:
    family, x = Identity(3, radius=1.0), np.full((1, 3), 1.0 / math.sqrt(3.0))
    square = sum(Fraction(v) ** 2 for v in x[0].tolist())
    assert np.linalg.norm(x) <= 1.0 < square  # so it is not scaled
    assert Fraction(claims_of(family).squared_change(drawn(family))) >= square


class Constant(np.random.Generator):
    """One that draws the same number always."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._value = value

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return np.full(size, self._value)


def chances(features: LSQFeatures, x: np.ndarray) -> list[list[Fraction]]:
    """Return exactly how likely a simulated user's bits next to fair coins are 1: how many uniform floats say so."""
    unit, reach = 2.0**-53, 4
    protocol, below = KernelDensityProtocol(RandomizedResponse(len(x), 0.2), features), 0
    for place in range(-reach, reach):
        below = below + rounded_bits(protocol.features, x, Constant(0.5 + place * unit)).astype(int)
    return [[Fraction(1, 2) + (int(count) - reach) * Fraction(unit) for count in row] for row in np.asarray(below)]


@pytest.mark.parametrize("family", [Identity, lambda d, **more: LinearMap(d, "haar", **more)])
def test_rounding_of_the_bits_chances_is_charged(family: Callable[..., LSQFamily]) -> None:
    """Features of 1.5 units move the chances of the bits by two units, not by one and a half."""
    size, d = 1.5 * 2.0**-53 * (1.0 + 1e-9), 9
    made = family(d, radius=size * math.sqrt(d) * (1.0 + 1e-12))
    features = drawn(made)
    wanted = np.full(d, size)
    x = wanted if isinstance(made, Identity) else made.matrix.T @ wanted  # type: ignore[attr-defined]
    first, second = chances(features, np.stack([x, -x]) * (1.0 - 1e-13))
    moved = sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
    assert moved > (Fraction(made.radius or 0.0) * Fraction(1.2)) ** 2
    assert moved <= Fraction(claims_of(made).squared_change(features))
    # What two points really change is counted with the same care.
    x *= 0.8
    first, second = chances(features, np.stack([x, -x]))
    assert sum(abs(a - b) for a, b in zip(first, second, strict=True)) < Fraction(0.9) * d * Fraction(0.8 * size)
    sizes = opposite_sizes(features, np.stack([x, -x])).tolist()
    assert all(Fraction(t) <= abs(a - b) for t, a, b in zip(sizes, first, second, strict=True))


@pytest.mark.parametrize(
    "family",
    [
        Identity(2, 1e-100, radius=1e-100, outside="scale"),
        LinearMap(2, "haar", 1e-100, radius=1e-100, outside="scale"),
        ScaledFeatures(Identity(2, 1e-100), 1, 1e-100),
        ScaledFeatures(Identity(2, 1e100), 1, 1e100),
    ],
    ids=repr,
)
def test_the_shortest_and_the_longest_norms_are_told_apart(family: LSQFamily) -> None:
    features = drawn(family)
    size = getattr(family, "norm", family.radius)
    corner = np.array([[size, size], [-size, -size]])
    assert 0.4 < worst_change(features, corner) <= claims_of(family).squared_change(features) < 1.01
