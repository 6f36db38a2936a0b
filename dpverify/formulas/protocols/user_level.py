"""Closed forms of ghazi2021, Appendices A to C, for user-level learners.

Sizes d of representations are in bits, log2 of the number of hypotheses; other logarithms are natural.
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas import Hypothesis
from dpverify.formulas.contexts import Context
from dpverify.formulas.ranges import ranges

__all__ = [
    "ACCURACY_BELOW_A_TENTH",
    "BELOW_ONE",
    "NO_LARGER_DELTA",
    "group_privacy",
    "lower_bound_users",
    "published_query_samples",
    "published_samples",
    "published_sharpness",
    "selection_users",
]

BELOW_ONE = Hypothesis(
    "beta-below-0.98",
    "0 < beta < 0.98 (not stated in ghazi2021, Theorem 26, whose log(1/beta) needs it).",
    lambda beta: 0 < beta < 0.98,
)
ACCURACY_BELOW_A_TENTH = (
    Hypothesis("alpha-below-0.1", "0 < alpha < 0.1 (ghazi2021, Theorem 29).", lambda alpha: 0 < alpha < 0.1),
    Hypothesis("beta-below-0.1", "0 < beta < 0.1 (ghazi2021, Theorem 29).", lambda beta: 0 < beta < 0.1),
    Hypothesis("epsilon-below-one", "0 < epsilon < 1 (ghazi2021, Theorem 29).", lambda epsilon: 0 < epsilon < 1),
)
NO_LARGER_DELTA = Hypothesis(
    "epsilon-not-below-delta",
    "delta^0.99 <= 0.4 epsilon (not stated in ghazi2021, proof of Lemma 4).",
    lambda epsilon, delta: delta == 0 or delta**0.99 <= 0.4 * epsilon,
)


@ranges(bits="[0, inf)", alpha="(0, 1)", beta="(0, 1)")
def published_sharpness(ctx: Context, bits: Any, alpha: Any, beta: Any) -> Any:
    """Return gamma = 2 (d + ln(1/beta) + 10) / alpha (proof of Theorem 26)."""
    return 2 * (bits + ctx.log(1 / beta) + 10) / alpha


@ranges(sharpness="(0, inf)", bits="[0, inf)", beta="(0, 1)")
def published_samples(ctx: Context, sharpness: Any, bits: Any, beta: Any) -> Any:
    """Return m = 10^6 gamma^2 d ln(1/beta) / beta^4, which Algorithm 3 draws."""
    return 10**6 * sharpness**2 * bits * ctx.log(1 / beta) / beta**4


@ranges(queries="(0, inf)", tolerance="(0, 1)", beta="(0, 1)")
def published_query_samples(ctx: Context, queries: Any, tolerance: Any, beta: Any) -> Any:
    """Return m' = 10^6 q^2/(beta^2 tau^2) ln(q^2/(beta^4 tau^2)) of one query (proof of Lemma 32, as it is printed)."""
    ratio = (queries / tolerance) ** 2
    return 10**6 * ratio / beta**2 * ctx.log(ratio / beta**4)


@ranges(bits="[0, inf)", beta="(0, 1)", epsilon="(0, inf)")
def selection_users(ctx: Context, bits: Any, beta: Any, epsilon: Any, power: int) -> Any:
    """Return (d + ln(1/beta)) / epsilon^power: the users of Theorems 29 (power 2) and 30 (1), without constant."""
    return (bits + ctx.log(1 / beta)) / epsilon**power


@ranges(probability="[0, 1]", epsilon="(0, inf)", delta="[0, 1]", users="[0, inf)")
def group_privacy(ctx: Context, probability: Any, epsilon: Any, delta: Any, users: Any) -> Any:
    """Return `e^(k eps) P + (e^(k eps) - 1) / (e^eps - 1) delta`, which bounds an event on a dataset k users away.

    Lemma 34. It is P + k delta in the limit of epsilon = 0.
    """
    grown = ctx.exp(users * epsilon)
    return grown * probability + (grown - 1) / (ctx.exp(epsilon) - 1) * delta


@ranges(epsilon="(0, inf)", delta="(0, 1)")
def lower_bound_users(ctx: Context, epsilon: Any, delta: Any) -> Any:
    """Return 0.01 ln(1/delta) / epsilon, up to which Algorithm 6 makes a representation (proof of Lemma 4)."""
    return ctx.log(1 / delta) / 100 / epsilon
