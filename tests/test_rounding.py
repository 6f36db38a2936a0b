"""Bounds on the engine's own arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpverify.rounding import sum_above, summation_error


def test_sums_are_rounded_up_and_no_further() -> None:
    rng = np.random.default_rng(7)
    for first, second in rng.random((100, 2)) * (10.0, 1.0):
        total = sum_above(first, second)
        assert Fraction(math.nextafter(total, 0.0)) < Fraction(first) + Fraction(second) <= Fraction(total)
    assert sum_above(1.0, 2.0) == 3.0
    assert sum_above(1.0, math.inf) == math.inf


def test_sums_of_many_terms_are_as_near_as_stated() -> None:
    rng = np.random.default_rng(8)
    for size in (1, 127, 1000, 2**14):
        terms = rng.random(size)
        exact = sum(map(Fraction, terms.tolist()))
        assert abs(Fraction(float(terms.sum())) / exact - 1) <= Fraction(summation_error(size))
