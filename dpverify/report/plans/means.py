"""Estimators of a mean as a table: exact errors beside what the sources say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import counted, rounded_down, rounded_up
from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.means import MeanPlans

__all__ = ["means_bars", "means_table"]


def means_bars(found: MeanPlans, axes: Axes | None = None) -> Axes:
    """Draw the exact error of every estimator."""
    from dpverify.report.charts import bars_on

    names, errors = [row.mechanism for row in found.plans], [row.rmse for row in found.plans]
    title = f"{found.budget}, n = {found.users:,}, I = {found.instances:,}"
    return bars_on(axes, names, errors, x="RMSE of a mean of values in [0, 1]", title=title)


def means_table(found: MeanPlans) -> RenderableType:
    """Return one row per estimator: its parameter, its exact error, and the slack of what its source says."""
    numbers = ("epsilon0", "stated", "exact", "slack")
    rows = Rows(("mechanism", "error", *numbers), numbers)
    for row in found.plans:
        own = row.parameters.get("epsilon")
        rows.add_row(
            row.mechanism,
            row.statement,
            "-" if own is None else rounded_down(own, 4),
            *(
                ("-", rounded_up(row.exact, 4), "-")
                if row.published is None
                else (f"{row.published:.4g}", rounded_up(row.exact, 4), f"{row.published / row.exact:.3g}")
            ),
        )
    many = f", I = {found.instances:,} means of each user" if found.instances > 1 else ""
    title = Text(
        f"Means of values in [0, 1], budget {found.budget}, n = {counted(found.users, 'user')}{many}", style="bold"
    )
    lines = [
        "error: what the source states, of the root mean square unless it says E|error|; stated: that number, with the "
        "constant 1; exact: the truth for the worst dataset; slack: their quotient.",
        *(f"{name}: {reason}" for name, reason in found.failures.items()),
    ]
    if found.least_local_rmse is not None:
        least = rounded_up(found.least_local_rmse, 4)
        lines.append(f"No local estimator of a mean of bits has an RMSE below about {least} on every dataset.")
    if found.plans:
        guarantee = found.plans[0].guarantee
        lines.append(f"{guarantee.side.value.capitalize()}s, {guarantee.adjacency.value} adjacency.")
    return Group(title, rows, *map(Text, lines))
