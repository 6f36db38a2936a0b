"""What came of a rehearsal, as a table: how often intervals had the truth, and where there were alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from dpverify.collection.rehearsal import Rehearsal

__all__ = ["rehearsal_table"]


def rehearsal_table(found: Rehearsal) -> RenderableType:
    """Return a row for each query."""
    rows = Rows(
        ("query", "asks", "intervals", "with the truth", "RMSE", "mean width", "days with alarms"),
        ("intervals", "with the truth", "RMSE", "mean width", "days with alarms"),
    )
    for row in found.queries:
        digits = 6 if row.of == "levels" else 1
        rows.add_row(
            row.query,
            row.of,
            f"{row.intervals:,}",
            f"{row.covered:,}",
            f"{row.rmse:,.{digits}f}",
            f"{row.width:,.{digits}f}",
            f"{row.alarms:,}",
        )
    said = f"{found.users:,} users, {found.offline:,} of them silent, {found.cheats:,} cheats; "
    days = "1 day" if found.days == 1 else f"{found.days:,} days"
    truth = "The truth is that of those who follow the protocol."
    return Group(Text(f"{said}{days}, {found.bytes / 1e6:,.3g} MB", style="bold"), rows, Text(truth))
