"""Closed forms for Pure: the experiments' parameters (wagner2025, section 4, after ghazi2023), error and pure loss.

A one is dropped with probability q; the sum gets discrete Laplace noise of pmf proportional to p^|z|.
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context, check_range, larger, positive, smaller

__all__ = [
    "drop_probability",
    "message_view_loss",
    "noise_epsilon",
    "released_bias",
    "sum_view_loss",
    "undropped_epsilon",
    "variance",
]


def _epsilon0(ctx: Context, epsilon0: Any) -> Any:
    return check_range("epsilon0", ctx.convert(epsilon0), low=0, low_open=True)


def _rho(ctx: Context, rho: Any) -> Any:
    return check_range("rho", ctx.convert(rho), low=0, high=0.5, low_open=True)


def _drop(ctx: Context, q: Any) -> Any:
    return check_range("q", ctx.convert(q), low=0, high=1, high_open=True)


def _p(ctx: Context, p: Any) -> Any:
    return check_range("p", ctx.convert(p), low=0, high=1, high_open=True)


def noise_epsilon(ctx: Context, epsilon0: Any, rho: Any) -> Any:
    """Return eps' = eps0 - 0.01 rho min(eps0, 1), the parameter of the discrete Laplace noise: p = e^-eps'.

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0 : number
        Privacy parameter of one bitsum, positive, in nats.
    rho : number
        In (0, 1/2]: the error that may be added to that of discrete Laplace noise at eps0, relatively.

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    epsilon0, rho = _epsilon0(ctx, epsilon0), _rho(ctx, rho)
    return epsilon0 - rho * smaller(ctx, epsilon0, ctx.convert(1)) / 100


def drop_probability(ctx: Context, epsilon0: Any, rho: Any, n: Any) -> Any:
    """Return q = 0.2 rho / (e^eps0 (1 - e^-eps0)^2 n), how likely a one is dropped.

    With all n bits 1 the dropped bits then have a tenth of rho of the variance of discrete Laplace noise at eps0.

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0 : number
        Privacy parameter of one bitsum, positive, in nats.
    rho : number
        In (0, 1/2].
    n : int
        The number of users, at least 1.

    Raises
    ------
    FormulaRangeError
        If an argument is out of range, or if q is not below 1: eps0 is too small for so few users.
    """
    epsilon0, rho = _epsilon0(ctx, epsilon0), _rho(ctx, rho)
    n = check_range("n", ctx.convert(n), low=1)
    # e^eps0 (1 - e^-eps0)^2 = (e^eps0 - 1) (1 - e^-eps0).
    q = -rho / (5 * ctx.expm1(epsilon0) * ctx.expm1(-epsilon0) * n)
    return check_range("the published drop probability q", q, low=0, high=1, high_open=True)


def variance(ctx: Context, p: Any, q: Any, ones: Any, shape: Any = 1) -> Any:
    """Return the variance of the unbiased estimate, `ones q / (1-q) + 2 r p / ((1-p)^2 (1-q)^2)`.

    Parameters
    ----------
    ctx : Context
        The number system.
    p, q : number
        Noise parameter and drop probability, both in [0, 1).
    ones : number
        How many users hold a one, at least 0; the variance is largest if all do.
    shape : number
        r, the total shape of either half of the noise, positive.

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    p, q, shape = _p(ctx, p), _drop(ctx, q), positive("shape", ctx.convert(shape))
    ones = check_range("ones", ctx.convert(ones), low=0)
    return ones * q / (1 - q) + 2 * shape * p / ((1 - p) * (1 - q)) ** 2


def released_bias(ctx: Context, q: Any, ones: Any) -> Any:
    """Return the bias `-q ones` of an implementation that does not divide by 1 - q.

    Parameters
    ----------
    ctx : Context
        The number system.
    q : number
        Drop probability, in [0, 1).
    ones : number
        How many users hold a one, at least 0.

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    return -_drop(ctx, q) * check_range("ones", ctx.convert(ones), low=0)


def sum_view_loss(ctx: Context, p: Any, q: Any) -> Any:
    """Return the largest privacy loss of the sum, `ln(q + (1-q)/p)`: its exact pure epsilon, for every dataset.

    Parameters
    ----------
    ctx : Context
        The number system.
    p : number
        In (0, 1): the least ratio of neighbouring probabilities of the noise, its parameter if its shape is at least 1.
    q : number
        Drop probability, in [0, 1).

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    p = check_range("p", ctx.convert(p), low=0, high=1, low_open=True, high_open=True)
    q = _drop(ctx, q)
    return ctx.log(q + (1 - q) / p)


def message_view_loss(ctx: Context, p: Any, q: Any) -> Any:
    """Return the largest privacy loss of the two counts, `max(ln(1/q), ln(q + (1-q)/p))`, whatever the flood.

    It is attained in the dataset of zeros, where no message +1 was sent.

    Parameters
    ----------
    ctx : Context
        The number system.
    p, q : number
        Noise parameter and drop probability, both in (0, 1).

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    q = check_range("q", ctx.convert(q), low=0, high=1, low_open=True, high_open=True)
    return larger(ctx, -ctx.log(q), sum_view_loss(ctx, p, q))


def undropped_epsilon(ctx: Context, epsilon0: Any, q: Any) -> Any:
    """Return `ln(e^eps0 (1-q) / (1 - q e^eps0))`: Pure's delta at eps0 is `1 - q e^eps0` times 3NB's there.

    That is for the direction that a flood must hide (docs/floods.md); the other one is (eps0, 0)-DP if
    `q + (1-q)/p <= e^eps0`.

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0 : number
        Privacy parameter of one bitsum, positive, in nats.
    q : number
        Drop probability, in [0, e^-eps0).

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    epsilon0 = _epsilon0(ctx, epsilon0)
    q = check_range("q", ctx.convert(q), low=0, high=ctx.exp(-epsilon0), high_open=True)
    return epsilon0 + ctx.log((1 - q) / (1 - q * ctx.exp(epsilon0)))
