"""Closed forms of ghazi2021, Appendix D, for histogram and selection from negative binomial bitsums."""

from __future__ import annotations

from typing import Any

from dpverify.formulas.contexts import Context
from dpverify.formulas.ranges import ranges

__all__ = ["published_p", "published_shape", "published_threshold"]


@ranges(epsilon0="(0, 1)")
def published_p(ctx: Context, epsilon0: Any) -> Any:
    """Return p = e^(-0.2 eps0) of Theorem 39 for one bucket."""
    return ctx.exp(-epsilon0 / 5)


@ranges(delta0="(0, 1)", beta="(0, 1/2)")
def published_shape(ctx: Context, delta0: Any, beta: Any) -> Any:
    """Return `1000 (1 + ln 1/(beta delta0))`, which Corollary 40 rounds up to r; one bucket fails with beta."""
    return 1000 * (1 + ctx.log(1 / (beta * delta0)))


@ranges(shape="(0, inf)", p="[0, 1)")
def published_threshold(ctx: Context, shape: Any, p: Any) -> Any:
    """Return T = 2 r / (1-p), which the noise exceeds with probability at most beta (proof of Corollary 40)."""
    return 2 * shape / (1 - p)
