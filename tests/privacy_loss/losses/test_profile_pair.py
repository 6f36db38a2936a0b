from __future__ import annotations

import math

import numpy as np
import pytest

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.profile_pair import pair_above

LOSS = 0.5
UP = math.exp(LOSS) / (1.0 + math.exp(LOSS))
PAIR = PrivacyLossDistribution(np.array([-LOSS, LOSS]), np.array([1.0 - UP, UP]))


def bound(epsilon: float) -> float:
    return PAIR.delta(epsilon).upper


def test_a_pair_is_found_again_from_its_own_losses() -> None:
    found = pair_above(bound, [LOSS])
    for epsilon in (-0.7, -0.2, 0.0, 0.3, 0.6):
        assert PAIR.delta(epsilon).upper <= found.delta(epsilon).upper + 1e-15
        assert found.delta(epsilon).upper == pytest.approx(PAIR.delta(epsilon).upper, abs=1e-12)


@pytest.mark.parametrize("points", [[0.1, 0.2, 0.45, 0.7], [0.3], [0.05, 0.1]])
def test_the_hull_dominates_at_every_epsilon(points: list[float]) -> None:
    found = pair_above(bound, points)
    for epsilon in np.linspace(-1.0, 1.0, 41).tolist():
        assert found.delta(epsilon).upper >= PAIR.delta(epsilon).lower
    assert found.missing_mass >= bound(points[-1])


def test_bounds_that_are_not_convex_are_made_so() -> None:
    rough = {0.0: 0.25, 0.1: 0.245, 0.2: 0.12, 0.3: 0.11, 0.4: 0.0}
    found = pair_above(lambda epsilon: rough[min(rough, key=lambda key: abs(key - epsilon))], [0.1, 0.2, 0.3, 0.4])
    for epsilon, value in rough.items():
        assert found.delta(epsilon).lower <= value
    assert found.delta(0.1).upper < 0.2


def test_points_must_increase() -> None:
    with pytest.raises(ValueError, match="epsilons=0"):
        pair_above(bound, [0.2, 0.1])
