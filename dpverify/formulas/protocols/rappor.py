"""Closed forms for RAPPOR: the largest privacy losses of a bit that is flipped once and then reported many times.

A bit B is flipped with probability f/2, and n reports of what it became are ones with probability q where that is 1 and
p where it is 0. With L the likelihood ratio of the reports given that it became 1 and 0, that given B = 1 and B = 0 is
`((2-f) L + f) / (f L + 2-f)`, which rises in L. So the largest loss of B = 1 against B = 0 is where all reports are
ones, `L = (q/p)^n`, and that of B = 0 against B = 1 where none is, `1/L = ((1-p)/(1-q))^n`; both tend to
`ln((2-f)/f)`, what the flipped bit itself reveals (docs/rappor.md).
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context
from dpverify.formulas.ranges import ranges

__all__ = [
    "bit_loss",
    "epsilon",
    "flip_parameter",
    "permanent_epsilon",
    "published_epsilon_one",
    "report_probabilities",
    "variance_factor",
]


@ranges(f="(0, 1)", p="(0, 1)", q="(0, 1)")
def report_probabilities(ctx: Context, f: Any, p: Any, q: Any) -> tuple[Any, Any]:
    """Return p* and q*, the probabilities that a bit that is 0, and one that is 1, is reported as 1."""
    return (f * q + (2 - f) * p) / 2, ((2 - f) * q + f * p) / 2


@ranges(f="(0, 1)")
def bit_loss(ctx: Context, f: Any, ratio: Any) -> Any:
    """Return `ln((2-f + f M) / (f + (2-f) M))`: the loss of reports M times as likely if the bit became the other one.

    M, the ratio, is in [0, 1].
    """
    ratio = ctx.convert(ratio)
    return ctx.log((2 - f + f * ratio) / (f + (2 - f) * ratio))


def permanent_epsilon(ctx: Context, f: Any, bits: Any) -> Any:
    """Return `bits ln((2-f)/f)`, the largest loss of that many flipped bits that differ (erlingsson2014, Theorem 1).

    For two patterns of h bits, with no bit in common, that is `2h ln((1 - f/2) / (f/2))`.
    """
    return ctx.convert(bits) * bit_loss(ctx, f, ctx.zero)


@ranges(f="(0, 1)", p="(0, 1)", q="(0, 1)", reports="[1, inf)")
def epsilon(ctx: Context, f: Any, p: Any, q: Any, reports: Any, lost: Any, gained: Any) -> Any:
    """Return the largest loss of a value against another one after n reports, with p < q.

    The first pattern has `lost` bits that the second has not, and the second `gained` that the first has not.
    """
    all_ones, all_zeros = (ctx.exp(reports * ctx.log(ratio)) for ratio in (p / q, (1 - q) / (1 - p)))
    return ctx.convert(lost) * bit_loss(ctx, f, all_ones) + ctx.convert(gained) * bit_loss(ctx, f, all_zeros)


def published_epsilon_one(ctx: Context, f: Any, p: Any, q: Any, hashes: Any) -> Any:
    """Return `h ln(q* (1-p*) / (p* (1-q*)))`, of one report (erlingsson2014, Theorem 2)."""
    zero, one = report_probabilities(ctx, f, p, q)
    return ctx.convert(hashes) * ctx.log(one * (1 - zero) / (zero * (1 - one)))


def flip_parameter(ctx: Context, epsilon_bit: Any) -> Any:
    """Return f at which one flipped bit has the loss `epsilon_bit`, `2 / (1 + e^epsilon)`: the inverse of the limit."""
    return 2 / (1 + ctx.exp(ctx.convert(epsilon_bit)))


def variance_factor(ctx: Context, zero: Any, one: Any) -> Any:
    """Return `p* (1-p*) / (q*-p*)^2`, the variance of a user's debiased bit that is 0."""
    zero, one = ctx.convert(zero), ctx.convert(one)
    return zero * (1 - zero) / (one - zero) ** 2
