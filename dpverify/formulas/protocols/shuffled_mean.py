"""Closed forms for the shuffled mean of wang_lecture9, Theorem 9.6."""

from __future__ import annotations

from typing import Any

from dpverify.formulas import Hypothesis
from dpverify.formulas.contexts import (
    Context,
    UndecidedComparisonError,
    arb_context,
    check_range,
    less,
    open_unit,
    positive,
)

__all__ = ["HYPOTHESES", "coin_probability", "estimate", "published_error"]


def coin_probability(ctx: Context, epsilon: Any, delta: Any, n: Any) -> Any:
    """Return p = ln(1/delta) / (n eps^2), with which the text calls the protocol (eps, delta)-DP, up to a constant.

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon, delta : number
        The budget: epsilon > 0 in nats, delta in (0, 1).
    n : int
        The number of users, at least 1.

    Raises
    ------
    FormulaRangeError
        If an argument is out of range, or p is no probability below 1: there the text gives no protocol.
    """
    epsilon, delta = positive("epsilon", ctx.convert(epsilon)), open_unit("delta", ctx.convert(delta))
    users = check_range("n", ctx.convert(n), low=1)
    return open_unit("coin_probability", -ctx.log(delta) / (users * epsilon**2))


def estimate(ctx: Context, reports: Any, n: Any, p: Any) -> Any:
    """Return equation 9.5 as it stands, `(reports - p / 2) / (n (1 - p))`, for this number of reports of 1."""
    return (reports - ctx.convert(p) / 2) / (n * (1 - ctx.convert(p)))


def published_error(ctx: Context, epsilon: Any, delta: Any, n: Any) -> Any:
    """Return sqrt(ln(1/delta)) / (n eps), the bound of equation 9.4 without its constant."""
    epsilon, delta = positive("epsilon", ctx.convert(epsilon)), open_unit("delta", ctx.convert(delta))
    return ctx.sqrt(-ctx.log(delta)) / (n * epsilon)


def _delta_not_too_small(epsilon: float, delta: float, n: int) -> bool:
    if not 0 < delta < 1:
        return False
    with arb_context() as ctx:
        # delta >= 2^(-eps n), in logarithms, which cannot be told apart where both are the same.
        try:
            return not less(ctx.convert(epsilon) * n * ctx.log(2), -ctx.log(delta))
        except UndecidedComparisonError:
            return True


HYPOTHESES: tuple[Hypothesis, ...] = (
    Hypothesis(
        "epsilon-up-to-one",
        "0 < epsilon <= 1 (wang_lecture9, Theorem 9.6).",
        lambda epsilon, delta, n: 0 < epsilon <= 1,
    ),
    Hypothesis(
        "delta-not-too-small", "2^(-epsilon n) <= delta < 1 (wang_lecture9, Theorem 9.6).", _delta_not_too_small
    ),
)
"""The theorem's hypotheses, as predicates of (epsilon, delta, n)."""
