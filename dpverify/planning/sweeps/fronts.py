"""Error against messages: which plans no other beats in both, and which of them to take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from dpverify.changes import Change
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.registry import Group, registered
from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError, Number, ThreatModel
from dpverify.planning.plan import PlanRow
from dpverify.planning.sweeps.comparison import some
from dpverify.planning.sweeps.setting import FailedPlan, Progress, Setting, sweep
from dpverify.shown import Drawn
from protocols.classes.frozen import dataclass
from protocols.validation import budget_by_name, check_choice, check_integer, check_real

__all__ = ["MARGINS", "SHUFFLED", "Front", "Fronted", "Knee", "front", "knee", "undominated"]

_Row = TypeVar("_Row")
_Measure = Callable[[_Row], float]

SHUFFLED = tuple(name for name in registered(Group.BITSUMS).shuffled if name != "pure")
"""Bitsums that need no trusted curator and gain from the shuffler; at delta > 0 pure sends what 3nb does."""
MARGINS = (0.004, 0.01, 0.03, 0.1, 0.3)
"""How far above its infimum the error of a plan on the front is, for the bitsums that trade it for messages."""
WITHIN = 0.05
"""How much more error than the least the recommended plan may have."""


@dataclass(frozen=True)
class Knee:
    """Which row to take, and why.

    - row: The recommended one.
    - reason: What it costs, and what it saves, against the row of least error.
    """

    row: Any
    reason: str


def undominated(rows: Iterable[_Row], messages: _Measure[_Row], error: _Measure[_Row]) -> tuple[_Row, ...]:
    """Return the rows that no other one with as few messages or fewer has as little error as, by messages."""
    found: list[_Row] = []
    for row in sorted(rows, key=lambda row: (messages(row), error(row))):
        if not found or error(row) < error(found[-1]):
            found.append(row)
    return tuple(found)


def knee(
    front: Sequence[_Row],
    messages: _Measure[_Row],
    error: _Measure[_Row],
    within: float = WITHIN,
    *,
    what: str = "error",
) -> Knee:
    """Return the row of fewest messages whose error is within a share of the least, and what that saves.

    - front: As `undominated` returns them; not empty.
    - messages, error: What a row costs, and how much it errs.
    - within: The share.
    - what: What is called the error.
    """
    best = front[-1]
    row = next(row for row in front if error(row) <= (1.0 + within) * error(best))
    if row is best:
        alone = len(front) == 1
        why = (
            f"the least {what}, and the fewest messages"
            if alone
            else f"no other row is within {within:.0%} of its {what}"
        )
        return Knee(row, why)
    more, share = error(row) / error(best) - 1.0, messages(row) / messages(best)
    return Knee(row, f"knee: {more:.1%} more {what} than the best row, {share:.3g} of its messages")


class Fronted:
    """A result whose rows have messages and an error, with a front of both."""

    rows: tuple[Any, ...]
    within: float = WITHIN
    """How much more error than the least the recommended row may have."""
    names: ClassVar[tuple[str, str, str]]
    """Where in a row its bitsum, its messages and its error are."""

    @property
    def judged(self) -> str:
        """What is called the error."""
        return "error"

    @property
    def considered(self) -> tuple[Any, ...]:
        """The rows that may be on the front."""
        return self.rows

    def point(self, row: Any) -> tuple[str, float, float]:
        """Return a row's bitsum, messages and error."""
        found: tuple[str, float, float] = attrgetter(*self.names)(row)
        return found

    def _messages(self, row: Any) -> float:
        return self.point(row)[1]

    def _error(self, row: Any) -> float:
        return self.point(row)[2]

    @property
    def front(self) -> tuple[Any, ...]:
        """The rows that no other with as few messages or fewer has as little error as."""
        return undominated(self.considered, self._messages, self._error)

    @property
    def best(self) -> Any:
        """The row of least error."""
        return min(self.rows, key=self._error)

    @property
    def recommended(self) -> Knee:
        """The row of fewest messages among those that err little more than the best one, and the reason."""
        return knee(self.front, self._messages, self._error, self.within, what=self.judged)

    @property
    def reason(self) -> str | None:
        """Why the recommended row is, where there are rows."""
        return self.recommended.reason if self.rows else None

    @property
    def marked(self) -> list[dict[str, Any]]:
        """The rows as plain JSON values; each says whether it is on the front and recommended."""
        front, chosen = set(map(id, self.front)), self.recommended.row if self.rows else None
        return [{**row.to_dict(), "on_front": id(row) in front, "recommended": row is chosen} for row in self.rows]


@dataclass(frozen=True)
class Front(Fronted, Drawn):
    """What one budget buys, by error and by messages.

    - budget: The budget of the whole composition.
    - users, instances: n and I.
    - change: What one user's replacement changes.
    - rows: All plans, the fewest messages first.
    - failures: Bitsums without a plan, with the reason.
    - within: How much more error than the least the recommended row may have.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.fronts:front_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.fronts:front_figure"
    names: ClassVar[tuple[str, str, str]] = ("bitsum", "messages_per_user", "bitsum_rmse")
    plain_as: ClassVar[str] = "budget users instances change within reason rows=marked failures"

    budget: Budget
    users: int
    instances: int
    change: Change
    rows: tuple[PlanRow, ...]
    failures: tuple[FailedPlan, ...]
    within: float

    def fewest(self, rmse: float) -> PlanRow | None:
        """Return the row of fewest messages whose error, in users, is at most this; None if there is none."""
        return next((row for row in self.rows if row.bitsum_rmse <= rmse), None)


@budget_by_name
def front(
    budget: BudgetLike,
    *,
    users: int,
    instances: int = 1,
    bitsums: Iterable[str] = SHUFFLED,
    margins: Iterable[float] = MARGINS,
    within: float = WITHIN,
    squared_change: Number | None = None,
    ball: bool = False,
    sparsity: int = 1,
    threat_model: ThreatModel | str | None = None,
    honest: Number | None = None,
    progress: Progress | None = None,
) -> Front:
    """Plan for the Pareto front of error against messages, and recommend one of its rows.

    Every row is a plan of `dpverify.planning.plan.plan`, proved like any. More messages than those of the first margin
    gain less error than that margin.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        The budget of the whole composition.
    users, instances : int
        n and I, at least 1.
    bitsums : iterable of str
        Which protocols; those that need no trusted curator by default.
    margins : iterable of float
        How far above its infimum the error is, each in (0, 1], for the protocols that trade it for messages.
    within : float
        The recommended row is the one of fewest messages whose error is at most this share above the least.
    squared_change, ball, sparsity, threat_model, honest
        As in `dpverify.planning.plan.plan`.
    progress : callable, optional
        `progress(done, total)` in plans, after every plan.

    Returns
    -------
    Front
        The plans that no other beats in both error and messages, and the recommended one with its reason.

    Raises
    ------
    ValueError
        If `bitsums` is empty.
    InfeasibleBudgetError
        If no bitsum meets the budget, with all reasons.
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> found = front(("1", "1e-6"), users=10_000, instances=1, bitsums=["rr", "3nb"], margins=[0.01])
    >>> [row.bitsum for row in found.front]
    ['rr', '3nb']
    >>> found.recommended.row.bitsum
    '3nb'
    """
    budget = Budget.of(budget)
    users, instances = check_integer("users", users, low=1), check_integer("instances", instances, low=1)
    chosen = some("bitsums", [check_choice("bitsum", bitsum, BITSUM_CLAIMS) for bitsum in bitsums])
    check_real("within", within, low=0.0)
    common = Setting("", budget, users, instances, squared_change, ball, sparsity, threat_model, honest)
    margins = [check_real("margins", each, low=0.0, high=1.0, low_open=True) for each in margins]
    # By margin first: what protocols share of a search is remembered for a few of them.
    asked = [replace(common, bitsum=bitsum, error_margin=margin) for margin, bitsum in product(margins, chosen)]
    rows: dict[tuple[str, float, float], PlanRow] = {}
    failures: dict[str, FailedPlan] = {}
    for row in sweep(asked, progress):
        if isinstance(row, FailedPlan):
            failures.setdefault(row.bitsum, row)
        else:
            # A protocol that has nothing to trade is planned alike for every margin.
            rows.setdefault((row.bitsum, row.messages_per_user, row.bitsum_rmse), row)
    if not rows:
        raise InfeasibleBudgetError("\n".join(dict.fromkeys(row.error for row in failures.values())))
    planned = {row.bitsum for row in rows.values()}
    return Front(
        budget,
        users,
        instances,
        common.change,
        tuple(sorted(rows.values(), key=lambda row: (row.messages_per_user, row.bitsum_rmse))),
        tuple(row for bitsum, row in failures.items() if bitsum not in planned),
        within,
    )
