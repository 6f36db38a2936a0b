"""Public features of points in the unit ball."""

import numpy as np
import pytest

from dpverify.claims.registry import claims_of
from dpverify.learning.features import PublicFeatures
from dpverify.planning.kernels.rungs import kernels

WIDTHS = {"inner-product": None, "gaussian": 0.7, "laplacian": 1.2, "exponential": 0.7}


@pytest.mark.parametrize("kernel", kernels())
def test_features_estimate_their_kernel(kernel: str) -> None:
    public = PublicFeatures(kernel, 3, WIDTHS[kernel], 16_384)
    points = np.array([[0.6, 0.0, 0.8], [0.0, 0.0, 0.0], [-0.5, 0.5, 0.1]])
    f, g = (side(points).reshape(3, -1) for side in (public.drawn.f, public.drawn.g))
    # Hoeffding's inequality for products in [-1, 1] (pairs in [-1, 1] too), at 1e-6; the rotations are exact.
    np.testing.assert_allclose(f @ g.T / public.pairs, public.family.kernel(points, points), atol=0.06)


@pytest.mark.parametrize("kernel", kernels())
def test_the_change_is_an_upper_bound_of_few_digits(kernel: str) -> None:
    public = PublicFeatures(kernel, 7, WIDTHS[kernel])
    exact = claims_of(public.family).squared_change(public.drawn)
    assert exact <= public.squared_change <= min(exact * 1.001, public.drawn.coordinates)


def test_many_dimensions_share_their_plans() -> None:
    changes = {PublicFeatures("inner-product", d, None, 640).squared_change for d in (5, 10, 20, 64)}
    assert len(changes) == 1


def test_defaults() -> None:
    assert [PublicFeatures("inner-product", d, None).drawn.coordinates for d in (3, 256, 384)] == [258, 256, 384]
    assert PublicFeatures("gaussian", 3, 1.0).drawn.coordinates == 1024


def test_noise_is_that_of_the_densities() -> None:
    public = PublicFeatures("gaussian", 3, 1.0, 512)
    rng = np.random.default_rng(1)
    queries = np.array([[1.0, 0, 0], [0, 0.6, 0.8]])
    g = public.drawn.g(queries).reshape(2, -1)
    noise = 2.0 * public.family.R * 30.0 / 100 * rng.standard_normal((4000, 512)) / public.pairs
    np.testing.assert_allclose((noise @ g.T).std(axis=0), public.noise(30.0, 100), rtol=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("linear", 3, None), r"^kernel='linear' must be one of"),
        (("gaussian", 3, -1.0), r"^bandwidth=-1\.0 must be"),
        (("inner-product", 3, 1.0), r"^bandwidth=1\.0 must be None for the kernel inner-product"),
        (("gaussian", 3, 1.0, 33), r"^bits=33 must be a multiple of 2"),
        (("gaussian", 3, 1.0, 0), r"^bits=0 must be"),
        (("gaussian", 2**20, 1.0), r"^dimension=1048576 with bits=1024 must be smaller"),
        (("gaussian", 3, 1.0, None, -1), r"^public_random_state=-1 must be"),
    ],
)
def test_settings_are_checked(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PublicFeatures(*arguments)  # type: ignore[arg-type]
