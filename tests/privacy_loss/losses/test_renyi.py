"""Renyi curves against closed forms and exact rational values."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.privacy_loss.losses.pairs import discrete_gaussian, poisson
from dpverify.privacy_loss.losses.renyi import ConcentratedCurve, renyi_divergence, zero_concentrated_rho
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
