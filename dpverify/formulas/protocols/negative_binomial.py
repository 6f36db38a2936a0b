"""Closed forms for one negative binomial noise (ghazi2021, Algorithms 7 and 8, Theorem 39 and Corollary 40).

Totals over all users are stated: Z ~ NB(r, p), each of n users draws NB(r/n, p). The source writes "log" without a
base; the natural logarithm is assumed.
"""

from __future__ import annotations

import math
from typing import Any

from dpverify.formulas import Hypothesis
from dpverify.formulas.contexts import Context, check_range, open_unit, upper_float

__all__ = ["HYPOTHESES", "mean", "p", "shape", "tail_shape", "variance"]


def p(ctx: Context, epsilon0: Any) -> Any:
    """Return p = exp(-0.2 eps0) (ghazi2021, Theorem 39).

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0 : number
        Privacy parameter of one bitsum, positive, in nats.

    Raises
    ------
    FormulaRangeError
        If epsilon0 is not positive.
    """
    return ctx.exp(-check_range("epsilon0", ctx.convert(epsilon0), low=0, low_open=True) / 5)


def shape(ctx: Context, delta0: Any) -> Any:
    """Return r = 3 (1 + ln(1/delta0)) (ghazi2021, Theorem 39).

    Parameters
    ----------
    ctx : Context
        The number system.
    delta0 : number
        Privacy parameter of one bitsum, in (0, 1).

    Raises
    ------
    FormulaRangeError
        If delta0 is out of range.
    """
    return 3 * (1 - ctx.log(open_unit("delta0", ctx.convert(delta0))))


def tail_shape(ctx: Context, delta0: Any, beta: Any) -> int:
    """Return r = ceil(1000 (1 + ln(1/(beta delta0)))) (ghazi2021, proof of Corollary 40).

    Parameters
    ----------
    ctx : Context
        The number system, which must be numeric.
    delta0, beta : number
        Privacy parameter and failure probability of the error bound, both in (0, 1).

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    delta0 = open_unit("delta0", ctx.convert(delta0))
    beta = open_unit("beta", ctx.convert(beta))
    exact = 1000 * (1 - ctx.log(beta * delta0))
    # The upper end of a ball: an r that is too large by one is still private, and an r too small is not.
    return math.ceil(upper_float(exact) if hasattr(exact, "upper") else exact)


def mean(ctx: Context, p: Any, shape: Any) -> Any:
    """Return the mean of the noise, `r p / (1-p)`: the bias of the count, and the messages that carry no bit.

    Parameters
    ----------
    ctx : Context
        The number system.
    p : number
        In [0, 1).
    shape : number
        r, positive.

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    p = check_range("p", ctx.convert(p), low=0, high=1, high_open=True)
    return check_range("shape", ctx.convert(shape), low=0, low_open=True) * p / (1 - p)


def variance(ctx: Context, p: Any, shape: Any) -> Any:
    """Return the variance of the noise, `r p / (1-p)^2`; the arguments are those of `mean`."""
    return mean(ctx, p, shape) / (1 - ctx.convert(p))


HYPOTHESES: tuple[Hypothesis, ...] = (
    Hypothesis(
        "epsilon0-below-one", "0 < epsilon0 < 1 (ghazi2021, Theorem 39).", lambda epsilon0, delta0: 0 < epsilon0 < 1
    ),
    Hypothesis(
        "delta0-is-a-probability", "0 < delta0 < 1 (ghazi2021, Theorem 39).", lambda epsilon0, delta0: 0 < delta0 < 1
    ),
)
"""The hypotheses of Theorem 39, as predicates of (epsilon0, delta0)."""
