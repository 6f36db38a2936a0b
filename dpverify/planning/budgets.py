"""What one instance may spend of a budget for all of them, by every theorem and by a protocol's exact law."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.composition.inverse import per_instance_budget
from dpverify.composition.theorems import CompositionTheorem
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget, BudgetLike, CapacityError, InfeasibleBudgetError, enclosing_floats, printed_float
from dpverify.planning.account import account
from dpverify.planning.plan import EXACT, plan
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass
from protocols.validation import budget_by_name, check_choice, check_integer

__all__ = ["BudgetSplit", "Share", "split_budget"]


@dataclass(frozen=True)
class Share(Plain):
    """What one instance may spend by one way of composing, or why there is nothing.

    - composition: A composition theorem, or "exact".
    - epsilon0, delta0: An instance that is (epsilon0, delta0)-DP is private enough, if it is of the named protocol with
      these parameters for "exact", whatever it is for a theorem; None where there is none.
    - delta_slack: The part of the budget's delta that the theorem spends itself.
    - parameters: Of the protocol with the least error; for "exact" only.
    - error: Why there is none, in one sentence.
    - epsilon0_limit, delta0_limit: What the theorem allows before it is rounded down to a float, where that is a
      rational number.
    """

    plain_as: ClassVar[str] = "composition error? *_allowed parameters?"

    composition: str
    epsilon0: float | None = None
    delta0: float | None = None
    delta_slack: float | None = None
    parameters: dict[str, Any] | None = None
    error: str | None = None
    epsilon0_limit: Fraction | None = None
    delta0_limit: Fraction | None = None

    @property
    def _allowed(self) -> dict[str, float]:
        """What is allowed, as decimals that do not exceed it."""
        given = {
            "epsilon0": (self.epsilon0, self.epsilon0_limit),
            "delta0": (self.delta0, self.delta0_limit),
            "delta_slack": (self.delta_slack, None),
        }
        return {name: _printed(value, limit) for name, (value, limit) in given.items() if value is not None}


@dataclass(frozen=True)
class BudgetSplit(Drawn):
    """The shares of one budget.

    - budget: The budget of the whole.
    - instances, sparsity: I and S.
    - bitsum: The protocol whose exact law was composed.
    - users: Its n.
    - rows: One per composition theorem, and "exact" for a named protocol.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.budgets:budget_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.budgets:budget_bars"

    budget: Budget
    instances: int
    sparsity: int
    bitsum: str | None
    users: int | None
    rows: tuple[Share, ...]


@budget_by_name
def split_budget(
    budget: BudgetLike,
    instances: int = 1,
    *,
    sparsity: int = 1,
    bitsum: str | None = None,
    users: int | None = None,
) -> BudgetSplit:
    """Return what each of many instances may spend, by every composition theorem, and by exact composition.

    A theorem holds for every (epsilon0, delta0)-DP mechanism; see `per_instance_budget`. Exact composition knows the
    mechanism: its row says what one instance of the parameters that `plan` finds spends, at an equal share
    `delta / (I S)` of delta, which it need not leave any of to composing.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        The budget of the whole.
    instances, sparsity : int
        I and S, at least 1; see `per_instance_budget`.
    bitsum : str, optional
        The protocol for exact composition, by its short name.
    users : int, optional
        Its n, at least 1; with `bitsum` only.

    Returns
    -------
    BudgetSplit
        What cannot be met is a row with its reason.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or only one of `bitsum` and `users` is given.

    Examples
    --------
    >>> found = split_budget(("2", "1e-6"), 768, bitsum="poisson", users=1000)
    >>> for row in found.rows:
    ...     print(f"{row.composition}: epsilon0 = {row.epsilon0:.4f}")
    basic: epsilon0 = 0.0026
    advanced: epsilon0 = 0.0126
    optimal: epsilon0 = 0.0157
    exact: epsilon0 = 0.0820
    """
    whole = Budget.of(budget)
    instances = check_integer("instances", instances, low=1)
    sparsity = check_integer("sparsity", sparsity, low=1)
    if (bitsum is None) != (users is None):
        raise ValueError(f"bitsum={bitsum!r} and users={users!r} must be given together, or neither.")
    rows = [_by_theorem(whole, instances, sparsity, theorem) for theorem in CompositionTheorem]
    if bitsum is not None and users is not None:
        bitsum, users = check_choice("bitsum", bitsum, BITSUM_CLAIMS), check_integer("users", users, low=1)
        rows.append(_exactly(whole, instances, sparsity, bitsum, users))
    return BudgetSplit(whole, instances, sparsity, bitsum, users, tuple(rows))


def _by_theorem(budget: Budget, instances: int, sparsity: int, theorem: CompositionTheorem) -> Share:
    try:
        found = per_instance_budget(budget, instances, sparsity=sparsity, composition=theorem)
    except CapacityError as error:
        return Share(theorem.value, error=error.reason)
    except InfeasibleBudgetError as error:
        return Share(theorem.value, error=str(error))
    share = Fraction(1, instances * sparsity)
    # delta' is rounded down, so that what is typed, divided, is left for all delta0 together.
    deltas = {
        CompositionTheorem.BASIC: share * budget.exact_delta,
        CompositionTheorem.ADVANCED: share * budget.exact_delta / 2,
    }
    return Share(
        theorem.value,
        found.epsilon0,
        found.delta0,
        found.delta_slack,
        epsilon0_limit=share * budget.exact_epsilon if theorem is CompositionTheorem.BASIC else None,
        delta0_limit=deltas.get(theorem),
    )


def _printed(value: float, limit: Fraction | None) -> float:
    """Return a float that prints as a decimal of at most the limit, or else of at most the value."""
    if limit is not None and Fraction(repr(float(limit))) <= limit:
        return float(limit)
    return printed_float(value, -math.inf)


def _exactly(budget: Budget, instances: int, sparsity: int, bitsum: str, users: int) -> Share:
    try:
        row = plan(bitsum, budget, users=users, instances=instances, sparsity=sparsity)
        delta0 = enclosing_floats(budget.exact_delta / Fraction(instances * sparsity))[0]
        # What such an instance is proved to spend at least: an allowance is rounded down.
        epsilon0 = account(row.protocol, delta=delta0).epsilon.lower
    except CapacityError as error:
        return Share(EXACT, error=error.reason)
    except (InfeasibleBudgetError, FormulaRangeError) as error:
        return Share(EXACT, error=str(error))
    if not epsilon0 < math.inf:
        return Share(EXACT, error=f"one {bitsum} instance has no finite epsilon0 at delta0={delta0!r}.")
    return Share(EXACT, epsilon0, delta0, parameters=row.parameters)
