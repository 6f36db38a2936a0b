"""What was spent of a budget, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.claims.registry import mechanism_claims_of
from dpverify.digits import rounded_down, rounded_up
from dpverify.guarantee import Adjacency
from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.spending.ledger import Spent

__all__ = ["spent_bars", "spent_table"]

_MOST_ROWS = 20
"""The last so many runs are listed."""


def spent_bars(spent: Spent, axes: Axes | None = None) -> Axes:
    """Draw what is spent below the budget."""
    from dpverify.report.charts import bars_on

    title = f"{spent.runs:,} runs, at the budget's delta"
    values = [spent.epsilon.upper, spent.budget.epsilon]
    return bars_on(axes, ["spent, at most", "budget"], values, x="epsilon (nats)", title=title)


def spent_table(spent: Spent) -> RenderableType:
    """Return what was spent: how much of the budget, and the last runs."""
    some_honest = any(day.honest is not None for _, day in spent.days[-_MOST_ROWS:])
    numbers = ("users", *(["honest"] if some_honest else []), "instances")
    rows = Rows(("run", "protocol", *numbers), numbers)
    for label, day in spent.days[-_MOST_ROWS:]:
        of_run = {"users": getattr(day.protocol, "users", None), "honest": day.honest, "instances": day.instances}
        told = ("" if of_run[number] is None else f"{of_run[number]:,}" for number in numbers)
        rows.add_row(label, mechanism_claims_of(day.protocol).name, *told)
    runs = "1 run" if spent.runs == 1 else f"{spent.runs:,} runs"
    limit = "" if spent.at_most is None else f", at most {spent.at_most:,} a user"
    limit += "" if spent.adjacency is Adjacency.REPLACE_ONE else f", {spent.adjacency.value}"
    left = len(spent.days) - _MOST_ROWS
    return Group(
        Text(f"Budget {spent.budget}: {runs}{limit}", style="bold"),
        *([rows] if spent.days else []),
        *([Text(f"and {left:,} lines before.")] if left > 0 else []),
        Text(
            f"Spent: epsilon from {rounded_down(spent.epsilon.lower, 6)} to {rounded_up(spent.epsilon.upper, 6)} at "
            "the budget's delta, all runs composed together."
        ),
        Text(f"Last line: {spent.head}"),
    )
