"""What every family's twin has: means over pairs of users, far queries, and how accurate moments are in floats."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpverify.claims.lsq import base
from dpverify.claims.registry import claims_of
from protocols.lsq import ExponentialTessellation, LaplacianBinning
from protocols.lsq.hashing import HashedPartition


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7])
def test_means_over_pairs_leave_out_the_diagonal(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(base, "_CHUNK", 3)
    x = np.random.default_rng(1).normal(size=(count, 2))

    def value(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        assert len(first) <= 3
        return first[:, :1] + 10.0 * second[:, 1]  # no symmetry

    exact = sum(x[u, 0] + 10.0 * x[v, 1] for u in range(count) for v in range(count) if u != v) / count**2
    assert base.pair_mean(x, value) == pytest.approx(exact, rel=1e-12, abs=1e-15)


def test_a_far_query_is_far_from_every_point_in_every_coordinate() -> None:
    x = np.array([[-9.0, 0.5], [2.0, -0.25]])
    (query,) = base.far_query(x, 4.0)
    assert query.shape == (2,)
    assert (np.abs(query - x) >= 4.0).all()


@pytest.mark.parametrize("kernel", [LaplacianBinning, ExponentialTessellation])
@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_rounding_takes_moments_no_farther_than_is_said(kernel: type[HashedPartition], dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    family = kernel(dimension, 1.5, 1, True, radius=100.0)
    claims = claims_of(family)
    x, z = rng.normal(size=(2, 30, dimension)) / dimension
    y = rng.normal(size=dimension) / dimension
    size, relative = claims.accuracy(family, x)

    def exact(a: np.ndarray, b: np.ndarray) -> mp.mpf:
        differences = [mp.mpf(float(u)) - mp.mpf(float(v)) for u, v in zip(a, b, strict=True)]
        norm = mp.fsum(map(abs, differences)) if kernel is LaplacianBinning else mp.norm(differences)
        return mp.exp(-norm / mp.mpf(1.5))

    with mp.workdps(40):
        for point, value in zip(x, claims.expected(family, x, y), strict=True):
            assert abs(mp.mpf(float(value)) - exact(point, y)) <= relative * size
        products = claims.product(family, x, z, y)
        for i in range(0, 30, 3):
            k = exact(x[i], z[i]), exact(x[i], y), exact(z[i], y)
            together = mp.sqrt(k[0] * k[1] * k[2])
            truth = together + (k[0] - together)  # one bucket
            assert abs(mp.mpf(float(products[i, i])) - truth) <= 5 * relative * size**2


@pytest.mark.parametrize("instances", [1, 3, 7, 50])
def test_bounds_of_one_points_change_are_rounded_upwards(instances: int) -> None:
    features = LaplacianBinning(3, 1.5, 4).sample(instances, np.random.default_rng(1))
    claims = claims_of(features.family)
    # By Definition 2.1 alone: one coordinate of each.
    assert base.LSQClaims.squared_change(claims, features) == float(instances)
    assert instances < Fraction(claims.query_norm(features)) ** 2 <= instances * (1 + Fraction(1, 10**14))
    ball = ExponentialTessellation(3, radius=2.5).sample(1, np.random.default_rng(1))
    assert base.ball_radius(ball) >= 2.5


def test_the_spread_of_a_linear_map_is_that_of_opposite_points() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(5, 3))
    largest = float(np.linalg.svd(matrix, compute_uv=False)[0])
    found = base.linear_spread(matrix, 0.75)
    assert 2.0 * 0.75 * largest * (1 - 1e-14) <= found <= 2.0 * 0.75 * largest * (1 + 1e-9)
    assert found <= base.linear_spread(matrix, 0.75, 10.0) <= found * (1 + 1e-12)
    assert base.linear_spread(matrix, np.inf) == np.inf
