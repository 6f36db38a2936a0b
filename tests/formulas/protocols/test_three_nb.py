"""Formulas for 3NB: the published parameters, and error and messages by brute force."""

import math

import numpy as np
import pytest
from mpmath import fp, mp, mpf

from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import FLOATS, arb_context
from dpverify.formulas.protocols import three_nb
from tests.formulas.agreement import assert_one_number

EPSILON0, DELTA0 = 0.0134, 6.5e-10


def test_published_parameters() -> None:
    budget = {"epsilon0": EPSILON0, "delta0": DELTA0}
    assert assert_one_number(three_nb.noise_p, {"epsilon0": EPSILON0}) == pytest.approx(math.exp(-0.99 * EPSILON0))
    shape = assert_one_number(three_nb.flood_shape, budget)
    assert shape == pytest.approx(3 * (1 + math.log(2 * math.exp(0.99 * EPSILON0) / DELTA0)), rel=1e-14)
    p = assert_one_number(three_nb.flood_p, {**budget, "c": 0.2})
    assert -math.log(p) == pytest.approx(0.2 * EPSILON0 / (EPSILON0 - math.log(DELTA0)), rel=1e-9)


def test_the_flood_exponent_keeps_its_digits_where_its_terms_cancel() -> None:
    with mp.workdps(600):
        for slack in (1e-100, 1e-30, 1e-15, 1e-10, 1e-8, 1e-5, 1e-2, 1.0, 90.0, 800.0):
            for flood_p in (math.exp(-max(slack, 1e-14) / 2), 1e-80, 0.1, 0.9, 1.0 - 1e-9):
                phi = mpf(slack) - mp.log(mpf(flood_p))
                exact = mp.log(-mp.expm1(-phi) / (1 - mpf(flood_p))) - mpf(slack) / mp.expm1(phi)
                found = three_nb.flood_exponent(FLOATS, slack, flood_p)
                assert found == pytest.approx(float(exact), rel=1e-6, abs=0.0)
                with arb_context(2000) as ctx:
                    assert abs(three_nb.flood_exponent(ctx, slack, flood_p) / float(exact) - 1) < 1e-15


def test_a_flood_for_a_tiny_slack_or_delta_is_not_too_small() -> None:
    # With p' = e^(-slack/2), D hardly depends on a small slack.
    sizes = [three_nb.sufficient_flood_shape(FLOATS, 1.0, 1e-6, slack, math.exp(-slack / 2)) for slack in (1e-6, 1e-12)]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-3)
    # A flood that reaches far compared with the slack must be as large as 1/D, about 2 / slack^2.
    assert three_nb.sufficient_flood_shape(FLOATS, 1.0, 1e-6, 1e-10, 0.9) > 1e18
    assert math.isfinite(three_nb.sufficient_flood_shape(FLOATS, 1.0, 1e-320, 0.1, 0.99))
    assert math.isfinite(three_nb.sufficient_flood_shape(FLOATS, 1000.0, 1e-6, 900.0, 0.9))
    with pytest.raises(FormulaRangeError, match="flood_exponent"):
        three_nb.sufficient_flood_shape(FLOATS, 1.0, 1e-6, 1e-300, 0.5)


def test_error_and_messages_by_brute_force() -> None:
    # The pmf of Z1, convolved with that of -Z2.
    p, shape, size = 0.6, 2.5, 400
    pmf = np.ones(size)
    for z in range(1, size):
        pmf[z] = pmf[z - 1] * p * (z + shape - 1) / z
    pmf *= (1 - p) ** shape
    difference = np.convolve(pmf, pmf[::-1])
    values = np.arange(-size + 1, size)
    rmse = assert_one_number(three_nb.rmse, {"p": p, "shape": shape})
    assert rmse == pytest.approx(math.sqrt(difference @ values**2), rel=1e-10)
    mean = pmf @ np.arange(size)
    # The flood of the same law sends two messages each: together four times the mean.
    arguments = {"n": 10, "p": p, "flood_shape": shape, "flood_p": p, "fraction_of_ones": 0.25, "shape": shape}
    messages = assert_one_number(three_nb.expected_messages_per_user, arguments)
    assert messages == pytest.approx(0.25 + 4 * mean / 10, rel=1e-10)
    fewer = three_nb.expected_messages_per_user(fp, 10, p, 2 * shape, 0.2, 0.25, shape)
    assert fewer == pytest.approx(0.25 + 2 * mean / 10 + 2 * (2 * shape * 0.2 / 0.8) / 10, rel=1e-10)
    assert three_nb.rmse(fp, p) == three_nb.rmse(fp, p, 1)
    assert three_nb.expected_messages_per_user(fp, 1, 0.5, 1, 0.0, 0.0) == 2.0  # a single user, r = 1
