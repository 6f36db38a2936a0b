"""Plans over lists: one table, and the error of every plan against what was listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import unrounded
from dpverify.report.layout import Rows
from dpverify.report.tables import (
    Notes,
    changed,
    common_model,
    enough,
    epsilon_of,
    name_lines,
    number,
    plan_notes,
    reading,
    title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.sweeps.comparison import Comparison
    from dpverify.planning.sweeps.grid import PlanGrid

__all__ = ["grid_errors", "grid_table"]

_AXES: dict[str, tuple[str, Callable[[Comparison], Any], Callable[[Any], str]]] = {
    "epsilon": (r"budget $\varepsilon$ (nats)", lambda one: one.budget.exact_epsilon, unrounded),
    "delta": (r"budget $\delta$", lambda one: one.budget.exact_delta, unrounded),
    "n": ("users n", lambda one: one.users, lambda value: f"{value:,}"),
    "I": ("instances I", lambda one: one.instances, lambda value: f"{value:,}"),
}
"""What may be listed: the label of its axis, its value, and how that is written."""


def _values(grid: PlanGrid, name: str) -> list[Any]:
    return list(dict.fromkeys(_AXES[name][1](one) for one in grid.comparisons))


def _listed(grid: PlanGrid) -> list[str]:
    """Return which of the axes have several values."""
    return [name for name in _AXES if len(_values(grid, name)) > 1]


def _headline(grid: PlanGrid) -> str:
    written = {name: ", ".join(map(_AXES[name][2], _values(grid, name))) for name in _AXES}
    squares = changed("", grid.comparisons[0].change)
    return (
        f"Budgets: epsilon = {written['epsilon']}; delta = {written['delta']}; users: n = {written['n']}; "
        f"instances: I = {written['I']}{squares}"
    )


def grid_table(grid: PlanGrid) -> RenderableType:
    """Return one row per plan, behind the values that were listed, and the reason of every plan that failed.

    Parameters
    ----------
    grid : PlanGrid
        As `dpverify.planning.sweeps.grid.plan_grid` returns it.
    """
    from dpverify.planning.sweeps.comparison import FailedPlan

    notes, listed = Notes(), _listed(grid)
    headers = {"epsilon": "budget epsilon", "delta": "budget delta"}
    leading = [headers.get(name, name) for name in listed]
    numbers = ("RMSE", "messages", "epsilon")
    table = Rows((*leading, "bitsum", "method", *numbers), (*leading, *numbers))
    guarantees = [row.guarantee for row in grid.plans]
    common = common_model(guarantees)
    for one, row in grid.rows:
        start = [_AXES[name][2](_AXES[name][1](one)) for name in listed]
        if isinstance(row, FailedPlan):
            mark = notes.mark(f"no plan: {row.error}")
            table.add_row(*start, name_lines(row.bitsum), Text(row.method + mark), *["-"] * len(numbers))
            continue
        table.add_row(
            *start,
            name_lines(row.bitsum),
            Text(row.method + notes.mark(*plan_notes(row, common))),
            number(row.bitsum_rmse),
            number(row.messages_per_user),
            epsilon_of(row.guarantee, one.budget.exact_epsilon),
        )
    lines = ["RMSE: of one bitsum, in users. messages: expected per user and instance. epsilon: of the whole."]
    if grid.plans:
        lines.append(f"Every row: {reading(guarantees)}.")
    lines += {
        enough(row.honest, one.users): None for one in grid.comparisons for row in one.plans if row.honest is not None
    }
    return Group(title(_headline(grid)), table, *map(Text, lines), *notes.lines())


def grid_errors(grid: PlanGrid, axes: Axes | None = None) -> Axes:
    """Draw the error of every plan against what has the most values, one line for each bitsum, method and the rest.

    Parameters
    ----------
    grid : PlanGrid
        As `dpverify.planning.sweeps.grid.plan_grid` returns it.
    axes : Axes, optional
        Where; on a figure of its own when omitted.
    """
    from dpverify.report.charts import finished
    from dpverify.report.plots import figure_of

    drawn = figure_of(7.4, 4.4)[1][0] if axes is None else axes
    listed = _listed(grid)
    across = max(listed or ["epsilon"], key=lambda name: len(_values(grid, name)))
    others = [name for name in listed if name != across]
    lines: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for one in grid.comparisons:
        for row in one.plans:
            at = float(_AXES[across][1](one))
            key = (row.bitsum, row.method, *(_AXES[name][2](_AXES[name][1](one)) for name in others))
            lines.setdefault(key, []).append((at, row.bitsum_rmse))
    bitsums = list(dict.fromkeys(key[0] for key in lines))
    kinds = list(dict.fromkeys(key[1:] for key in lines))
    methods = len({key[1] for key in lines})
    for key, points in lines.items():
        shown = [str(key[0])] + ([str(key[1])] if methods > 1 else [])
        shown += [f"{name} = {value}" for name, value in zip(others, key[2:], strict=True)]
        kind = kinds.index(key[1:])
        drawn.plot(
            *zip(*sorted(points), strict=True),
            color=_COLOURS[bitsums.index(key[0]) % len(_COLOURS)],
            linestyle=_DASHES[kind % len(_DASHES)],
            marker=_MARKERS[kind % len(_MARKERS)],
            markersize=4,
            label=", ".join(shown),
        )
    fixed = [f"{name} = {_AXES[name][2](_values(grid, name)[0])}" for name in _AXES if name not in listed]
    # At delta = 0, which is a value like others, no axis is logarithmic.
    log = "xy" if min(_values(grid, across)) > 0 else "y"
    finished(drawn, _AXES[across][0], "RMSE of one bitsum, in users", ", ".join(fixed), log)
    if lines:  # beside the lines, of which there may be many
        drawn.legend(frameon=False, fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawn


# Told apart in print and by the colour-blind (Okabe and Ito).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#7A5195")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
