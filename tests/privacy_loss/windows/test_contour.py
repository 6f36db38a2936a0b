import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverify.privacy_loss.windows.characteristic import LossAtoms, log_moduli_of
from dpverify.privacy_loss.windows.contour import Contour, best_tilt, epsilon_at, log_delta_at
from dpverify.rounding import UNIT

LOSS = 0.1


def divergence(copies: int, epsilon: float) -> float:
    """Return the profile of the worst pair that is pure 0.1-DP, composed, exactly but for rounding."""
    up = 1.0 / (1.0 + math.exp(-LOSS))
    return math.fsum(
        math.comb(copies, j) * up**j * (1.0 - up) ** (copies - j) * -math.expm1(epsilon - (2 * j - copies) * LOSS)
        for j in range(copies + 1)
        if (2 * j - copies) * LOSS > epsilon
    )


def log_moduli(copies: int, contour: Contour) -> np.ndarray:
    x = contour.tilt + 1j * contour.nodes.heights
    up = 1.0 / (1.0 + math.exp(-LOSS))
    return copies * np.log(np.abs(up * np.exp(x * LOSS) + (1.0 - up) * np.exp(-x * LOSS)) + 8.0 * UNIT)


@pytest.mark.parametrize("copies", [1, 7, 100])
@pytest.mark.parametrize("tilt", [0.3, 4.0, 15.0])
def test_the_sum_bounds_the_divergence_at_every_epsilon(copies: int, tilt: float) -> None:
    contour = Contour.at(tilt, LOSS * math.sqrt(copies), 1e-3 * LOSS**2 * copies)
    log_integral = contour.log_integral(log_moduli(copies, contour))
    for epsilon in np.linspace(-1.0, 3.0, 41):
        assert divergence(copies, float(epsilon)) <= math.exp(log_integral - tilt * epsilon)


def test_the_sum_is_sharp_for_many_copies() -> None:
    # In the middle between two losses, where the profile is a chord.
    copies, epsilon = 400, 6.1
    contour = Contour.at(1.0, LOSS * math.sqrt(copies), 1e-3 * LOSS**2 * copies)
    bound = math.exp(contour.log_integral(log_moduli(copies, contour)) - epsilon)
    assert 0.75 * bound < divergence(copies, epsilon) < bound


@pytest.mark.parametrize(
    ("spacing", "number", "smoothing"),
    [(1e-3, 2, 1e-9), (2.0, 40, 4.0), (0.5, 8, 1e-3), (0.01, 300, 0.5)],
    ids=["all but all of it in the tail", "smoothing that costs", "both", "fine"],
)
def test_any_spacing_and_smoothing_gives_a_bound(spacing: float, number: int, smoothing: float) -> None:
    contour = Contour(1.0, spacing, number, smoothing)
    log_integral = contour.log_integral(log_moduli(1, contour))
    for epsilon in np.linspace(-3.0, LOSS, 32):
        assert divergence(1, float(epsilon)) <= math.exp(log_integral - epsilon)


@pytest.mark.parametrize("scale", [0.0, 1e3, 1e9])
def test_the_roundings_of_the_sum_are_charged(scale: float) -> None:
    # Half of all sums are rounded downwards, and none of them may be returned.
    rng = np.random.default_rng(7)
    for _ in range(60):
        contour = Contour(*np.exp(rng.uniform(-2.0, 4.0, 2)).tolist(), int(rng.integers(2, 9)), float(rng.random()))
        logs = scale * rng.standard_normal(contour.count)
        logs[0] = abs(logs).max()
        with mpmath.workdps(60):
            tilt, w, v = (mpmath.mpf(x) for x in (contour.tilt, contour.spacing, contour.smoothing))
            terms = [
                mpmath.exp(mpmath.mpf(float(log)) - logs[0] - v * (w * k) ** 2 / 2)
                / mpmath.sqrt(((1 + tilt) ** 2 + (w * k) ** 2) * (tilt**2 + (w * k) ** 2))
                * (w / mpmath.pi)
                / (2 if k == 0 else 1)
                for k, log in enumerate(logs)
            ]
            last = w * (contour.count - 1)
            terms.append(mpmath.exp(-v * last**2 / 2) / (mpmath.pi * last))
            exact = mpmath.log(mpmath.fsum(terms)) + mpmath.mpf(float(logs[0])) + v * tilt * (1 + tilt) / 2
            bound = float(contour.log_integral(logs))
            assert exact <= mpmath.mpf(bound) <= exact + 1e-10 * (1.0 + scale + abs(exact))


@pytest.mark.parametrize("rare", [(-40.0, 0.3), (-25.0, 2.0)])
def test_the_best_tilt_is_found_on_either_side_of_a_rare_loss(rare: tuple[float, float]) -> None:
    # A normal loss of deviation 0.1, and one so rare that it counts at large tilts alone: two valleys.
    def estimate(tilt: float) -> tuple[float, float]:
        log_chance, loss = rare
        return float(np.logaddexp(0.005 * tilt * (1.0 + tilt), log_chance + tilt * loss)), 0.1

    for cost in (epsilon_at(math.log(1e-6)), log_delta_at(0.4)):
        tilt, found = best_tilt(cost, estimate, 0.1)
        tried = np.geomspace(3.0, 1000.0, 2000)
        least = min(
            cost(estimate(each)[0] - math.log(math.sqrt(2.0 * math.pi) * 0.1 * each * (1.0 + each)), each)
            for each in map(float, tried)
        )
        assert found <= least + 1e-3 * abs(least)
        assert 3.0 < tilt < 1000.0


@pytest.mark.parametrize(("log_integral", "tilt", "at"), [(3.7, 12.5, 0.9), (-2.2, 0.31, 4.0), (0.0, 1.0, 0.1)])
def test_what_an_integral_says_of_an_epsilon_is_rounded_up(log_integral: float, tilt: float, at: float) -> None:
    exact = Fraction(log_integral) - Fraction(tilt) * Fraction(at)
    assert exact < Fraction(log_delta_at(at)(log_integral, tilt)) <= exact + Fraction(1, 10**13)
    exact = (Fraction(log_integral) + Fraction(at)) / Fraction(tilt)
    assert exact < Fraction(epsilon_at(-at)(log_integral, tilt)) <= exact + Fraction(1, 10**13)


@pytest.mark.parametrize("copies", [40, 400, 40000])
def test_few_nodes_do_where_next_to_nothing_is(copies: int) -> None:
    rng = np.random.default_rng(3)
    losses = LOSS * np.sort(rng.normal(size=60))  # of no lattice, so that no modulus is near 1 again
    atoms = LossAtoms.of(losses, np.full(60, 1.0 / 60.0))
    deviation = float(losses.std()) * math.sqrt(copies)
    full = Contour.at(2.0 / deviation, deviation, 1e-3 * deviation**2, period=7.0)
    thin = full.thinned(deviation, copies)
    assert thin.nodes.values < 0.7 * full.count
    logs, every = (copies * log_moduli_of([atoms], each.nodes)[0] for each in (thin, full))
    assert thin.is_thin_enough(logs)
    found, whole = float(thin.log_integral(logs)), float(full.log_integral(every))
    assert whole <= found + 1e-10 * copies
    assert found <= whole + 1e-6
    # Gaps from the start on cost what they ask for, and that shows.
    last = full.count - 1
    coarse = replace(full, places=tuple(sorted({*range(0, last, 8), *range(last // 8 * 8, full.count)})))
    logs = copies * log_moduli_of([atoms], coarse.nodes)[0]
    assert not coarse.is_thin_enough(logs)
    assert float(coarse.log_integral(logs)) > whole + 1e-3


def test_losses_of_a_lattice_are_not_thin() -> None:
    copies, up = 1000, 1.0 / (1.0 + math.exp(-LOSS))
    atoms = LossAtoms.of(np.array([-LOSS, LOSS]), np.array([1.0 - up, up]))
    deviation = LOSS * math.sqrt(copies)
    thin = Contour.at(2.0 / deviation, deviation, 1e-3 * deviation**2, period=7.0).thinned(deviation, copies)
    assert not thin.is_thin_enough(copies * log_moduli_of([atoms], thin.nodes)[0])


def test_nothing_is_thinned_of_few_parts_and_gaps_weigh_what_lies_in_them() -> None:
    full = Contour.at(3.0, 0.5, 1e-3, period=7.0)
    assert full.thinned(0.5, 1.0) == full.thinned(0.5, 0.0) == full
    thin = replace(full, places=(0, 1, 2, 4, 8, *range(9, full.count)))
    weights = np.exp(full.log_weights)
    expected = [weights[3], weights[5:8].sum()]
    np.testing.assert_allclose(np.exp(thin.log_weights[-2:]), expected, rtol=1e-13)
