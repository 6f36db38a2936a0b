"""Renyi curves against closed forms and exact rational values."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.privacy_loss.losses import renyi
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import discrete_gaussian, poisson
from dpverify.privacy_loss.losses.renyi import ConcentratedCurve, RenyiCurve, renyi_divergence, zero_concentrated_rho
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs


@given(rational_pairs(), st.floats(1.01, 30))
def test_renyi_contains_the_exact_value(pair: RationalPair, order: float) -> None:
    p, q = pair
    found = renyi_divergence(floats(pair), order)
    if any(a > 0 and b == 0 for a, b in zip(p, q, strict=True)):
        assert found.lower == found.upper == math.inf
        return
    with mp.workdps(40):
        total = mp.fsum(
            mp.mpf(a.numerator) / a.denominator * (mp.mpf((a / b).numerator) / (a / b).denominator) ** (order - 1)
            for a, b in zip(p, q, strict=True)
            if a > 0
        )
        exact = mp.log(total) / (order - 1)
    assert found.lower <= exact + mp.mpf(10) ** -30
    assert exact - mp.mpf(10) ** -30 <= found.upper


@pytest.mark.parametrize("error", ["relative_error", "loss_error", "summation_error"])
def test_errors_of_a_pair_and_of_its_sum_widen_its_divergence(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {} if error == "summation_error" else {error: 0.1}
    if not own:
        monkeypatch.setattr(renyi, error, lambda terms: 0.1)
    pair = PrivacyLossDistribution.from_atoms(np.array([0.0, 2.0]), np.array([0.5, 0.5]), **own)
    exact = math.log(0.5 + 0.5 * math.exp(4.0)) / 2.0
    moved = {"relative_error": -math.log(0.9) / 2.0, "loss_error": 0.1, "summation_error": 0.1 / 2.0}[error]
    found = renyi_divergence(pair, 3.0)
    assert found.upper >= exact + moved * (1.0 - 1e-12)
    assert found.lower <= exact - moved * (1.0 - 1e-12)


def test_renyi_of_poisson_is_its_closed_form() -> None:
    # D_alpha(Z+1 || Z) has no simple form, but Poisson tilts give E_P[(P/Q)] at order 2: sum f(y-1)^2 / f(y).
    mean = 50.0
    up, _ = poisson(mean, 1e-200)
    with mp.workdps(40):
        pmf = [mp.exp(-mean) * mp.mpf(mean) ** y / mp.factorial(y) for y in range(400)]
        exact = mp.log(mp.fsum(pmf[y - 1] ** 2 / pmf[y] for y in range(1, 400)))
    assert renyi_divergence(up, 2.0).lower <= exact
    assert renyi_divergence(up, 2.0).lower == pytest.approx(float(exact), rel=1e-10)
    assert renyi_divergence(up, 2.0).upper == math.inf


def test_discrete_gaussian_reaches_the_rho_of_its_continuous_limit() -> None:
    # canonne2020, Theorem 4: 1/(2 sigma^2)-zCDP, attained in the limit of order 1 for large sigma.
    sigma = 5.0
    rho = zero_concentrated_rho(discrete_gaussian(sigma).up, np.geomspace(1.05, 20, 30))
    assert rho <= 1 / (2 * sigma**2) * (1 + 1e-12)
    assert rho == pytest.approx(1 / (2 * sigma**2), rel=1e-6)


@pytest.mark.parametrize(("sigma", "instances"), [(2.0, 10), (0.3, 1), (100.0, 768)])
def test_what_concentration_says_is_above_the_truth_and_inverts(sigma: float, instances: int) -> None:
    truth, found = NormalNoiseCurve(sigma, instances), ConcentratedCurve(sigma, instances)
    for delta in (1e-3, 1e-30, 1e-300):
        epsilon = found.epsilon(delta)
        assert epsilon.lower == 0.0
        assert truth.epsilon(delta).upper <= epsilon.upper <= 1.7 * truth.epsilon(delta).upper
        assert found.delta(epsilon.upper).upper == pytest.approx(delta, rel=1e-9)
        assert truth.delta(epsilon.upper).upper <= found.delta(epsilon.upper).upper * (1 + 1e-12)
    assert found.delta(instances / (2 * sigma**2)).upper == 1.0


@given(rational_pairs(), st.lists(st.floats(1.01, 60.0), min_size=1, max_size=4, unique=True), st.floats(-1.0, 3.0))
def test_renyi_divergences_bound_the_divergence_of_any_pair(
    pair: RationalPair, orders: list[float], epsilon: float
) -> None:
    p, q = pair
    if any(a > 0 and b == 0 for a, b in zip(p, q, strict=True)):
        return
    values = [renyi_divergence(floats(pair), order).upper for order in sorted(orders)]
    curve = RenyiCurve(Fraction(0), Fraction(0), list(zip(sorted(orders), map(Fraction, values), strict=True)))
    truth = sum(max(a - Fraction(math.exp(epsilon)) * b, Fraction(0)) for a, b in zip(p, q, strict=True))
    assert truth <= curve.delta(epsilon).upper * (1.0 + 1e-12)
    if 0 < (delta := curve.delta(epsilon).upper) < 1:
        assert curve.epsilon(delta).upper <= max(epsilon, 0.0) + 1e-9 * (1.0 + abs(epsilon))


def test_the_bound_of_one_order_is_attained() -> None:
    # By the losses -x and ln alpha/(alpha - 1) above epsilon, as x grows: (1 - y) y^(alpha - 1) is largest there.
    order, epsilon, mass = 5.0, 1.0, 1e-3
    loss = epsilon + math.log(order / (order - 1.0))
    least = math.log(mass * math.exp((order - 1.0) * loss)) / (order - 1.0)  # of the one loss alone
    found = RenyiCurve(Fraction(0), Fraction(0), [(order, Fraction(least))]).delta(epsilon).upper
    assert found == pytest.approx(mass * (1.0 - math.exp(epsilon - loss)), rel=1e-12)


def test_the_best_order_is_found() -> None:
    for rho, epsilon in ((0.5, 3.0), (1e-6, 0.01), (40.0, 100.0)):
        curve = RenyiCurve(Fraction(rho), Fraction(0))
        least = curve.delta(epsilon).upper
        for order in 1.0 + np.exp(np.linspace(-8.0, 12.0, 300)):
            one = RenyiCurve(Fraction(0), Fraction(0), [(float(order), Fraction(rho) * Fraction(float(order)))])
            assert one.delta(epsilon).upper >= least * (1.0 - 1e-6)
        assert curve.epsilon(least).upper == pytest.approx(epsilon, rel=1e-6)
