"""Digits that are printed are proved."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.formulas.catalogue import find_formulas
from dpverify.formulas.contexts import FormulaRangeError, UndecidedComparisonError
from dpverify.formulas.precise import enclosed, value
from tests.refusals import refused

(NOISE,) = find_formulas("three-nb.noise-p")
(BRANCHES,) = find_formulas("randomized-response.flip-probability")


@given(st.fractions(Fraction(1, 10**12), 50), st.integers(1, 300))
def test_a_number_lies_between_its_bounds_and_has_its_digits(epsilon0: Fraction, digits: int) -> None:
    (found,) = value(NOISE, {"epsilon0": epsilon0}, digits)
    with mpmath.mp.workdps(3 * digits + 100):
        truth = mpmath.exp(-mpmath.mpf(99 * epsilon0.numerator) / (100 * epsilon0.denominator))
        printed = mpmath.mpf(str(found))
        assert mpmath.mpf(found.lower.numerator) / found.lower.denominator <= truth
        assert truth <= mpmath.mpf(found.upper.numerator) / found.upper.denominator
        assert abs(printed - truth) <= 0.6 * mpmath.mpf(10) ** (1 - digits) * truth
        rounded = found.to_dict()
        assert mpmath.mpf(rounded["lower"]) <= truth <= mpmath.mpf(rounded["upper"])


def test_a_number_next_to_a_branch_takes_more_precision_and_one_at_it_is_refused() -> None:
    arguments = {"delta0": Fraction(1, 10**6), "n": 10**6}
    (at,) = find_formulas("branch-point")
    (limit,) = value(at, arguments, 300)
    low, high = (value(BRANCHES, {**arguments, "epsilon0": end}, 20)[0] for end in (limit.lower, limit.upper))
    assert str(low) == str(high)  # the branches meet
    with pytest.raises(UndecidedComparisonError):
        enclosed(lambda ctx: BRANCHES(ctx, {**arguments, "epsilon0": at(ctx, arguments)[0]}), 20)


def test_what_is_out_of_range_or_cannot_be_written_is_refused() -> None:
    with refused("epsilon0", FormulaRangeError):
        value(NOISE, {"epsilon0": -1})
    with pytest.raises(ArithmeticError, match=r"the value is below 2\^-1048576"):
        value(NOISE, {"epsilon0": 10**12})
    with refused("digits=0"):
        value(NOISE, {"epsilon0": 1}, 0)
    with pytest.raises(ArithmeticError, match="the value may be 0"):
        enclosed(lambda ctx: (ctx.log(ctx.exp(1)) - 1,), 5)
    with pytest.raises(ArithmeticError, match="not finite"):
        enclosed(lambda ctx: (ctx.convert(1) / ctx.zero,), 5)
