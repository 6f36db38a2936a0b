import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses import profile_pair
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.profile_pair import pair_above, pair_below

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


Masses = list[Fraction]


def profile(first: Masses, second: Masses, power: Fraction) -> Fraction:
    return sum((max(a - power * b, Fraction(0)) for a, b in zip(first, second, strict=True)), Fraction(0))


def known(
    first: Masses, second: Masses, off: Fraction = Fraction(0), moved: Fraction = Fraction(0)
) -> Callable[[float], Interval]:
    """The divergence as a function, at an end of its interval; what is taken for a power may be off as well."""

    def asked(epsilon: float) -> Interval:
        truth = profile(first, second, Fraction(math.exp(epsilon)) * (1 + moved if epsilon else 1))
        less = off * random.Random(str(epsilon)).randrange(2)
        return Interval(float(truth * (1 - less)) * (1.0 - 1e-15), float(truth * (1 + off - less)) * (1.0 + 1e-15))

    return asked


def law(rng: random.Random, entries: int) -> Masses:
    masses = [Fraction(rng.randrange(1, 1 << rng.choice((4, 20)))) for _ in range(entries)]
    return [mass / sum(masses) for mass in masses]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("off", [Fraction(0), Fraction(1, 100)])
@pytest.mark.parametrize("moved", [Fraction(-1, 3000), Fraction(1, 3000)])
def test_the_pair_below_is_nowhere_above(
    seed: int, off: Fraction, moved: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In rationals, at its own corners and between: where it is larger by more than its errors a bound is false."""
    monkeypatch.setattr(profile_pair, "UNIT", 1e-4)  # of powers: four of them are charged
    rng = random.Random(seed)
    first, second = (law(rng, 4) for _ in range(2))
    step = rng.choice((0.05, 0.3, 1.0))
    found = pair_below(
        known(first, second, off, moved), known(second, first, off, moved), [step * k for k in range(1, 8)]
    )
    masses = [Fraction(mass) for mass in found.masses.tolist()]
    powers = [Fraction(math.exp(loss)) for loss in found.losses.tolist()]
    assert float(sum(masses)) < 1.0 + 1e-14
    for power in [*powers, *(Fraction(rng.uniform(0.01, 6.0)) for _ in range(50))]:
        mine = sum(
            (max(mass * (1 - power / x), Fraction(0)) for mass, x in zip(masses, powers, strict=True)), Fraction(0)
        )
        assert mine <= profile(first, second, power) + Fraction(1, 10**14)


def test_the_pair_below_is_close_where_points_are() -> None:
    rng = random.Random(5)
    first, second = (law(rng, 9) for _ in range(2))
    found = pair_below(*(known(*laws) for laws in ((first, second), (second, first))), np.linspace(0.01, 4, 400))
    for epsilon in (-1.0, -0.3, 0.0, 0.4, 1.2):
        truth = float(profile(first, second, Fraction(math.exp(epsilon))))
        assert truth * (1.0 - 3e-3) <= found.delta(epsilon).lower <= truth * (1.0 + 1e-12)
