"""Points far apart in their features: counted on the features themselves, and found where they are known to be."""

import math

import numpy as np
import pytest

from dpverify.claims.registry import claims_of
from dpverify.claims.shared.distant import aligned, climbed, farthest, opposite_sizes, turned_bits
from protocols.lsq import (
    ExponentialTessellation,
    FourierPairs,
    GaussianFeatures,
    Identity,
    LaplacianBinning,
    LinearMap,
    LSQFamily,
    RandomSigns,
    ScaledFeatures,
)

BALL = {"radius": 1.0, "outside": "refuse"}
RNG = np.random.default_rng(4)


def test_bits_turn_in_one_direction_only_if_they_reach_both_ends() -> None:
    features = Identity(4, 0.5).sample(1, RNG)
    points = np.array([[0.5, 0.7, -0.5, 0.49999], [-0.5, -0.5, 0.5, -0.5]])
    assert turned_bits(features, points) == turned_bits(features, points[::-1]) == 2
    assert turned_bits(features, np.array([[0.5, 0.5, 0.5, 0.5], [0.5, -0.499, 0.0, 0.5]])) == 0


def test_sizes_are_those_of_probabilities_and_0_where_features_are_not_opposite() -> None:
    features = LinearMap(5, "haar", 0.4, rows=8, **BALL).sample(1, RNG)
    points = farthest(features.family.matrix, 1.0)
    chances = features.f(points)[:, 0] / (2.0 * 0.4) + 0.5
    sizes = opposite_sizes(features, points)
    assert sizes == pytest.approx(np.abs(chances[0] - chances[1]), abs=1e-14)
    assert (sizes <= np.abs(chances[0] - chances[1])).all()
    assert (sizes <= 1.0).all()
    assert not opposite_sizes(FourierPairs(3).sample(4, RNG), np.ones((2, 3)) * [[1.0], [-1.0]]).any()


@pytest.mark.parametrize("rows", [40, 160])
def test_a_climb_finds_points_that_reveal_more_than_its_starts(rows: int) -> None:
    matrix, limit = LinearMap(40, "haar", 0.3, rows=rows, **BALL).matrix, 0.3
    clipped = aligned(matrix, np.full((1, rows), limit), 1.0)[0]
    starts = np.stack([clipped, farthest(matrix, 1.0)[0]])

    def revealed(x: np.ndarray, steepness: float) -> float:
        square = np.minimum((matrix @ x / limit) ** 2, 1.0)
        return float(np.sum(square / (1.0 - steepness * square)))

    found = climbed(matrix, limit, 1.0, starts)
    for points in found:
        assert (points[0] == -points[1]).all()
        assert float(np.linalg.norm(points[0])) <= 1.0 - 1e-10
    for steepness in (0.2, 0.7):
        most = max(revealed(start, steepness) for start in starts)
        best = max(revealed(points[0], steepness) for points in found)
        assert best > (1.0 if rows == 40 else 1.03) * most


def test_as_many_rows_as_fit_take_their_values() -> None:
    matrix = RNG.standard_normal((6, 4))
    wanted = np.stack([np.full(6, 0.3), -np.arange(6.0)])
    anywhere = aligned(matrix, wanted, math.inf)
    assert anywhere @ matrix[:4].T == pytest.approx(wanted[:, :4], abs=1e-10)
    inside = aligned(np.eye(6), np.full((1, 6), 0.5), 1.01)
    assert inside[0].tolist() == [0.5] * 4 + [0.0] * 2
    assert not aligned(np.eye(6), np.full((1, 6), 0.5), 0.4).any()
    # A row that is a multiple of another cannot be chosen freely: what comes before it can.
    repeated = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert aligned(repeated, np.ones((1, 3)), math.inf)[0] == pytest.approx([1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("family", "pairs", "least"),
    [
        (LinearMap(40, "haar", 0.3, **BALL), 1, 11),  # 11 coordinates at 0.3 have norm 0.995
        (LinearMap(40, "hadamard", 0.3, **BALL), 1, 4),
        (LinearMap(40, "signs", 0.3, rows=9, **BALL), 1, 6),
        (LinearMap(6, "haar", 0.3, rows=12), 1, 6),
        (FourierPairs(30), 20, 20),
        (FourierPairs(9), 20, 9),
        (FourierPairs(9, 0.1, **BALL), 20, 6),
        (GaussianFeatures(9, 0.1, **BALL), 20, 6),
        (RandomSigns(6), 5, 1),
        (ExponentialTessellation(6, 0.5, 1, True), 20, 5),
        (LaplacianBinning(6, 0.5, 1, True, **BALL), 20, 5),
        (ScaledFeatures(FourierPairs(30), 20, 9.0), 1, 20),
    ],
    ids=repr,
)
def test_points_that_users_may_hold_change_bits_in_full(family: LSQFamily, pairs: int, least: int) -> None:
    features = family.sample(pairs, np.random.default_rng(1))
    claims = claims_of(family)
    found = claims.bits_in_full(features)
    assert least <= found <= claims.squared_change(features)
    for points in claims.distant_points(features):
        chances = features.f(points).reshape(2, -1) / (2.0 * family.R) + 0.5
        surely = ((chances[0] == 1.0) & (chances[1] == 0.0)).sum(), ((chances[0] == 0.0) & (chances[1] == 1.0)).sum()
        assert turned_bits(features, points) == max(surely)


def test_a_climb_that_starts_at_0_is_outdone_by_the_others() -> None:
    with np.errstate(divide="raise", invalid="raise"):
        found = climbed(np.eye(3), 1.0, 1.0, np.zeros((1, 3)))
    assert all(np.linalg.norm(points, axis=1).min() > 0.99 for points in found)
