"""Days that differ: the same as one call where they do not, enclosed by fewer and more users where they do."""

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverify.claims.shared.buckets import under_estimating
from dpverify.planning.account import account
from dpverify.planning.schedules.result import ScheduleResult
from dpverify.planning.schedules.schedule import Schedule
from dpverify.planning.steps.step import NoisyStep
from protocols.bitsum import CentralGaussian, NegativeBinomial, Poisson, Pure, RandomizedResponse, ThreeNB
from protocols.histogram import Histogram
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import GaussianFeatures
from protocols.vector_sum import VectorSum

FULL = GaussianFeatures(2)
"""Points anywhere: all bits of some draw change fully."""

BOTH_WAYS = list(itertools.product([False, True], repeat=2))


def days(*users: int, p: float = 0.25) -> list[tuple[Any, int]]:
    return [(RandomizedResponse(n, p), 1) for n in users]


def scheduled(*arguments: Any, **options: Any) -> ScheduleResult:
    found = account(*arguments, **options)
    assert isinstance(found, ScheduleResult)
    return found


@pytest.mark.long
def test_equal_days_are_one_call() -> None:
    one = account(RandomizedResponse(200, 0.25), instances=5, delta="1e-6")
    assert account(days(*[200] * 5), delta="1e-6").epsilon == one.epsilon
    assert account([(RandomizedResponse(200, 0.25), 50)], delta="1e-6", at_most=5).epsilon == one.epsilon
    noise = [(NegativeBinomial(n, 40.0, 0.9), 1) for n in range(10, 17)]
    assert account(noise, epsilon=1).delta == account(NegativeBinomial(1, 40.0, 0.9), instances=7, epsilon=1).delta


def test_why_a_law_was_left_out_is_a_note_without_a_period() -> None:
    crowd = VectorSum(10**18, 10, 10, 0.3)
    *_, note = account([(crowd, 2)], delta="1e-6").notes
    assert note.startswith("left out: ")
    assert not note.endswith(".")


@pytest.mark.long
def test_days_that_differ_lie_between_the_worst_and_the_best_of_them() -> None:
    found = account(days(500, 700, 900, 1100), delta=1e-6).epsilon
    worst = account(RandomizedResponse(500, 0.25), instances=4, delta=1e-6).epsilon
    best = account(RandomizedResponse(1100, 0.25), instances=4, delta=1e-6).epsilon
    assert best.upper < found.lower <= found.upper < worst.lower
    assert found.width < 0.01 * found.upper


@pytest.mark.long
@pytest.mark.parametrize("what", ["users", "flip probabilities"])
def test_few_listed_numbers_enclose_many(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    many = (
        days(*range(200, 204)) if what == "users" else [day for i in range(4) for day in days(200, p=0.25 + 0.001 * i)]
    )
    monkeypatch.setattr("dpverify.planning.schedules.schedule._MOST_SHARP", 100)
    sharp = account(many, delta=1e-6).epsilon
    monkeypatch.setattr("dpverify.planning.schedules.levels._MOST_LISTED", 2)
    rough = account(many, delta=1e-6).epsilon
    assert len(Schedule(many)._listed) == 2
    assert rough.lower < sharp.lower <= sharp.upper < rough.upper
    assert rough.width < 0.05 * rough.upper


@pytest.mark.long
def test_at_most_so_many_days_are_those_with_the_fewest_users() -> None:
    few = account(days(500, 520), delta=1e-6).epsilon
    found = account(days(2000, 500, 1500, 520, 1000), delta=1e-6, at_most=2).epsilon
    assert found.lower == pytest.approx(few.lower, rel=1e-3)
    assert found.upper == pytest.approx(few.upper, rel=1e-2)
    assert found.upper >= few.lower


def test_at_most_so_many_of_rare_large_losses_and_of_frequent_small_ones() -> None:
    rare, frequent = ThreeNB(30, 0.9, 4.5, 0.97, 3.3), Poisson(30, 50.0)
    days, delta = [(rare, 5), (frequent, 1)], 2e-3
    one = account(frequent, delta=delta).epsilon
    found = [account(days, delta=delta, at_most=most).epsilon for most in (1, 2, 4)]
    assert one.upper == pytest.approx(found[0].upper, rel=1e-4)
    assert all(end.upper < 1.01 * end.lower for end in found)
    assert found[0].upper < found[1].lower < found[2].lower
    # Two ways to guess the worst runs: here the other one is right.
    large = account([(RandomizedResponse(3, 0.2), 2), (RandomizedResponse(99, 0.163), 3)], delta=1e-6, at_most=3)
    assert large.epsilon.upper < 1.01 * large.epsilon.lower


def test_an_infinite_loss_of_one_protocol_is_one_of_all() -> None:
    bare, other = NegativeBinomial(5000, 1.5, 0.5), Poisson(100_000, 5500.0)
    assert account([(bare, 2), (other, 5)], delta=1e-7).epsilon.lower == math.inf
    found = account([(bare, 2), (other, 5)], epsilon=5).delta
    assert account(bare, instances=2, epsilon=5).delta.lower * (1 - 1e-6) < found.lower


def test_two_protocols_cost_more_than_either_and_less_than_both() -> None:
    one, other = RandomizedResponse(900, 0.25), NegativeBinomial(900, 200.0, 0.9)
    both = account([(one, 4), (other, 6)], delta=1e-6).epsilon
    first = account(one, instances=4, delta="5e-7").epsilon
    second = account(other, instances=6, delta="5e-7").epsilon
    apart = [account(one, instances=4, delta=1e-6).epsilon, account(other, instances=6, delta=1e-6).epsilon]
    assert max(each.upper for each in apart) < both.lower
    assert both.upper < first.lower + second.lower


@pytest.mark.long
@pytest.mark.parametrize(
    ("mixed", "delta", "width"),
    [
        ([(RandomizedResponse(100, 0.1), 8), (RandomizedResponse(50, 0.25), 8)], "1e-6", 0.004),
        ([(RandomizedResponse(1000, 0.1), 8), (RandomizedResponse(5000, 0.25), 24)], "1e-6", 0.0005),
        ([(NegativeBinomial(50, 20.0, 0.5), 8), (Poisson(50, 20.0), 8)], "1e-2", 0.005),
    ],
)
def test_two_protocols_are_enclosed_by_their_worst_pairs(mixed: list[Any], delta: str, width: float) -> None:
    found = account(mixed, delta=delta).epsilon
    assert found.width < width * found.upper
    # The same runs in one protocol each, at all of delta, cost less.
    for protocol, count in mixed:
        assert account(protocol, instances=count, delta=delta).epsilon.lower < found.upper


@pytest.mark.long
def test_twenty_different_days_are_as_sharp_as_one_family() -> None:
    draw = random.Random(1)
    found = account(days(*(round(10 ** draw.uniform(3.0, 4.0)) for _ in range(20)), p=0.1), delta="1e-6").epsilon
    assert found.width < 3e-4 * found.upper


@pytest.mark.parametrize("rare", [1e-20, 1e-124, 1e-270])
def test_a_day_of_next_to_no_flips_contains_the_truth(rare: float) -> None:
    # What is left of its losses, trimmed, are gains alone: the window of epsilons was empty.
    flips = [Fraction(0.1), Fraction(rare)]
    masses = [math.prod(p if wrong else 1 - p for p, wrong in zip(flips, each, strict=True)) for each in BOTH_WAYS]
    ratio = Fraction(math.exp(1.0))  # within 1e-15 of e
    exact = sum(max(mass - ratio * other, Fraction(0)) for mass, other in zip(masses, reversed(masses), strict=True))
    found = account([(RandomizedResponse(1, 0.1), 1), (RandomizedResponse(1, rare), 1)], epsilon=1).delta
    assert found.lower <= exact * (1 + Fraction(1, 10**12))
    assert exact <= found.upper * (1 + Fraction(1, 10**12))


def test_largest_losses_add_up_at_delta_zero() -> None:
    found = account([(RandomizedResponse(9, 0.25), 2), (RandomizedResponse(9, 0.1), 3)], delta=0).epsilon
    assert found.lower <= 2 * 1.0986122886681098 + 3 * 2.1972245773362196 <= found.upper
    assert found.width < 1e-12
    most = account([(RandomizedResponse(9, 0.25), 2), (RandomizedResponse(9, 0.1), 3)], delta=0, at_most=4).epsilon
    assert most.lower <= 1.0986122886681098 + 3 * 2.1972245773362196 <= most.upper


def test_basic_composition_adds_up_what_each_run_costs() -> None:
    one, other = RandomizedResponse(200, 0.25), RandomizedResponse(300, 0.25)
    each = [account(protocol, delta=1e-6 / 3).epsilon.upper for protocol in (one, other)]
    assert Schedule([(one, 2), (other, 1)]).basic_epsilon(1e-6) == pytest.approx(2 * each[0] + each[1], rel=1e-3)
    assert Schedule([(one, 9), (other, 1)], 3).basic_epsilon(1e-6) == pytest.approx(3 * each[0], rel=1e-3)
    assert Schedule([(one, 3)]).basic_epsilon(1e-6) == pytest.approx(3 * each[0], rel=1e-3)


def test_equal_runs_of_several_instances_are_shown_too() -> None:
    histogram = Histogram(under_estimating(9, 90.0, 0.9), 5)
    found = account([(histogram, 2)], delta="1e-6")
    assert found.epsilon == account(histogram, instances=2, delta="1e-6").epsilon
    assert "Basic composition of the same runs" in str(found)


BINARY = VectorSum(400, 4, 1, 0.5, 4)
"""Four reports of a user, each like randomized response with flip probability 1/4."""
BUCKETS = Histogram(under_estimating(50, 40.0, 0.9), 3)


@pytest.mark.long
def test_every_listed_protocol_mixes_with_others() -> None:
    found = account([(BINARY, 3), (RandomizedResponse(400, 0.25), 1)], delta=1e-6).epsilon
    alone = account(RandomizedResponse(400, 0.25), instances=13, delta=1e-6).epsilon
    assert max(found.lower, alone.lower) <= min(found.upper, alone.upper)
    # The reports of a vector sum are bounded by their blanket, by itself as among others.
    bound = account(BINARY, instances=3, delta=1e-6).epsilon
    assert bound.lower < found.lower < found.upper < 1.1 * bound.upper
    # Whose buckets count up and down as one user leaves and another enters.
    both = account([(BUCKETS, 5), (NegativeBinomial(50, 40.0, 0.9), 1)], delta=1e-6).epsilon
    least, most = (account(BUCKETS, instances=runs, delta=1e-6).epsilon for runs in (5, 6))
    assert least.upper < both.lower < both.upper < most.lower
    half = account([(BUCKETS, 1), (NegativeBinomial(50, 40.0, 0.9), 1)], delta=1e-6).epsilon
    one = account(NegativeBinomial(50, 40.0, 0.9), instances=3, delta=1e-6).epsilon
    assert half.lower <= one.upper * (1.0 + 1e-9)


def test_a_density_whose_bits_all_change_mixes_with_others() -> None:
    crowd, rng = RandomizedResponse(300, 0.25), np.random.default_rng(0)
    density = KernelDensityProtocol(crowd, FULL.sample(6, rng))
    found = account([(density, 1), (RandomizedResponse(200, 0.25), 1)], delta=1e-6).epsilon
    bits = account([(crowd, 6), (RandomizedResponse(200, 0.25), 1)], delta=1e-6).epsilon
    assert (found.lower, found.upper) == (bits.lower, bits.upper)


def test_at_most_so_many_runs_of_several_instances() -> None:
    runs = [(BUCKETS, 4), (NegativeBinomial(50, 40.0, 0.9), 3)]
    found = account(runs, delta=1e-6, at_most=2).epsilon
    worst = account(BUCKETS, instances=2, delta=1e-6).epsilon
    assert found.lower <= worst.lower
    # Any four counts that go up or down, where any two runs have two of either.
    assert worst.upper <= found.upper <= 1.2 * worst.upper
    assert found.lower >= account(NegativeBinomial(50, 40.0, 0.9), instances=1, delta=1e-6).epsilon.lower
    assert Schedule(runs).basic_epsilon(1e-6) > account(runs, delta=1e-6).epsilon.upper


def test_honest_users_of_each_day_and_of_all() -> None:
    noise, crowd = NegativeBinomial(900, 300.0, 0.9), RandomizedResponse(900, 0.25)
    found = account([(noise, 4), (crowd, 2, 300)], delta=1e-6, honest=700)
    less = account([(noise.with_users(700, rounded=float), 4), (RandomizedResponse(300, 0.25), 2)], delta=1e-6)
    assert found.epsilon.lower == pytest.approx(less.epsilon.lower, rel=1e-6)
    assert found.epsilon.upper == pytest.approx(less.epsilon.upper, rel=1e-6)
    assert [day["honest"] for day in found.to_dict()["days"]] == [700, 300]
    alone = account([(noise, 4), (noise, 1)], delta=1e-6, honest=700).epsilon
    assert account([(noise, 4), (noise, 1)], delta=1e-6, honest="7/9").epsilon == alone
    once = account(noise, instances=5, delta=1e-6, honest=700).epsilon
    assert (alone.lower, alone.upper) == (once.lower, once.upper)
    with pytest.raises(ValueError, match=r"honest=901 must be an integer in \[1, 900\]"):
        account([(noise, 4)], delta=1e-6, honest=901)


def test_one_adversary_must_see_all() -> None:
    message = (
        r"days contradict each other: no threat model is accounted for all "
        r"\(central-gaussian: central; rr: communication\)\."
    )
    with pytest.raises(ValueError, match=message):
        account([(RandomizedResponse(9, 0.25), 1), (CentralGaussian(9, 3.0), 1)], delta=1e-6)
    mixed = [(Pure(9, 0.5), 1), (Pure(9, 0.7), 2)]
    assert scheduled(mixed, delta=1e-6, threat_model="model").guarantee.threat_model == "model"
    with pytest.raises(ValueError, match="threat_model='local' must be one of "):
        account(mixed, delta=1e-6, threat_model="local")


def test_local_mechanisms_compose_with_each_other() -> None:
    labels = LabelRandomizedResponse(3, 0.5)
    both = account([(labels, 2), (LabelRandomizedResponse(3, 1.0), 1)], delta=0).epsilon
    assert both.lower <= 2.0 <= both.upper < 2.0000001
    assert account([(labels, 2), (labels, 1)], delta=1e-3).epsilon == account(labels, instances=3, delta=1e-3).epsilon


@pytest.mark.parametrize(
    "bare",
    [RandomizedResponse(10, 0.0), Poisson(10, 0.0), ThreeNB(10, 0.0, 1.0, 0.9)],
)
def test_a_day_without_noise_tells_all(bare: Any) -> None:
    found = account([(bare, 1), (RandomizedResponse(10, 0.3), 3)], at_most=2, delta=0.5)
    assert found.epsilon.lower == math.inf
    assert account([(CentralGaussian(3, 1.0), 1), (CentralGaussian(3, 0.0), 1)], delta=0.5).epsilon.lower == math.inf
    # What the days before it tell is still known, and the table shows both.
    fine = scheduled(days(10, p=0.3), delta=0.1)
    found = scheduled([*days(10, p=0.3), (bare, 1)], delta=0.1)
    (_, first), (_, both) = found.cumulative([1, 2])
    assert both.lower == found.schedule.basic_epsilon(0.1) == math.inf
    assert first.lower <= fine.epsilon.upper
    assert fine.epsilon.lower <= first.upper < 1.05 * fine.epsilon.upper
    assert "inf" in str(found)


def test_each_day_lies_between_its_two_listed_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.planning.schedules.levels._MOST_LISTED", 3)
    made = Schedule(days(*range(20, 40)))
    users = [law.protocol.users for law in made._listed]
    ends = [(users[above], users[below]) for above, below in zip(made._above, made._below, strict=True)]
    assert all(least <= day <= most for (least, most), day in zip(ends, range(20, 40), strict=True))
    assert len(users) == 3
    with pytest.raises(ValueError, match=r"^at_most=1 must be omitted for adjacency='add-remove'"):
        Schedule([(NoisyStep(1.0), 2)], at_most=1, adjacency="add-remove")


def test_a_law_that_cannot_be_listed_leaves_an_answer() -> None:
    crowd = account([(RandomizedResponse(2**53, 0.4), 1), (RandomizedResponse(10, 0.3), 1)], delta=1e-6)
    assert crowd.schedule.basic_epsilon(1e-6) == math.inf  # type: ignore[attr-defined]
    assert "2 runs" in str(crowd)
    (_, first), (_, both) = crowd.cumulative()  # type: ignore[attr-defined]
    assert first.upper <= both.upper <= math.log(1.5) + math.log(0.7 / 0.3) + 1e-9


@pytest.mark.parametrize(
    ("entries", "options", "message"),
    [
        ([], {}, r"schedule is empty, but must hold at least one \(protocol, instances\)\."),
        ([(RandomizedResponse(9, 0.25), 0)], {}, r"instances=0 must be "),
        ([(RandomizedResponse(9, 0.25), -1)], {}, r"instances=-1 must be "),
        ([(RandomizedResponse(9, 0.25), 2)], {"at_most": 3}, r"at_most=3 must be "),
        ([(RandomizedResponse(9, 0.25), 2)], {"at_most": 0}, r"at_most=0 must be "),
        ([(RandomizedResponse(9, 0.25), 2)], {"instances": 3}, r"instances=3 and squared_change=None must be omitted"),
        ([(RandomizedResponse(9, 0.25), 2, 3, 4)], {}, r"schedule\[0\]=.* must be \(protocol, instances\) or \("),
        (RandomizedResponse(9, 0.25), {"at_most": 3}, r"at_most=3 must be omitted but for a list"),
    ],
)
def test_bad_schedules_are_refused(entries: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        account(entries, delta=1e-6, **options)


def test_a_result_says_what_was_composed() -> None:
    found = scheduled(days(500, 700), delta=1e-6, at_most=1)
    shown = found.to_dict()
    assert [day["users"] for day in shown["days"]] == [500, 700]
    assert (shown["runs"], shown["at_most"], shown["instances"]) == (2, 1, 1)
    assert Schedule(days(500, 700)).at_most == 2
    assert "2 runs, at most 1 a user" in str(found)
    assert found.plot().get_xlabel() == "runs"


def test_runs_of_which_no_float_is_as_many_have_no_basic_composition() -> None:
    found = scheduled([(CentralGaussian(90, 7.0), 10**400)], delta="1e-6")
    assert (found.epsilon.lower, found.epsilon.upper) == (0.0, math.inf)
    assert found.schedule.basic_epsilon(1e-6) == math.inf
