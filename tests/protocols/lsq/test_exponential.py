"""The exponential kernel: hyperplanes between points are Poisson, and cover the ball that is promised."""

import math

import numpy as np
import pytest

from protocols.lsq import ExponentialTessellation
from tests.refusals import refused
from tests.samples import assert_mean, sphere


def test_the_kernel_is_the_formula() -> None:
    found = ExponentialTessellation(2, 0.5).kernel([[0.0, 0.0]], [[0.3, -0.4]])
    assert found == pytest.approx(math.exp(-1.0), rel=1e-12)


def test_hyperplanes_between_points_are_poisson() -> None:
    """In many dimensions too: the rate's constant depends on d, and cells are kept apart by at least one plane."""
    family = ExponentialTessellation(30, 0.9, buckets=2**20)
    x = sphere(2, 30, 19)
    coordinates, _ = family.sample(20_000, np.random.default_rng(20)).nonzero(x)
    assert_mean(coordinates[0] == coordinates[1], family.kernel(x, x)[0, 1] + 2.0**-20)


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_the_whole_ball_is_tessellated(radius: float) -> None:
    # Opposite points of the sphere, with the tolerance: every hyperplane between them must exist.
    family = ExponentialTessellation(1, 1.0, buckets=2**20, radius=radius)
    assert family.mean_hyperplanes == pytest.approx(2 * family.reach, rel=1e-12)
    x = np.array([[family.reach], [-family.reach]])
    coordinates, _ = family.sample(20_000, np.random.default_rng(5)).nonzero(x)
    assert_mean(coordinates[0] == coordinates[1], math.exp(-2 * family.reach) + 2.0**-20)


def test_points_outside_the_ball_are_refused() -> None:
    ball = ExponentialTessellation(2, radius=2.0).sample(2, np.random.default_rng(21))
    ball.f([[0.0, 2.001]])
    for call, name in ((ball.f, "x"), (ball.g, "y")):
        said = rf"^{name}\[1\] has Euclidean norm 2\.1, but must be in the ball of radius=2 \(within 0\.001\)\.$"
        with pytest.raises(ValueError, match=said):
            call([[0.0, 0.0], [0.0, 2.1]])
    with refused("radius=0.0"):
        ExponentialTessellation(2, radius=0.0)
