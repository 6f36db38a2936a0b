"""Composition from (epsilon0, delta0) alone, forwards; `dpverify.composition.inverse` goes backwards.

The results are upper bounds: all is evaluated in Arb balls and rounded up. Exact composition is not in this list: it
starts from laws rather than from (epsilon0, delta0), and the numerical engine does it.

Sparsity S is the number of mechanisms per instance that one user's replacement costs. wagner2025 proves Theorem 3.2 for
a user who is *omitted*, and takes S from Definition 2.1 as the number of non-zero entries of f(x). Where f(x) and f(x')
have different supports, replacing x by x' affects up to min(2S, Q) mechanisms, but costs no more than S that change
fully: `dpverify.changes.Sparse.full_changes`, proved there, is the number to pass for replace-one adjacency.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import flint

from dpverify.formulas import composition as closed_forms
from dpverify.formulas.contexts import arb_context, upper_float
from dpverify.privacy_loss.losses import two_valued
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, check_integer, check_real

__all__ = ["THEOREMS", "CompositionTheorem", "Rule", "check_slack", "compose", "named"]

_BITS = 192


class CompositionTheorem(StrEnum):
    """Which theorem turns (epsilon0, delta0) per mechanism into (epsilon, delta).

    Examples
    --------
    >>> from dpverify import compose
    >>> compose(CompositionTheorem.BASIC, 0.125, 0.0, 16)
    (2.0, 0.0)
    """

    BASIC = "basic"
    """Epsilons and deltas add up (dwork2014, Theorem 3.16; with delta0 = 0 the pure variant of wagner2025, A.1.7)."""
    ADVANCED = "advanced"
    """wagner2025, Theorem 3.2: basic over the S mechanisms of an instance, then advanced over the I instances."""
    OPTIMAL = "optimal"
    """kairouz2015, Theorem 3.3 over all I S mechanisms at once (never looser than grouping them by instance first): the
    best bound that holds for every (epsilon0, delta0)-DP mechanism."""


@dataclass(frozen=True)
class Rule:
    """The two halves of a theorem, each an upper bound as a ball; neither half needs the other's parameter."""

    epsilon: Callable[[float, int, int, float], flint.arb]
    """(epsilon0, instances, sparsity, delta_slack) -> epsilon."""
    delta: Callable[[float, int, int, float], flint.arb]
    """(delta0, instances, sparsity, delta_slack) -> delta."""
    slack: tuple[bool, bool]
    """Whether delta_slack may be zero, and whether it may be positive."""


def _in_balls(formula: Callable[..., Any]) -> Callable[[float, int, int, float], flint.arb]:
    """Return a half of a rule from a function of a context and its arguments."""

    def half(parameter: float, instances: int, sparsity: int, delta_slack: float) -> flint.arb:
        with arb_context(_BITS) as ctx:
            return flint.arb(formula(ctx, parameter, instances, sparsity, delta_slack))

    return half


_optimal_delta = _in_balls(lambda ctx, delta0, i, s, slack: closed_forms.optimal_delta(ctx, delta0, slack, i * s))

THEOREMS = {
    CompositionTheorem.BASIC: Rule(
        epsilon=_in_balls(lambda ctx, epsilon0, i, s, _: closed_forms.basic(ctx, epsilon0, 0, i * s)[0]),
        delta=_in_balls(lambda ctx, delta0, i, s, _: closed_forms.basic(ctx, 1, delta0, i * s)[1]),
        slack=(True, False),
    ),
    CompositionTheorem.ADVANCED: Rule(
        epsilon=_in_balls(lambda ctx, epsilon0, *rest: closed_forms.advanced(ctx, epsilon0, 0, *rest)[0]),
        delta=_in_balls(lambda ctx, delta0, *rest: closed_forms.advanced(ctx, 1, delta0, *rest)[1]),
        slack=(False, True),
    ),
    CompositionTheorem.OPTIMAL: Rule(
        epsilon=lambda epsilon0, i, s, delta_slack: two_valued.composed_epsilon(epsilon0, i * s, delta_slack),
        delta=_optimal_delta,
        slack=(True, True),
    ),
}


def compose(
    composition: CompositionTheorem | str,
    epsilon0: float,
    delta0: float,
    instances: int,
    *,
    sparsity: int = 1,
    delta_slack: float = 0.0,
) -> tuple[float, float]:
    """Return upper bounds on (epsilon, delta) of the composition of I instances of S mechanisms each.

    Parameters
    ----------
    composition : CompositionTheorem or str
        Which theorem to use: "basic", "advanced" or "optimal".
    epsilon0, delta0 : float
        Parameters of each mechanism: epsilon0 > 0 in nats, delta0 in [0, 1); a float means its binary value.
    instances : int
        I, at least 1.
    sparsity : int
        S, at least 1: how many mechanisms of one instance a user's replacement costs (see the module's docstring).
    delta_slack : float
        delta', the failure mass spent on composing: 0 for BASIC, in (0, 1) for ADVANCED, in [0, 1) for OPTIMAL.

    Returns
    -------
    epsilon, delta : float
        At or above the theorem's exact values, by about one unit in the last place.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or if the result says nothing: delta not below 1, or epsilon not finite.

    Examples
    --------
    Sixteen mechanisms of (1/8, 1e-9): epsilons add up. With a thousand, a little delta saves much epsilon.

    >>> compose("basic", 0.125, 0.0, 16)
    (2.0, 0.0)
    >>> epsilon, delta = compose("optimal", 0.01, 0.0, 1000, delta_slack=1e-6)
    >>> print(f"{epsilon:.3f}")
    1.365
    """
    composition = named(composition)
    rule = THEOREMS[composition]
    epsilon0 = check_real("epsilon0", epsilon0, low=0.0, low_open=True)
    delta0 = check_real("delta0", delta0, low=0.0, high=1.0, high_open=True)
    instances = check_integer("instances", instances, low=1)
    sparsity = check_integer("sparsity", sparsity, low=1)
    delta_slack = check_slack(composition, delta_slack)
    epsilon = upper_float(rule.epsilon(epsilon0, instances, sparsity, delta_slack))
    delta = upper_float(rule.delta(delta0, instances, sparsity, delta_slack))
    if not epsilon < math.inf:
        raise ValueError(f"epsilon0={epsilon0!r} composes to an epsilon that is not in [0, inf), so it says nothing.")
    if not delta < 1.0:
        raise ValueError(f"delta0={delta0!r} composes to delta={delta!r}, which is not in [0, 1), so it says nothing.")
    return epsilon, delta


def named(composition: CompositionTheorem | str) -> CompositionTheorem:
    """Return the theorem of a name."""
    return check_choice("composition", composition, CompositionTheorem)


def check_slack(composition: CompositionTheorem, value: Any) -> float:
    """Check a delta_slack: zero or positive only where the rule takes it so."""
    may_be_zero, may_be_positive = THEOREMS[composition].slack
    name, high = f"delta_slack for {composition.value} composition", 1.0 if may_be_positive else 0.0
    return check_real(name, value, low=0.0, low_open=not may_be_zero, high=high, high_open=may_be_positive)
