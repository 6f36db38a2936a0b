"""What `account` answers: the best bound at hand, at exactly the point that was asked."""

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.changes import L2Bounded
from dpverify.guarantee import Budget
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.planning.steps.step import NoisyStep
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.local.labels import LabelRandomizedResponse

PROTOCOLS: tuple[BitsumProtocol, ...] = (
    RandomizedResponse(100, 0.1),
    RandomizedResponse(7, 0.4),
    ThreeNB(50, 0.9, 12.0, 0.8),
    NegativeBinomial(50, 40.0, 0.8),
    Poisson(50, 60.0),
    Pure(30, 0.6, 0.2, 9.0, 0.7),
    CentralGaussian(9, 7.0),
    CentralDiscreteLaplace(9, 0.8),
    CentralDiscreteGaussian(9, 4.0),
    LocalRandomizedResponse(9, 0.3),
)
# The accuracy that is stated: the search over mixes stops at 1e-4, and a width of 1e-3 ends the search for more bounds.
ACCURACY = 1e-3


@given(
    st.sampled_from(PROTOCOLS),
    st.sampled_from([1, 3]),
    st.lists(st.sampled_from([0.0, 5e-324]) | st.floats(-40.0, -0.1).map(lambda x: 10.0**x), min_size=2, max_size=2),
)
@settings(deadline=None, max_examples=12)
def test_more_delta_never_costs_epsilon(protocol: BitsumProtocol, instances: int, deltas: list[float]) -> None:
    less, more = (account(protocol, instances=instances, delta=delta).epsilon for delta in sorted(deltas))
    assert more.upper <= less.upper * (1 + ACCURACY)


@given(
    st.sampled_from(PROTOCOLS),
    st.sampled_from([1, 3]),
    st.lists(st.floats(-3.0, 12.0).map(lambda x: 10.0**x), min_size=2, max_size=2),
)
@settings(deadline=None, max_examples=15)
def test_more_epsilon_never_costs_delta(protocol: BitsumProtocol, instances: int, epsilons: list[float]) -> None:
    less, more = (account(protocol, instances=instances, epsilon=epsilon).delta for epsilon in sorted(epsilons))
    assert more.upper <= less.upper * (1 + ACCURACY)


@pytest.mark.parametrize("delta", [pytest.param(1e-25, marks=pytest.mark.long), 1e-26, 1e-30])
def test_a_small_delta_has_a_sharp_answer(delta: float) -> None:
    found = account(RandomizedResponse(100, 0.1), instances=10, delta=delta).epsilon
    assert 14 < found.lower <= found.upper <= 21.98
    assert found.width < 1e-3 * found.upper


def test_a_delta_below_all_tails_has_a_bound_and_no_delta_beyond_the_largest_loss() -> None:
    protocol = RandomizedResponse(1000, 0.469)
    pure = account(protocol, instances=8, delta=0).epsilon
    assert account(protocol, instances=8, delta="1e-30").epsilon.upper < 0.13
    one = RandomizedResponse(20, 0.3)
    assert account(one, delta=5e-324).epsilon.upper <= account(one, delta=0).epsilon.upper
    for epsilon in (pure.upper, 1e10, 1e300):
        assert account(protocol, instances=8, epsilon=epsilon).delta.upper == 0.0


def test_a_small_delta_of_a_large_epsilon_is_an_interval_around_it() -> None:
    protocol = NegativeBinomial(50, 400.0, 0.8)
    epsilon = account(protocol, instances=4, delta=1e-60).epsilon
    delta = account(protocol, instances=4, epsilon=epsilon.upper).delta
    assert 0.9e-60 < delta.lower <= 1e-60
    assert delta.width < 1e-2 * delta.upper


def test_two_losses_have_a_closed_form_over_a_million_instances() -> None:
    found = account(LocalRandomizedResponse(10, 0.3), instances=10**6, delta=1e-6).epsilon
    assert 342_607 < found.lower <= found.upper < 342_608


def test_a_decimal_means_its_exact_value_and_a_float_its_own() -> None:
    protocol = CentralGaussian(9, 7.0)
    exact, binary = account(protocol, delta="0.001"), account(protocol, delta=0.001)
    # The nearest float is above a thousandth: the guarantee must hold at the one below.
    assert Fraction(exact.delta.lower) < Fraction(1, 1000) < Fraction(exact.delta.upper) == Fraction(0.001)
    assert exact.guarantee.delta == Budget(1, "0.001").delta == math.nextafter(0.001, 0)
    assert exact.epsilon.lower <= binary.epsilon.upper
    assert exact.epsilon.upper == account(protocol, delta=exact.delta.lower).epsilon.upper
    at = account(protocol, epsilon="0.1")
    assert Fraction(at.epsilon.lower) < Fraction(1, 10) < Fraction(at.epsilon.upper)
    assert at.guarantee.epsilon == at.epsilon.lower
    assert at.delta.upper == account(protocol, epsilon=at.epsilon.lower).delta.upper


@pytest.mark.parametrize("delta", ["1e-400", "1e-999999999", Fraction(1, 10**330)])
def test_a_delta_that_underflows_is_refused(delta: str | Fraction) -> None:
    for ask in (lambda: account(CentralGaussian(9, 7.0), delta=delta), lambda: Budget(1, delta)):
        with pytest.raises(ValueError, match=r"delta=.* must be 0 or in \[5e-324"):
            ask()


def test_a_plan_at_a_small_delta_is_no_worse_than_at_none() -> None:
    pure = plan("rr", Budget("1", 0), users=1000, instances=8)
    rows = [plan("rr", Budget("1", delta), users=1000, instances=8) for delta in ("1e-30", "1e-320")]
    assert rows[0].bitsum_rmse < 0.2 * pure.bitsum_rmse
    assert rows[1].bitsum_rmse <= pure.bitsum_rmse
    assert max(row.guarantee.epsilon for row in rows) <= 1


@pytest.mark.long
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
def test_a_joint_change_costs_less_than_a_full_one_and_no_less_than_what_it_holds(protocol: BitsumProtocol) -> None:
    joint = account(protocol, instances=6, squared_change=2, delta=1e-4)
    two, six = (account(protocol, instances=k, delta=1e-4).epsilon for k in (2, 6))
    assert two.lower * (1.0 - 1e-3) <= joint.epsilon.lower
    assert two.lower <= joint.epsilon.upper <= six.upper
    assert joint.change == L2Bounded(2.0, 6)
    assert joint.to_dict()["change"] == {"kind": "joint", "squared_change": 2.0, "coordinates": 6}
    assert joint.to_dict()["instances"] == 6
    delta = account(protocol, instances=6, squared_change=2, epsilon=joint.epsilon.upper).delta
    assert delta.lower <= 1e-4


def test_the_largest_loss_of_a_joint_change() -> None:
    protocol = LocalRandomizedResponse(9, 0.3)
    found = account(protocol, instances=6, squared_change=2, delta=0).epsilon
    loss = math.log(0.7 / 0.3)
    # Bits that are surely 0 before, all of which move by as much.
    assert found.upper == pytest.approx(6.0 * math.log1p(math.sqrt(1.0 / 3.0) * math.expm1(loss)), rel=1e-12)
    assert found.width < 1e-14 * found.upper
    assert account(protocol, instances=6, squared_change=2, epsilon=found.upper).delta.upper == 0.0


@pytest.mark.long
def test_a_change_of_all_there_is_is_full_and_t2_is_rounded_up() -> None:
    protocol = RandomizedResponse(100, 0.1)
    full = account(protocol, instances=4, delta=1e-4).epsilon
    joint = account(protocol, instances=4, squared_change="4", delta=1e-4).epsilon
    assert joint.upper <= full.upper * (1.0 + 1e-3)
    assert full.lower <= joint.upper
    change = account(protocol, instances=4, squared_change="0.1", epsilon=1).change
    assert isinstance(change, L2Bounded)
    assert Fraction(1, 10) <= Fraction(change.squared_change)
    change = account(protocol, instances=4, squared_change=Fraction(1, 3), epsilon=1).change
    assert isinstance(change, L2Bounded)
    assert change.squared_change == math.nextafter(1 / 3, 1)


def test_what_no_joint_law_is_known_of_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^squared_change=2.0 must be omitted: \S+ is accounted for full changes"):
        account(LabelRandomizedResponse(3, 1.0), instances=6, squared_change=2, delta=1e-4)
    for square in (0, -1, 6.5, "7"):
        with pytest.raises(ValueError, match=r"^squared_change=.* must be a finite number in \(0, 6\]"):
            account(RandomizedResponse(9, 0.2), instances=6, squared_change=square, delta=1e-4)
    with pytest.raises(ValueError, match=r"^instances=0 must be"):
        account(RandomizedResponse(9, 0.2), instances=0, squared_change=1, delta=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(("users", "p", "instances"), [(4, 0.2, 1), (9, 0.1, 1), (4, 0.2, 2), (6, 0.3, 3)])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_a_joint_change_that_may_be_full_in_all_bits_costs_a_full_change(
    users: int, p: float, instances: int, epsilon: float
) -> None:
    # Covers are no members of the family: what they have in common with a full change is only their upper bounds.
    protocol = RandomizedResponse(users, p)
    full = account(protocol, instances=instances, epsilon=epsilon).delta
    joint = account(protocol, instances=instances, squared_change=instances, epsilon=epsilon).delta
    assert full.lower * (1.0 - 1e-3) <= joint.upper <= full.upper * (1.0 + 1e-2)
    assert joint.lower <= full.upper


def test_reports_that_say_next_to_nothing_have_a_delta_of_next_to_nothing() -> None:
    # Its masses are known up to more than its divergence; its largest loss is not.
    found = account(RandomizedResponse(4, 0.5 - 2.0**-48), epsilon=0).delta
    assert 0.0 < found.lower < found.upper < 1e-13


@pytest.mark.parametrize("users", [100, 10_000])
@pytest.mark.parametrize("instances", [1, 10**6])
@pytest.mark.parametrize("ulps", [1, 18])
def test_reports_that_are_next_to_coins_cost_at_most_their_largest_loss(users: int, instances: int, ulps: int) -> None:
    p = 0.5 - ulps * math.ulp(0.25)
    found = account(RandomizedResponse(users, p), instances=instances, delta=1e-6).epsilon
    # ln((1 - p) / p) = 2 artanh(1 - 2p), twice a series of positive terms that ends after the first.
    assert found.lower == 0.0
    assert found.upper <= instances * 2.0 * (1.0 - 2.0 * p) * (1.0 + 1e-9)


def test_who_is_honest_and_takes_part_is_passed_on() -> None:
    """Of what is accounted and of what its certificate is of; what has been fitted stands for what it has run."""
    some, few = RandomizedResponse(90, 0.25), RandomizedResponse(60, 0.25)
    found = account(some, delta="1e-4", honest=60)
    assert found.epsilon == account(few, delta="1e-4").epsilon
    assert found._runs == [(some, 1, 60)]
    days = account([(some, 2), (some, 1, 70)], delta="1e-4", honest=60, at_most=2).schedule
    assert ([day.honest for day in days.days], days.at_most) == ([60, 70], 2)
    fitted = SimpleNamespace(protocol_=few)
    assert account(fitted, delta="1e-4").protocol is few


@pytest.mark.parametrize(
    ("protocol", "options", "message"),
    [
        ([(PROTOCOLS[-1], 1)], {"ball": True}, r"^instances=1 and squared_change=None must be omitted"),
        (PROTOCOLS[-1], {"adjacency": "add-remove"}, "^adjacency='add-remove' must be 'replace-one' but for steps"),
        (PROTOCOLS[-1], {"at_most": 1}, "^at_most=1 must be omitted but for a list"),
        (NoisyStep(1.0), {"at_most": 1}, "^at_most=1 must be omitted for steps"),
        (NoisyStep(1.0), {"honest": 3}, "^honest=3 must be omitted for steps"),
    ],
)
def test_what_does_not_go_with_what_is_accounted_is_refused(protocol: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        account(protocol, delta="1e-4", **options)


def test_a_certificate_is_of_a_delta_that_was_given() -> None:
    with pytest.raises(ValueError, match=r"^epsilon=2\.0 must be omitted: certificates are of a delta that is given"):
        account(PROTOCOLS[-1], epsilon=2).certificate()
