"""The shares of a budget as a table, in full."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import counted, rounded_down, unrounded
from dpverify.report.tables import rows_under

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.budgets import BudgetSplit

__all__ = ["budget_bars", "budget_table"]

_DIGITS = 17
"""What a float has: a share is cut here, downwards."""


def budget_bars(budgets: BudgetSplit, axes: Axes | None = None) -> Axes:
    """Draw what an instance may spend, a bar for each way of composing."""
    from dpverify.report.charts import bars_on

    found = [(row.composition, row.epsilon0) for row in budgets.rows if row.epsilon0 is not None]
    title = f"{budgets.budget} of the whole, I = {budgets.instances:,}"
    names, shares = [name for name, _ in found], [share for _, share in found]
    return bars_on(axes, names, shares, x="epsilon of one instance (nats)", title=title)


def budget_table(budgets: BudgetSplit) -> RenderableType:
    """Return one row per way of composing, its numbers in full and rounded down."""
    table = rows_under("composition", numbers=("epsilon0", "delta0"))
    lines = []
    for row in budgets.rows:
        if row.epsilon0 is None or row.delta0 is None:
            table.add_row(row.composition, "-", "-")
            lines.append(f"{row.composition}: {row.error}")
            continue
        shares = (row.epsilon0_limit, row.epsilon0), (row.delta0_limit, row.delta0)
        numbers = (Fraction(value) if limit is None else limit for limit, value in shares)
        table.add_row(row.composition, *(rounded_down(number, _DIGITS) for number in numbers))
        if row.parameters is not None:
            shown = ", ".join(
                f"{name}={value if isinstance(value, str) else unrounded(value)}"
                for name, value in row.parameters.items()
            )
            lines.append(f"exact: what one instance of {budgets.bitsum} with {shown}, n = {budgets.users:,}, spends.")
    # Above the table, with the numbers that were asked for.
    sparse = f", S = {budgets.sparsity:,}" if budgets.sparsity > 1 else ""
    sizes = f"I = {counted(budgets.instances, 'instance')}{sparse}"
    title = Text(f"Budget {budgets.budget} of the whole, {sizes}", style="bold")
    legend = "An (epsilon0, delta0)-DP instance is private enough; replace-one adjacency, rounded down."
    return Group(title, table, *map(Text, [legend, *lines]))
