"""Closed forms of composition theorems: basic, advanced (wagner2025, Theorem 3.2) and optimal (kairouz2015).

All start from the privacy parameters (eps0, delta0) of one mechanism and know nothing else about it. The instances are
those of wagner2025, Algorithm 1: in each of I instances one user's replacement costs at most S mechanisms (the
*sparsity*; `dpverify.changes.Sparse` proves that S is enough).
"""

from __future__ import annotations

import math
from typing import Any

from dpverify.formulas.contexts import Context, check_range, positive_part, whole
from protocols.validation import check_integer

__all__ = ["advanced", "basic", "optimal_delta", "optimal_slack"]

_MOST_MECHANISMS = 10_000


def _parameters(ctx: Context, epsilon0: Any, delta0: Any) -> tuple[Any, Any]:
    return (
        check_range("epsilon0", ctx.convert(epsilon0), low=0, low_open=True),
        check_range("delta0", ctx.convert(delta0), low=0, high=1, high_open=True),
    )


def basic(ctx: Context, epsilon0: Any, delta0: Any, mechanisms: int) -> tuple[Any, Any]:
    """Return (m eps0, m delta0): m-fold basic composition (dwork2014, Theorem 3.16; pure where delta0 = 0).

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0, delta0 : number
        Parameters of each mechanism: epsilon0 > 0 in nats, delta0 in [0, 1).
    mechanisms : int
        m, at least 1.

    Raises
    ------
    FormulaRangeError
        If a parameter is out of range; the sum of the deltas may exceed 1, and then says nothing.
    """
    epsilon0, delta0 = _parameters(ctx, epsilon0, delta0)
    whole("mechanisms", mechanisms, low=1)
    return mechanisms * epsilon0, mechanisms * delta0


def advanced(
    ctx: Context, epsilon0: Any, delta0: Any, instances: int, sparsity: int, delta_slack: Any
) -> tuple[Any, Any]:
    """Return (eps, delta) of wagner2025, Theorem 3.2: basic within an instance, then advanced over the instances.

    With E = S eps0 this is eps = E (e^E - 1) I + E sqrt(2 I ln(1/delta')), delta = I S delta0 + delta' (dwork2014,
    Theorem 3.20, for I mechanisms that are (S eps0, S delta0)-DP each).

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0, delta0 : number
        Parameters of each mechanism: epsilon0 > 0 in nats, delta0 in [0, 1).
    instances, sparsity : int
        I and S, at least 1.
    delta_slack : number
        delta' in (0, 1).

    Raises
    ------
    FormulaRangeError
        If a parameter is out of range.
    """
    whole("instances", instances, low=1)
    epsilon, delta = basic(ctx, epsilon0, delta0, sparsity)
    delta_slack = check_range("delta_slack", ctx.convert(delta_slack), low=0, high=1, low_open=True, high_open=True)
    drift = epsilon * ctx.expm1(epsilon) * instances
    return drift + epsilon * ctx.sqrt(2 * instances * ctx.log(1 / delta_slack)), instances * delta + delta_slack


def optimal_slack(ctx: Context, epsilon0: Any, epsilon: Any, mechanisms: int) -> Any:
    """Return delta'(eps), the divergence of m-fold eps0-randomized response (kairouz2015, Theorem 3.3).

    `delta'(eps) = sum_l C(m, l) [e^((m-l) eps0) - e^(eps + l eps0)]_+ / (1 + e^eps0)^m`, at every eps >= 0;
    the source states it at eps = (m - 2i) eps0, between which it is linear in e^eps. This sum over all l is the
    reference, exact for mechanisms of which only eps0 is known; `dpverify.composition.theorems` bounds it fast.

    Parameters
    ----------
    ctx : Context
        The number system.
    epsilon0 : number
        Parameter of each mechanism, positive, in nats.
    epsilon : number
        The composed epsilon, at least 0, in nats.
    mechanisms : int
        m, from 1 to 10,000: the sum has m/2 terms of m factors.

    Raises
    ------
    FormulaRangeError
        If a parameter is out of range.
    OverflowError
        In a float context, for an m so large that a binomial coefficient is no float.
    """
    epsilon0, _ = _parameters(ctx, epsilon0, 0)
    epsilon = check_range("epsilon", ctx.convert(epsilon), low=0)
    m = check_integer("mechanisms", mechanisms, low=1, high=_MOST_MECHANISMS)
    truth = 1 / (1 + ctx.exp(-epsilon0))
    lie = 1 / (1 + ctx.exp(epsilon0))
    # The term of l is Bin(m, lie)(l) (1 - e^(eps - (m - 2l) eps0)); beyond m/2 its positive part vanishes, as eps >= 0.
    return sum(
        (
            ctx.convert(math.comb(m, lies))
            * truth ** (m - lies)
            * lie**lies
            * positive_part(ctx, -ctx.expm1(epsilon - (m - 2 * lies) * epsilon0))
            for lies in range((m + 1) // 2)
        ),
        start=ctx.zero,
    )


def optimal_delta(ctx: Context, delta0: Any, slack: Any, mechanisms: int) -> Any:
    """Return delta = 1 - (1 - delta0)^m (1 - delta') of kairouz2015, Theorem 3.3, with delta' from `optimal_slack`.

    Parameters
    ----------
    ctx : Context
        The number system.
    delta0, slack : number
        Failure mass of each mechanism, and delta'; both in [0, 1).
    mechanisms : int
        m, at least 1.

    Raises
    ------
    FormulaRangeError
        If a parameter is out of range.
    """
    delta0 = check_range("delta0", ctx.convert(delta0), low=0, high=1, high_open=True)
    slack = check_range("slack", ctx.convert(slack), low=0, high=1, high_open=True)
    # Both parts apart: the slack itself, unrounded, where delta0 = 0.
    return slack - (1 - slack) * ctx.expm1(whole("mechanisms", mechanisms, low=1) * ctx.log1p(-delta0))
