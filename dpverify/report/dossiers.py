"""A report's contents as a terminal table: the plans, and which of them is recommended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.report.plans.comparisons import plan_table
from dpverify.report.tables import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.dossier.contents import Dossier

__all__ = ["dossier_errors", "dossier_table"]


def dossier_errors(dossier: Dossier, axes: Axes | None = None) -> Axes:
    """Draw the error of every plan of a report."""
    return dossier.plans.plot(axes)


def dossier_table(dossier: Dossier) -> RenderableType:
    """Return the plans of a report and the recommended one."""
    said = Text(f"Recommended: {dossier.chosen.bitsum}, {dossier.chosen.method}. {dossier.reason}")
    return Group(title(dossier.title), plan_table(dossier.plans), said)
