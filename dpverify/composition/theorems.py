"""Composition from (epsilon0, delta0) alone, forwards (`compose`) and backwards (`per_instance_budget`).

Forwards the results are upper bounds, backwards the returned parameters provably compose to within the budget: all is
evaluated in Arb balls and rounded to the safe side. Exact composition is not in this list: it starts from laws rather
than from (epsilon0, delta0), and the numerical engine does it.

Sparsity S is the number of mechanisms per instance that one user's replacement costs. wagner2025 proves Theorem 3.2 for
a user who is *omitted*, and takes S from Definition 2.1 as the number of non-zero entries of f(x). Where f(x) and f(x')
have different supports, replacing x by x' affects up to min(2S, Q) mechanisms, but costs no more than S that change
fully: `dpverify.changes.Sparse.full_changes`, proved there, is the number to pass for replace-one adjacency.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import flint

from dpverify.formulas import composition as closed_forms
from dpverify.formulas.contexts import arb_context, lower_float, nudged, upper_float
from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError, Number, exact_number
from dpverify.privacy_loss import two_valued
from dpverify.search import largest_float
from protocols.validation import check_choice, check_integer, check_real

__all__ = ["CompositionTheorem", "PerInstanceBudget", "compose", "per_instance_budget"]

_BITS = 192


class CompositionTheorem(StrEnum):
    """Which theorem turns (epsilon0, delta0) per mechanism into (epsilon, delta)."""

    BASIC = "basic"
    """Epsilons and deltas add up (dwork2014, Theorem 3.16; with delta0 = 0 the pure variant of wagner2025, A.1.7)."""
    ADVANCED = "advanced"
    """wagner2025, Theorem 3.2: basic over the S mechanisms of an instance, then advanced over the I instances."""
    OPTIMAL = "optimal"
    """kairouz2015, Theorem 3.3 over all I S mechanisms at once (never looser than grouping them by instance first): the
    best bound that holds for every (epsilon0, delta0)-DP mechanism."""


@dataclass(frozen=True)
class _Theorem:
    """The two halves of a theorem, each an upper bound as a ball; neither half needs the other's parameter."""

    epsilon: Callable[[float, int, int, float], flint.arb]
    """(epsilon0, instances, sparsity, delta_slack) -> epsilon."""
    delta: Callable[[float, int, int, float], flint.arb]
    """(delta0, instances, sparsity, delta_slack) -> delta."""
    within: Callable[[float, int, int, float, float], bool]
    """(epsilon0, instances, sparsity, delta_slack, epsilon) -> whether epsilon is certainly enough."""
    guess: Callable[[float, int, int, float], float]
    """(epsilon, instances, sparsity, delta_slack) -> where to start the search for epsilon0: speed only."""
    slack: tuple[bool, bool]
    """Whether delta_slack may be zero, and whether it may be positive."""


def _optimal_epsilon(epsilon0: float, instances: int, sparsity: int, delta_slack: float) -> flint.arb:
    return two_valued.composed_epsilon(epsilon0, instances * sparsity, delta_slack)


def _optimal_within(epsilon0: float, instances: int, sparsity: int, delta_slack: float, epsilon: float) -> bool:
    return bool(two_valued.composed_delta(epsilon0, instances * sparsity, Fraction(epsilon)) <= delta_slack)


def _even_guess(epsilon: float, instances: int, sparsity: int, delta_slack: float) -> float:
    return epsilon / (instances * sparsity)


def _advanced_guess(epsilon: float, instances: int, sparsity: int, delta_slack: float) -> float:
    return epsilon / (sparsity * math.sqrt(-2 * instances * math.log(delta_slack)))


def _optimal_guess(epsilon: float, instances: int, sparsity: int, delta_slack: float) -> float:
    mechanisms = instances * sparsity
    if delta_slack == 0.0 or mechanisms < 100:
        return _even_guess(epsilon, instances, sparsity, delta_slack)
    # In the normal limit ln(slack) is almost linear in 1 / epsilon0^2: a few secant steps.
    goal = math.log(delta_slack)
    points: list[tuple[float, float]] = []
    square = mechanisms * -2 * goal / epsilon**2
    for _ in range(8):
        slack = float(two_valued.composed_delta(square**-0.5, mechanisms, Fraction(epsilon)))
        if slack <= 0.0:
            break
        points.append((square, math.log(slack)))
        (x0, y0), (x1, y1) = points[-2:] if len(points) > 1 else ((0.0, 0.0), points[-1])
        square = x1 + (goal - y1) * (x1 - x0) / (y1 - y0) if y1 != y0 else x1
        if not square > 0.0 or abs(square - x1) <= 1e-15 * x1:
            break
    return points[-1][0] ** -0.5 if points else _even_guess(epsilon, instances, sparsity, delta_slack)


def _advanced_epsilon(epsilon0: float, instances: int, sparsity: int, delta_slack: float) -> flint.arb:
    with arb_context(_BITS) as ctx:
        return flint.arb(closed_forms.advanced(ctx, epsilon0, 0, instances, sparsity, delta_slack)[0])


def _advanced_delta(delta0: float, instances: int, sparsity: int, delta_slack: float) -> flint.arb:
    with arb_context(_BITS) as ctx:
        return flint.arb(closed_forms.advanced(ctx, 1, delta0, instances, sparsity, delta_slack)[1])


def _basic_epsilon(epsilon0: float, instances: int, sparsity: int, delta_slack: float) -> flint.arb:
    with arb_context(_BITS) as ctx:
        return flint.arb(closed_forms.basic(ctx, epsilon0, 0, instances * sparsity)[0])


def _basic_delta(delta0: float, instances: int, sparsity: int, delta_slack: float) -> flint.arb:
    with arb_context(_BITS) as ctx:
        return flint.arb(closed_forms.basic(ctx, 1, delta0, instances * sparsity)[1])


def _optimal_delta(delta0: float, instances: int, sparsity: int, delta_slack: float) -> flint.arb:
    with arb_context(_BITS) as ctx:
        return flint.arb(closed_forms.optimal_delta(ctx, delta0, delta_slack, instances * sparsity))


def _within(epsilon_of: Callable[[float, int, int, float], flint.arb]) -> Callable[..., bool]:
    def within(epsilon0: float, instances: int, sparsity: int, delta_slack: float, epsilon: float) -> bool:
        return bool(epsilon_of(epsilon0, instances, sparsity, delta_slack) <= epsilon)

    return within


_THEOREMS = {
    CompositionTheorem.BASIC: _Theorem(
        epsilon=_basic_epsilon,
        delta=_basic_delta,
        within=_within(_basic_epsilon),
        guess=_even_guess,
        slack=(True, False),
    ),
    CompositionTheorem.ADVANCED: _Theorem(
        epsilon=_advanced_epsilon,
        delta=_advanced_delta,
        within=_within(_advanced_epsilon),
        guess=_advanced_guess,
        slack=(False, True),
    ),
    CompositionTheorem.OPTIMAL: _Theorem(
        epsilon=_optimal_epsilon,
        delta=_optimal_delta,
        within=_optimal_within,
        guess=_optimal_guess,
        slack=(True, True),
    ),
}


def compose(
    theorem: CompositionTheorem | str,
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
    theorem : CompositionTheorem or str
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
    theorem = _named(theorem)
    rule = _THEOREMS[theorem]
    epsilon0 = check_real("epsilon0", epsilon0, low=0.0, low_open=True)
    delta0 = check_real("delta0", delta0, low=0.0, high=1.0, high_open=True)
    instances = check_integer("instances", instances, low=1)
    sparsity = check_integer("sparsity", sparsity, low=1)
    delta_slack = _check_share(f"delta_slack for {theorem.value} composition", delta_slack, rule)
    epsilon = upper_float(rule.epsilon(epsilon0, instances, sparsity, delta_slack))
    delta = upper_float(rule.delta(delta0, instances, sparsity, delta_slack))
    if not epsilon < math.inf:
        raise ValueError(f"epsilon0={epsilon0!r} composes to an epsilon that is not in [0, inf), so it says nothing.")
    if not delta < 1.0:
        raise ValueError(f"delta0={delta0!r} composes to delta={delta!r}, which is not in [0, 1), so it says nothing.")
    return epsilon, delta


def _named(theorem: CompositionTheorem | str) -> CompositionTheorem:
    return check_choice("theorem", theorem, CompositionTheorem)


def _check_share(name: str, value: Any, rule: _Theorem, *, high_open: bool = True) -> float:
    may_be_zero, may_be_positive = rule.slack
    high = 1.0 if may_be_positive else 0.0
    return check_real(
        name, value, low=0.0, low_open=not may_be_zero, high=high, high_open=high_open and may_be_positive
    )


@dataclass(frozen=True)
class PerInstanceBudget:
    """What one mechanism may spend so that the composition of all stays within a budget.

    Parameters
    ----------
    epsilon0, delta0 : float
        Privacy parameters of each mechanism, in nats; delta0 = 0 asks for pure differential privacy.
    delta_slack : float
        delta', the part of the budget's delta that the composition theorem spends.
    theorem : CompositionTheorem
        The theorem that was inverted.
    instances, sparsity : int
        I and S, as in `compose`.
    budget : Budget
        The budget of the whole.
    """

    epsilon0: float
    delta0: float
    delta_slack: float
    theorem: CompositionTheorem
    instances: int
    sparsity: int
    budget: Budget

    def composed(self) -> tuple[float, float]:
        """Return `compose` of these parameters: (epsilon, delta), within the budget."""
        return compose(
            self.theorem,
            self.epsilon0,
            self.delta0,
            self.instances,
            sparsity=self.sparsity,
            delta_slack=self.delta_slack,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {
            "epsilon0": self.epsilon0,
            "delta0": self.delta0,
            "delta_slack": self.delta_slack,
            "theorem": self.theorem.value,
            "instances": self.instances,
            "sparsity": self.sparsity,
            "budget": self.budget.to_dict(),
        }


def per_instance_budget(
    budget: BudgetLike,
    instances: int,
    *,
    sparsity: int = 1,
    theorem: CompositionTheorem | str,
    delta_split: Number | None = None,
) -> PerInstanceBudget:
    """Return the largest per-mechanism parameters whose composition stays within a budget.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        The budget of the whole composition.
    instances : int
        I, at least 1.
    sparsity : int
        S, at least 1, as in `compose`.
    theorem : CompositionTheorem or str
        The theorem to invert: "basic", "advanced" or "optimal".
    delta_split : number, optional
        The share of the budget's delta that goes to delta'; the rest goes to the delta0 of the I S mechanisms. By
        default 1/2 (wagner2025, section 4, which writes that the other half is I Q delta0: Theorem 3.2 has I S delta0,
        used here), and 0 for BASIC, which has no delta'. Must be in (0, 1] for ADVANCED, [0, 1] for OPTIMAL.

    Returns
    -------
    PerInstanceBudget
        With the largest float delta0 at that split, and then the largest float epsilon0, that provably compose to
        within the budget.

    Raises
    ------
    InfeasibleBudgetError
        If ADVANCED is asked for at delta = 0, or if no positive float epsilon0 is small enough.
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> share = per_instance_budget(("2", "1e-6"), instances=768, theorem="optimal")
    >>> print(f"{share.epsilon0:.5f}")
    0.01573
    >>> share.composed()[0] <= 2
    True
    """
    budget, theorem = Budget.of(budget), _named(theorem)
    rule = _THEOREMS[theorem]
    instances = check_integer("instances", instances, low=1)
    sparsity = check_integer("sparsity", sparsity, low=1)
    if delta_split is None:
        delta_split = Fraction(1, 2) if rule.slack[1] else 0
    spent = exact_number("delta_split", delta_split)
    _check_share(f"delta_split for {theorem.value} composition", float(spent), rule, high_open=False)
    with arb_context() as ctx:
        delta_slack = lower_float(ctx.convert(spent * budget.exact_delta))
    if delta_slack == 0.0 and not rule.slack[0]:
        raise InfeasibleBudgetError(
            f"delta={budget.delta!r} leaves no positive delta_slack for {theorem.value} composition: use basic or "
            "optimal composition."
        )
    mechanisms = instances * sparsity

    def delta_within(delta0: float) -> bool:
        return delta0 < 1.0 and upper_float(rule.delta(delta0, instances, sparsity, delta_slack)) <= budget.delta

    share = (1 - spent) * budget.exact_delta / mechanisms
    delta0 = largest_float(delta_within, float(share)) if share > 0 else 0.0

    def epsilon_within(epsilon0: float) -> bool:
        return rule.within(epsilon0, instances, sparsity, delta_slack, budget.epsilon)

    epsilon0 = largest_float(epsilon_within, rule.guess(budget.epsilon, instances, sparsity, delta_slack))

    def composes(epsilon0: float) -> bool:
        return upper_float(rule.epsilon(epsilon0, instances, sparsity, delta_slack)) <= budget.epsilon

    # `within` may be sharper than `compose` by a rounding: what is returned must pass the latter.
    epsilon0 = nudged(composes, epsilon0, 0.0) if epsilon0 > 0.0 else 0.0
    if epsilon0 == 0.0:
        raise InfeasibleBudgetError(
            f"epsilon={budget.epsilon!r} over instances={instances} with sparsity={sparsity} leaves no positive float "
            "epsilon0."
        )
    return PerInstanceBudget(epsilon0, delta0, delta_slack, theorem, instances, sparsity, budget)
