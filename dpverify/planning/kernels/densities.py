"""Density estimators over lists: every budget with every number of users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, ClassVar

from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError, Number
from dpverify.planning.answers import honest_users
from dpverify.planning.kernels.density import DensityPlan, DensityRow, plan_density
from dpverify.planning.kernels.rungs import has_bandwidth
from dpverify.planning.sweeps.comparison import some
from dpverify.planning.sweeps.setting import Progress
from dpverify.shown import Drawn
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["DensityGrid", "NoDensity", "plan_densities"]


@dataclass(frozen=True)
class NoDensity:
    """A budget that no density estimator meets.

    - budget: The budget of the whole.
    - users: n.
    - error: Why.
    """

    budget: Budget
    users: int
    error: str


@dataclass(frozen=True)
class DensityGrid(Drawn):
    """What several budgets buy for a kernel, for several numbers of users.

    - kernel: As for `plan_density`.
    - dimension: d.
    - bandwidth: In the units of the points; None for the inner product.
    - entries: One for each budget and number of users; the latter changes first.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.densities:densities_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.densities:densities_errors"
    plain_as: ClassVar[str] = "kernel dimension bandwidth rows=_rows"

    kernel: str
    dimension: int
    bandwidth: float | None
    entries: tuple[DensityPlan | NoDensity, ...]

    @property
    def plans(self) -> tuple[DensityPlan, ...]:
        """The entries that are plans."""
        return tuple(entry for entry in self.entries if isinstance(entry, DensityPlan))

    @property
    def failures(self) -> tuple[NoDensity, ...]:
        """The entries that are not."""
        return tuple(entry for entry in self.entries if isinstance(entry, NoDensity))

    @property
    def rows(self) -> Iterator[tuple[DensityPlan, DensityRow]]:
        """Every row, behind the plan that it is of."""
        return ((one, row) for one in self.plans for row in one.rows)

    @property
    def _rows(self) -> list[dict[str, Any]]:
        """Every row; where there is no plan, or none of some size, it has the key "error"."""
        rows: list[dict[str, Any]] = []
        for entry in self.entries:
            found, reasons = ([], [entry.error]) if isinstance(entry, NoDensity) else (entry.marked, entry.failures)
            each = (*found, *({"error": why} for why in reasons))
            rows += [{"budget": entry.budget, "users": entry.users, **row} for row in each]
        return rows


def plan_densities(
    kernel: str,
    dimension: int,
    budgets: Iterable[BudgetLike],
    *,
    users: Iterable[int],
    bandwidth: float = 1.0,
    bitsums: Iterable[str] = ("rr",),
    max_messages_per_user: float | None = None,
    honest: Number | None = None,
    every_rung: bool = True,
    progress: Progress | None = None,
) -> DensityGrid:
    """Find density estimators of least error for every budget and number of users.

    Each entry is what `dpverify.planning.kernels.density.plan_density` returns for it alone.

    - kernel, dimension, bandwidth, bitsums, max_messages_per_user, honest, every_rung: As there, the same for all.
    - budgets: The budgets of the whole, epsilon in nats.
    - users: n, at least 1.
    - progress: `progress(done, total)` in plans, after every plan.

    Raises TypeError or ValueError for an argument out of range. A budget that nothing meets is an entry instead, with
    the reason.

    >>> found = plan_densities("inner-product", 16, [("1", "1e-6"), ("2", "1e-6")], users=[2000])
    >>> one, two = found.plans
    >>> one.best.rmse > two.best.rmse  # more epsilon, less error
    True
    """
    budgets = dict.fromkeys(Budget.of(budget) for budget in some("budgets", budgets))
    sizes = dict.fromkeys(check_integer("users", number, low=1) for number in some("users", users))
    honest_users(honest, min(sizes))
    bitsums, settings = tuple(bitsums), list(product(budgets, sizes))

    def tell(before: int) -> Progress | None:
        return None if progress is None else lambda done, each: progress(before * each + done, each * len(settings))

    entries: list[DensityPlan | NoDensity] = []
    for place, (budget, number) in enumerate(settings):
        try:
            entry: DensityPlan | NoDensity = plan_density(
                kernel,
                dimension,
                budget,
                users=number,
                bandwidth=bandwidth,
                bitsums=bitsums,
                max_messages_per_user=max_messages_per_user,
                honest=honest,
                every_rung=every_rung,
                progress=tell(place),
            )
        except InfeasibleBudgetError as error:
            entry = NoDensity(budget, number, str(error))
        entries.append(entry)
    return DensityGrid(kernel, dimension, float(bandwidth) if has_bandwidth(kernel) else None, tuple(entries))
