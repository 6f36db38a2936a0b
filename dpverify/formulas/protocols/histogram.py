"""Closed forms of ghazi2021, Appendix D, for histogram and selection from negative binomial bitsums."""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context, check_range

__all__ = ["published_p", "published_shape", "published_threshold"]


def published_p(ctx: Context, epsilon0: Any) -> Any:
    """Return p = e^(-0.2 eps0) of Theorem 39 for one bucket.

    Raises
    ------
    FormulaRangeError
        If epsilon0 is outside (0, 1).
    """
    epsilon0 = check_range("epsilon0", ctx.convert(epsilon0), low=0, high=1, low_open=True, high_open=True)
    return ctx.exp(-epsilon0 / 5)


def published_shape(ctx: Context, delta0: Any, beta: Any) -> Any:
    """Return `1000 (1 + ln 1/(beta delta0))`, which Corollary 40 rounds up to r.

    Parameters
    ----------
    ctx : Context
        The number system.
    delta0 : number
        The delta of one bucket, in (0, 1).
    beta : number
        The failure probability of one bucket, in (0, 1/2).

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    delta0 = check_range("delta0", ctx.convert(delta0), low=0, high=1, low_open=True, high_open=True)
    beta = check_range("beta", ctx.convert(beta), low=0, high=0.5, low_open=True, high_open=True)
    return 1000 * (1 + ctx.log(1 / (beta * delta0)))


def published_threshold(ctx: Context, shape: Any, p: Any) -> Any:
    """Return T = 2 r / (1-p), which the noise exceeds with probability at most beta (proof of Corollary 40).

    Raises
    ------
    FormulaRangeError
        If an argument is out of range.
    """
    shape = check_range("shape", ctx.convert(shape), low=0, low_open=True)
    p = check_range("p", ctx.convert(p), low=0, high=1, high_open=True)
    return 2 * shape / (1 - p)
