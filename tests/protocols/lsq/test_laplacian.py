"""The Laplacian kernel: cells of a random grid, coordinate by coordinate, as far as cells are exact integers."""

import math

import numpy as np
import pytest

from protocols.lsq import LaplacianBinning
from tests.samples import assert_mean


def test_the_kernel_is_the_formula() -> None:
    found = LaplacianBinning(2, 0.5).kernel([[0.0, 0.0]], [[0.3, -0.4]])
    assert found == pytest.approx(math.exp(-1.4), rel=1e-12)


@pytest.mark.parametrize("bandwidth", [0.25, 3.0])
def test_points_share_a_cell_as_often_as_the_kernel_says(bandwidth: float) -> None:
    # Steps along one axis, along both, and far from 0, where the shift is all that is random.
    family = LaplacianBinning(2, bandwidth, buckets=2**20)
    origin, steps = np.array([7.0, -1.0]), np.array([[0.0, 0.0], [0.4, 0.0], [-0.5, 0.3], [0.0, -2.0]]) * bandwidth
    coordinates, _ = family.sample(30_000, np.random.default_rng(3)).nonzero(origin + steps)
    together = (coordinates == coordinates[:1]).T
    exact = np.exp(-np.abs(steps).sum(axis=1) / bandwidth)
    assert_mean(together, exact + (1 - exact) * 2.0**-20)


def test_the_grid_ends_where_cells_would_not_be_exact() -> None:
    features = LaplacianBinning(2, 0.5).sample(2, np.random.default_rng(21))
    features.f([[0.0, -(2.0**19)]])
    with pytest.raises(ValueError, match=r"^x\[1\] has an entry of size 524289, but entries must be in \[-2\^20, 2"):
        features.f([[0.0, 1.0], [2.0**19 + 1, 0.0]])
    with pytest.raises(ValueError, match=r"^y\[0\] has an entry of size 1e\+07"):
        features.g([[0.0, 1e7]])
