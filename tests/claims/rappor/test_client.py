"""The exact probabilities of a device's draws, and the account that takes them."""

import math
from fractions import Fraction

import pytest

from dpverify.claims.rappor.bloom import Split
from dpverify.claims.rappor.client import count_law, exact_chances
from dpverify.claims.rappor.response import RapporClaims
from protocols.rappor.response import Rappor

MECHANISM = Rappor(8, 2, f=0.1, p=0.3, q=0.9, reports=3)


def test_chances_are_the_binary_values() -> None:
    assert exact_chances(MECHANISM) == (Fraction(0.1) / 2, Fraction(0.3), Fraction(0.9))


@pytest.mark.parametrize("bit", [0, 1])
def test_counts_are_mixtures_of_binomials(bit: int) -> None:
    flip, zero, one = exact_chances(MECHANISM)
    kept = 1 - flip if bit else flip
    for count, mass in enumerate(count_law(MECHANISM, bit)):
        binomials = [math.comb(3, count) * chance**count * (1 - chance) ** (3 - count) for chance in (one, zero)]
        assert mass == kept * binomials[0] + (1 - kept) * binomials[1]


def test_the_account_encloses_the_loss_of_these_laws() -> None:
    set_bit, clear = (count_law(MECHANISM, bit) for bit in (1, 0))
    ratios = [a / b for a, b in zip(set_bit, clear, strict=True)]
    for split, exact in ((Split(1, 0), max(ratios)), (Split(0, 1), 1 / min(ratios))):
        found = RapporClaims().loss(MECHANISM, split)
        assert found.lower <= math.log(exact) + 1e-15
        assert math.log(exact) - 1e-15 <= found.upper
        assert found.width < 1e-14
