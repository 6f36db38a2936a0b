"""Error against messages of sums of numbers: coarser steps are fewer messages, and more rounding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError
from dpverify.planning.sums.integers import SumPlan, plan_sums
from dpverify.planning.sweeps.fronts import WITHIN, Fronted
from dpverify.shown import Drawn
from protocols.classes.frozen import dataclass
from protocols.sums import PoissonSum
from protocols.validation import budget_by_name, check_integer, check_real

__all__ = ["STEPS", "SumFront", "sum_front"]

STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""How many steps a range is divided into, where nothing else is asked for."""


@dataclass(frozen=True)
class SumFront(Fronted, Drawn):
    """What messages buy of the error of a sum of numbers.

    - budget: Of all sums together.
    - users, smallest, largest, real, instances, curator: As of `SumPlans`.
    - rows: All plans, the fewest messages first.
    - failures: By name of the protocols without a plan, why there is none.
    - within: How much more error than the least the recommended row may have.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.fronts:sums_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.fronts:sums_figure"
    names: ClassVar[tuple[str, str, str]] = ("name", "messages", "rmse")
    plain_as: ClassVar[str] = "budget users smallest largest real instances curator within reason rows=marked failures"

    budget: Budget
    users: int
    smallest: float
    largest: float
    real: bool
    instances: int
    curator: float
    rows: tuple[SumPlan, ...]
    failures: dict[str, str]
    within: float


@budget_by_name
def sum_front(
    budget: BudgetLike,
    *,
    users: int,
    smallest: float = 0,
    largest: float,
    real: bool = False,
    instances: int = 1,
    protocols: Sequence[str] | None = None,
    steps: Sequence[int] = STEPS,
    within: float = WITHIN,
) -> SumFront:
    """Plan sums of numbers in several numbers of steps, and say which no other beats in both messages and error.

    Integers may be sent in fewer steps as well, rounded at random as real numbers are; as they are they always stand
    beside that.

    Parameters
    ----------
    budget, users, smallest, largest, real, instances, protocols
        As for `plan_sums`.
    steps : sequence of int
        Into how many steps the range is divided, each at least 1; of integers those below b - a count.
    within : float
        The recommended row is the one of fewest messages whose error is at most this share above the least.

    Returns
    -------
    SumFront
        Every plan, the front marked in `to_dict`, and the recommended row with its reason.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range, or no steps.
    InfeasibleBudgetError
        If no protocol meets the budget, with all reasons.

    Examples
    --------
    >>> found = sum_front((1, "1e-6"), users=10_000, largest=1, real=True, steps=(1, 32), protocols=["poisson-sum"])
    >>> [(row.protocol.steps, f"{row.rmse:.1f}") for row in found.front], found.recommended.row.protocol.steps
    ([(1, '50.3'), (32, '4.5')], 32)
    """
    if isinstance(steps, str) or not isinstance(steps, Iterable) or not steps:
        raise TypeError(f"steps={steps!r} must be a sequence of integers, at least one.")
    check_real("within", within, low=0.0)
    span = PoissonSum(users, largest, 0.0, smallest=smallest, steps=1 if real else None)
    asked = sorted({check_integer("steps", each, low=1) for each in steps})
    coarser = [each for each in asked if real or each < span.levels]
    common = {"users": users, "smallest": smallest, "largest": largest, "instances": instances, "protocols": protocols}
    found = [plan_sums(budget, real=True, steps=each, **common) for each in coarser]  # type: ignore[arg-type]
    found += [] if real else [plan_sums(budget, **common)]  # type: ignore[arg-type]
    rows = [row for each in found for row in each.plans]
    failures = {name: reason for each in found for name, reason in each.failures.items()}
    if not rows:
        raise InfeasibleBudgetError("\n".join(dict.fromkeys(failures.values())))
    planned = {row.name for row in rows}
    return SumFront(
        Budget.of(budget),
        span.users,
        span.smallest,
        span.largest,
        real,
        instances,
        found[0].curator,
        tuple(sorted(rows, key=lambda row: (row.messages, row.rmse))),
        {name: reason for name, reason in failures.items() if name not in planned},
        within,
    )
