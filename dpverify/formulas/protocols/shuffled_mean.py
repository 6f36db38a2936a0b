"""Closed forms for the shuffled mean of wang_lecture9, Theorem 9.6."""

from __future__ import annotations

from typing import Any

from dpverify.formulas import Hypothesis
from dpverify.formulas.contexts import Context, UndecidedComparisonError, arb_context, check_range, less
from dpverify.formulas.ranges import ranges

__all__ = ["HYPOTHESES", "coin_probability", "estimate", "published_error"]


@ranges(epsilon="(0, inf)", delta="(0, 1)", n="[1, inf)")
def coin_probability(ctx: Context, epsilon: Any, delta: Any, n: Any) -> Any:
    """Return p = ln(1/delta) / (n eps^2), with which the text calls the protocol (eps, delta)-DP, up to a constant.

    Where that is no probability below 1 the text gives no protocol: FormulaRangeError, too.
    """
    return check_range(
        "coin_probability", -ctx.log(delta) / (n * epsilon**2), low=0, high=1, low_open=True, high_open=True
    )


def estimate(ctx: Context, reports: Any, n: Any, p: Any) -> Any:
    """Return equation 9.5 as it stands, `(reports - p / 2) / (n (1 - p))`, for this number of reports of 1."""
    return (reports - ctx.convert(p) / 2) / (n * (1 - ctx.convert(p)))


@ranges(epsilon="(0, inf)", delta="(0, 1)")
def published_error(ctx: Context, epsilon: Any, delta: Any, n: Any) -> Any:
    """Return sqrt(ln(1/delta)) / (n eps), the bound of equation 9.4 without its constant."""
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
