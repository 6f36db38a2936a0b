"""Experiments that were made again, as they are printed and drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.files import csv_text
from dpverify.report.layout import Rows
from dpverify.reproduction.experiment import Experiment, Panel, Reproduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpverify.report.charts import Series

__all__ = ["experiments_table", "reproduction_csv", "reproduction_figure", "reproduction_panel", "reproduction_table"]

_MOST_LINES = 4


def experiments_table(experiments: Sequence[Experiment]) -> RenderableType:
    """Return experiments, a line each."""
    table = Rows(("experiment", "what it measures"))
    for experiment in experiments:
        table.add_row(experiment.name, experiment.what)
    return Group(table, Text("Run one: dpverify reproduce NAME [--data FILE.npz] [--quick]."))


def reproduction_table(found: Reproduction) -> RenderableType:
    """Return the rows of an experiment, its findings and its notes."""
    columns = list(found.rows[0]) if found.rows else []
    numbers = [name for name in columns if any(isinstance(row[name], (int, float)) for row in found.rows)]
    table = Rows(columns, numbers)
    for row in found.rows:
        table.add_row(*(_cell(row[name]) for name in columns))
    lines = [Text(str(finding)) for finding in found.findings] + [Text(note) for note in found.notes]
    return Group(Text(f"{found.source}: {found.what}; {found.data}", style="bold"), table, Text(), *lines)


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def reproduction_csv(found: Reproduction) -> str:
    """Return the rows as comma-separated values with a header."""
    return csv_text(found.rows)


def reproduction_figure(found: Reproduction) -> Figure:
    """Return the experiment's figure: its panels side by side.

    Raises ValueError if the experiment has no picture, for it is a table of words.
    """
    if not found.panels:
        raise ValueError(f"{found.name} has no figure: it is a table of words.")
    from dpverify.report.charts import side_by_side

    figure, axes = side_by_side(len(found.panels))
    for panel, place in zip(found.panels, axes, strict=True):
        _draw(panel, place)
    figure.suptitle(f"{found.source}, {found.data}", fontsize="medium")
    return figure


def reproduction_panel(found: Reproduction, axes: Axes | None = None) -> Axes:
    """Draw the experiment's figure and return its first panel, or that panel alone on given axes.

    - found: As an experiment returns it.
    - axes: Where; on a figure with all panels when omitted.

    Raises ValueError if the experiment has no picture.
    """
    if axes is None:
        return reproduction_figure(found).axes[0]
    if not found.panels:
        raise ValueError(f"{found.name} has no figure: it is a table of words.")
    _draw(found.panels[0], axes)
    return axes


def _draw(panel: Panel, axes: Axes) -> None:
    from dpverify.report.charts import chart

    chart(
        _lines(panel),
        x=panel.x_label,
        y=panel.y_label,
        title=panel.title,
        log=panel.log,  # type: ignore[arg-type]
        axes=axes,
    )


def _lines(panel: Panel) -> list[Series]:
    from dpverify.report.charts import Series

    names = list(dict.fromkeys(row[panel.by] for row in panel.rows))[:_MOST_LINES]
    lines = []
    for name in names:
        rows = [row for row in panel.rows if row[panel.by] == name]
        points = sorted((row[panel.x], row[panel.y]) for row in rows if row[panel.y] is not None)
        points = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        if points:
            lines.append(Series(str(name), [x for x, _ in points], [y for _, y in points]))
    return lines
