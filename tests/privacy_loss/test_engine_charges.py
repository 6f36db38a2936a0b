"""Each error that the engine charges, made large: without its charge the truth would be outside of the interval."""

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows import grid, tilting
from dpverify.privacy_loss.windows import transform as compose
from dpverify.privacy_loss.windows.grid import connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.transform import Composition
from dpverify.rounding import UNIT, fft_error

LOSS, COPIES = 0.5, 6
"""The worst pair that is pure 0.5-DP, on a grid of just its losses: nothing but the error in question is left."""
MASSES = np.array([1.0, math.exp(LOSS)]) / (1.0 + math.exp(LOSS))
EPSILONS = (0.0, 0.3, 1.2, 2.1)
NOISE = 1e-4


def pair(**errors: float) -> PrivacyLossDistribution:
    return PrivacyLossDistribution(np.array([-LOSS, LOSS]), MASSES, **errors)  # type: ignore[arg-type]


def binomial(epsilon: float, *, shift: float = 0.0, up: float = MASSES[1], scale: float = 1.0) -> float:
    """Return the divergence of the composition if each loss is larger by `shift`, the larger one of mass `up`.

    And all masses by a factor of `scale`.
    """
    terms = [
        (math.comb(COPIES, j) * up**j * (1 - up) ** (COPIES - j), (2 * j - COPIES) * LOSS + COPIES * shift)
        for j in range(COPIES + 1)
    ]
    return scale**COPIES * math.fsum(mass * -math.expm1(epsilon - total) for mass, total in terms if total > epsilon)


def composed(distribution: PrivacyLossDistribution | None = None, step: float = LOSS) -> Composition:
    return Composition([(connect_the_dots(distribution or pair(), step), COPIES)])


def holds(interval: Interval, truth: float) -> bool:
    return interval.lower <= truth <= interval.upper


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_loss_errors_count_in_every_copy(epsilon: float, sign: float) -> None:
    found = composed(pair(loss_error=0.02)).delta(epsilon)
    assert holds(found, binomial(epsilon, shift=sign * 0.0199))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_mass_errors_count_in_every_copy(epsilon: float, sign: float) -> None:
    found = composed(pair(relative_error=0.01)).delta(epsilon)
    # The other mass changes by less than a hundredth of itself only where it is the larger one: here by 1.65 of it.
    assert holds(found, binomial(epsilon, up=MASSES[1] * (1.0 + sign * 0.006)))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_errors_of_infinite_and_missing_mass_count_in_every_copy(sign: float) -> None:
    one = PrivacyLossDistribution(np.array([0.0]), np.array([0.7]), 0.2, 0.1, relative_error=0.05)
    infinite = 0.2 * (1.0 + sign * 0.05) + (0.1 if sign > 0 else 0.0)
    assert holds(composed(one).delta(3.0), 1.0 - (1.0 - infinite) ** COPIES)


def test_the_lower_bound_gets_the_variance_of_every_split(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def bound(epsilon: float, computed: float, upper: object, variance: float) -> float:
        asked.append(variance)
        return 0.0

    monkeypatch.setattr(compose, "lower_bound", bound)
    step = 0.9 * LOSS
    Composition([(connect_the_dots(pair(), step), COPIES), (connect_the_dots(pair(), step), 2)]).delta(0.3)
    assert asked == [pytest.approx((COPIES + 2) * step**2 / 4.0)]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_both_recurrences_are_charged(monkeypatch: pytest.MonkeyPatch, epsilon: float, sign: float) -> None:
    exact = compose.decayed_sums
    monkeypatch.setattr(compose, "decayed_sums_error", lambda length: NOISE)
    monkeypatch.setattr(compose, "decayed_sums", lambda terms, rate: exact(terms, rate) * (1.0 + sign * 0.999 * NOISE))
    assert holds(composed().delta(epsilon), binomial(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_frequencies_set_to_zero_are_charged(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    monkeypatch.setattr(compose, "_NEGLIGIBLE", 0.05)
    assert holds(composed(step=LOSS / 10.0).delta(epsilon), binomial(epsilon))


@pytest.mark.parametrize("epsilon", [-40.0, -5.0])
def test_one_cell_is_bounded_far_below_its_window(epsilon: float) -> None:
    one = PrivacyLossDistribution(np.array([0.1]), np.array([1.0]))
    found = Composition([(connect_the_dots(one, 0.1), COPIES)]).delta(epsilon)
    assert holds(found, -math.expm1(epsilon - 0.1 * COPIES))


@pytest.mark.parametrize("step", [0.3, 0.7, 1.9])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_copy_is_split(epsilon: float, step: float) -> None:
    found = composed(step=step).delta(epsilon)
    assert holds(found, binomial(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_losses_that_are_moved_to_the_grid_are_charged(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    # Within six units of the lattice, a law is taken for one on it.
    monkeypatch.setattr(grid, "UNIT", 1e-3)
    for moved in (-0.004, 0.004):
        near = PrivacyLossDistribution(np.array([-LOSS, LOSS]) + moved, MASSES)
        on_lattice = connect_the_dots(near, LOSS)
        assert on_lattice.split_width == 0.0
        assert on_lattice.loss_error >= 0.004
        assert holds(Composition([(on_lattice, COPIES)]).delta(epsilon), binomial(epsilon, shift=moved))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_evaluation_of_tilted_masses_is_charged_in_every_copy(monkeypatch: pytest.MonkeyPatch, sign: float) -> None:
    def noisy(exponents: np.ndarray) -> np.ndarray:
        return np.exp(exponents) * (1.0 + 6.0 * NOISE * sign * np.where(np.arange(exponents.size) % 2, 1.0, -1.0))

    monkeypatch.setattr(tilting, "UNIT", NOISE)
    monkeypatch.setattr(tilting, "np", SimpleNamespace(**{**vars(np), "exp": noisy}))
    for epsilon in EPSILONS:
        assert holds(composed().delta(epsilon), binomial(epsilon))


def finite(pair_or_grid: Any, epsilon: float) -> float:
    return float(np.sum(pair_or_grid.masses * np.maximum(-np.expm1(epsilon - pair_or_grid.losses), 0.0)))


def crossed() -> list[PrivacyLossDistribution]:
    """Return two pairs whose profiles cross."""
    return [pair(), PrivacyLossDistribution(np.array([-0.1, 1.0]), np.array([0.85, 0.15]))]


def dominates(supremum: grid.GridPrivacyLoss) -> bool:
    allowed = 1.0 + supremum.relative_error
    return all(
        finite(member, epsilon) <= finite(supremum, epsilon) * allowed
        for member in crossed()
        for epsilon in np.linspace(-1.0, 0.99, 200)
    )


def test_a_supremum_that_falls_short_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = grid._masses_of_supremum
    monkeypatch.setattr(grid, "_masses_of_supremum", lambda *arguments: 0.9 * exact(*arguments))
    assert dominates(dominating_grid(crossed(), 0.1))


def test_ties_in_a_supremum_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "_TIE", 0.2)
    monkeypatch.setattr(grid, "_shortfall", lambda *arguments: 0.0)
    close = [pair(), PrivacyLossDistribution(np.array([-LOSS, LOSS]), np.array([0.36, 0.64]))]
    for members in (close, close[::-1]):
        supremum = dominating_grid(members, 0.1)
        for index in range(-10, 10):
            best = max(finite(member, 0.1 * index) for member in members)
            assert best <= finite(supremum, 0.1 * index) * (1.0 + supremum.relative_error) + 1e-12


def test_the_rounding_of_a_suprema_profiles_is_charged_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "_profile_error", lambda cells: 0.01)
    assert dominating_grid(crossed(), 0.1).relative_error >= 0.02


def test_a_supremum_has_the_largest_of_all_errors() -> None:
    first, second = pair(loss_error=0.02), pair(relative_error=0.01, missing_mass=0.005)
    for members in ([first, second], [second, first]):
        supremum = dominating_grid(members, LOSS)
        assert supremum.loss_error >= 0.02
        assert supremum.relative_error >= 0.01
        assert supremum.unbounded_mass >= 0.005


def test_transforms_charge_what_their_passes_cost() -> None:
    for levels in range(1, 28):
        cost = (14.3 * (levels // 2) + 13.3 * (levels % 2)) * UNIT
        assert cost <= fft_error(2**levels) <= 2.0 * cost


@pytest.mark.parametrize("copies", [1, 7, 10**5])
def test_tilted_masses_are_within_their_error(copies: int) -> None:
    # Rational weights; the tilt is a power of two, so that only the charged roundings differ.
    rng = np.random.default_rng(copies)
    losses = np.arange(-50, 51) * 0.37
    masses = 10.0 ** rng.uniform(-250.0, 0.0, 101)
    one = grid.GridPrivacyLoss(0.37, np.arange(-50, 51), masses / masses.sum(), 0.0, 0.0, 0.0, 0.0, 0.0)
    found = one.transforms.at(4.0, 128)
    weights = np.fft.irfft(found.values, 128)
    shift = max(4.0 * float(loss) + math.log(mass) for loss, mass in zip(losses, one.masses, strict=True))
    exact = [Fraction(math.exp(4.0 * loss + math.log(m) - shift)) for loss, m in zip(losses, one.masses, strict=True)]
    expected = np.roll(np.array([float(w / sum(exact)) for w in exact] + [0.0] * 27), -50)
    assert float(np.abs(weights - expected).max()) <= found.error + 2.0 * found.relative_error
