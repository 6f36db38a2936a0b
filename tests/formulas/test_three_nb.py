"""Formulas for 3NB: the published parameters, and error and messages by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import fp

from dpverify.formulas import three_nb
from tests.formulas.agreement import assert_one_number, assert_refused

EPSILON0, DELTA0 = 0.0134, 6.5e-10


def test_published_parameters() -> None:
    budget = {"epsilon0": EPSILON0, "delta0": DELTA0}
    assert assert_one_number(three_nb.noise_p, {"epsilon0": EPSILON0}) == pytest.approx(math.exp(-0.99 * EPSILON0))
    shape = assert_one_number(three_nb.flood_shape, budget)
    assert shape == pytest.approx(3 * (1 + math.log(2 * math.exp(0.99 * EPSILON0) / DELTA0)), rel=1e-14)
    p = assert_one_number(three_nb.flood_p, {**budget, "c": 0.2})
    assert -math.log(p) == pytest.approx(0.2 * EPSILON0 / (EPSILON0 - math.log(DELTA0)), rel=1e-9)


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


def test_ranges() -> None:
    assert_refused(lambda: three_nb.noise_p(fp, 0), "epsilon0=0.0 must be in (0, inf).")
    assert_refused(lambda: three_nb.flood_shape(fp, 1, 1), "delta0=1.0 must be in (0, 1).")
    assert_refused(lambda: three_nb.flood_p(fp, 1, 0.1, -1), "c=-1.0 must be in (0, inf).")
    assert_refused(lambda: three_nb.rmse(fp, 1), "p=1.0 must be in [0, 1).")
    usual = {"n": 9, "p": 0.5, "flood_shape": 1, "flood_p": 0.5, "fraction_of_ones": 1}
    for name, bad, said in (
        ("n", 0, "n=0.0 must be in [1, inf)."),
        ("p", 1, "p=1.0 must be in [0, 1)."),
        ("flood_shape", 0, "flood_shape=0.0 must be in (0, inf)."),
        ("flood_p", 1, "flood_p=1.0 must be in [0, 1)."),
        ("fraction_of_ones", 1.5, "fraction_of_ones=1.5 must be in [0, 1]."),
        ("shape", 0, "shape=0.0 must be in (0, inf)."),
    ):
        call = {**usual, name: bad}
        assert_refused(lambda call=call: three_nb.expected_messages_per_user(fp, **call), said)
