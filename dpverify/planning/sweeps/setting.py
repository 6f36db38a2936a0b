"""What is asked of one plan; a table, a list or a front is one sweep over such settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from dpverify.changes import Change
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import BudgetLike, CapacityError, InfeasibleBudgetError, Number, ThreatModel
from dpverify.planning.answers import change_of
from dpverify.planning.plan import EXACT, PlanRow, plan
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass

__all__ = ["Asked", "FailedPlan", "Progress", "Row", "Setting", "Tried", "sweep"]

Progress = Callable[[int, int], object]
"""`progress(done, total)`, told as a search or a sweep goes on."""
_Row = TypeVar("_Row", covariant=True)
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class FailedPlan(Plain):
    """A bitsum and method without a plan: an ordinary outcome, with its reason.

    - bitsum, method: What was asked of `dpverify.planning.plan.plan`.
    - composition: As asked; None where the method's own default was meant.
    - error: Why there is no plan, in one sentence.
    """

    bitsum: str
    method: str
    composition: str | None
    error: str


class Row(Protocol):
    """A plan of a bitsum or of a density estimator: a row of a table."""

    measure: ClassVar[str]
    """Which of its fields is its error."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""


class Tried(Generic[_Found]):
    """A result whose rows are what was found, or the reasons why there is nothing."""

    rows: tuple[_Found | FailedPlan, ...]

    @property
    def plans(self) -> tuple[_Found, ...]:
        """The rows that are there."""
        return tuple(row for row in self.rows if not isinstance(row, FailedPlan))

    @property
    def failures(self) -> tuple[FailedPlan, ...]:
        """The rows that are not."""
        return tuple(row for row in self.rows if isinstance(row, FailedPlan))


class Asked(Protocol[_Row]):
    """A setting, of whatever kind of plan."""

    def attempted(self) -> _Row | FailedPlan:
        """Return the plan, or the reason why there is none."""


def sweep(settings: Sequence[Asked[_Row]], progress: Progress | None = None) -> tuple[_Row | FailedPlan, ...]:
    """Return each setting's plan, or the reason why there is none, in order; `progress` is told after every one."""
    rows = []
    for setting in settings:
        rows.append(setting.attempted())
        if progress is not None:
            progress(len(rows), len(settings))
    return tuple(rows)


@dataclass(frozen=True)
class Setting:
    """What is asked of `dpverify.planning.plan.plan`, by the names that its arguments have."""

    bitsum: str
    budget: BudgetLike
    users: int
    instances: int
    squared_change: Number | None = None
    ball: bool = False
    sparsity: int = 1
    threat_model: ThreatModel | str | None = None
    honest: Number | None = None
    method: str = EXACT
    composition: str | None = None
    max_messages_per_user: float | None = None
    error_margin: float | None = None
    coarse: bool = False

    @property
    def change(self) -> Change:
        """What one user's replacement changes."""
        return change_of(self.instances * self.sparsity, self.squared_change, self.ball)

    def attempted(self) -> PlanRow | FailedPlan:
        """Return the plan, or why there is none: no parameter meets the budget, or it is too large to compute.

        Raises TypeError or ValueError for an argument out of range.
        """
        try:
            return plan(**vars(self))
        except (InfeasibleBudgetError, FormulaRangeError, CapacityError) as error:
            reason = error.reason if isinstance(error, CapacityError) else str(error)
            return FailedPlan(self.bitsum, self.method, self.composition, reason)
