"""Divergences of products of finite pairs against sums over all sequences of outcomes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dpverify.certificates.rationals import compose_rational


def masses(size):
    weights = st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)
    return weights.map(lambda w: [Fraction(x, sum(w)) for x in w])


@settings(max_examples=40, deadline=None)
@given(first=st.tuples(masses(3), masses(3)), second=st.tuples(masses(2), masses(2)), epsilon=st.fractions(-2, 3))
def test_composition_against_all_sequences_of_outcomes(first, second, epsilon):
    factors = [first, first, second, second, second]
    with mpmath.workdps(50):
        growth = mpmath.exp(mpf(epsilon.numerator) / epsilon.denominator)
        total = mpf(0)
        for outcome in product(*(range(len(p)) for p, _ in factors)):
            a = math.prod((p[i] for i, (p, _) in zip(outcome, factors, strict=True)), start=Fraction(1))
            b = math.prod((q[i] for i, (_, q) in zip(outcome, factors, strict=True)), start=Fraction(1))
            total += max(mpf(a.numerator) / a.denominator - growth * b.numerator / b.denominator, mpf(0))
        lower, upper = compose_rational([first, second], [2, 3], epsilon)
        slack = mpf(10) ** -45
        assert mpf(lower.numerator) / lower.denominator - slack <= total
        assert total <= mpf(upper.numerator) / upper.denominator + slack
    assert 0 <= upper - lower <= Fraction(1, 10**40)


def test_composition_keeps_an_infinite_loss_exact():
    pair = ([Fraction(1, 3), Fraction(2, 3), 0], [0, Fraction(2, 3), Fraction(1, 3)])
    # One of four outcomes is impossible under Q; the rest has ratio 1.
    lower, upper = compose_rational([pair], [4], 1)
    assert lower == upper == 1 - Fraction(2, 3) ** 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compose_rational([([1], [1])], [1, 2], 0), r"counts has 2 entries"),
        (lambda: compose_rational([([1], [Fraction(1, 2)])], [1], 0), r"pairs\[0\]\[1\] sums to 1/2"),
        (lambda: compose_rational([([0.5, 0.5], [1, 0])], [1], 0), r"pairs\[0\]\[0\]\[0\]=0.5 must be"),
        (lambda: compose_rational([([1, 0], [1])], [1], 0), r"pairs\[0\] has 2 and 1 masses"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
