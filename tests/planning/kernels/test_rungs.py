"""The features that a density estimator may use, and their error at one point."""

import math

import numpy as np
import pytest

from dpverify.claims.kde.error import mse
from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.kernels.rungs import (
    check_kernel,
    drawn,
    kernels,
    ladder,
    rmse_at_one_point,
    rmse_of_spread_points,
)
from protocols.lsq import FourierPairs, GaussianFeatures, Identity, LaplacianBinning, LinearMap, LSQFamily
from tests.samples import sphere


@pytest.mark.parametrize(
    ("family", "pairs"),
    [(FourierPairs(3), 7), (GaussianFeatures(3, 0.4), 5), (LaplacianBinning(3, 0.7, 4), 6)],
    ids=repr,
)
def test_the_error_at_one_point_is_exact_and_the_worst(family: LSQFamily, pairs: int) -> None:
    found = rmse_at_one_point(family, pairs, 20, 3.0)
    point = np.full((1, 3), 3.0**-0.5)
    far = point[0] + 900.0
    worst = mse(family, np.repeat(point, 20, axis=0), far, instances=pairs, bitsum_rmse=3.0) ** 0.5
    near = mse(family, np.repeat(point, 20, axis=0), point[0], instances=pairs, bitsum_rmse=3.0) ** 0.5
    assert found == pytest.approx(max(worst, near), rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    "family", [LinearMap(6, "haar", 0.4, gain=1.1), Identity(6, 0.5), LinearMap(6, rows=2)], ids=repr
)
def test_the_error_of_maps_is_a_mean_over_points(family: LSQFamily) -> None:
    found = rmse_at_one_point(family, 1, 20, 3.0)
    rng = np.random.default_rng(5)
    same, across = [], []
    for _ in range(400):
        x, y = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
        users = np.repeat(x[np.newaxis], 20, axis=0)
        same.append(mse(family, users, x, instances=1, bitsum_rmse=3.0))
        across.append(mse(family, users, y, instances=1, bitsum_rmse=3.0))
    assert found == pytest.approx(math.sqrt(max(np.mean(same), np.mean(across))), rel=0.35)


@pytest.mark.parametrize("family", [LinearMap(24, "haar", 0.4, gain=1.1), Identity(24, 0.3)], ids=repr)
def test_what_a_map_cuts_off_cancels_where_points_are_in_all_directions(family: LinearMap) -> None:
    found = rmse_of_spread_points(family, 1, 20, 1.0)
    errors = []
    for seed in range(60):
        x, y = sphere(10, 24, seed), sphere(1, 24, 900 + seed)[0]
        # Of a point and its opposite the bias is 0, and both are rounded alike.
        errors.append(mse(family, np.concatenate([x, -x]), y, instances=1, bitsum_rmse=1.0))
    assert found == pytest.approx(math.sqrt(np.mean(errors)), rel=0.08)
    assert found < 0.9 * rmse_at_one_point(family, 1, 20, 1.0)


@pytest.mark.long
@pytest.mark.parametrize("kernel", kernels())
def test_every_rung_has_twice_the_bits_of_the_one_before(kernel: str) -> None:
    rungs = ladder(kernel, 16, 1.0)
    sizes = [{each.measured().bits for each in rung} for rung in rungs]
    assert all(len(size) == 1 for size in sizes)
    bits = [size.pop() for size in sizes]
    assert bits == [bits[0] * 2**place for place in range(len(bits))]
    for rung in rungs:
        for each in rung:
            exact = claims_of(each.family).squared_change(drawn(each.family, each.pairs))
            assert each.measured().squared_change == exact
            assert each.change == pytest.approx(exact, rel=0.05)
            assert each.normal_rmse(50, 2.0) == rmse_at_one_point(
                each.family, each.pairs, 50, 2.0 * math.sqrt(each.change)
            )


def test_a_kernel_is_checked_with_what_belongs_to_it() -> None:
    assert check_kernel("Gaussian", 3, 2.0, Budget("1", "1e-6")) == "gaussian"
    with pytest.raises(ValueError, match=r"^bandwidth=2\.0 must be 1 for the kernel inner-product"):
        check_kernel("inner-product", 3, 2.0, Budget("1", "1e-6"))
    with pytest.raises(InfeasibleBudgetError, match=r"^delta=0 cannot be met here"):
        check_kernel("gaussian", 3, 1.0, Budget("1", 0))
