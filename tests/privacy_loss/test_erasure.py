"""Erased inputs against rational arithmetic, both directions, with outcomes that one law lacks."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.guarantee import Interval
from dpverify.privacy_loss.erasure import erased, two_valued
from dpverify.privacy_loss.pairs import Directions, negative_binomial
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth


@given(rational_pairs(), st.fractions(0, 1), st.floats(-3, 3))
def test_erased_is_the_mixture(pair: RationalPair, probability: Fraction, epsilon: float) -> None:
    first, second = pair
    q = Fraction(float(probability))
    mixed = [q * b + (1 - q) * a for a, b in zip(first, second, strict=True)]
    found = erased(Directions(floats((first, second)), floats((second, first))), float(q))
    for distribution, exact in zip(found, ((mixed, second), (second, mixed)), strict=True):
        interval, enclosed = distribution.delta(epsilon), truth([exact], [1], epsilon)
        assert interval.lower <= enclosed.upper
        assert enclosed.lower <= interval.upper
        assert interval.width <= 1e-12


def test_nothing_erased_changes_nothing() -> None:
    pair = negative_binomial(3.0, 0.4)
    assert erased(pair, 0.0) is pair


def test_all_erased_reveals_nothing() -> None:
    for direction in erased(negative_binomial(3.0, 0.4), 1.0):
        assert direction.delta(0.0).upper <= 1e-13


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 0.8])
def test_two_valued_is_randomized_response(epsilon: float) -> None:
    # e^eps0 = 3: the pair (3/4, 1/4) against (1/4, 3/4).
    exact = truth([([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])], [1], epsilon)
    log3 = Interval(1.0986122886681096, 1.09861228866811)
    found = two_valued(log3).delta(epsilon)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.width <= 1e-14
