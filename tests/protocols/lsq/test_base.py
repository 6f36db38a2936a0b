"""Definition 2.1 of wagner2025, for every family."""

import dataclasses
import math

import numpy as np
import pytest

from protocols.lsq import (
    ExponentialTessellation,
    FourierPairs,
    GaussianFeatures,
    Identity,
    LaplacianBinning,
    LinearMap,
    LSQFamily,
    RandomSigns,
)
from protocols.lsq.hashing import HASH_ERROR
from tests.samples import assert_mean, sphere

INSTANCES = 40_000
HASHED = [
    kernel(3, 0.8, buckets, signed)
    for kernel in (LaplacianBinning, ExponentialTessellation)
    for buckets, signed in ((5, False), (1, True), (3, True))
]
ROTATED = [LinearMap(3), LinearMap(3, "hadamard", limit=1.5, seed=4), LinearMap(3, radius=2.0)]
FAMILIES = [
    GaussianFeatures(3),
    GaussianFeatures(3, bandwidth=0.4),
    FourierPairs(3),
    FourierPairs(3, 0.4, radius=1.0, outside="scale"),
    RandomSigns(3),
    Identity(3),
    *ROTATED,
    *HASHED,
]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
class TestDefinition:
    """Definition 2.1, for every family."""

    def test_expected_product_is_the_kernel(self, family: LSQFamily) -> None:
        x, y = sphere(4, family.dimension, 1), 0.7 * sphere(5, family.dimension, 2)
        y[0] = x[0]
        features = family.sample(1 if family.deterministic else INSTANCES, np.random.default_rng(3))
        products = np.einsum("xij,yij->ixy", features.f(x), features.g(y))
        kernel = family.kernel(x, y)
        assert kernel.shape == (4, 5)
        expected = kernel
        if family.beta > HASH_ERROR:  # the bias of buckets without signs is known exactly
            expected = kernel + (1 - kernel) / family.Q
        assert np.abs(expected - kernel).max() <= family.beta
        if family.deterministic:
            np.testing.assert_allclose(products[0], expected, rtol=1e-12, atol=1e-15)
        else:
            assert_mean(products, expected)

    def test_range_and_sparsity(self, family: LSQFamily) -> None:
        x = sphere(200, family.dimension, 4)
        features = family.sample(1 if family.deterministic else 50, np.random.default_rng(5))
        values = features.f(x)
        assert values.shape == (200, features.instances, family.Q)
        assert np.abs(values).max() <= family.R
        assert np.count_nonzero(values, axis=2).max() <= family.S <= family.Q
        assert features.coordinates == features.instances * family.Q

    def test_public_randomness_determines_the_features(self, family: LSQFamily) -> None:
        x = sphere(3, family.dimension, 6)
        count = 1 if family.deterministic else 4
        first, second = (family.sample(count, np.random.default_rng(7)).f(x) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(
            family.sample(count, np.random.default_rng(7)).f(x.astype(np.float32)), first, atol=1e-5
        )

    def test_bad_arguments(self, family: LSQFamily) -> None:
        features = family.sample(1, np.random.default_rng(8))
        for call in (features.f, features.g):
            with pytest.raises(ValueError, match=r"shape \(2, 4\), but must have shape \(points, 3\)\.$"):
                call(np.ones((2, 4)))
            with pytest.raises(ValueError, match=r"\[0, 1\]=nan must be a finite number"):
                call([[1.0, math.nan, 0.0]])
        with pytest.raises(ValueError, match=r"^instances=0 must be an integer in"):
            family.sample(0, np.random.default_rng(8))
        with pytest.raises(TypeError, match=r"^rng=7 must be a numpy"):
            family.sample(1, 7)
        with pytest.raises(ValueError, match=r"^dimension=0 must be an integer"):
            type(family)(0)


BALLS = [family for family in FAMILIES if not family.requires_unit_vectors]


@pytest.mark.parametrize("family", BALLS, ids=repr)
class TestBall:
    """A public ball of points."""

    def test_points_outside_are_refused(self, family: LSQFamily) -> None:
        features = dataclasses.replace(family, radius=0.5, outside="refuse").sample(1, np.random.default_rng(9))
        inside = features.f([[0.3, 0.0, 0.4 * (1 + 9e-4)]])  # stored points may be off by 1e-3
        np.testing.assert_allclose(inside, features.f([[0.3, 0.0, 0.4]]), atol=2e-2)
        refused = r"^x\[1\] has Euclidean norm 0\.502, but must be in the ball of radius=0\.5 \(within 0\.001\)\.$"
        with pytest.raises(ValueError, match=refused):
            features.f([[0.3, 0.0, 0.0], [0.0, 0.502, 0.0]])

    def test_points_outside_are_scaled(self, family: LSQFamily) -> None:
        ball = dataclasses.replace(family, radius=0.5, outside="scale")
        features = ball.sample(1, np.random.default_rng(10))
        x, scaled = np.array([[3.0, 0.0, 4.0], [0.1, 0.2, 0.0]]), np.array([[0.3, 0.0, 0.4], [0.1, 0.2, 0.0]])
        np.testing.assert_allclose(features.f(x), features.f(scaled), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(ball.kernel(x, scaled), ball.kernel(scaled, scaled), rtol=1e-12)
        with pytest.raises(ValueError, match=r"^x\[0\] has Euclidean norm inf, but must be finite\.$"):
            features.f([[1e200, 1e200, 0.0]])
