"""Plans over lists: every budget with every number of users and of instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, TypeVar

from dpverify.guarantee import Budget, BudgetLike, Number, ThreatModel, exact_number
from dpverify.planning.answers import honest_users
from dpverify.planning.plan import METHODS, PlanRow
from dpverify.planning.sweeps.comparison import BITSUMS, Comparison, FailedPlan, compare
from dpverify.shown import Drawn
from protocols.validation import check_integer

__all__ = ["PlanGrid", "plan_grid"]

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class PlanGrid(Drawn):
    """What several budgets buy, for several numbers of users and of instances.

    Parameters
    ----------
    comparisons : tuple of Comparison
        One for each budget, number of users and number of instances; the last of them changes first.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.grids:grid_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.grids:grid_errors"

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

    def to_dict(self) -> dict[str, Any]:
        """Return `{"budgets", "users", "instances", "rows"}`, all of them lists.

        A row is that of a `Comparison`, behind its own "budget", "users" and "instances"; one without a plan has the
        key "error".
        """
        return {
            "budgets": [budget.to_dict() for budget in self.budgets],
            "users": list(self.users),
            "instances": list(self.instances),
            "rows": [
                {"budget": one.budget.to_dict(), "users": one.users, "instances": one.instances, **row.to_dict()}
                for one, row in self.rows
            ],
        }


def plan_grid(
    budgets: Iterable[BudgetLike],
    *,
    users: int | Iterable[int],
    instances: int | Iterable[int],
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
    settings = list(
        product(
            dict.fromkeys(Budget.of(budget) for budget in _some("budgets", budgets)),
            _integers("users", users),
            _integers("instances", instances),
        )
    )
    honest_users(honest, min(n for _, n, _ in settings))
    least = min(number for _, _, number in settings)
    if squared_change is not None and exact_number("squared_change", squared_change) > least * sparsity:
        raise ValueError(
            f"squared_change={squared_change!r} must be at most instances={least}, the least of them: no bit changes "
            "by more than 1."
        )
    bitsums, methods = tuple(bitsums), tuple(methods)
    each = len(bitsums) * len(methods)

    def tell(before: int) -> Callable[[int, int], object] | None:
        return None if progress is None else lambda done, _: progress(before + done, each * len(settings))

    return PlanGrid(
        tuple(
            compare(
                budget,
                users=n,
                instances=number,
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
                progress=tell(place * each),
            )
            for place, (budget, n, number) in enumerate(settings)
        )
    )


def _some(name: str, values: Iterable[_Value]) -> list[_Value]:
    if not (found := list(values)):
        raise ValueError(f"{name}={values!r} must have at least one entry.")
    return found


def _integers(name: str, values: int | Iterable[int]) -> list[int]:
    each = _some(name, values) if isinstance(values, Iterable) else [values]
    return list(dict.fromkeys(check_integer(name, value, low=1) for value in each))
