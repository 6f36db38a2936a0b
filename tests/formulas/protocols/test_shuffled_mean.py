"""The formulas of Theorem 9.6."""

import math

import pytest
from mpmath import fp

from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import arb_context
from dpverify.formulas.protocols import shuffled_mean as formulas


def test_the_parameter_and_the_bound() -> None:
    assert float(formulas.coin_probability(fp, 0.5, 1e-3, 1000)) == pytest.approx(math.log(1000) / 250, rel=1e-14)
    assert float(formulas.published_error(fp, 0.5, 1e-3, 1000)) == pytest.approx(math.sqrt(math.log(1000)) / 500)
    with arb_context() as ctx:
        assert float(formulas.published_error(ctx, 0.5, 1e-3, 1000)) == pytest.approx(math.sqrt(math.log(1000)) / 500)


def test_the_estimate_as_it_stands() -> None:
    assert float(formulas.estimate(fp, 30, 100, 0.5)) == pytest.approx((30 - 0.25) / 50)


def test_a_coin_of_more_than_one_is_refused() -> None:
    with pytest.raises(FormulaRangeError):
        formulas.coin_probability(fp, 0.01, 1e-3, 10)


def test_delta_is_compared_exactly() -> None:
    (_, smallest) = formulas.HYPOTHESES
    assert smallest.holds(0.5, 2.0**-10, 21)
    assert smallest.holds(0.5, 2.0**-10, 20)
    assert not smallest.holds(0.5, 2.0**-10, 19)
    assert not smallest.holds(0.5, 0.0, 10)
