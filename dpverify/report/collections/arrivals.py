"""What has arrived for a batch that is being collected, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from dpverify.collection.store import Arrived, Collected

__all__ = ["collected_table"]


def collected_table(found: Collected) -> RenderableType:
    """Return a row for each query."""
    rows = Rows(("query", "uploads", "users", "honest at least", "released"), ("uploads", "users", "honest at least"))
    for row in found.rows:
        honest = "-" if row.needed == 1 else f"{row.least:,}"
        rows.add_row(row.query, f"{row.uploads:,}", "-" if row.users is None else f"{row.users:,}", honest, _ready(row))
    since = "" if found.since is None else f", collected since {found.since}"
    return Group(Text(f"{found.batch}{since}", style="bold"), rows)


def _ready(row: Arrived) -> str:
    """Return whether a batch was released, or can be."""
    if row.state != "open":
        return "yes" if row.state == "released" else "begun: ask for it again"
    if row.uploads >= row.needed:
        return "can be"
    return f"can be, with --least {row.uploads}" if row.uploads >= row.least else f"lacks {row.least - row.uploads:,}"
