"""Features of inner products: random signs and coordinates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.lsq import Identity, RandomSigns
from tests.refusals import refused


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
    with refused("instances=2"):
        Identity(3).sample(2, np.random.default_rng(12))
