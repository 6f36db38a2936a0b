from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.lsq import (
    ExponentialTessellation,
    GaussianFeatures,
    Identity,
    LaplacianBinning,
    LSQFamily,
    RandomSigns,
)
from protocols.lsq.hashing import HASH_ERROR, HashedPartition
from tests.samples import assert_mean

INSTANCES = 40_000
HASHED = [
    kernel(3, 0.8, buckets, signed)
    for kernel in (LaplacianBinning, ExponentialTessellation)
    for buckets, signed in ((5, False), (1, True), (3, True))
]
FAMILIES = [GaussianFeatures(3), GaussianFeatures(3, bandwidth=0.4), RandomSigns(3), Identity(3), *HASHED]


def points(family: LSQFamily, count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, family.dimension))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
class TestDefinition:
    """Definition 2.1, for every family."""

    def test_expected_product_is_the_kernel(self, family: LSQFamily) -> None:
        x, y = points(family, 4, 1), 0.7 * points(family, 5, 2)
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
            np.testing.assert_allclose(products[0], expected, rtol=1e-12)
        else:
            assert_mean(products, expected)

    def test_range_and_sparsity(self, family: LSQFamily) -> None:
        x = points(family, 200, 4)
        features = family.sample(1 if family.deterministic else 50, np.random.default_rng(5))
        values = features.f(x)
        assert values.shape == (200, features.instances, family.Q)
        assert np.abs(values).max() <= family.R
        assert np.count_nonzero(values, axis=2).max() <= family.S <= family.Q
        assert features.coordinates == features.instances * family.Q

    def test_public_randomness_determines_the_features(self, family: LSQFamily) -> None:
        x = points(family, 3, 6)
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


def test_gaussian_kernel_is_the_formula() -> None:
    value = GaussianFeatures(2, bandwidth=0.5).kernel([[0.0, 0.0]], [[0.3, 0.4]])
    assert value == pytest.approx(math.exp(-1.0), rel=1e-12)


def test_gaussian_features_do_not_overflow_silently() -> None:
    features = GaussianFeatures(2).sample(3, np.random.default_rng(9))
    with pytest.raises(ValueError, match=r"^x\[1\] is so large"):
        features.f([[0.0, 0.0], [1.7e308, 1.7e308]])
    assert GaussianFeatures(2).kernel([[1e200, 0.0]], [[0.0, 0.0]]) == 0.0


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, math.inf, math.nan])
def test_bandwidth_is_checked(bandwidth: float) -> None:
    with pytest.raises(ValueError, match=r"^bandwidth=.* must be a finite number in \(0, inf\)\.$"):
        GaussianFeatures(2, bandwidth)


@given(st.integers(1, 7), st.integers(0, 2**31))
def test_random_sign_range_is_attained_and_not_exceeded(dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    family = RandomSigns(dimension)
    corner = rng.choice([-1.0, 1.0], size=(1, dimension)) / math.sqrt(dimension)
    values = family.sample(1000, rng).f(corner * (1 + 5e-4))  # off the sphere by as much as storage may be
    assert np.abs(values).max() == pytest.approx(family.R, rel=1e-12)  # a run misses with probability < 4e-4
    assert np.abs(values).max() <= family.R


def test_random_sign_range_holds_to_the_last_bit() -> None:
    for dimension in range(1, 100):
        features = RandomSigns(dimension).sample(1, np.random.default_rng(dimension))
        signs = features.g(np.eye(dimension))[:, 0, 0]
        assert features.f([signs / math.sqrt(dimension)]).max() <= features.family.R


def test_random_signs_remove_what_storage_adds_to_a_norm() -> None:
    family, x = RandomSigns(3), np.array([[0.6, 0.0, -0.8]])
    features = family.sample(20, np.random.default_rng(13))
    np.testing.assert_allclose(features.f(x * (1 + 9e-4)), features.f(x), rtol=1e-12)
    np.testing.assert_allclose(family.kernel(x * (1 + 9e-4), x), 1.0, rtol=1e-12)


def test_random_signs_need_unit_points_but_any_query() -> None:
    family = RandomSigns(2)
    features = family.sample(2, np.random.default_rng(10))
    with pytest.raises(ValueError, match=r"^x\[1\] has Euclidean norm 2, but must have norm 1 within 0\.001"):
        features.f([[1.0, 0.0], [0.0, 2.0]])
    np.testing.assert_allclose(features.g([[0.0, 6.0]]), 3 * features.g([[0.0, 2.0]]))
    np.testing.assert_allclose(family.kernel([[1.0, 0.0]], [[5.0, 1.0]]), [[5.0]])


def test_identity_clips_users_and_says_so() -> None:
    family = Identity(3, limit=0.5)
    features = family.sample(1, np.random.default_rng(11))
    x = np.array([[0.5, 0.6, -0.1], [-2.0, 0.0, 0.5]])
    np.testing.assert_array_equal(features.f(x)[:, 0], [[0.5, 0.5, -0.1], [-0.5, 0.0, 0.5]])
    np.testing.assert_array_equal(features.g(x)[:, 0], x)
    assert features.clipped_coordinates(x) == 2
    assert (family.Q, family.S, family.R) == (3, 3, 0.5)


def test_identity_is_one_pair() -> None:
    with pytest.raises(ValueError, match=r"^instances=2 must be an integer in \[1, 1\]\.$"):
        Identity(3).sample(2, np.random.default_rng(12))


@pytest.mark.parametrize("family", HASHED, ids=repr)
def test_sparse_and_dense_features_agree(family: HashedPartition) -> None:
    features = family.sample(7, np.random.default_rng(14))
    x = points(family, 20, 15)
    coordinates, values = features.nonzero(x)
    dense = np.zeros((20, features.coordinates))
    dense[np.arange(20)[:, None], coordinates] = values
    np.testing.assert_array_equal(features.f(x).reshape(20, -1), dense)
    weights = np.random.default_rng(16).normal(size=(features.coordinates, 2))
    np.testing.assert_allclose(features.project(x, weights), dense @ weights, rtol=1e-12, atol=1e-12)
    assert set(np.unique(values)) <= ({-1.0, 1.0} if family.signed else {1.0})


@pytest.mark.parametrize("family", HASHED, ids=repr)
def test_three_points_meet_as_claimed(family: HashedPartition) -> None:
    """Cells keep `P(all three together) = sqrt(k k k)`, and hashes are independent for three cells."""
    x = 0.5 * points(family, 3, 17)
    features = family.sample(200_000, np.random.default_rng(18))
    values = features.f(x)
    k = family.kernel(x, x)
    together, q = math.sqrt(k[0, 1] * k[0, 2] * k[1, 2]), 1 / family.Q
    product = np.einsum("ij,ij->i", values[0], values[2]) * np.einsum("ij,ij->i", values[1], values[2])
    pairs = k[0, 1] + k[0, 2] + k[1, 2] - 3 * together
    expected = (
        together + (k[0, 1] - together) * q if family.signed else together + pairs * q + (1 - together - pairs) * q * q
    )
    assert_mean(product, expected)


def test_laplacian_and_exponential_kernels_are_the_formulas() -> None:
    x, y = [[0.0, 0.0]], [[0.3, -0.4]]
    assert LaplacianBinning(2, 0.5).kernel(x, y) == pytest.approx(math.exp(-1.4), rel=1e-12)
    assert ExponentialTessellation(2, 0.5).kernel(x, y) == pytest.approx(math.exp(-1.0), rel=1e-12)


def test_hyperplanes_between_points_are_poisson() -> None:
    """In many dimensions too: the rate's constant depends on d, and cells are kept apart by at least one plane."""
    family = ExponentialTessellation(30, 0.9, buckets=2**20)
    x = points(family, 2, 19)
    coordinates, _ = family.sample(20_000, np.random.default_rng(20)).nonzero(x)
    assert_mean(coordinates[0] == coordinates[1], family.kernel(x, x)[0, 1] + 2.0**-20)


def test_hashed_families_refuse_what_they_do_not_cover() -> None:
    rng = np.random.default_rng(21)
    ball = ExponentialTessellation(2, radius=2.0).sample(2, rng)
    ball.f([[0.0, 2.001]])
    for call in (ball.f, ball.g):
        with pytest.raises(
            ValueError, match=r"^[xy]\[1\] has Euclidean norm 2\.1, but must be in the ball of radius=2"
        ):
            call([[0.0, 0.0], [0.0, 2.1]])
    with pytest.raises(ValueError, match=r"^x\[0\] has an entry of size 1e\+07"):
        LaplacianBinning(2).sample(2, rng).f([[0.0, 1e7]])
    with pytest.raises(ValueError, match=r"^buckets=1 must be an integer in \[2, 1\.04858e\+06\]\.$"):
        LaplacianBinning(2, buckets=1)
    with pytest.raises(ValueError, match=r"^radius=0\.0 must be a finite number in \(0, inf\)\.$"):
        ExponentialTessellation(2, radius=0.0)
    with pytest.raises(TypeError, match=r"^_Cosines is not sparse"):
        GaussianFeatures(2).sample(2, rng).nonzero([[0.0, 1.0]])
