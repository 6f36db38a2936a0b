"""The grid of ratios: every ratio lies between the points that its digits tell."""

import math

import numpy as np
import pytest

from dpverify.privacy_loss.sampling.ratios import RatioGrid


@pytest.mark.parametrize(
    ("lowest", "highest", "deviation"), [(0.3, 40.0, 1.0), (0.99, 1.02, 1e-3), (1e-200, 1e90, 1.0)]
)
def test_a_grid_is_looked_up_as_it_is_searched(lowest: float, highest: float, deviation: float) -> None:
    grid = RatioGrid.over(lowest, highest, deviation)
    assert grid.points[0] <= lowest
    assert grid.points[-1] > highest
    assert 500 < grid.points.size < 16_000
    inside = np.exp(np.random.default_rng(4).uniform(math.log(lowest), math.log(highest), 5_000))
    ratios = np.concatenate([inside, [lowest, highest], grid.points[1:-1], np.nextafter(grid.points[1:-1], 0.0)])
    np.testing.assert_array_equal(grid.below(ratios), np.searchsorted(grid.points, ratios, side="right") - 1)
