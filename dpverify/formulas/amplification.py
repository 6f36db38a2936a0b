"""Closed forms of amplification by shuffling: feldman2021, Theorem 3.1, which document 002 states as Theorem 9.4."""

from __future__ import annotations

import math
from typing import Any

from dpverify.formulas import Hypothesis
from dpverify.formulas.contexts import Context
from dpverify.formulas.ranges import ranges

__all__ = ["CLOSED_CLONES", "closed_clones", "largest_epsilon0"]


@ranges(delta="(0, 1]")
def largest_epsilon0(ctx: Context, users: int, delta: Any) -> Any:
    """Return `ln(n / (16 ln(2 / delta)))`: up to which epsilon0 the theorem holds; it may be negative."""
    return ctx.log(users / (16 * ctx.log(2 / delta)))


@ranges(epsilon0="(0, inf)", delta="(0, 1]")
def closed_clones(ctx: Context, epsilon0: Any, users: int, delta: Any) -> Any:
    """Return `ln(1 + (e^eps0 - 1) / (e^eps0 + 1) (8 sqrt(e^eps0 ln(4/delta) / n) + 8 e^eps0 / n))`."""
    grown = ctx.exp(epsilon0)
    inner = 8 * ctx.sqrt(grown * ctx.log(4 / delta) / users) + 8 * grown / users
    return ctx.log1p(ctx.expm1(epsilon0) / (grown + 1) * inner)


def _holds(epsilon0: float, users: int, delta: float) -> bool:
    return 0.0 < delta <= 1.0 and epsilon0 <= math.log(users / (16.0 * math.log(2.0 / delta))) * (1.0 - 1e-12)


CLOSED_CLONES: tuple[Hypothesis, ...] = (
    Hypothesis(
        "enough-users",
        "epsilon0 <= ln(n / (16 ln(2/delta))), delta in (0, 1] (feldman2021, Theorem 3.1)",
        _holds,
    ),
)
"""The conditions, on (epsilon0, users, delta)."""
