"""Divergences of products of finite pairs, in exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import ctx

from dpverify.certificates.balls import as_ball, as_rational, check_number
from dpverify.guarantee import Number
from protocols.validation import check_integer

__all__ = ["RationalInterval", "compose_rational"]

_EXP_BITS = 256


class RationalInterval(NamedTuple):
    """A number known to lie between two rationals."""

    lower: Fraction
    upper: Fraction


def _exp_bounds(epsilon: Number) -> RationalInterval:
    """Return rationals around e^epsilon."""
    with ctx.workprec(_EXP_BITS):
        ball = as_ball(epsilon).exp()
        return RationalInterval(as_rational(ball.lower()), as_rational(ball.upper()))


def _check_law(name: str, masses: Sequence[Fraction | int]) -> None:
    for index, mass in enumerate(masses):
        if isinstance(mass, bool) or not isinstance(mass, (int, Fraction)) or mass < 0:
            raise ValueError(f"{name}[{index}]={mass!r} must be an exact non-negative Fraction.")
    if sum(masses) != 1:
        raise ValueError(f"{name} sums to {sum(masses)}, but must sum to exactly 1.")


def compose_rational(
    pairs: Sequence[tuple[Sequence[Fraction | int], Sequence[Fraction | int]]],
    counts: Sequence[int],
    epsilon: Number,
) -> RationalInterval:
    """Return the hockey-stick divergence H_eps(P||Q) of a product of finite pairs, in exact arithmetic.

    Each pair (P, Q) has exact masses on the same outcomes, zeros allowed on either side, and `counts` says how many
    independent copies of it the product has; epsilon is any real number, in nats. The only inexact step is e^eps,
    enclosed to 256 bits. ValueError if lengths differ, a mass is negative or no Fraction, or a law does not sum to
    exactly 1.
    """
    check_number("epsilon", epsilon)
    if len(pairs) != len(counts):
        raise ValueError(f"counts has {len(counts)} entries, but must have one for each of the {len(pairs)} pairs.")
    # Outcomes of equal likelihood ratio Q/P can be merged; those without mass under P never contribute.
    product = {Fraction(1): Fraction(1)}
    for index, ((p, q), count) in enumerate(zip(pairs, counts, strict=True)):
        if len(p) != len(q):
            raise ValueError(f"pairs[{index}] has {len(p)} and {len(q)} masses, but must have as many on both sides.")
        _check_law(f"pairs[{index}][0]", p)
        _check_law(f"pairs[{index}][1]", q)
        single = [(Fraction(b) / a, Fraction(a)) for a, b in zip(p, q, strict=True) if a > 0]
        for _ in range(check_integer(f"counts[{index}]", count, low=0)):
            larger: dict[Fraction, Fraction] = {}
            for ratio, mass in product.items():
                for factor, weight in single:
                    key = ratio * factor
                    larger[key] = larger.get(key, Fraction(0)) + mass * weight
            product = larger
    factors = _exp_bounds(epsilon)

    def divergence(factor: Fraction) -> Fraction:
        return sum((max(mass * (1 - factor * ratio), Fraction(0)) for ratio, mass in product.items()), Fraction(0))

    return RationalInterval(divergence(factors.upper), divergence(factors.lower))
