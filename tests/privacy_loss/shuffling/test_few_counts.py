import math

import numpy as np
import pytest

from dpverify.privacy_loss.shuffling import few_counts
from dpverify.privacy_loss.shuffling.few_counts import Values, counted_excess
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.rounding import UNIT
from tests.privacy_loss.shuffling.test_excess import CASES, COPIES, exact


def values_of(weights: list[float], values: list[float], error: float = 0.0, off: float = 0.0) -> Values:
    return Values(np.array(weights), np.array(values), error, np.full(len(values), off), sum(weights) == 1.0)


@pytest.mark.parametrize(("weights", "values"), CASES)
@pytest.mark.parametrize("copies", [1, 2, COPIES])
def test_counting_is_exact_but_for_rounding(weights: list[float], values: list[float], copies: int) -> None:
    found = counted_excess(values_of(weights, values), copies)
    assert found is not None
    truth = exact(weights, values, copies)
    assert truth in found
    assert found.width <= 1e-11 * float(truth) + 1e-70


@pytest.mark.parametrize(("weights", "values"), CASES)
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_errors_of_weights_and_values_are_charged(weights: list[float], values: list[float], side: float) -> None:
    slip = 2.0**-12
    shifted = [value + side * slip for value in values]
    found = counted_excess(values_of(weights, values, off=slip), COPIES)
    assert found is not None
    assert exact(weights, shifted) in found
    moved = [weight * (1.0 + side * slip * np.sign(value)) for weight, value in zip(weights, values, strict=True)]
    if sum(moved) < 1.0 and sum(weights) < 1.0:
        found = counted_excess(values_of(weights, values, error=1.01 * slip), COPIES)
        assert found is not None
        assert exact(moved, values) in found


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_rare_rest_has_the_error_of_all_weights(side: float) -> None:
    slip = 2.0**-12
    weights, values = [0.75, 0.25 - 2.0**-8], [-1.0, 1.5]
    moved = [weights[0] * (1.0 + side * slip), weights[1]]
    found = counted_excess(values_of(weights, values, error=1.01 * slip), COPIES)
    assert found is not None
    assert exact(moved, values) in found


def test_a_rest_that_rounding_hides_is_charged() -> None:
    slip = 2.0**-12
    weights, values = np.array([1.0 - 2.0**-20, 2.0**-20]), np.array([-1.0, 1.0])
    found = counted_excess(Values(weights, values, slip, np.zeros(2)), 2)
    assert found is not None
    assert exact([float(weights[0]) * (1.0 - slip), float(weights[1])], values.tolist(), 2) in found


def test_three_rare_values_are_counted_where_a_contour_is_out_of_reach() -> None:
    # Next to the largest loss of a report of three values among 10^4: the excess was [0, 286].
    p, users = math.exp(8.0), 10_000
    gap = 1e-8
    alpha = (1.0 - gap) / (p + 1.0)
    others, first = np.array([alpha, alpha, gap / p]), np.array([p * alpha, alpha, gap])
    epsilon = 7.99997
    found = HiddenReport(users, others, first, first[[1, 0, 2]], error=64.0 * UNIT).delta(epsilon)
    # With the third value left out, which has a probability of 1e-8.
    two = HiddenReport(users, others[:2], first[:2], first[[1, 0]], error=64.0 * UNIT).delta(epsilon)
    assert found.lower > 1e-6
    assert found.upper == pytest.approx(two.upper, rel=1e-4)
    assert found.width <= 1e-6 * found.upper


@pytest.mark.parametrize(("value", "excess"), [(0.5, 1.5), (-0.5, 0.0)])
def test_a_constant_is_its_own_excess(value: float, excess: float) -> None:
    found = counted_excess(values_of([1.0], [value]), 3)
    assert found is not None
    assert excess in found
    assert found.width <= 1e-12


def test_what_the_windows_cut_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_counts, "_TAIL", 1e-2)
    weights, values = CASES[0]
    found = counted_excess(values_of(weights, values), COPIES)
    assert found is not None
    assert exact(weights, values) in found
    assert found.width > 1e-3 * found.upper


def test_many_counts_are_left_to_the_contour() -> None:
    assert counted_excess(values_of([0.25, 0.5], [1.0, -1.75]), 10**6) is None


def test_a_rare_value_is_counted_whatever_the_number_of_copies() -> None:
    found = counted_excess(values_of([1e-9, 1e-9], [1.0, -2.0]), 10**9)
    assert found is not None
    assert found.width <= 1e-6 * found.upper
