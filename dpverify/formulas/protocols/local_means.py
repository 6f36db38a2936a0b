"""Closed forms for local means: the exact variance of one debiased report, and what no local mechanism can be below.

Values are in units of the largest one, m = 1, but for levels, which are 0, ..., k - 1. The mean of n users has a
variance of the sum of theirs over n^2.
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context
from dpverify.formulas.ranges import ranges

__all__ = [
    "contrast",
    "discrete_laplace_variance",
    "laplace_variance",
    "levels_variance",
    "one_bit_variance",
    "posterior_variance",
    "response_variance",
]


@ranges(epsilon="(0, inf)")
def contrast(ctx: Context, epsilon: Any, levels: Any = 2) -> Any:
    """Return (e^eps - 1) / (e^eps - 1 + k): what is left of a difference of levels after k-ary randomized response."""
    shrunk = -ctx.expm1(-epsilon)
    return shrunk / (shrunk + levels * ctx.exp(-epsilon))


@ranges(epsilon="(0, inf)")
def levels_variance(ctx: Context, epsilon: Any, levels: Any, distance: Any) -> Any:
    """Return the variance of a debiased k-ary report at a level this far from the middle (k - 1) / 2.

    A report is the level with probability c = `contrast`, else uniform, of variance (k^2 - 1) / 12: so it is `c (1 - c)
    d^2 + (1 - c) (k^2 - 1) / 12`, and 1 / c^2 times as much when debiased.
    """
    kept = contrast(ctx, epsilon, levels)
    # 1 - c, without its cancellation.
    lost = levels * ctx.exp(-epsilon) / (-ctx.expm1(-epsilon)) * kept
    return lost * (kept * ctx.convert(distance) ** 2 + (ctx.convert(levels) ** 2 - 1) / 12) / kept**2


@ranges(epsilon="(0, inf)", value="[0, 1]")
def one_bit_variance(ctx: Context, epsilon: Any, value: Any) -> Any:
    """Return the variance of a debiased report of equation 9.2 (wang_lecture9) at a value.

    The bit has probability `q = (1 - t) / 2 + x t` with t = `contrast`: q (1 - q) / t^2, which is x (1 - x) for the
    rounding and (1 - t^2) / (4 t^2) for the randomized response.
    """
    return value * (1 - value) + response_variance(ctx, epsilon)


@ranges(epsilon="(0, inf)")
def response_variance(ctx: Context, epsilon: Any) -> Any:
    """Return e^eps / (e^eps - 1)^2, the variance of a debiased bit of randomized response."""
    return ctx.exp(-epsilon) / ctx.expm1(-epsilon) ** 2


@ranges(epsilon="(0, inf)")
def laplace_variance(ctx: Context, epsilon: Any) -> Any:
    """Return 2 / eps^2."""
    return 2 / epsilon**2


@ranges(epsilon="(0, inf)", offset="[0, 1]")
def discrete_laplace_variance(ctx: Context, epsilon: Any, steps: Any, offset: Any) -> Any:
    """Return the variance of a debiased report of discrete Laplace noise on a grid of s steps.

    The offset f is how far the value is above a point of the grid, in steps; rounding has the variance f (1 - f).
    """
    # The noise is a difference of two geometric variables: twice e^-d / (1 - e^-d)^2.
    return (offset * (1 - offset) + 2 * response_variance(ctx, epsilon / steps)) / ctx.convert(steps) ** 2


@ranges(epsilon="(0, inf)")
def posterior_variance(ctx: Context, epsilon: Any) -> Any:
    """Return e^eps / (e^eps + 1)^2: the least variance of a fair bit given any eps-DP report (see `lower_bound`)."""
    q = 1 / (1 + ctx.exp(epsilon))
    return q * (1 - q)
