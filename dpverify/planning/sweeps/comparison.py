"""Plans side by side: every bitsum with every method, and the reason where there is no plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

from dpverify.changes import Change
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget, BudgetLike, CapacityError, InfeasibleBudgetError, Number, ThreatModel
from dpverify.planning.answers import change_of
from dpverify.planning.plan import METHODS, PlanRow, plan
from dpverify.shown import Drawn
from protocols.validation import check_integer

__all__ = ["BITSUMS", "Comparison", "FailedPlan", "attempted", "compare"]

BITSUMS = tuple(BITSUM_CLAIMS)
"""The short names of all bitsum protocols."""


@dataclass(frozen=True)
class FailedPlan:
    """A bitsum and method without a plan: an ordinary outcome, with its reason.

    Parameters
    ----------
    bitsum, method : str
        What was asked of `dpverify.planning.plan.plan`.
    composition : str or None
        As asked; None where the method's own default was meant.
    error : str
        Why there is no plan, in one sentence.
    """

    bitsum: str
    method: str
    composition: str | None
    error: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {
            "bitsum": self.bitsum,
            "method": self.method,
            "composition": self.composition,
            "error": self.error,
        }


@dataclass(frozen=True)
class Comparison(Drawn):
    """What one budget buys.

    Parameters
    ----------
    budget : Budget
        The budget of the whole composition.
    users, instances : int
        n and I.
    change : Full or L2Bounded
        What one user's replacement changes.
    rows : tuple of PlanRow or FailedPlan
        One per bitsum and method, in the order asked.
    """

    table_by: ClassVar[str] = "dpverify.report.tables:plan_table"
    figure_by: ClassVar[str] = "dpverify.report.plots:plan_errors"

    budget: Budget
    users: int
    instances: int
    change: Change
    rows: tuple[PlanRow | FailedPlan, ...]

    @property
    def plans(self) -> tuple[PlanRow, ...]:
        """The rows that are plans."""
        return tuple(row for row in self.rows if isinstance(row, PlanRow))

    @property
    def failures(self) -> tuple[FailedPlan, ...]:
        """The rows that are not."""
        return tuple(row for row in self.rows if isinstance(row, FailedPlan))

    def to_dict(self) -> dict[str, Any]:
        """Return `{"budget", "users", "instances", "change", "rows"}`; a row without a plan has the key "error"."""
        return {
            "budget": self.budget.to_dict(),
            "users": self.users,
            "instances": self.instances,
            "change": self.change.to_dict(),
            "rows": [row.to_dict() for row in self.rows],
        }


def attempted(bitsum: str, budget: BudgetLike, *, method: str = "exact", **options: Any) -> PlanRow | FailedPlan:
    """Return a plan, or the reason why there is none: what no parameter meets, or what is too large to compute.

    Parameters
    ----------
    bitsum, budget, method, **options
        As for `dpverify.planning.plan.plan`.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.
    """
    try:
        return plan(bitsum, budget, method=method, **options)
    except (InfeasibleBudgetError, FormulaRangeError, CapacityError) as error:
        reason = error.reason if isinstance(error, CapacityError) else str(error)
        return FailedPlan(bitsum, method, options.get("composition"), reason)


def compare(
    budget: BudgetLike,
    *,
    users: int,
    instances: int,
    bitsums: Iterable[str] = BITSUMS,
    methods: Iterable[str] = METHODS,
    squared_change: Number | None = None,
    ball: bool = False,
    composition: str | None = None,
    sparsity: int = 1,
    max_messages_per_user: float | None = None,
    error_margin: float | None = None,
    threat_model: ThreatModel | str | None = None,
    honest: Number | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Comparison:
    """Plan every bitsum with every method.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        The budget of the whole composition.
    users, instances : int
        n and I, at least 1.
    bitsums, methods : iterable of str
        What to combine; everything by default.
    squared_change, ball, composition, sparsity, max_messages_per_user, error_margin, threat_model, honest
        As in `dpverify.planning.plan.plan`.
    progress : callable, optional
        `progress(done, total)` in rows, after every row.

    Returns
    -------
    Comparison
        `plans`, a row for each bitsum and method, with the reason where there is no plan.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range. An infeasible budget, a published formula outside its range, or what is too large
        to compute, is a row instead.

    Examples
    --------
    >>> found = compare(("1", "1e-6"), users=1000, instances=4, bitsums=["rr", "3nb"], methods=["published"])
    >>> for row in found.plans:
    ...     print(f"{row.bitsum}: {row.bitsum_rmse:.1f}")
    rr: 481.4
    3nb: 15.9
    """
    budget = Budget.of(budget)
    users, instances = check_integer("users", users, low=1), check_integer("instances", instances, low=1)
    asked = list(product(bitsums, methods))

    rows: list[PlanRow | FailedPlan] = []
    for bitsum, method in asked:
        row = attempted(
            bitsum,
            budget,
            users=users,
            instances=instances,
            method=method,
            squared_change=squared_change,
            ball=ball,
            composition=composition,
            sparsity=sparsity,
            max_messages_per_user=max_messages_per_user,
            error_margin=error_margin,
            threat_model=threat_model,
            honest=honest,
        )
        rows.append(row)
        if progress is not None:
            progress(len(rows), len(asked))
    return Comparison(budget, users, instances, change_of(instances * sparsity, squared_change, ball), tuple(rows))
