"""Budgets are exact, intervals are ordered, and bad values are named."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.guarantee import Adjacency, Budget, Guarantee, Interval, Side, ThreatModel
from tests.refusals import refused


def test_budget_is_held_exactly_and_read_as_floats_on_the_safe_side() -> None:
    budget = Budget("2", "0.1")
    assert budget.exact_delta == Fraction(1, 10)
    # The float nearest to 1/10 is above it: a budget must not grow by rounding.
    assert Fraction(0.1) > Fraction(1, 10)
    assert budget.delta == math.nextafter(0.1, 0)
    assert Budget(Fraction(1, 3), Decimal("1e-6")).exact_epsilon == Fraction(1, 3)
    assert Budget(0.1, 0).exact_epsilon == Fraction(0.1)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=100), st.fractions(min_value=0, max_value=Fraction(9, 10)))
def test_float_views_never_exceed_the_budget(epsilon: Fraction, delta: Fraction) -> None:
    budget = Budget(epsilon, delta)
    assert Fraction(budget.epsilon) <= epsilon < Fraction(math.nextafter(budget.epsilon, math.inf))
    assert Fraction(budget.delta) <= delta < Fraction(math.nextafter(budget.delta, math.inf))


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (0, "1e-6", r"epsilon=0 must be in \(0, inf\)\."),
        (-1, "1e-6", r"epsilon=-1 must be in \(0, inf\)\."),
        (math.nan, "1e-6", "epsilon=nan must be a finite number"),
        (math.inf, "1e-6", "epsilon=inf must be a finite number"),
        ("two", "1e-6", "epsilon='two' must be a finite number"),
        ("\uff11", "1e-6", "epsilon='\uff11' must be a finite number"),
        ("1/0", "1e-6", "epsilon='1/0' must be a finite number"),
        (1, 1, r"delta=1 must be in \[0, 1\)\."),
        (1, -0.5, r"delta=-0\.5 must be in \[0, 1\)\."),
        (1, math.nan, "delta=nan must be a finite number"),
    ],
)
def test_bad_budgets_are_named(epsilon: object, delta: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Budget(epsilon, delta)  # type: ignore[arg-type]


def test_budgets_refuse_what_is_no_number() -> None:
    for value in (True, None, 1j):
        with pytest.raises(TypeError, match="epsilon="):
            Budget(value, 0)  # type: ignore[arg-type]


def test_intervals_are_ordered_and_contain_their_ends() -> None:
    interval = Interval(1.0, 2.0)
    assert 1.0 in interval
    assert Fraction(2) in interval
    assert 2.1 not in interval
    assert interval.width == 1.0
    for bad in ((2.0, 1.0), (math.nan, 1.0), (1.0, math.nan)):
        with pytest.raises(ValueError, match="lower <= upper"):
            Interval(*bad)
    with pytest.raises(TypeError, match=r"^Interval\('a', 'b'\) must have real numbers as its ends\.$"):
        Interval("a", "b")  # type: ignore[arg-type]


def test_proved_bounds_that_cross_are_an_error_that_names_both() -> None:
    assert Interval.proved(1.0, math.inf) == Interval(1.0, math.inf)
    above = math.nextafter(1.0, 2.0)
    with pytest.raises(ArithmeticError, match=r"lower bound 1\.0000000000000002 is above the proved upper bound 1\.0"):
        Interval.proved(above, 1.0)
    for bad in ((math.nan, 1.0), (1.0, math.nan)):
        with pytest.raises(ArithmeticError, match="nan"):
            Interval.proved(*bad)


def test_a_guarantee_says_everything_as_plain_json() -> None:
    guarantee = Guarantee(
        1.0, 1e-6, Adjacency.REPLACE_ONE, ThreatModel.COMMUNICATION, Side.UPPER_BOUND, "exact", "here"
    )
    assert json.loads(json.dumps(guarantee.to_dict())) == {
        "epsilon": 1.0,
        "delta": 1e-6,
        "adjacency": "replace-one",
        "threat_model": "communication",
        "side": "upper bound",
        "method": "exact",
        "source": "here",
    }
    for epsilon, delta in ((-1.0, 0.5), (math.nan, 0.5), (1.0, 1.5), (1.0, math.nan)):
        with pytest.raises(ValueError, match="must be in"):
            Guarantee(epsilon, delta, *list(vars(guarantee).values())[2:])


@pytest.mark.parametrize("delta", ["1e-400", "1e-999999999", Fraction(1, 10**330)])
def test_a_delta_that_underflows_is_refused_and_not_taken_for_0(delta: str | Fraction) -> None:
    with refused("delta"):
        Budget(1, delta)


def test_scalars_of_numpy_are_numbers_and_none_is_rounded() -> None:
    assert Budget(np.int64(2), np.float64(1e-6)) == Budget(2, 1e-6)
    assert Budget(np.float32(0.1), 0).exact_epsilon == Fraction(float(np.float32(0.1)))
    # More bits than a double, on machines that have such: all of them count.
    wide = np.longdouble(1) + np.finfo(np.longdouble).eps
    assert Budget(wide, 0).exact_epsilon == 1 + Fraction(*np.finfo(np.longdouble).eps.as_integer_ratio())
    for bad in (np.bool_(True), np.ones(1), None, [1]):
        with pytest.raises(TypeError, match="epsilon="):
            Budget(bad, 0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epsilon="):
        Budget(np.float64("nan"), 0)


def test_a_pair_of_numbers_is_taken_for_a_budget() -> None:
    budget = Budget("2", "1e-6")
    assert Budget.of(budget) is budget
    assert Budget.of(("2", "1e-6")) == budget
    for bad in (2, "2", ("2",), (2, 0, 0), {"epsilon": 2, "delta": 0}, None):
        with refused("claim", TypeError):
            Budget.of(bad, "claim")  # type: ignore[arg-type]
    with refused("delta=2"):
        Budget.of((1, 2))


def test_a_guarantee_takes_words_and_refuses_others() -> None:
    given = Guarantee(1.0, 0.0, "Replace-One", "model", "upper bound", "exact law", "here")  # type: ignore[arg-type]
    assert given.side is Side.UPPER_BOUND
    assert given.to_dict()["adjacency"] == "replace-one"
    assert str(given).startswith("(1, 0)-DP, upper bound, replace-one")
    with refused("side='both'"):
        Guarantee(1.0, 0.0, "replace-one", "model", "both", "exact law", "here")  # type: ignore[arg-type]
