"""Closed forms for randomized response (RR): the flip probability of cheu2019, Lemma 4.8, and the error.

wagner2025 (footnote 4 of Appendix A.2) sets RR's flip probability by that lemma without stating it. With
`L = ln(4 / delta0)` the lemma replaces `lambda` of the n reports by fair coins, on average, so p = lambda / 2n:

    lambda = 64 L / eps0^2                          if eps0 >= sqrt(192 L / n),
    lambda = n - eps0 n^(3/2) / sqrt(432 L)         otherwise.

The two branches meet at lambda = n / 3 with equal slope: the second is the tangent of the first there. As 64 L / eps0^2
is convex, the second branch lies below the first everywhere else too.
"""

from __future__ import annotations

from typing import Any

from dpverify.formulas import FormulaRangeError, Hypothesis
from dpverify.formulas.contexts import Context, arb_context, check_range, less, shown
from dpverify.formulas.ranges import ranges

__all__ = [
    "HYPOTHESES",
    "branch_point",
    "flip_probability",
    "flip_probability_at_rmse",
    "large_epsilon_branch",
    "rmse",
    "small_epsilon_branch",
]


def _log_term(ctx: Context, delta0: Any) -> Any:
    return ctx.log(4 / ctx.convert(delta0))


def branch_point(ctx: Context, delta0: Any, n: Any) -> Any:
    """Return the eps0 at which the branches of Lemma 4.8 meet, `sqrt(192 L / n)`."""
    return ctx.sqrt(192 * _log_term(ctx, delta0) / ctx.convert(n))


def large_epsilon_branch(ctx: Context, epsilon0: Any, delta0: Any, n: Any) -> Any:
    """Return p = 32 L / (eps0^2 n), the branch for eps0 at or above `branch_point`; unchecked."""
    return 32 * _log_term(ctx, delta0) / (ctx.convert(epsilon0) ** 2 * n)


def small_epsilon_branch(ctx: Context, epsilon0: Any, delta0: Any, n: Any) -> Any:
    """Return p = (1 - eps0 sqrt(n / (432 L))) / 2, the branch for eps0 below `branch_point`; unchecked."""
    return (1 - ctx.convert(epsilon0) * ctx.sqrt(ctx.convert(n) / (432 * _log_term(ctx, delta0)))) / 2


@ranges(epsilon0="(0, 1)", delta0="(0, 1)", n="[1, inf)")
def flip_probability(ctx: Context, epsilon0: Any, delta0: Any, n: Any) -> Any:
    """Return the flip probability p of cheu2019, Lemma 4.8, in (0, 1/2), whether or not its `HYPOTHESES` hold.

    Where p is not in (0, 1/2), as a float rounds to 1/2 if epsilon0 is tiny, it raises FormulaRangeError; where the
    branch cannot be told, by overlapping balls or symbols, UndecidedComparisonError: use the branches by name.
    """
    branch = small_epsilon_branch if less(epsilon0, branch_point(ctx, delta0, n)) else large_epsilon_branch
    p = branch(ctx, epsilon0, delta0, n)
    try:
        return check_range("flip_probability", p, low=0, high=0.5, low_open=True, high_open=True)
    except FormulaRangeError:
        raise FormulaRangeError(
            f"epsilon0={shown(epsilon0)} at delta0={shown(delta0)} needs a flip probability of {shown(p)}, which must "
            "be in (0, 0.5)."
        ) from None


@ranges(n="[1, inf)", p="[0, 1/2)")
def rmse(ctx: Context, n: Any, p: Any) -> Any:
    """Return the root mean squared error of RR's unbiased estimate, `sqrt(n p (1-p)) / (1-2p)`."""
    return ctx.sqrt(n * p * (1 - p)) / (1 - 2 * p)


@ranges(n="[1, inf)", error="[0, inf)")
def flip_probability_at_rmse(ctx: Context, n: Any, error: Any) -> Any:
    """Return the flip probability at which RR's RMSE equals `error`, in users: the inverse of `rmse` in p."""
    # With u = p (1-p): E^2 (1 - 4u) = n u, so u = E^2 / (n + 4 E^2), and p is the smaller root of p^2 - p + u = 0.
    square = error**2
    u = square / (n + 4 * square)
    return 2 * u / (1 + ctx.sqrt(n / (n + 4 * square)))


def _exceeds_lower_limit(epsilon0: float, delta0: float, n: int) -> bool:
    with arb_context() as ctx:
        return less(ctx.sqrt(3456) * _log_term(ctx, delta0) / n, ctx.convert(epsilon0))


HYPOTHESES: tuple[Hypothesis, ...] = (
    Hypothesis(
        "epsilon0-below-one",
        "0 < epsilon0 < 1 (cheu2019, Lemma 4.8).",
        lambda epsilon0, delta0, n: 0 < epsilon0 < 1,
    ),
    Hypothesis(
        "delta0-is-a-probability",
        "0 < delta0 < 1 (cheu2019, Lemma 4.8).",
        lambda epsilon0, delta0, n: 0 < delta0 < 1,
    ),
    Hypothesis(
        "enough-users",
        "epsilon0 > sqrt(3456) ln(4/delta0) / n (cheu2019, Lemma 4.8; wagner2025 leaves it out).",
        _exceeds_lower_limit,
    ),
)
"""The lemma's hypotheses, as predicates of (epsilon0, delta0, n)."""
