"""What is true of `protocols.rappor.client`: a device's reports have the law that the simulation's have.

A client draws with rational numbers: f/2, p and q as the floats' exact binary values, of which `Fraction(f) / 2` is no
float's rounding. So the account of its mechanism, whose formulas take the same exact values, is its own: no rounding of
a probability comes between. The simulation compares floats of 53 random bits, so that each of its probabilities is off
by 2^-53 at most; that is what tells both apart, and the reason why only a client is promised anything.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from protocols.rappor.response import Rappor

__all__ = ["Chances", "count_law", "exact_chances"]


class Chances(NamedTuple):
    """What a client draws with, exactly.

    - flip: f/2, the probability that a bit is flipped for good.
    - zero, one: p and q, the probabilities that a kept 0, and a kept 1, is reported as 1.
    """

    flip: Fraction
    zero: Fraction
    one: Fraction


def exact_chances(mechanism: Rappor) -> Chances:
    """Return the probabilities of a client's draws."""
    return Chances(Fraction(mechanism.f) / 2, Fraction(mechanism.p), Fraction(mechanism.q))


def count_law(mechanism: Rappor, bit: int) -> list[Fraction]:
    """Return the exact law of how often all reports on one value send a bit as 1, given the bit of the Bloom filter.

    - mechanism: The parameters; exact arithmetic is meant for few reports.
    - bit ({0, 1}): Whether the value's pattern has the bit.

    Returns: The probability of 0, 1, ... ones.
    """
    chances, n = exact_chances(mechanism), mechanism.reports
    kept = 1 - chances.flip if bit else chances.flip
    law = [Fraction(0)] * (n + 1)
    for weight, one in ((kept, chances.one), (1 - kept, chances.zero)):
        own = [Fraction(1)]
        for _ in range(n):
            own = [a * (1 - one) + b * one for a, b in zip([*own, Fraction(0)], [Fraction(0), *own], strict=True)]
        law = [a + weight * b for a, b in zip(law, own, strict=True)]
    return law
