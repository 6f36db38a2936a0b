"""Lower ends of density estimation: against the very dataset that attains them, by exact laws of every bit."""

import itertools
import math

import numpy as np
import pytest

from dpverify.claims.kde.attained import grouped, opposite_curve
from dpverify.claims.registry import claims_of
from protocols.bitsum import CentralDiscreteLaplace, RandomizedResponse
from protocols.lsq import FourierPairs, LinearMap, LSQFamily
from tests.claims.kde.densities import account_kde, view_law

BALL = {"radius": 1.0, "outside": "refuse"}


def largest_found(family: LSQFamily, pairs: int, users: int, p: float, epsilon: float) -> float:
    """The largest divergence over the points that the twin proposes, each other user at one of them or at 0."""
    features = family.sample(pairs, np.random.default_rng(0))
    worst = 0.0
    for points in claims_of(family).distant_points(features):
        held = np.vstack([points, np.zeros((1, family.dimension))])
        chances = features.f(held).reshape(3, -1) / (2.0 * family.R) + 0.5
        for others in itertools.combinations_with_replacement(range(3), users - 1):
            crowd = chances[list(others)]
            p_law, q_law = (view_law(np.vstack([chances[me : me + 1], crowd]), p) for me in (0, 1))
            for first, second in ((p_law, q_law), (q_law, p_law)):
                worst = max(worst, float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum()))
    return worst


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "pairs"),
    [
        (LinearMap(3, "haar", 0.8, **BALL), 1),
        (LinearMap(2, "haar", 0.9, rows=4, **BALL), 1),
        (LinearMap(3, "signs", 0.5, rows=4, **BALL), 1),
        (FourierPairs(3), 2),
    ],
    ids=repr,
)
def test_the_lower_end_is_attained_by_points(family: LSQFamily, pairs: int) -> None:
    users, p = 3, 0.2
    for epsilon in (0.3, 1.2):
        exact = largest_found(family, pairs, users, p, epsilon)
        found = account_kde(RandomizedResponse(users, p), family, pairs, epsilon=epsilon).delta
        assert 0.0 < found.lower <= exact * (1.0 + 1e-9) <= found.upper * (1.0 + 2e-9)
        assert found.lower >= 0.5 * exact


@pytest.mark.long
def test_the_interval_of_a_rotation_is_narrow() -> None:
    """Rotations of 40 dimensions: with one of them as many coordinates as the ball holds are clipped."""
    bitsum, limit = RandomizedResponse(857, 0.3), 0.3
    one = account_kde(bitsum, LinearMap(40, "haar", limit, **BALL), 1, delta=1e-6).epsilon
    assert 0.0 < one.width < 0.02 * one.lower
    for rows in (6, 24):
        several = account_kde(bitsum, LinearMap(6, "haar", 0.9, rows=rows, **BALL), 1, delta=1e-6).epsilon
        assert 0.0 < several.width < 0.05 * several.lower


def test_there_is_none_without_a_law_of_bits_among_equals_and_more_runs_reveal_more() -> None:
    features = LinearMap(4, "haar", 0.5, **BALL).sample(1, np.random.default_rng(0))
    assert opposite_curve(CentralDiscreteLaplace(30, 0.7), features, 1, 1e-6) is None
    once, twice = (
        opposite_curve(RandomizedResponse(30, 0.2), features, runs, 1e-6).epsilon(1e-6).lower  # type: ignore[union-attr]
        for runs in (1, 2)
    )
    assert 1.2 * once < twice < 2.0 * once


@pytest.mark.parametrize("size", [1.0, 0.6])
def test_a_bit_among_equals_is_that_of_reports_flipped_as_often(size: float) -> None:
    """n - 1 reports and hers before are 1 with q, hers after with 1 - q."""
    users, p = 7, 0.1
    q = (1.0 - p) * (1.0 + size) / 2.0 + p * (1.0 - size) / 2.0
    before, after = (view_law(np.array([[first]] + [[q]] * (users - 1)), 0.0) for first in (q, 1.0 - q))
    pairs = claims_of(RandomizedResponse(users, p)).among_equals(RandomizedResponse(users, p), size)
    assert pairs is not None
    for pair, (one, other) in zip(pairs, ((after, before), (before, after)), strict=True):
        for epsilon in (-0.5, 0.2, 1.0):
            exact = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
            assert pair.delta(epsilon).lower == pytest.approx(exact, rel=1e-9)


def test_sizes_are_lowered_to_few() -> None:
    sizes = np.append(np.random.default_rng(3).uniform(size=1000), [1e-5, 0.0])
    groups = grouped(sizes)
    assert len(groups) <= 96
    lowered = np.sort(np.concatenate([np.full(count, size) for size, count in groups]))
    kept = np.sort(sizes)[-lowered.size :]
    assert (lowered <= kept).all()
    assert float(lowered @ lowered) > 0.98 * float(sizes @ sizes)
    assert grouped(np.zeros(3)) == grouped(np.zeros(0)) == []
