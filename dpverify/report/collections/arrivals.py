"""What has arrived for a batch that is being collected, as a table and as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.collection.store import Arrived, Collected

__all__ = ["collected_bars", "collected_table"]


def collected_bars(found: Collected, axes: Axes | None = None) -> Axes:
    """Draw the number of uploads to every query."""
    from dpverify.report.charts import bars_on

    names, uploads = [row.query for row in found.rows], [float(row.uploads) for row in found.rows]
    return bars_on(axes, names, uploads, x="uploads", title=_title(found))


def _title(found: Collected) -> str:
    return found.batch if found.since is None else f"{found.batch}, collected since {found.since}"


def collected_table(found: Collected) -> RenderableType:
    """Return a row for each query."""
    rows = Rows(("query", "uploads", "users", "honest at least", "released"), ("uploads", "users", "honest at least"))
    for row in found.rows:
        honest = "-" if row.needed == 1 else f"{row.least:,}"
        rows.add_row(row.query, f"{row.uploads:,}", "-" if row.users is None else f"{row.users:,}", honest, _ready(row))
    return Group(Text(_title(found), style="bold"), rows)


def _ready(row: Arrived) -> str:
    """Return whether a batch was released, or can be."""
    if row.state != "open":
        return "yes" if row.state == "released" else "begun: ask for it again"
    if row.uploads >= row.needed:
        return "can be"
    return f"can be, with --least {row.uploads}" if row.uploads >= row.least else f"lacks {row.least - row.uploads:,}"
