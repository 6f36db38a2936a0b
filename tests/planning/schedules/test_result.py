"""Where a curve over days is looked at, and what its points prove of each other."""

import itertools
import random
import time

import pytest

from dpverify.guarantee import Adjacency, Interval
from dpverify.planning.account import account
from dpverify.planning.schedules import result
from dpverify.planning.schedules.result import account_schedule, after_days, never_falling
from dpverify.planning.schedules.schedule import Day, Schedule
from dpverify.planning.steps.step import NoisyStep
from protocols.bitsum import NegativeBinomial, RandomizedResponse
from tests.planning.schedules.test_schedule import days, scheduled


def test_a_curve_is_looked_at_where_days_end() -> None:
    assert after_days([120] * 52) == list(range(120, 6241, 120))
    assert after_days([3] * 12) == list(range(3, 37, 3))
    counts = [random.Random(day).randint(1, 9) for day in range(1000)]
    ends, points = set(itertools.accumulate(counts)), after_days(counts)
    assert len(points) == 60
    assert set(points) <= ends
    assert points[-1] == sum(counts)


def test_few_days_are_looked_at_in_between() -> None:
    assert after_days([5]) == [1, 2, 3, 4, 5]
    assert after_days([2, 1]) == [1, 2, 3]
    points = after_days([100, 700])
    assert {100, 800} < set(points)
    assert len(points) == 12


def test_points_take_the_best_ends_of_all() -> None:
    found = never_falling({30: Interval(0.0, 3.5), 10: Interval(1.0, 2.0), 40: Interval(2.5, 3.0), 20: Interval(0, 9)})
    assert list(found.items()) == [
        (10, Interval(1.0, 2.0)),
        (20, Interval(1.0, 3.0)),
        (30, Interval(1.0, 3.0)),
        (40, Interval(2.5, 3.0)),
    ]
    with pytest.raises(ArithmeticError):
        never_falling({1: Interval(2.0, 3.0), 2: Interval(0.0, 1.0)})


@pytest.mark.long
def test_a_year_of_days() -> None:
    draw = random.Random(1)
    year = days(*(round(10 ** draw.uniform(4, 6)) for _ in range(365)), p=0.1)
    start = time.process_time()
    found = scheduled(year, delta="1e-6")
    assert time.process_time() - start < 12  # alone on a machine it is 3
    assert found.epsilon.width < 0.013 * found.epsilon.upper
    assert found.epsilon.upper < 0.1 * found.schedule.basic_epsilon(1e-6)
    curve = found.cumulative([100, 365])
    assert [runs for runs, _ in curve] == [100, 365]
    assert [end.upper for _, end in curve] == sorted(end.upper for _, end in curve)
    assert curve[-1][1].upper == pytest.approx(found.epsilon.upper, rel=1e-4)


@pytest.mark.long
def test_the_curve_over_the_days_holds_what_the_first_days_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scheduled(days(200, 300, 300), delta="1e-6")
    few = found.cumulative([1, 2])
    monkeypatch.setattr(result, "_MOST_FACTORS", 0)
    quick = found.cumulative([1, 2])
    assert quick != few
    for runs, end in [*few, *quick]:
        first = account(days(200, 300)[:runs], delta="1e-6").epsilon
        assert max(first.lower, end.lower) <= min(first.upper, end.upper)
        assert end.width < 0.02 * end.upper
    with pytest.raises(ValueError, match=r"must be a delta above 0 for a curve over the days"):
        scheduled(days(200, 300), epsilon=1).cumulative()


def test_after_few_runs_it_is_what_these_cost_and_a_user_takes_part_in_some() -> None:
    found = scheduled([(RandomizedResponse(60, 0.25), 3)], delta="1e-4")
    assert found.cumulative([1, 3]) == [
        (1, scheduled(days(60), delta="1e-4", relative_width=1e-5).epsilon),
        (3, found.epsilon),
    ]
    assert account([(RandomizedResponse(60, 0.25), 3)], delta="1e-4", at_most=2).instances == 2
    steps = Schedule([(NoisyStep(3.0), 2)], adjacency="add-remove")
    assert account_schedule(steps, delta="1e-4").guarantee.adjacency is Adjacency.ADD_REMOVE


def test_a_curve_over_the_days_at_the_least_delta() -> None:
    found = scheduled([(RandomizedResponse(2, 0.1), 1), (NegativeBinomial(2, 0.5, 0.2), 1)], delta=1e-320)
    assert found.cumulative([1, 2])[-1] == (2, found.epsilon)
    assert found.epsilons([1e-320])[0].lower <= found.epsilon.upper


@pytest.mark.long
def test_no_point_of_a_long_curve_is_far_wider_than_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    year = [
        Day(RandomizedResponse(20_000 - week, 0.2672293226797495), 120, 18_000 - week) for week in range(0, 3000, 300)
    ]
    found = scheduled(year, delta=1e-100)
    monkeypatch.setattr(result, "never_falling", lambda known: known)
    monkeypatch.setattr(result, "_MOST_FACTORS", 0)
    for runs, end in found.cumulative(range(60, 1200, 120)):
        assert end.width < 0.03 * end.upper, runs


@pytest.mark.long
def test_a_curve_ends_with_what_all_days_cost() -> None:
    found = scheduled(days(*range(200, 6200, 200)), delta="1e-6")
    curve = found.cumulative()
    assert [runs for runs, _ in curve] == list(range(1, 31))
    assert curve[-1][1] == found.epsilon
    for (_, fewer), (_, more) in itertools.pairwise(curve):
        assert fewer.lower <= more.lower
        assert fewer.upper <= more.upper
