"""Public scales, and bandwidths in the units of scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from dpverify.learning.scale import PublicScale, bandwidth_from_gamma, default_bandwidth, gamma_from_bandwidth
from protocols.lsq import FourierPairs, LaplacianBinning
from tests.refusals import refused


@pytest.mark.parametrize("scale", ["unit", 1e-3, 7.0, (-1.0, 2.0), ([-1.0, 0.0, -5.0], [1.0, 1e6, 5.0])])
def test_every_point_is_mapped_into_the_unit_ball(scale: object) -> None:
    made = PublicScale.of(scale)
    X = np.array([[1e300, -1e300, 1e300], [5e-324, 0, 0], [0, 0, 0], [3, -4, 1e6], [0.1, 0.2, 0.3]])
    mapped = made(X)
    assert np.isfinite(mapped).all()
    assert np.linalg.norm(mapped, axis=1).max() <= 1 + 1e-12
    assert PublicScale.from_dict(made.to_dict()) == made


def test_what_each_scale_does() -> None:
    X = np.array([[3.0, -4.0], [0.0, 0.0], [0.3, 0.4]])
    np.testing.assert_allclose(PublicScale.of("unit")(X), [[0.6, -0.8], [0, 0], [0.6, 0.8]])
    np.testing.assert_allclose(PublicScale.of(1.0)(X), [[0.6, -0.8], [0, 0], [0.3, 0.4]])
    boxed = PublicScale.of(([0.0, -4.0], [6.0, 0.0]))(X) * math.sqrt(2)
    np.testing.assert_allclose(boxed, [[0, -1], [-1, 1], [-0.9, 1]])


def test_nobody_takes_part_with_more_than_norm_1() -> None:
    X = np.outer([0.1, 0.99, 1.01, 1.5, 3.0, 1e200], [2.0, 0.0])
    assert np.linalg.norm(PublicScale.of(2.0)(X), axis=1) == pytest.approx([0.1, 0.99, 1.0, 1.0, 1.0, 1.0])
    tiny = np.array([[3e-30, 4e-30], [0.0, 0.0]], dtype=np.float32)  # whose squares are 0
    np.testing.assert_allclose(PublicScale.of("unit")(tiny, single=True), [[0.6, 0.8], [0, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("norm", r"^public_scale='norm' must be"),
        (0.0, r"^public_scale=0\.0 must be"),
        (math.nan, r"^public_scale=nan must be"),
        ((1.0, 1.0), r"low=1 and high=1, but low must be below high\.$"),
        ((-1e101, 1.0), r"low=-1e\+101, but must have finite numbers of size 1e100 at most\.$"),
        ((1.0, 2.0, 3.0), r"must be 'unit', a radius, or two bounds"),
        (([0.0, 0.0], [1.0, math.inf]), r"must have finite numbers"),
    ],
)
def test_scales_are_checked(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PublicScale.of(value)


def test_bounds_are_for_each_coordinate_or_for_all() -> None:
    with pytest.raises(ValueError, match=r"^public_scale has 2 bounds, but must have one, or the 3 of X\.$"):
        PublicScale.of(([0, 0], [1, 1]))(np.ones((1, 3)))


@given(st.floats(1e-100, 1e100))
def test_bandwidth_and_gamma_are_each_others_inverse(bandwidth: float) -> None:
    for kernel in ("gaussian", "laplacian"):
        assert bandwidth_from_gamma(gamma_from_bandwidth(bandwidth, kernel), kernel) == pytest.approx(bandwidth)


def test_gamma_is_that_of_scikit_learn() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 4, 3))
    np.testing.assert_allclose(
        FourierPairs(3, 0.7).kernel(x, y), rbf_kernel(x, y, gamma_from_bandwidth(0.7, "gaussian"))
    )
    laplacian = laplacian_kernel(x, y, gamma_from_bandwidth(0.7, "laplacian"))
    np.testing.assert_allclose(LaplacianBinning(3, 0.7).kernel(x, y), laplacian)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_gammas_are_checked(value: float) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        gamma_from_bandwidth(value, "gaussian")
    with pytest.raises(ValueError, match=r"must be"):
        bandwidth_from_gamma(value, "gaussian")
    with refused("kernel='exponential'"):
        gamma_from_bandwidth(1.0, "exponential")


def test_gammas_beyond_the_floats_are_refused() -> None:
    with pytest.raises(ValueError, match=r"beyond the floats"):
        gamma_from_bandwidth(1e-200, "gaussian")
    with pytest.raises(ValueError, match=r"beyond the floats"):
        gamma_from_bandwidth(1e200, "gaussian")


def test_the_default_depends_on_public_numbers() -> None:
    assert default_bandwidth("inner-product", PublicScale.of("unit"), 9) is None
    assert default_bandwidth("gaussian", PublicScale.of((0, 1)), 9) == 0.4
    assert default_bandwidth("laplacian", PublicScale.of((0, 1)), 9) == pytest.approx(1.26)
    assert default_bandwidth("exponential", PublicScale.of((0, 1)), 9) == pytest.approx(0.42)


def test_directions_of_single_precision_are_those_of_double() -> None:
    points = np.random.default_rng(5).normal(size=(40, 7)).astype(np.float32)
    scale = PublicScale.of("unit")
    for part in (points, np.concatenate([points * np.float32(1e25), points * np.float32(1e-30), 0 * points])):
        single = scale(part, single=True)
        assert (single.dtype, scale(part).dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(single, scale(part), atol=3e-7)
    assert PublicScale.of(2.0)(points, single=True).dtype == np.float64
