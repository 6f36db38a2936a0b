"""Composition backwards: from the budget of the whole to (epsilon0, delta0) of each mechanism.

What is returned provably composes to within the budget; `dpverify.composition.theorems` goes forwards, and says what
sparsity S means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dpverify.composition.theorems import THEOREMS, CompositionTheorem, check_slack, compose, named
from dpverify.digits import unrounded
from dpverify.formulas.contexts import arb_context, lower_float, nudged, upper_float
from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError, Number, exact_number
from dpverify.privacy_loss.losses import two_valued
from dpverify.search import largest_float
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import budget_by_name, check_integer

__all__ = ["PerInstanceBudget", "per_instance_budget"]


@dataclass(frozen=True)
class _Inversion:
    """How to search for the epsilon0 of a theorem."""

    within: Callable[[float, int, int, float, float], bool]
    """(epsilon0, instances, sparsity, delta_slack, epsilon) -> whether epsilon is certainly enough."""
    guess: Callable[[float, int, int, float], float]
    """(epsilon, instances, sparsity, delta_slack) -> where to start the search for epsilon0: speed only."""


def _within(composition: CompositionTheorem) -> Callable[[float, int, int, float, float], bool]:
    def within(epsilon0: float, instances: int, sparsity: int, delta_slack: float, epsilon: float) -> bool:
        return bool(THEOREMS[composition].epsilon(epsilon0, instances, sparsity, delta_slack) <= epsilon)

    return within


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
    square = mechanisms * -2 * goal / epsilon / epsilon
    if not 0.0 < square < math.inf:
        return _even_guess(epsilon, instances, sparsity, delta_slack)
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


_INVERSIONS = {
    CompositionTheorem.BASIC: _Inversion(_within(CompositionTheorem.BASIC), _even_guess),
    CompositionTheorem.ADVANCED: _Inversion(_within(CompositionTheorem.ADVANCED), _advanced_guess),
    CompositionTheorem.OPTIMAL: _Inversion(_optimal_within, _optimal_guess),
}


@dataclass(frozen=True)
class PerInstanceBudget(Plain):
    """What one mechanism may spend so that the composition of all stays within a budget.

    - epsilon0, delta0: Privacy parameters of each mechanism, in nats; delta0 = 0 asks for pure differential privacy.
    - delta_slack: delta', the part of the budget's delta that the composition theorem spends.
    - composition: The theorem that was inverted.
    - instances, sparsity: I and S, as in `compose`.
    - budget: The budget of the whole.
    """

    epsilon0: float
    delta0: float
    delta_slack: float
    composition: CompositionTheorem
    instances: int
    sparsity: int
    budget: Budget

    def composed(self) -> tuple[float, float]:
        """Return `compose` of these parameters: (epsilon, delta), within the budget."""
        return compose(
            self.composition,
            self.epsilon0,
            self.delta0,
            self.instances,
            sparsity=self.sparsity,
            delta_slack=self.delta_slack,
        )


@budget_by_name
def per_instance_budget(
    budget: BudgetLike,
    instances: int = 1,
    *,
    sparsity: int = 1,
    composition: CompositionTheorem | str,
    delta_slack: Number | None = None,
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
    composition : CompositionTheorem or str
        The theorem to invert: "basic", "advanced" or "optimal".
    delta_slack : number, optional
        delta', at most the budget's delta; the rest goes to the delta0 of the I S mechanisms. By default half of delta
        (wagner2025, section 4, which writes that the other half is I Q delta0: Theorem 3.2 has I S delta0, used here),
        and 0 for BASIC, which has no delta'. Must be positive for ADVANCED.

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
    >>> share = per_instance_budget(("2", "1e-6"), instances=768, composition="optimal")
    >>> print(f"{share.epsilon0:.5f}")
    0.01573
    >>> share.composed()[0] <= 2
    True
    """
    budget, composition = Budget.of(budget), named(composition)
    rule, inversion = THEOREMS[composition], _INVERSIONS[composition]
    instances = check_integer("instances", instances, low=1)
    sparsity = check_integer("sparsity", sparsity, low=1)
    spent = budget.exact_delta / 2 if rule.slack[1] else Fraction(0)
    if delta_slack is not None:
        spent = exact_number("delta_slack", delta_slack)
        check_slack(composition, float(spent))
        if spent > budget.exact_delta:
            raise ValueError(f"delta_slack={delta_slack!r} must be at most delta={unrounded(budget.exact_delta)}.")
    with arb_context() as ctx:
        delta_slack = lower_float(ctx.convert(spent)) + 0.0  # no -0.0
    if delta_slack == 0.0 and not rule.slack[0]:
        raise InfeasibleBudgetError(
            f"delta={unrounded(budget.exact_delta)} leaves nothing that {composition.value} composition could spend: "
            "use basic or optimal composition."
        )
    mechanisms = instances * sparsity

    def delta_within(delta0: float) -> bool:
        return delta0 < 1.0 and upper_float(rule.delta(delta0, instances, sparsity, delta_slack)) <= budget.delta

    share = (1 - spent) * budget.exact_delta / mechanisms
    delta0 = largest_float(delta_within, float(share)) if share > 0 else 0.0

    def epsilon_within(epsilon0: float) -> bool:
        return inversion.within(epsilon0, instances, sparsity, delta_slack, budget.epsilon)

    epsilon0 = largest_float(epsilon_within, inversion.guess(budget.epsilon, instances, sparsity, delta_slack))

    def composes(epsilon0: float) -> bool:
        return upper_float(rule.epsilon(epsilon0, instances, sparsity, delta_slack)) <= budget.epsilon

    # `within` may be sharper than `compose` by a rounding: what is returned must pass the latter.
    epsilon0 = nudged(composes, epsilon0, 0.0) if epsilon0 > 0.0 else 0.0
    if epsilon0 == 0.0:
        raise InfeasibleBudgetError(
            f"epsilon={budget.epsilon!r} over instances={instances} with sparsity={sparsity} leaves no positive float "
            "epsilon0."
        )
    return PerInstanceBudget(epsilon0, delta0, delta_slack, composition, instances, sparsity, budget)
