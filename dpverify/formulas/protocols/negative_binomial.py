"""Closed forms for one negative binomial noise (ghazi2021, Algorithms 7 and 8, Theorem 39 and Corollary 40).

Totals over all users are stated: Z ~ NB(r, p), each of n users draws NB(r/n, p). The source writes "log" without a
base; the natural logarithm is assumed.
"""

from __future__ import annotations

import math
from typing import Any

from dpverify.formulas import Hypothesis
from dpverify.formulas.contexts import Context, upper_float
from dpverify.formulas.ranges import ranges

__all__ = ["HYPOTHESES", "mean", "p", "shape", "tail_shape", "variance"]


@ranges(epsilon0="(0, inf)")
def p(ctx: Context, epsilon0: Any) -> Any:
    """Return p = exp(-0.2 eps0) (ghazi2021, Theorem 39)."""
    return ctx.exp(-epsilon0 / 5)


@ranges(delta0="(0, 1)")
def shape(ctx: Context, delta0: Any) -> Any:
    """Return r = 3 (1 + ln(1/delta0)) (ghazi2021, Theorem 39)."""
    return 3 * (1 - ctx.log(delta0))


@ranges(delta0="(0, 1)", beta="(0, 1)")
def tail_shape(ctx: Context, delta0: Any, beta: Any) -> int:
    """Return r = ceil(1000 (1 + ln(1/(beta delta0)))) (ghazi2021, proof of Corollary 40), in a numeric context.

    The bound on the error fails with probability beta.
    """
    exact = 1000 * (1 - ctx.log(beta * delta0))
    # The upper end of a ball: an r that is too large by one is still private, and an r too small is not.
    return math.ceil(upper_float(exact) if hasattr(exact, "upper") else exact)


@ranges(p="[0, 1)", shape="(0, inf)")
def mean(ctx: Context, p: Any, shape: Any) -> Any:
    """Return the mean of the noise, `r p / (1-p)`: the bias of the count, and the messages that carry no bit."""
    return shape * p / (1 - p)


@ranges(p="[0, 1)", shape="(0, inf)")
def variance(ctx: Context, p: Any, shape: Any) -> Any:
    """Return the variance of the noise, `r p / (1-p)^2`."""
    return mean(ctx, p, shape) / (1 - p)


HYPOTHESES: tuple[Hypothesis, ...] = (
    Hypothesis(
        "epsilon0-below-one", "0 < epsilon0 < 1 (ghazi2021, Theorem 39).", lambda epsilon0, delta0: 0 < epsilon0 < 1
    ),
    Hypothesis(
        "delta0-is-a-probability", "0 < delta0 < 1 (ghazi2021, Theorem 39).", lambda epsilon0, delta0: 0 < delta0 < 1
    ),
)
"""The hypotheses of Theorem 39, as predicates of (epsilon0, delta0)."""
