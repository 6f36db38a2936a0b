"""Trade-off functions against exact Neyman-Pearson curves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import approximate_dp
from dpverify.privacy_loss.losses.renyi import renyi_divergence
from dpverify.privacy_loss.losses.tradeoff import TradeOff
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs


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
