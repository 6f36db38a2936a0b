"""Randomized response: the exact pair, every dataset and every mix of directions, by exact enumeration."""

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, RandomizedResponsePair
from dpverify.certificates.rationals import compose_rational
from dpverify.changes import L2Ball
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.bitsum import randomized_response as rr
from dpverify.claims.shared import response_pairs
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Interval
from dpverify.planning.account import account
from dpverify.privacy_loss.composing import any_mix
from dpverify.privacy_loss.composing.any_mix import AnyMix
from dpverify.privacy_loss.datasets.covers import Covers, members
from dpverify.privacy_loss.datasets.listed_reports import sure_coins
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import binomial_randomized_response, mixed_reports
from protocols.bitsum import RandomizedResponse

CLAIMS = BITSUM_CLAIMS["rr"]
Law = list[Fraction]


def number_of_ones(chances: Iterable[Fraction]) -> Law:
    """Return the law of how many independent reports are 1."""
    law = [Fraction(1)]
    for one in chances:
        law = [x * (1 - one) + y * one for x, y in zip([*law, 0], [0, *law], strict=True)]
    return law


def neighbours(users: int, ones: int, p: float) -> tuple[Law, Law]:
    """Return the laws of the reported ones for either bit of a user, so many of the others holding 1."""
    flip = Fraction(p)
    others = [1 - flip] * ones + [flip] * (users - 1 - ones)
    return number_of_ones([flip, *others]), number_of_ones([1 - flip, *others])


def every_pair(users: int, p: float) -> list[tuple[Law, Law]]:
    """Return the pairs of all datasets, in both directions."""
    return [pair for ones in range(users) for law in [neighbours(users, ones, p)] for pair in (law, law[::-1])]


def beyond(epsilon: float, zero: Law, one: Law) -> Fraction:
    """Return the divergence of `one` from `zero`, e^epsilon rounded to the far side of the truth."""
    growth = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**50))
    return sum((max(y - growth * x, Fraction(0)) for x, y in zip(zero, one, strict=True)), Fraction(0))


@pytest.mark.parametrize("users", [1, 2, 4])
@pytest.mark.parametrize("p", [0.125, 0.4375])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.5, -0.7])
def test_pairs_are_the_enumerated_laws(users: int, p: float, epsilon: float) -> None:
    for ones in range(users):
        zero, one = neighbours(users, ones, p)
        pairs = [mixed_reports(users, ones, p)] + ([binomial_randomized_response(users, p)] if ones == 0 else [])
        for up, down in pairs:
            for distribution, pair in ((up, (one, zero)), (down, (zero, one))):
                exact = compose_rational([pair], [1], Fraction(epsilon))
                found = distribution.delta(epsilon)
                assert found.lower <= exact.upper
                assert exact.lower <= found.upper
                assert found.width <= 1e-11


@pytest.mark.long
@pytest.mark.parametrize(("users", "instances"), [(2, 2), (3, 2), (4, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.2])
def test_account_covers_every_dataset_and_every_mix(users: int, instances: int, epsilon: float) -> None:
    # Each instance has its own number of ones and its own direction: enumerate all combinations, exactly.
    mixes = itertools.combinations_with_replacement(every_pair(users, 0.25), instances)
    worst = max(compose_rational(list(mix), [1] * instances, Fraction(epsilon)).lower for mix in mixes)
    found = account(RandomizedResponse(users, 0.25), instances=instances, epsilon=epsilon).delta
    assert found.lower <= worst <= found.upper
    # The supremum of profiles overshoots mixes a little; it must not be a vacuous bound.
    assert found.upper <= worst * Fraction(12, 10)


@pytest.mark.long
@pytest.mark.parametrize(("users", "instances"), [(3, 3), (4, 2), (5, 2)])
@pytest.mark.parametrize("p", [0.125, 0.375])
def test_single_pairs_bound_every_mix_of_datasets(
    monkeypatch: pytest.MonkeyPatch, users: int, instances: int, p: float
) -> None:
    monkeypatch.setattr(any_mix, "_HOPELESS", math.inf)
    pairs = CLAIMS.views_at(RandomizedResponse(users, p), CLAIMS.threat_models[0], 1e-15)
    assert isinstance(pairs.every, Covers)
    assert pairs.every.single is not None
    every = pairs.every.single()
    found = [AnyMix(every, pairs.attained[0], instances, epsilon=1.0, delta=delta) for delta in (1e-6, 0.02)]
    for epsilon in (0.0, 1.2, 3.0):
        mixes = itertools.combinations_with_replacement(every_pair(users, p), instances)
        worst = max(compose_rational(list(mix), [1] * instances, Fraction(epsilon)).lower for mix in mixes)
        assert worst <= min(bound.delta(epsilon) for bound in found)


LOG_CHANCE, PLACES = st.floats(math.log(1e-270), math.log(0.49)), st.lists(st.floats(-1, 1), min_size=3, max_size=3)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), LOG_CHANCE, PLACES)
def test_every_number_of_ones_is_below_every_cover(users: int, log_p: float, places: list[float]) -> None:
    p = math.exp(log_p)
    every = CLAIMS.pairs(RandomizedResponse(users, p)).every
    for epsilon in (place * math.log((1 - p) / p) for place in places):
        bounds = [
            max(Fraction(pair.delta(epsilon).upper) for entry in cover for pair in members(entry))
            for cover in (every, *getattr(every, "others", ()))
        ]
        assert max(beyond(epsilon, *neighbours(users, ones, p)) for ones in range(users)) <= min(bounds)


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 24), st.floats(math.log(2e-3), math.log(0.49)), PLACES)
def test_every_number_of_ones_is_below_the_pairs(users: int, log_p: float, places: list[float]) -> None:
    p = math.exp(log_p)
    pairs = CLAIMS.pairs(RandomizedResponse(users, p))
    groups = [[entry] if isinstance(entry, PrivacyLossDistribution) else entry for entry in pairs.every]
    chord = supremum = True
    for ones in range(users):
        share = Fraction(ones, max(users - 1, 1))
        for epsilon in (place * math.log((1 - p) / p) for place in places):
            a, b = (max(Fraction(pair.delta(epsilon).upper) for pair in group) for group in groups)
            truth = beyond(epsilon, *neighbours(users, ones, p))
            chord &= truth <= (1 - share) * a + share * b
            supremum &= truth <= (a if ones <= (users - 1) // 2 else b)
    assert chord or supremum


SHARP = {"delta": 1e-6, "relative_width": 1e-5}


@pytest.mark.long
@pytest.mark.parametrize(
    ("users", "p", "instances", "width", "accuracy"),
    [
        # The supremum of the datasets, or a chord above it, once left 2.6 %, 0.14 % and 0.11 %.
        (10, 0.3, 768, 1e-3, {"delta": 1e-6}),
        (10**6, 3e-5, 8, 1e-3, {"delta": 1e-6}),
        (10**6, 1e-3, 10**6, 1e-3, {"delta": 1e-6}),
        (1000, 0.45, 512, 1e-3, SHARP),
        (10**7, 0.001, 16, 1e-3, SHARP),
        (10**12, 0.1, 512, 1e-3, SHARP),
        (10**9, 0.1, 1, 1e-3, SHARP),
        (10**5, 0.1 / 10**5, 768, 2e-4, SHARP),
        (10**12, 10.0 / 10**12, 8, 5e-4, SHARP),
        (10**5, 30.0 / 10**5, 1, 5e-4, SHARP),
        (10**6, 19.0 / 10**6, 32, 6e-4, SHARP),
        (10**6, 14e-6, 400, 2e-3, {"delta": "1e-30"}),
        (10**6, 0.1, 400, 2e-3, {"delta": "1e-100"}),
        (10**9, 0.3, 7, 2e-3, {"delta": "1e-190"}),
    ],
)
def test_the_interval_is_narrow(users: int, p: float, instances: int, width: float, accuracy: dict[str, Any]) -> None:
    found = account(RandomizedResponse(users, p), instances=instances, **accuracy).epsilon
    assert 0.0 <= found.width <= width * found.lower


def test_a_cell_with_fewer_coins_than_its_pair_is_charged() -> None:
    # Of 198 users 119 toss a coin on average, and fewer than four with a probability of at most 1e-24.
    tail = 1e-24
    assert sure_coins(198, 0.3, tail) == (4, tail)
    every = response_pairs.cover(400, 0.3, 1, tail).every
    assert isinstance(every, Covers)
    assert every.single is not None
    alone = mixed_reports(400 - 198, 1, 0.3, tail, coins=4).down
    assert every.single()[-1].pair.missing_mass >= alone.missing_mass + 0.99 * tail > alone.missing_mass


def test_middle_numbers_of_ones_are_worst_near_zero_and_are_covered() -> None:
    # exact_accounting: at p = 0.01 the middle k exceeds k = 0 at eps = 0.
    users, p = 2000, 0.01
    end, middle = (mixed_reports(users, ones, p).up.delta(0.0) for ones in (0, (users - 1) // 2))
    assert middle.lower > end.upper
    found = account(RandomizedResponse(users, p), instances=1, epsilon=0.0).delta
    assert middle.upper <= found.upper <= 1.01 * middle.upper


@pytest.mark.parametrize("direction", list(Direction))
def test_engine_agrees_with_arb_at_real_size(direction: Direction) -> None:
    users, p = 30_000, 0.1
    up, down = binomial_randomized_response(users, p)
    for epsilon in (-0.01, 0.0, 0.02, 0.08, 0.15):
        enclosure = hockey_stick(RandomizedResponsePair(users, p, 0), epsilon, direction)
        found = (up if direction is Direction.UP else down).delta(epsilon)
        assert found.lower <= enclosure.upper
        assert enclosure.lower <= found.upper
        assert found.width <= 1e-9 * found.upper


def test_account_brackets_the_independent_calculation() -> None:
    found = account(RandomizedResponse(30_000, 0.1), instances=768, delta=1e-6)
    assert found.epsilon.lower <= 1.89636 <= found.epsilon.upper
    assert found.epsilon.width < 0.01
    assert found.guarantee.epsilon == found.epsilon.upper
    dictionary = found.to_dict()
    # Read again as decimals, the printed ends hold: they are rounded outwards, by an ulp at most.
    assert Interval(**dictionary["epsilon"]).width - found.epsilon.width == pytest.approx(0.0, abs=1e-15)
    printed = Interval(**dictionary["epsilon"])
    assert printed.lower <= found.epsilon.lower <= found.epsilon.upper <= printed.upper
    assert dictionary["delta"] == {"lower": 1e-6, "upper": 1e-6}


@pytest.mark.long
@pytest.mark.parametrize(("epsilon0", "delta0", "users"), [(0.9, 1e-3, 4000), (0.2, 1e-2, 20_000)])
def test_published_parameters_keep_their_promise_in_range(epsilon0: float, delta0: float, users: int) -> None:
    assert not CLAIMS.published_notes(users, epsilon0, delta0)
    protocol = CLAIMS.published(users, epsilon0, delta0)
    assert account(protocol, instances=1, epsilon=epsilon0).delta.upper <= delta0


@pytest.mark.parametrize(("epsilon0", "delta0"), [(1.5, 1e-6), (0.5, 1.5), (0.0, 1e-6)])
def test_published_formula_refuses_what_has_no_meaning(epsilon0: float, delta0: float) -> None:
    with pytest.raises(FormulaRangeError, match="must be in"):
        CLAIMS.published(1000, epsilon0, delta0)


@pytest.mark.long
def test_tiny_masses_of_many_users_contain_what_the_end_attains() -> None:
    users, p, delta = 15_000, 0.02, 1e-180
    found = account(RandomizedResponse(users, p), delta=delta).epsilon
    assert found.upper <= 1.001 * found.lower
    pair = RandomizedResponsePair(users, p, 0)
    least, most = (max(hockey_stick(pair, end, way).upper for way in Direction) for end in (found.lower, found.upper))
    assert most <= delta <= least * (1.0 + 1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("users", "p", "square", "bits", "width"), [(1600, 0.15, 25.0, 384, 0.0022), (50, 0.2, 4.0, 64, 0.008)]
)
def test_a_joint_change_takes_the_cover_that_is_sharp_for_it(
    users: int, p: float, square: float, bits: int, width: float
) -> None:
    protocol, change = RandomizedResponse(users, p), L2Ball(square, bits)
    found = CLAIMS.curve(protocol, change, CLAIMS.threat_models[0], reference_delta=1e-6).epsilon(1e-6)
    assert 0.0 < found.width < width * found.lower


def test_the_worst_dataset_of_one_instance_is_next_to_the_end() -> None:
    users, p = 10**5, 3e-4
    end, near = (mixed_reports(users, users - 1 - zeros, p).up.delta(1.098) for zeros in (0, 300))
    assert near.lower > end.upper
    found = account(RandomizedResponse(users, p), instances=1, epsilon=1.098).delta
    assert near.lower <= found.upper
    assert found.lower > end.upper


def test_few_coins_are_charged_and_rare() -> None:
    # At a loud tail, the exact probability of fewer coins is within what is charged.
    for users, p in ((50, 0.1), (400, 0.3), (2000, 0.01)):
        coins, missing = sure_coins(users, p, 0.2)
        assert coins > 0
        toss = 2 * Fraction(p)
        fewer = sum(math.comb(users, m) * toss**m * (1 - toss) ** (users - m) for m in range(coins))
        assert Fraction(1, 1000) < fewer <= Fraction(missing)


def test_a_cell_of_many_users_surely_has_more_coins_where_more_may_be_left_out() -> None:
    claims, protocol = CLAIMS, RandomizedResponse(20_000, 0.2)
    short, long = (claims.views_at(protocol, claims.threat_models[0], tail) for tail in (1e-19, 1e-40))
    for epsilon in (0.02, 0.05):
        assert long.delta_upper(epsilon) * (1 - 2e-2) <= short.delta_upper(epsilon) < long.delta_upper(epsilon)


@pytest.mark.parametrize("users", [1, 2])
def test_one_or_two_users_have_only_attained_pairs(users: int) -> None:
    pairs = CLAIMS.pairs(RandomizedResponse(users, 0.3))
    assert pairs.every == pairs.attained
    assert len(pairs.every) == 2


@pytest.mark.parametrize(("users", "p"), [(1, 0.3), (2, 0.3), (40, 0.2), (3000, 0.001), (3000, 1e-9), (5000, 0.4)])
def test_the_note_of_an_account_is_that_of_its_pairs_and_costs_no_listing(users: int, p: float) -> None:
    protocol = RandomizedResponse(users, p)
    claims = rr.RandomizedResponseClaims()
    made = response_pairs.cover.cache_info().misses
    note = claims.note(protocol, claims.threat_models[0])
    assert response_pairs.cover.cache_info().misses == made
    assert claims.pairs(protocol).note == note
