"""Closed forms of composition theorems: basic, advanced (wagner2025, Theorem 3.2) and optimal (kairouz2015).

All start from the privacy parameters (eps0, delta0) of one mechanism and know nothing else about it. The instances are
those of wagner2025, Algorithm 1: in each of I instances one user's replacement costs at most S mechanisms (the
*sparsity*; `dpverify.changes.Sparse` proves that S is enough). Epsilons are in nats.
"""

from __future__ import annotations

import math
from typing import Any

from dpverify.formulas.contexts import Context, positive_part
from dpverify.formulas.ranges import ranges

__all__ = ["advanced", "basic", "optimal_delta", "optimal_slack"]


@ranges(epsilon0="(0, inf)", delta0="[0, 1)", mechanisms="[1, inf)")
def basic(ctx: Context, epsilon0: Any, delta0: Any, mechanisms: int) -> tuple[Any, Any]:
    """Return (m eps0, m delta0): m-fold basic composition (dwork2014, Theorem 3.16; pure where delta0 = 0).

    The sum of the deltas may exceed 1, and then says nothing.
    """
    return mechanisms * epsilon0, mechanisms * delta0


@ranges(epsilon0="(0, inf)", delta0="[0, 1)", instances="[1, inf)", delta_slack="(0, 1)")
def advanced(
    ctx: Context, epsilon0: Any, delta0: Any, instances: int, sparsity: int, delta_slack: Any
) -> tuple[Any, Any]:
    """Return (eps, delta) of wagner2025, Theorem 3.2: basic within an instance, then advanced over the instances.

    With E = S eps0 this is eps = E (e^E - 1) I + E sqrt(2 I ln(1/delta')), delta = I S delta0 + delta' (dwork2014,
    Theorem 3.20, for I mechanisms that are (S eps0, S delta0)-DP each).
    """
    epsilon, delta = basic(ctx, epsilon0, delta0, sparsity)
    drift = epsilon * ctx.expm1(epsilon) * instances
    return drift + epsilon * ctx.sqrt(2 * instances * ctx.log(1 / delta_slack)), instances * delta + delta_slack


@ranges(epsilon0="(0, inf)", epsilon="[0, inf)", mechanisms="[1, 10000]")
def optimal_slack(ctx: Context, epsilon0: Any, epsilon: Any, mechanisms: int) -> Any:
    """Return delta'(eps), the divergence of m-fold eps0-randomized response (kairouz2015, Theorem 3.3).

    `delta'(eps) = sum_l C(m, l) [e^((m-l) eps0) - e^(eps + l eps0)]_+ / (1 + e^eps0)^m`, at every eps >= 0;
    the source states it at eps = (m - 2i) eps0, between which it is linear in e^eps. This sum over all l, of m/2 terms
    of m factors, is the reference, exact for mechanisms of which only eps0 is known, and in floats an OverflowError
    where a binomial coefficient is none; `dpverify.composition.theorems` bounds it fast.
    """
    truth = 1 / (1 + ctx.exp(-epsilon0))
    lie = 1 / (1 + ctx.exp(epsilon0))
    # The term of l is Bin(m, lie)(l) (1 - e^(eps - (m - 2l) eps0)); beyond m/2 its positive part vanishes, as eps >= 0.
    return sum(
        (
            ctx.convert(math.comb(mechanisms, lies))
            * truth ** (mechanisms - lies)
            * lie**lies
            * positive_part(ctx, -ctx.expm1(epsilon - (mechanisms - 2 * lies) * epsilon0))
            for lies in range((mechanisms + 1) // 2)
        ),
        start=ctx.zero,
    )


@ranges(delta0="[0, 1)", slack="[0, 1)", mechanisms="[1, inf)")
def optimal_delta(ctx: Context, delta0: Any, slack: Any, mechanisms: int) -> Any:
    """Return delta = 1 - (1 - delta0)^m (1 - delta') of kairouz2015, Theorem 3.3, with delta' from `optimal_slack`."""
    # Both parts apart: the slack itself, unrounded, where delta0 = 0.
    return slack - (1 - slack) * ctx.expm1(mechanisms * ctx.log1p(-delta0))
