"""The pair of a bit that is flipped once, remembered, and then reported many times with noise.

Given what the bit became, the number of ones among n reports is Bin(n, q) or Bin(n, p), and tells all that the reports
tell. Given the bit itself it is a mixture of both: of weights (1 - f/2, f/2) for a 1 and (f/2, 1 - f/2) for a 0.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.laws import noise
from dpverify.laws.window import DEFAULT_TAIL
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.rounding import UNIT
from protocols.validation import check_integer, check_real

__all__ = ["flipped_bit", "memoized_bit"]


def flipped_bit(f: float) -> PrivacyLossDistribution:
    """Return the pair of a bit flipped with probability f/2, and published: the limit of many reports."""
    check_real("f", f, low=0.0, high=1.0, low_open=True, high_open=True)
    half = 0.5 * f
    loss = math.log((2.0 - f) / f)
    # 1 - f/2 is off by a unit; the quotient by two, and the logarithm by one of its own.
    return PrivacyLossDistribution.from_atoms(
        np.array([loss, -loss]),
        np.array([1.0 - half, half]),
        relative_error=2.0 * UNIT,
        loss_error=(4.0 + 2.0 * loss) * UNIT,
    )


def memoized_bit(f: float, p: float, q: float, reports: int, tail: float = DEFAULT_TAIL) -> Directions:
    """Return the pair of `reports` reports on a remembered bit, a 1 against a 0.

    - f: In (0, 1): the bit is flipped with probability f/2.
    - p, q: In (0, 1), p < q: the probabilities that a remembered 0, and 1, is reported as 1.
    - reports: n, at least 1.
    - tail: Mass that may be cut at each side of each binomial.

    The log-likelihood ratio of c ones given what the bit became is `t = c ln(q/p) + (n-c) ln((1-q)/(1-p))`. Its value
    next to its zero is taken from Arb and the rest follows in steps, so that t is off by few units of itself and not
    of n. The loss is `g(t) = ln(((2-f) e^t + f) / (f e^t + 2-f))`, odd in t. With M = e^-|t| it is the logarithm of a
    quotient of sums of positive terms, off by some ten units, and `0 <= g' <= min(1, 2 M / f)`: where t is large and
    its error with it, the loss no longer depends on it.

    Each binomial is listed in its own window, and an outcome of both twice: what either lacks is missing of it alone.

    If p + q = 1, zeros tell of a 0 what ones tell of a 1: both directions are the same pair.
    """
    for name, value in (("f", f), ("p", p), ("q", q)):
        check_real(name, value, low=0.0, high=1.0, low_open=True, high_open=True)
    if not p < q:
        raise ValueError(f"q={q!r} must be above p={p!r}.")
    n = check_integer("reports", reports, low=1)
    one, zero = noise.binomial(n, q, tail), noise.binomial(n, p, tail)
    losses, errors = zip(*(_losses(f, p, q, n, law.support) for law in (one, zero)), strict=True)
    loss_error = max(errors)
    half = 0.5 * f
    relative_error = max(one.relative_error, zero.relative_error) + 4.0 * UNIT
    cut = [law.tail_below + law.tail_above for law in (one, zero)]

    def direction(sign: float, weights: tuple[float, float]) -> PrivacyLossDistribution:
        return PrivacyLossDistribution.from_atoms(
            sign * np.concatenate(losses),
            np.concatenate([weights[0] * one.pmf, weights[1] * zero.pmf]),
            0.0,
            (weights[0] * cut[0] + weights[1] * cut[1]) * (1.0 + 8.0 * UNIT),
            relative_error=relative_error,
            loss_error=loss_error,
        )

    up = direction(1.0, (1.0 - half, half))
    return Directions(up, up if Fraction(p) + Fraction(q) == 1 else direction(-1.0, (half, 1.0 - half)))


def _losses(f: float, p: float, q: float, n: int, counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
    """Return g(t) of each count of ones, and a bound on its error in nats."""
    with arb_context() as ctx:
        up = ctx.log(ctx.convert(q) / ctx.convert(p))
        down = ctx.log((1 - ctx.convert(p)) / (1 - ctx.convert(q)))
        middle = min(max(round(upper_float(n * down / (up + down))), 0), n)
        start = middle * up - (n - middle) * down
        at, step = upper_float(start), upper_float(up + down)
        # Beside the roundings below: how far the floats are from what they stand for, at most.
        at_error = at - lower_float(start)
    steps = (counts - middle).astype(np.float64)
    t = at + steps * step
    size = np.abs(t)
    ratio = np.exp(-size)
    losses = np.sign(t) * np.log((2.0 - f + f * ratio) / (f + (2.0 - f) * ratio))
    error = at_error + 4.0 * UNIT * (abs(at) + np.abs(steps) * step)
    # The slope between t and its float: e^error is far below the 1 % that is added.
    slope = np.minimum(1.0, 2.02 * ratio / f)
    rounding = 12.0 * UNIT + 4.0 * UNIT * float(np.abs(losses).max(initial=0.0))
    return losses, rounding + float((error * slope).max(initial=0.0)) * 1.01
