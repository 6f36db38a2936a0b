"""Formulas for one negative binomial noise: the published parameters, and its moments by brute force."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import fp

from dpverify.formulas.contexts import arb_context
from dpverify.formulas.protocols import negative_binomial as nb
from tests.formulas.agreement import assert_one_number


def test_published_parameters() -> None:
    assert assert_one_number(nb.p, {"epsilon0": 0.3}) == pytest.approx(math.exp(-0.06), rel=1e-14)
    assert assert_one_number(nb.shape, {"delta0": 1e-6}) == pytest.approx(3 * (1 + math.log(1e6)), rel=1e-14)
    assert nb.tail_shape(fp, 1e-6, 0.05) == math.ceil(1000 * (1 + math.log(20e6)))
    met = {h.name: [h.holds(e, d) for e, d in ((0.5, 0.5), (1.0, 1.0), (0.0, 0.0))] for h in nb.HYPOTHESES}
    assert met == {"epsilon0-below-one": [True, False, False], "delta0-is-a-probability": [True, False, False]}


def test_the_tail_shape_is_never_too_small() -> None:
    # 1000 (1 + ln 1/(beta delta0)) a hair above or below a whole number; in few bits the ball holds all of them.
    for hair, exact in ((1, 27716), (-1, 27715)):
        with mpmath.mp.workdps(60):
            delta0 = mpmath.nstr(2 * mpmath.exp(1 - (27715 + hair * mpmath.mpf(10) ** -20) / 1000), 50)
        for bits, found in ((128, exact), (53, 27716)):
            with arb_context(bits) as arb:
                assert nb.tail_shape(arb, delta0, "0.5") == found


@pytest.mark.parametrize(("p", "shape"), [(0.6, 2.5), (0.8, 14.0), (0.1, 0.25)])
def test_moments_by_brute_force(p: float, shape: float) -> None:
    pmf = np.ones(600)
    for z in range(1, pmf.size):
        pmf[z] = pmf[z - 1] * p * (z + shape - 1) / z
    pmf *= (1 - p) ** shape
    values = np.arange(pmf.size)
    mean = pmf @ values
    arguments = {"p": p, "shape": shape}
    assert assert_one_number(nb.mean, arguments) == pytest.approx(mean, rel=1e-12)
    assert assert_one_number(nb.variance, arguments) == pytest.approx(pmf @ (values - mean) ** 2, rel=1e-11)
