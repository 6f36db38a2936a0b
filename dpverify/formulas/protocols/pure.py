"""Closed forms for Pure: the experiments' parameters (wagner2025, section 4, after ghazi2023), error and pure loss.

A one is dropped with probability q; the sum gets discrete Laplace noise of pmf proportional to p^|z|.
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context, check_range, larger, smaller
from dpverify.formulas.ranges import ranges

__all__ = [
    "drop_probability",
    "message_view_loss",
    "noise_epsilon",
    "released_bias",
    "sum_view_loss",
    "undropped_epsilon",
    "variance",
]


@ranges(epsilon0="(0, inf)", rho="(0, 1/2]")
def noise_epsilon(ctx: Context, epsilon0: Any, rho: Any) -> Any:
    """Return eps' = eps0 - 0.01 rho min(eps0, 1), the parameter of the discrete Laplace noise: p = e^-eps'.

    rho is the error that may be added to that of discrete Laplace noise at eps0, relatively.
    """
    return epsilon0 - rho * smaller(ctx, epsilon0, ctx.convert(1)) / 100


@ranges(epsilon0="(0, inf)", rho="(0, 1/2]", n="[1, inf)")
def drop_probability(ctx: Context, epsilon0: Any, rho: Any, n: Any) -> Any:
    """Return q = 0.2 rho / (e^eps0 (1 - e^-eps0)^2 n), how likely a one is dropped.

    With all n bits 1 the dropped bits then have a tenth of rho of the variance of discrete Laplace noise at eps0. Where
    q is not below 1, eps0 is too small for so few users: FormulaRangeError, too.
    """
    # e^eps0 (1 - e^-eps0)^2 = (e^eps0 - 1) (1 - e^-eps0).
    q = -rho / (5 * ctx.expm1(epsilon0) * ctx.expm1(-epsilon0) * n)
    return check_range("the published drop probability q", q, low=0, high=1, high_open=True)


@ranges(p="[0, 1)", q="[0, 1)", ones="[0, inf)", shape="(0, inf)")
def variance(ctx: Context, p: Any, q: Any, ones: Any, shape: Any = 1) -> Any:
    """Return the variance of the unbiased estimate, `ones q / (1-q) + 2 r p / ((1-p)^2 (1-q)^2)`.

    The shape r is the total one of either half of the noise. The variance is largest if all users hold a one.
    """
    return ones * q / (1 - q) + 2 * shape * p / ((1 - p) * (1 - q)) ** 2


@ranges(q="[0, 1)", ones="[0, inf)")
def released_bias(ctx: Context, q: Any, ones: Any) -> Any:
    """Return the bias `-q ones` of an implementation that does not divide by 1 - q."""
    return -q * ones


@ranges(p="(0, 1)", q="[0, 1)")
def sum_view_loss(ctx: Context, p: Any, q: Any) -> Any:
    """Return the largest privacy loss of the sum, `ln(q + (1-q)/p)`: its exact pure epsilon, for every dataset.

    p is the least ratio of neighbouring probabilities of the noise, its parameter if its shape is at least 1.
    """
    return ctx.log(q + (1 - q) / p)


@ranges(p="(0, 1)", q="(0, 1)")
def message_view_loss(ctx: Context, p: Any, q: Any) -> Any:
    """Return the largest privacy loss of the two counts, `max(ln(1/q), ln(q + (1-q)/p))`, whatever the flood.

    It is attained in the dataset of zeros, where no message +1 was sent.
    """
    return larger(ctx, -ctx.log(q), sum_view_loss(ctx, p, q))


@ranges(epsilon0="(0, inf)")
def undropped_epsilon(ctx: Context, epsilon0: Any, q: Any) -> Any:
    """Return `ln(e^eps0 (1-q) / (1 - q e^eps0))`: Pure's delta at eps0 is `1 - q e^eps0` times 3NB's there.

    That is for the direction that a flood must hide (docs/floods.md), and q in [0, e^-eps0); the other one is
    (eps0, 0)-DP if `q + (1-q)/p <= e^eps0`.
    """
    q = check_range("q", ctx.convert(q), low=0, high=ctx.exp(-epsilon0), high_open=True)
    return epsilon0 + ctx.log((1 - q) / (1 - q * ctx.exp(epsilon0)))
