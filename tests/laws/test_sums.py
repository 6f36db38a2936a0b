"""Sums of independent rows against enumeration, and against named laws."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.sums import summed

FIRST = DiscreteLaw.from_mapping({(0, 0): 0.5, (1, -2): 0.3, (3, 1): 0.2})
SECOND = DiscreteLaw.from_mapping({(-1, 4): 0.9, (2, 2): 0.1})


def test_the_law_is_that_of_all_combinations() -> None:
    drawn = list(itertools.product(range(3), range(3), range(2)))
    points = np.array([FIRST.points[i] + FIRST.points[j] + SECOND.points[k] for i, j, k in drawn])
    masses = [FIRST.pmf[i] * FIRST.pmf[j] * SECOND.pmf[k] for i, j, k in drawn]
    wanted, found = DiscreteLaw.of(points, masses), summed([(FIRST, 2), (SECOND, 1)])
    assert (found.points == wanted.points).all()
    assert_allclose(found.pmf, wanted.pmf, rtol=1e-14)


def test_rare_sums_keep_their_digits() -> None:
    coin = DiscreteLaw.from_mapping({(0,): 0.9, (1,): 0.1})
    found = summed([(coin, 60)])
    assert_allclose(found.pmf, stats.binom.pmf(np.arange(61), 60, 0.1), rtol=1e-11)


def test_what_parts_leave_out_is_charged_and_no_one_adds_nothing() -> None:
    part = DiscreteLaw(np.array([[0], [1]]), np.array([0.5, 0.49]), 0.01)
    assert summed([(part, 3), (FIRST.image(lambda rows: rows[:, :1]), 0)]).outside == pytest.approx(0.03)


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(ValueError, match=r"span \[3001, 2001\] cells, but at most"):
        summed([(DiscreteLaw.from_mapping({(0, 0): 0.5, (3, 2): 0.5}), 1000)])
