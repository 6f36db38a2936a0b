"""Points of a curve that are asked for by delta or by epsilon."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpverify.changes import Full, L2Ball, L2Bounded
from dpverify.guarantee import CapacityError, Interval, ThreatModel
from dpverify.planning.answers import answered, between, change_of, chosen_threat_model, honest_users, within_limits
from dpverify.privacy_loss.composing.bounds import LargestLossCurve


class Line:
    """delta = 1 - epsilon, up to 0.01 on either side."""

    def delta(self, epsilon: float) -> Interval:
        return Interval(max(0.99 - epsilon, 0.0), max(1.01 - epsilon, 0.0))

    def epsilon(self, delta: float) -> Interval:
        return Interval(0.99 - delta, 1.01 - delta)


def nothing() -> LargestLossCurve:
    raise AssertionError


def test_what_is_asked_for_is_given_back_and_the_other_number_computed() -> None:
    asked, exact, _, (epsilon, delta), statement = answered(lambda _: Line(), nothing, "0.25", None)
    assert (asked, exact, delta) == ("delta", Fraction(1, 4), Interval(0.25, 0.25))
    assert (epsilon, statement) == (Interval(0.74, 1.01 - 0.25), (1.01 - 0.25, 0.25))
    asked, _, _, (epsilon, delta), statement = answered(lambda _: Line(), nothing, None, "0.5")
    assert (asked, epsilon, statement) == ("epsilon", Interval(0.5, 0.5), (0.5, delta.upper))
    assert (delta.lower, delta.upper) == pytest.approx((0.49, 0.51))


def test_a_number_between_two_floats_is_asked_for_at_both() -> None:
    _, _, _, (epsilon, delta), statement = answered(lambda _: Line(), nothing, "0.1", None)
    assert delta.lower < Fraction("0.1") < delta.upper
    assert epsilon == Interval(0.99 - delta.upper, 1.01 - delta.lower)
    assert statement == (epsilon.upper, delta.lower)
    _, _, _, (epsilon, delta), statement = answered(lambda _: Line(), nothing, None, "0.1")
    assert epsilon.lower < Fraction("0.1") < epsilon.upper
    assert delta == Interval(0.99 - epsilon.upper, 1.01 - epsilon.lower)
    assert statement == (epsilon.lower, delta.upper)


def test_a_falling_curve_is_largest_at_the_lower_end() -> None:
    assert between(lambda at: Interval(1.0 - at, 1.5 - at), Interval(0.25, 0.5)) == Interval(0.5, 1.25)


def test_each_reference_that_was_tried_bounds_what_is_asked_for() -> None:
    """The curves after the first are made for less delta, and have other lower ends."""
    ends = iter([Interval(0.1, 0.4), Interval(0.0, 0.15), Interval(0.0, 0.15)])
    curve = type("Curve", (), {"delta": lambda self, epsilon: next(ends)})
    assert answered(lambda _: curve(), nothing, None, "0.5")[3][1] == Interval(0.1, 0.15)


def test_the_largest_loss_answers_at_delta_zero() -> None:
    largest = LargestLossCurve(Interval(2.0, 2.0), Full(3))
    assert answered(lambda _: Line(), lambda: largest, 0, None)[3][0] == Interval(6.0, 6.0)


def test_a_share_that_is_written_as_one_is_all_users() -> None:
    assert [honest_users(all_of, 7) for all_of in (1.0, "1.0", Decimal("1.0"), np.float64(1.0), None)] == [7] * 4 + [
        None
    ]
    assert [honest_users(one, 7) for one in (1, "1", Decimal(1), Fraction(1), "0.2")] == [1] * 5


@pytest.mark.parametrize("given", [(None, None), ("0.1", "0.2")])
def test_one_of_both_is_needed(given: tuple[str | None, str | None]) -> None:
    with pytest.raises(ValueError, match="exactly one of delta="):
        answered(lambda _: Line(), nothing, *given)


@pytest.mark.parametrize("given", [(1, None), (-1, None), (None, -1)])
def test_a_number_out_of_range_is_refused(given: tuple[int | None, int | None]) -> None:
    with pytest.raises(ValueError, match=r"^(delta|epsilon)=-?1\.0 must be "):
        answered(lambda _: Line(), nothing, *given)


def test_changes_and_threat_models() -> None:
    assert change_of(4, None) == Full(4)
    change = change_of(4, "0.1")
    assert isinstance(change, L2Bounded)
    assert Fraction(change.squared_change) >= Fraction("0.1")
    assert isinstance(change_of(4, "0.1", ball=True), L2Ball)
    known = (ThreatModel.COMMUNICATION, ThreatModel.MODEL)
    assert chosen_threat_model("pure", known, None) is ThreatModel.COMMUNICATION
    with pytest.raises(ValueError, match=r"threat_model='local' must be one of .* for pure"):
        chosen_threat_model("pure", known, "local")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (lambda: np.float64(1e308) * 10.0, "leaves the range of floats"),
        (lambda: math.exp(1e4), "leaves the range of floats"),
        (lambda: (_ for _ in ()).throw(MemoryError()).__next__(), "needs more memory"),
        (lambda: (_ for _ in ()).throw(CapacityError("too wide.")).__next__(), "x cannot be computed here: too wide"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_its_name(error: object, said: str) -> None:
    with pytest.raises(CapacityError, match=said), within_limits("x"):
        error()  # type: ignore[operator]
