"""One instance of a family: the least of what covers prove, the largest of what is attained."""

import math
from dataclasses import replace

import pytest

from dpverify.privacy_loss.composing.once import OneInstance
from dpverify.privacy_loss.losses.pairs import approximate_dp

WEAK, STRONG = approximate_dp(0.5, 0.0), approximate_dp(1.0, 0.0)


def test_a_cover_is_as_bad_as_its_worst_pair_and_the_best_cover_counts() -> None:
    found = OneInstance([[WEAK, STRONG], [STRONG]], [WEAK]).delta(0.2)
    assert found.upper == STRONG.delta(0.2).upper
    assert found.lower == WEAK.delta(0.2).lower
    assert OneInstance([[STRONG], [WEAK]], [WEAK]).delta(0.2) == WEAK.delta(0.2)


def test_epsilon_is_where_delta_is() -> None:
    found = OneInstance([[STRONG]], [WEAK, STRONG]).epsilon(0.1)
    # (e^eps0 - e^eps) / (1 + e^eps0) = delta.
    truth = math.log(math.e - 0.1 * (1.0 + math.e))
    assert found.lower <= truth <= found.upper
    assert found.width == pytest.approx(0.0, abs=1e-8)
    certain = approximate_dp(0.5, 0.2)
    assert OneInstance([[certain]], [certain]).epsilon(0.1).lower == math.inf


def test_an_infinite_mass_may_be_less_than_is_stated() -> None:
    # It is 0.19 at least: an epsilon may be finite at more than that.
    stated = replace(approximate_dp(0.5, 0.2), relative_error=0.05)
    assert OneInstance([[stated]], [stated]).epsilon(0.195).lower < math.inf
    assert OneInstance([[stated]], [stated]).epsilon(0.189).lower == math.inf


def test_the_upper_bound_asks_for_nothing_attained() -> None:
    assert OneInstance([[WEAK]], [STRONG]).delta_upper(0.2) == WEAK.delta(0.2).upper
