"""Plans side by side: every bitsum with every method, at one budget or over lists, and why where there is no plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, product
from typing import Any, ClassVar, TypeVar

from dpverify.changes import Change
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.guarantee import Budget, BudgetLike, Number, ThreatModel, exact_number
from dpverify.planning.answers import honest_users
from dpverify.planning.plan import METHODS, PlanRow
from dpverify.planning.sweeps.setting import FailedPlan, Progress, Setting, Tried, sweep
from dpverify.shown import Drawn
from protocols.classes.frozen import dataclass
from protocols.validation import budget_by_name, check_integer

__all__ = ["BITSUMS", "Comparison", "PlanGrid", "plan_bitsums", "plan_grid", "some"]

BITSUMS = BITSUM_CLAIMS.keys()
"""The short names of all bitsum protocols; which other packages add is looked up where they are asked for."""
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Comparison(Tried[PlanRow], Drawn):
    """What one budget buys.

    - budget: The budget of the whole composition.
    - users, instances: n and I.
    - change: What one user's replacement changes.
    - rows: One per bitsum and method, in the order asked.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.comparisons:plan_table"
    figure_by: ClassVar[str] = "dpverify.report.plots:plan_errors"

    budget: Budget
    users: int
    instances: int
    change: Change
    rows: tuple[PlanRow | FailedPlan, ...]


@dataclass(frozen=True)
class PlanGrid(Drawn):
    """What several budgets buy, for several numbers of users and of instances.

    - comparisons: One for each budget, number of users and number of instances; the last of them changes first.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.comparisons:plan_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.comparisons:grid_errors"
    plain_as: ClassVar[str] = "budgets users instances rows=_rows"

    comparisons: tuple[Comparison, ...]

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """The budgets, each once."""
        return tuple(dict.fromkeys(one.budget for one in self.comparisons))

    @property
    def users(self) -> tuple[int, ...]:
        """The numbers of users, each once."""
        return tuple(dict.fromkeys(one.users for one in self.comparisons))

    @property
    def instances(self) -> tuple[int, ...]:
        """The numbers of instances, each once."""
        return tuple(dict.fromkeys(one.instances for one in self.comparisons))

    @property
    def rows(self) -> Iterator[tuple[Comparison, PlanRow | FailedPlan]]:
        """Every row, behind the comparison that it is of."""
        return ((one, row) for one in self.comparisons for row in one.rows)

    @property
    def plans(self) -> tuple[PlanRow, ...]:
        """The rows that are plans."""
        return tuple(row for one in self.comparisons for row in one.plans)

    @property
    def failures(self) -> tuple[FailedPlan, ...]:
        """The rows that are not."""
        return tuple(row for one in self.comparisons for row in one.failures)

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"budget": one.budget, "users": one.users, "instances": one.instances, **row.to_dict()}
            for one, row in self.rows
        ]


@budget_by_name
def plan_bitsums(
    budget: BudgetLike,
    *,
    users: int,
    instances: int = 1,
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
    progress: Progress | None = None,
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
    >>> found = plan_bitsums(("1", "1e-6"), users=1000, instances=4, bitsums=["rr", "3nb"], methods=["published"])
    >>> for row in found.plans:
    ...     print(f"{row.bitsum}: {row.bitsum_rmse:.1f}")
    rr: 481.4
    3nb: 15.9
    """
    (found,) = plan_grid(
        [budget],
        users=[users],
        instances=[instances],
        bitsums=bitsums,
        methods=methods,
        squared_change=squared_change,
        ball=ball,
        composition=composition,
        sparsity=sparsity,
        max_messages_per_user=max_messages_per_user,
        error_margin=error_margin,
        threat_model=threat_model,
        honest=honest,
        progress=progress,
    ).comparisons
    return found


def plan_grid(
    budgets: Iterable[BudgetLike],
    *,
    users: int | Iterable[int],
    instances: int | Iterable[int] = 1,
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
    progress: Progress | None = None,
) -> PlanGrid:
    """Plan every bitsum with every method, for every budget, number of users and number of instances.

    Each row is what `dpverify.planning.plan.plan` returns for it alone.

    Parameters
    ----------
    budgets : iterable of Budget or (epsilon, delta)
        The budgets of the whole composition.
    users, instances : int or iterable of int
        n and I, at least 1.
    bitsums, methods : iterable of str
        What to combine; everything by default.
    squared_change, ball, composition, sparsity, max_messages_per_user, error_margin, threat_model, honest
        As in `dpverify.planning.plan.plan`, the same for all.
    progress : callable, optional
        `progress(done, total)` in rows, after every row.

    Returns
    -------
    PlanGrid
        `comparisons`, one for each budget, users and instances, and `plans`, all rows.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range, before anything is planned. What cannot be planned is a row instead, with its
        reason.

    Examples
    --------
    >>> found = plan_grid([("1", "1e-6"), ("2", "1e-6")], users=[1000, 2000], instances=4, bitsums=["poisson"])
    >>> len(found.comparisons), len(found.plans)
    (4, 4)
    >>> errors = [row.bitsum_rmse for row in found.plans]
    >>> errors[0] > errors[2]  # more epsilon, less error
    True
    """
    budgets = dict.fromkeys(Budget.of(budget) for budget in some("budgets", budgets))
    sizes, counts = _integers("users", users), _integers("instances", instances)
    honest_users(honest, min(sizes))
    if squared_change is not None and exact_number("squared_change", squared_change) > min(counts) * sparsity:
        least = f"{min(counts)}{', the least of them' if len(counts) > 1 else ''}"
        raise ValueError(
            f"squared_change={squared_change!r} must be at most instances={least}: no bit changes by more than 1."
        )
    common = Setting(
        "", Budget(1, 0), 1, 1, squared_change, ball, sparsity, threat_model, honest,
        composition=composition, max_messages_per_user=max_messages_per_user, error_margin=error_margin,
    )  # fmt: skip
    settings = [replace(common, budget=b, users=n, instances=i) for b, n, i in product(budgets, sizes, counts)]
    asked = list(product(bitsums, methods))
    rows = iter(
        sweep([replace(one, bitsum=bitsum, method=method) for one in settings for bitsum, method in asked], progress)
    )
    return PlanGrid(
        tuple(
            Comparison(Budget.of(one.budget), one.users, one.instances, one.change, tuple(islice(rows, len(asked))))
            for one in settings
        )
    )


def some(name: str, values: Iterable[_Value]) -> list[_Value]:
    """Return the values of a list that must not be empty."""
    if not (found := list(values)):
        raise ValueError(f"{name}={values!r} must have at least one entry.")
    return found


def _integers(name: str, values: int | Iterable[int]) -> list[int]:
    each = some(name, values) if isinstance(values, Iterable) else [values]
    return list(dict.fromkeys(check_integer(name, value, low=1) for value in each))
