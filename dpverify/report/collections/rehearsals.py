"""What came of a rehearsal, as a table: how often intervals had the truth, and where there were alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.collection.rehearsal import Rehearsal

__all__ = ["rehearsal_bars", "rehearsal_table"]


def rehearsal_bars(found: Rehearsal, axes: Axes | None = None) -> Axes:
    """Draw which share of a query's intervals have the truth."""
    from dpverify.report.plots import axes_for

    drawn = axes_for(axes, 6.4, 1.2 + 0.4 * len(found.queries))
    names = [row.query for row in found.queries][::-1]
    drawn.barh(names, [row.covered / row.intervals for row in found.queries][::-1], height=0.5)
    drawn.axvline(found.aggregates[0].confidence, color="black", linewidth=0.8, linestyle="--")
    drawn.set_xlim(0.0, 1.0)
    drawn.set_xlabel("share of the intervals with the truth; dashed: their confidence")
    drawn.set_title(_title(found))
    return drawn


def rehearsal_table(found: Rehearsal) -> RenderableType:
    """Return a row for each query."""
    rows = Rows(
        ("query", "asks", "intervals", "with the truth", "RMSE", "mean width", "days with alarms"),
        ("intervals", "with the truth", "RMSE", "mean width", "days with alarms"),
    )
    for row in found.queries:
        digits = 6 if row.of in ("levels", "density") or (row.of in ("numbers", "weights") and row.width < 10.0) else 1
        rows.add_row(
            row.query,
            row.of,
            f"{row.intervals:,}",
            f"{row.covered:,}",
            f"{row.rmse:,.{digits}f}",
            f"{row.width:,.{digits}f}",
            f"{row.alarms:,}",
        )
    truth = "The truth is that of those who follow the protocol."
    return Group(Text(_title(found), style="bold"), rows, Text(truth))


def _title(found: Rehearsal) -> str:
    days = "1 day" if found.days == 1 else f"{found.days:,} days"
    who = f"{found.users:,} users, {found.offline:,} of them silent, {found.cheats:,} cheats"
    power = min(3, (len(str(found.bytes)) - 1) // 3)
    return f"{who}; {days}, {found.bytes / 1000**power:.0f} {('bytes', 'kB', 'MB', 'GB')[power]}"
