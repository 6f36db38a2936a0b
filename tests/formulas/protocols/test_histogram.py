"""Formulas for histogram and selection: they follow from those of one negative binomial noise, and the noise obeys."""

import math

import pytest
from mpmath import fp
from scipy import stats

from dpverify.formulas.protocols import histogram, negative_binomial
from tests.formulas.agreement import assert_one_number


@pytest.mark.parametrize(("epsilon0", "delta0", "beta"), [(0.5, 1e-6, 0.05), (0.99, 0.25, 0.4)])
def test_parameters_are_those_of_one_bucket(epsilon0: float, delta0: float, beta: float) -> None:
    p = assert_one_number(histogram.published_p, {"epsilon0": epsilon0})
    assert p == pytest.approx(float(negative_binomial.p(fp, epsilon0)), rel=1e-15)
    shape = assert_one_number(histogram.published_shape, {"delta0": delta0, "beta": beta})
    assert shape == pytest.approx(1000 * (1 - math.log(delta0) - math.log(beta)), rel=1e-14)
    assert math.ceil(shape) == negative_binomial.tail_shape(fp, delta0, beta)
    # At a smaller r too the noise exceeds the threshold seldom enough.
    for r in (math.ceil(shape), 30):
        threshold = assert_one_number(histogram.published_threshold, {"shape": float(r), "p": p})
        assert threshold == pytest.approx(2 / p * float(negative_binomial.mean(fp, p, r)), rel=1e-12)
        assert stats.nbinom.sf(math.floor(threshold), r, 1 - p) <= math.exp(-r / 1000)
