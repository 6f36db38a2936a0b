"""The closed form of two losses: proved, tight, and refused where it would take too long."""

import time
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.formulas import composition as closed_forms
from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.losses.two_valued import TwoValuedCurve


@given(st.floats(1e-4, 3.0), st.integers(1, 40), st.floats(1e-20, 0.3))
def test_both_ends_are_at_the_full_sum(loss: float, instances: int, delta: float) -> None:
    found = TwoValuedCurve(Interval(loss, loss), instances).epsilon(delta)
    with mpmath.mp.workdps(60):
        assert closed_forms.optimal_slack(mpmath.mp, loss, found.upper, instances) <= delta
        if found.lower > 0:
            assert closed_forms.optimal_slack(mpmath.mp, loss, found.lower, instances) > delta
    assert found.width <= 1e-13 * found.upper


@given(st.floats(1e-3, 3.0), st.floats(0.0, 1e-3), st.integers(1, 30), st.floats(0.0, 20.0))
def test_delta_covers_every_loss_of_the_interval(low: float, width: float, instances: int, epsilon: float) -> None:
    found = TwoValuedCurve(Interval(low, low + width), instances).delta(epsilon)
    with mpmath.mp.workdps(60):
        for loss in (low, low + width):
            truth = closed_forms.optimal_slack(mpmath.mp, loss, epsilon, instances)
            assert found.lower <= truth <= found.upper


def test_no_delta_is_the_sum_of_the_losses() -> None:
    assert Fraction(TwoValuedCurve(Interval(0.3, 0.3), 7).epsilon(0.0).upper) >= 7 * Fraction(0.3)


def test_too_many_instances_are_refused_at_once() -> None:
    start = time.monotonic()
    with pytest.raises(CapacityError, match="100000000000 mechanisms"):
        TwoValuedCurve(Interval(0.5, 0.5), 10**11).epsilon(1e-6)
    assert time.monotonic() - start < 1
