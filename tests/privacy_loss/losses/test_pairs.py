"""Named pairs against Arb and direct sums, both directions."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import (
    Direction,
    DiscreteLaplacePair,
    NegativeBinomialPair,
    Pair,
    RandomizedResponsePair,
    ThreeNBPair,
)
from dpverify.guarantee import Interval
from dpverify.laws import noise
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.losses import pairs
from tests.privacy_loss.exact import decay, truth

EPSILONS = st.floats(-2, 3)


def check(directions: pairs.Directions, pair: Pair, epsilon: float) -> None:
    for found, direction in zip(directions, (Direction.UP, Direction.DOWN), strict=True):
        enclosure = hockey_stick(pair, epsilon, direction, digits=12)
        interval = found.delta(epsilon)
        assert interval.lower <= enclosure.upper
        assert enclosure.lower <= interval.upper


@settings(max_examples=25, deadline=None)
@given(st.floats(0.2, 80), st.floats(0.01, 0.995), EPSILONS)
def test_negative_binomial(shape: float, p: float, epsilon: float) -> None:
    check(pairs.negative_binomial(shape, p), NegativeBinomialPair(shape, p), epsilon)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 10_000), st.floats(1e-3, 0.499), EPSILONS)
def test_binomial_randomized_response(users: int, p: float, epsilon: float) -> None:
    check(pairs.binomial_randomized_response(users, p), RandomizedResponsePair(users, p, 0), epsilon)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 60), st.data(), st.floats(0.01, 0.49), EPSILONS)
def test_mixed_reports(users: int, data: st.DataObject, p: float, epsilon: float) -> None:
    ones = data.draw(st.integers(0, users - 1))
    check(pairs.mixed_reports(users, ones, p), RandomizedResponsePair(users, p, ones), epsilon)


def known(users: int, ones: int, coins: int, p: Fraction, epsilon: float) -> Fraction:
    """Return the divergence upwards of reports, some of them of fair coins, to as many digits as e^epsilon has."""
    law = [Fraction(1)]
    for one in [p] * (users - 1 - coins - ones) + [1 - p] * ones + [Fraction(1, 2)] * coins:
        law = [a * (1 - one) + b * one for a, b in zip([*law, 0], [0, *law], strict=True)]
    zero, one = ([a * (1 - q) + b * q for a, b in zip([*law, 0], [0, *law], strict=True)] for q in (p, 1 - p))
    factor = Fraction(math.exp(epsilon))
    return sum((max(a - factor * b, Fraction(0)) for a, b in zip(one, zero, strict=True)), Fraction(0))


@pytest.mark.parametrize(("ones", "coins"), [(0, 1), (3, 17), (20, 40), (16, 32), (33, 15), (0, 16)])
def test_every_report_and_every_coin_counts(ones: int, coins: int) -> None:
    for epsilon in (0.0, 0.1, 0.4):
        exact = known(80, ones, coins, Fraction(1, 4), epsilon)
        found = pairs.mixed_reports(80, ones, 0.25, coins=coins).up.delta(epsilon)
        assert exact * (1 - Fraction(1, 10**9)) <= found.lower <= exact * (1 + Fraction(1, 10**12))
        assert exact * (1 - Fraction(1, 10**12)) <= found.upper <= exact * (1 + Fraction(1, 10**9))


def test_reports_are_charged_with_the_errors_of_their_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    exact, binomial = known(80, 20, 30, Fraction(1, 4), 0.2), pairs.laws.binomial

    def rough(number: int, p: float, tail: float) -> IntegerLaw:
        law = binomial(number, p, tail)
        return replace(law, pmf=law.pmf * 0.999, relative_error=2e-3)

    pairs._reports.cache_clear()
    monkeypatch.setattr(pairs.laws, "binomial", rough)
    found = pairs.mixed_reports(80, 20, 0.25, coins=30).up.delta(0.2)
    pairs._reports.cache_clear()
    assert found.lower <= exact <= found.upper


def test_a_smaller_tail_cuts_less_of_reports() -> None:
    cut = [pairs.mixed_reports(3000, 1000, 0.25, tail).up.missing_mass for tail in (1e-30, 1e-60, 1e-90)]
    assert cut[1] <= 1e-20 * cut[0]
    assert cut[2] <= 1e-20 * cut[1]


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 0.97), st.floats(0.3, 40), st.floats(0.05, 0.97), EPSILONS)
def test_three_nb(p: float, flood_shape: float, flood_p: float, epsilon: float) -> None:
    check(pairs.three_nb(p, flood_shape, flood_p), ThreeNBPair(p, flood_shape, flood_p), epsilon)


@given(st.floats(0.01, 4), EPSILONS)
def test_discrete_laplace(rate: float, epsilon: float) -> None:
    check(pairs.discrete_laplace(rate), DiscreteLaplacePair(decay(rate)), epsilon)


def direct(pmf: list, epsilon: float, *, up: bool) -> mp.mpf:
    """Return H(Z + 1 || Z) or the other way round, by summing a pmf listed from its first support point."""
    shifted, plain = [mp.mpf(0), *pmf], [*pmf, mp.mpf(0)]
    first, second = (shifted, plain) if up else (plain, shifted)
    return mp.fsum(max(a - mp.exp(epsilon) * b, mp.mpf(0)) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("epsilon", [-0.4, 0.05, 1.0])
@pytest.mark.parametrize("law", ["poisson", "gaussian"])
def test_poisson_and_discrete_gaussian_by_direct_sums(law: str, epsilon: float) -> None:
    with mp.workdps(50):
        if law == "poisson":
            directions = pairs.poisson(30.0)
            pmf = [mp.exp(-30) * mp.mpf(30) ** z / mp.factorial(z) for z in range(400)]
        else:
            directions = pairs.discrete_gaussian(4.0)
            weights = [mp.exp(-(mp.mpf(z) ** 2) / 32) for z in range(-120, 121)]
            pmf = [w / mp.fsum(weights) for w in weights]
        for found, up in zip(directions, (True, False), strict=True):
            interval = found.delta(epsilon)
            assert interval.lower <= direct(pmf, epsilon, up=up) + mp.mpf(10) ** -45
            assert direct(pmf, epsilon, up=up) - mp.mpf(10) ** -45 <= interval.upper
            assert interval.width <= 1e-11 * interval.upper + 1e-55


def test_a_billion_users_are_as_easy() -> None:
    up, _ = pairs.binomial_randomized_response(10**9, 0.1)
    assert up.losses.size < 5e5
    found = up.delta(1e-4)
    enclosure = hockey_stick(RandomizedResponsePair(10**9, 0.1, 0), 1e-4, Direction.UP)
    assert found.lower <= enclosure.upper
    assert enclosure.lower <= found.upper
    assert found.width <= 1e-7 * found.upper


def test_one_sided_noise_is_infinite_one_way_only() -> None:
    up, down = pairs.negative_binomial(2.0, 0.5)
    assert up.infinite_mass == 0.0
    assert down.infinite_mass == pytest.approx(0.25)


def test_approximate_dp_pair_attains_its_claim() -> None:
    pair = pairs.approximate_dp(0.8, 1e-3)
    assert pair.delta(0.8).lower <= 1e-3 <= pair.delta(0.8).upper
    assert pair.delta(0.79).lower > 1e-3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pairs.binomial_randomized_response(0, 0.1), "users=0"),
        (lambda: pairs.binomial_randomized_response(5, 0.5), r"flip_probability=0\.5"),
        (lambda: pairs.binomial_randomized_response(5, 0.0), r"flip_probability=0\.0"),
        (lambda: pairs.mixed_reports(5, 5, 0.1), "ones=5"),
        (lambda: pairs.discrete_laplace(0.0), r"epsilon=0\.0"),
        (lambda: pairs.approximate_dp(-1.0, 0.0), "epsilon0=-1"),
        (lambda: pairs.approximate_dp(1.0, 1.0), "delta0=1"),
        (lambda: pairs.three_nb(1.0, 3.0, 0.5), r"p=1\.0"),
        (lambda: pairs.three_nb(math.nan, 3.0, 0.5), "p=nan"),
        (lambda: pairs.poisson(-1.0), "mean=-1"),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_masses_of_every_pair_sum_to_one() -> None:
    for directions in (
        pairs.negative_binomial(3.0, 0.9),
        pairs.poisson(100.0),
        pairs.discrete_gaussian(10.0),
        pairs.binomial_randomized_response(1000, 0.2),
        pairs.mixed_reports(1000, 300, 0.2),
        pairs.three_nb(0.9, 10.0, 0.9),
    ):
        for direction in directions:
            total = float(np.sum(direction.masses)) + direction.infinite_mass
            assert total == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 0.8])
def test_two_valued_is_randomized_response(epsilon: float) -> None:
    # e^eps0 = 3: the pair (3/4, 1/4) against (1/4, 3/4).
    exact = truth([([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])], [1], epsilon)
    log3 = Interval(1.0986122886681096, 1.09861228866811)
    found = pairs.two_valued(log3).delta(epsilon)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.width <= 1e-14


@pytest.mark.parametrize(
    "directions", [pairs.discrete_gaussian(0.1), pairs.discrete_gaussian(0.03), pairs.poisson(1e-9, 1e-20)]
)
def test_the_last_atom_before_a_steep_fall_has_its_loss(directions: pairs.Directions) -> None:
    # The next one is nothing beside it, and left out.
    assert directions.up.missing_mass <= 1e-20
    assert directions.up.losses[-1] > 20.0


@pytest.mark.parametrize(("shape", "p"), [(1e-300, 1e-100), (1.0, 1e-300), (0.5, 0.0)])
def test_products_below_the_floats_have_a_loss_all_the_same(shape: float, p: float) -> None:
    up, down = pairs.negative_binomial(shape, p)
    assert down.unbounded_mass >= 1.0
    if p > 0.0:
        assert up.losses[0] == pytest.approx(-math.log(shape) - math.log(p))
        assert up.infinite_mass == 0.0
    else:
        assert up.infinite_mass == 1.0


@pytest.mark.parametrize("by", [1, 3, 60])
def test_noise_that_moves_is_listed_with_what_it_leaves_out(by: int) -> None:
    whole = noise.negative_binomial(2.0, 0.6, 1e-30)
    for tail, start in ((1e-30, 0), (1e-3, 3)):
        law = noise.negative_binomial(2.0, 0.6, tail)
        if start:  # a window that starts where the support does not
            cut = float(law.pmf[:start].sum()) * (1.0 + 1e-12)
            law = IntegerLaw(start, law.pmf[start:].copy(), law.relative_error, cut, law.tail_above)
        up, down = pairs.moved(law, by)
        for epsilon in (-0.5, 0.0, 1.0, 3.0):
            lower, higher = np.append(whole.pmf, np.zeros(by)), np.append(np.zeros(by), whole.pmf)
            for pair, (p, q) in ((up, (higher, lower)), (down, (lower, higher))):
                true = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
                found = pair.delta(epsilon)
                assert found.lower - 1e-14 <= true <= found.upper + 1e-14
                assert start or by == 60 or found.width < 1e-12
    with pytest.raises(ValueError, match=r"^by=0 must be an integer in \[1, inf\)\.$"):
        pairs.moved(law, 0)
