"""Trade-off functions against exact Neyman-Pearson curves."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpverify.guarantee import Interval, enclosing_floats
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import approximate_dp
from dpverify.privacy_loss.losses.renyi import renyi_divergence
from dpverify.privacy_loss.losses.tradeoff import EnclosedTradeOff, TradeOff, power_of_e
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve
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


def hull_at(pairs: Sequence[RationalPair], rate: Fraction) -> Fraction:
    """Return the largest convex function below the exact curves of Neyman and Pearson of all pairs, in both orders."""
    corners = [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))]
    for p, q in [*pairs, *((q, p) for p, q in pairs)]:
        order = sorted(range(len(p)), key=lambda i: (1, 0) if not q[i] else (0, p[i] / q[i]))
        for size in range(len(p) + 1):
            taken = order[:size]
            corners.append((sum(p[i] for i in taken), 1 - sum(q[i] for i in taken)))
    return min(
        a[1] if a[0] == b[0] else a[1] + (b[1] - a[1]) * (rate - a[0]) / (b[0] - a[0])
        for a in corners
        for b in corners
        if a[0] <= rate <= b[0] and (a[0] < b[0] or a[0] == rate)
    )


def delta_of(pairs: Sequence[RationalPair], slack: float = 0.0) -> Callable[[float], Interval]:
    """Return the exact privacy curve of pairs in both orders, widened by so much."""

    def delta(epsilon: float) -> Interval:
        ends = [
            max(sum(max(a - power * b, Fraction(0)) for a, b in zip(*pair, strict=True)) for pair in both)
            for power in power_of_e(epsilon)[::-1]
        ]
        return Interval(enclosing_floats(ends[0])[0] * (1.0 - slack), min(enclosing_floats(ends[1])[1] + slack, 1.0))

    both = [*pairs, *((q, p) for p, q in pairs)]
    return delta


@pytest.mark.long
@settings(max_examples=12)
@given(st.lists(rational_pairs(4), min_size=1, max_size=2), st.sampled_from([0.0, 1e-3, 0.05]))
def test_a_curve_encloses_the_exact_trade_off(pairs: list[RationalPair], slack: float) -> None:
    delta = delta_of(pairs, slack)
    rates = [Fraction(1, 50), Fraction(1, 5), Fraction(1, 2)]
    coarse = EnclosedTradeOff.of(delta, [], 1.0, [(epsilon, delta(epsilon)) for epsilon in (0.2, 0.9, 2.5)])
    found = EnclosedTradeOff.of(delta, rates, 1e-3)
    for rate in (Fraction(0), *rates, Fraction(9, 10), Fraction(1)):
        exact = hull_at(pairs, rate)
        for known in (coarse, found):
            lower, upper = known(rate)
            assert 0 <= lower <= exact <= upper <= 1 - rate
    if slack == 0.0:  # corners are met exactly up to how near two epsilons may be
        assert all(upper - lower < 0.03 for lower, upper in map(found, rates))


def test_it_asks_where_that_tells_most() -> None:
    asked = list[float]()
    noise = NormalNoiseCurve(1.0, 1)

    def delta(epsilon: float) -> Interval:
        asked.append(epsilon)
        return noise.delta(epsilon)

    found = EnclosedTradeOff.of(delta, [Fraction(1, 100)], 1e-4)
    lower, upper = found(Fraction(1, 100))
    # G_1(a) = Phi(Phi^-1(1 - a) - 1) (dong2022, equation 6).
    assert lower < norm.cdf(norm.isf(0.01) - 1.0) < upper < lower + Fraction(1, 5000)
    assert len(asked) < 12
    assert found(Fraction(1, 2))[0] < norm.cdf(-1.0) < found(Fraction(1, 2))[1]
