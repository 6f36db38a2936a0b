"""Where a curve over days is looked at, and what its points prove of each other."""

from __future__ import annotations

import itertools
import random

import pytest

from dpverify.guarantee import Interval
from dpverify.planning.schedules.result import after_days, never_falling


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
