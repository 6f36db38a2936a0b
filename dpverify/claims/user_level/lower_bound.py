"""What is true of `protocols.user_level.lower_bound`: how many runs are enough, and what follows for numbers of users.

Let a learner of n users be (eps, delta)-DP for a replaced user, and for every law find a hypothesis of error alpha with
probability q. For every law there are data of n users on which it does so. Fixed data is n replacements away: by Lemma
34 each run on it finds one with probability at least

    p = e^(-n eps) (q - delta (e^(n eps) - 1) / (e^eps - 1)),

if that is positive, and T independent runs all miss with probability at most `(1 - p)^T`. So they are an (alpha, beta)-
representation for `T >= ln(1/beta) / -ln(1 - p)`, of log2(T) bits. With delta = 0 that is about
`n eps / ln 2 + log2(ln(1/beta) / q)` bits: a class that has no smaller representation needs so many users.
"""

from __future__ import annotations

import math

from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.formulas.protocols.user_level import group_privacy
from dpverify.guarantee import InfeasibleBudgetError
from protocols.validation import check_integer, check_probability, check_real

__all__ = ["enough_runs", "hit_probability", "least_users"]


def hit_probability(epsilon: float, delta: float, users: int, success: float = 0.5) -> float:
    """Return p, a lower bound on the probability that one run on fixed data finds a good hypothesis; 0 if none is.

    - epsilon, delta: What the learner guarantees for a replaced user; epsilon positive, delta in [0, 1).
    - users: n, at least 1.
    - success: q, in (0, 1]: how often it finds a good hypothesis on data of the law.
    """
    check_real("epsilon", epsilon, low=0.0, low_open=True)
    check_probability("delta", delta, high_open=True)
    n = check_integer("users", users, low=1)
    q = check_real("success", success, low=0.0, high=1.0, low_open=True)
    with arb_context() as ctx:
        needed = ctx.convert(q) - group_privacy(ctx, 0, epsilon, delta, n)
        return max(0.0, lower_float(ctx.exp(-n * ctx.convert(epsilon)) * needed))


def enough_runs(epsilon: float, delta: float, users: int, failure: float, success: float = 0.5) -> int:
    """Return a T at which that many runs are an (alpha, failure)-representation.

    - epsilon, delta, users, success: See `hit_probability`.
    - failure: beta, in (0, 1).

    Raises InfeasibleBudgetError if delta is so large that nothing follows.
    """
    check_real("failure", failure, low=0.0, high=1.0, low_open=True, high_open=True)
    p = hit_probability(epsilon, delta, users, success)
    if p == 0.0:
        raise InfeasibleBudgetError(
            f"delta={delta!r} must be smaller for {users} users at epsilon={epsilon!r}: so many replacements may cost "
            "all."
        )
    with arb_context() as ctx:
        return math.ceil(upper_float(ctx.log(ctx.convert(failure)) / ctx.log1p(-ctx.convert(p)))) if p < 1.0 else 1


def least_users(bits: float, epsilon: float, failure: float = 0.25, success: float = 0.5) -> int:
    """Return a number of users that every epsilon-DP learner of a class needs at least.

    n users make a representation of at most `ln(1/beta) e^(n eps) / q + 1` hypotheses, which must be 2^d or more.

    - bits: d: no (alpha, failure)-representation of the class has fewer bits; at least 0.
    - epsilon: Positive, with delta = 0.
    - failure, success: beta and q.
    """
    check_real("bits", bits, low=0.0)
    check_real("epsilon", epsilon, low=0.0, low_open=True)
    check_real("failure", failure, low=0.0, high=1.0, low_open=True, high_open=True)
    check_real("success", success, low=0.0, high=1.0, low_open=True)
    if bits == 0.0:
        return 1
    with arb_context() as ctx:
        size = ctx.convert(bits) * ctx.log(2)
        more = size + ctx.log(-ctx.expm1(-size))  # ln(2^d - 1)
        odds = ctx.log(ctx.convert(success) / -ctx.log(ctx.convert(failure)))
        return max(1, math.ceil(lower_float((more + odds) / ctx.convert(epsilon))))
