"""Renyi curves and trade-off functions against closed forms and exact rational values."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.pairs import approximate_dp, discrete_gaussian, poisson
from dpverify.privacy_loss.renyi import renyi_divergence, zero_concentrated_rho
from dpverify.privacy_loss.tradeoff import TradeOff
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


@given(rational_pairs(), st.floats(0, 1))
def test_trade_off_is_the_exact_neyman_pearson_curve(pair: RationalPair, level: float) -> None:
    p, q = pair
    # Exact: reject outcomes by increasing P/Q, randomising the last.
    order = sorted(
        (i for i in range(len(p)) if p[i] + q[i] > 0), key=lambda i: math.inf if q[i] == 0 else float(p[i] / q[i])
    )
    room, power = level, 0.0
    for i in order:
        share = 1.0 if p[i] == 0 else min(1.0, room / float(p[i]))
        room -= share * float(p[i])
        power += share * float(q[i])
        if share < 1.0:
            break
    assert TradeOff.of(floats(pair))(level) == pytest.approx(1 - power, abs=1e-12)


def test_trade_off_of_a_pure_mechanism_is_two_lines() -> None:
    epsilon = 0.7
    f = TradeOff.of(approximate_dp(epsilon, 0.0))
    for level in (0.0, 0.1, 0.3, 0.5, 0.9, 1.0):
        exact = max(0.0, 1 - math.exp(epsilon) * level, math.exp(-epsilon) * (1 - level))
        assert f(level) == pytest.approx(exact, abs=1e-14)


def test_trade_off_and_profile_are_duals() -> None:
    pair = floats((rng_pmf(1), rng_pmf(2)))
    f = TradeOff.of(pair)
    for epsilon in (0.0, 0.3, 1.0):
        # H_eps(P||Q) = sup_a { 1 - a - e^eps f(a) }, over the corners (dong2022, Proposition 2.13).
        dual = max(1 - a - math.exp(epsilon) * b for a, b in zip(f.type_one, f.type_two, strict=True))
        assert dual == pytest.approx(pair.delta(epsilon).midpoint, abs=1e-12)


def rng_pmf(seed: int) -> list[Fraction]:
    weights = [int(w) for w in np.random.default_rng(seed).integers(1, 30, 12)]
    return [Fraction(w, sum(weights)) for w in weights]


def test_bad_input_is_refused() -> None:
    pair = PrivacyLossDistribution(np.array([0.0]), np.array([1.0]))
    with pytest.raises(ValueError, match="order=1"):
        renyi_divergence(pair, 1.0)
    with pytest.raises(ValueError, match=r"type_one=1\.5"):
        TradeOff.of(pair)(1.5)
