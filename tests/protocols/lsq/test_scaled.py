"""Features scaled to a public norm."""

import numpy as np
import pytest

from protocols.lsq import FourierPairs, Identity, LaplacianBinning, LinearMap, RandomSigns, ScaledFeatures
from tests.refusals import refused

RNG = np.random.default_rng(0)


def test_long_features_are_scaled_and_short_ones_kept() -> None:
    base = LinearMap(4, "signs", 10.0, rows=6)
    inner, features = base.sample(1, RNG), ScaledFeatures(base, 1, 2.0).sample(1, RNG)
    x = RNG.standard_normal((50, 4)) * RNG.uniform(0.1, 4.0, (50, 1))
    before, after = inner.f(x)[:, 0], features.f(x)[:, 0]
    norms = np.linalg.norm(before, axis=1)
    assert (norms > 2.0).sum() not in (0, 50)
    np.testing.assert_allclose(after, before * np.minimum(1.0, 2.0 / norms)[:, np.newaxis], rtol=1e-12)
    assert features.clipped_coordinates(x) == 6 * (norms > 2.0).sum()
    np.testing.assert_array_equal(features.g(x), inner.g(x))


def test_pairs_of_an_instance_each_become_one_pair() -> None:
    base = FourierPairs(3, 0.7)
    family = ScaledFeatures(base, 5, 100.0, seed=4)
    inner, features = base.sample(5, np.random.default_rng(4)), family.sample(1, RNG)
    x = RNG.standard_normal((3, 3))
    np.testing.assert_array_equal(features.f(x)[:, 0], inner.f(x).reshape(3, 10))
    np.testing.assert_array_equal(features.g(x)[:, 0], inner.g(x).reshape(3, 10) / 5)
    assert (family.Q, family.S, family.R) == (10, 10, 1.0)
    np.testing.assert_array_equal(family.kernel(x, x), base.kernel(x, x))


def test_what_the_base_asks_of_points_holds() -> None:
    assert ScaledFeatures(RandomSigns(3), 2, 1.0).requires_unit_vectors
    with pytest.raises(ValueError, match=r"^x\[0\] has Euclidean norm 2, but must have norm 1"):
        ScaledFeatures(RandomSigns(3), 2, 1.0).sample(1, RNG).f([[2.0, 0.0, 0.0]])
    ball = ScaledFeatures(LinearMap(3, radius=1.0), 1, 0.5)
    assert ball.radius == 1.0
    with pytest.raises(ValueError, match=r"^x\[0\] has Euclidean norm 2, but must be in the ball of radius=1"):
        ball.sample(1, RNG).f([[2.0, 0.0, 0.0]])


def test_a_norm_below_the_range_is_the_range() -> None:
    family = ScaledFeatures(LaplacianBinning(2, buckets=4), 3, 0.5)
    assert family.R == 0.5
    assert np.abs(family.sample(1, RNG).f(RNG.standard_normal((9, 2)))).max() <= 0.5


def test_features_whose_norm_overflows_are_refused() -> None:
    features = ScaledFeatures(Identity(2, 1e200), 1, 1.0).sample(1, RNG)
    np.testing.assert_allclose(features.f([[3e150, 4e150]]), [[[0.6, 0.8]]], rtol=1e-12)
    for ask in (features.f, features.clipped_coordinates):
        with pytest.raises(
            ValueError, match=r"^x\[1\] is so large that the norm of its features overflows; it must be"
        ):
            ask([[1.0, 0.0], [3e160, 4e160]])


def test_bad_arguments() -> None:
    with refused("base='gaussian'", TypeError):
        ScaledFeatures("gaussian", 3, 1.0)
    with refused("instances=2"):
        ScaledFeatures(LinearMap(3), 2, 1.0)
    for norm in (0.0, 1e-200, 1e200):
        with refused("norm"):
            ScaledFeatures(FourierPairs(3), 2, norm)
