"""The plans of density estimators, and of lists of them, as terminal tables and as figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.claims.registry import claims_of
from dpverify.digits import counted, rounded_up
from dpverify.planning.sums.vectors import RATIO
from dpverify.report.layout import Rows
from dpverify.report.plans.comparisons import listed, shown
from dpverify.report.plans.fronts import draw_front, mark
from dpverify.report.tables import Notes, common_model, name_lines, plan_notes, reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.kernels.densities import DensityGrid
    from dpverify.planning.kernels.density import DensityPlan, DensityRow

__all__ = ["densities_errors", "densities_table", "density_front", "density_table"]

_NUMBERS = ("bits", "range R", "T^2", "messages", "bitsum RMSE", "RMSE", "front")
_COLUMNS = ("features", "bitsum", *_NUMBERS)
_SHARED = ("features", "bits", "range R", "T^2")
"""Columns that may be the same for all bitsums."""
_MEANING = (
    "messages: expected per user, over all bits. RMSE: exact, of a density where all users hold one point. front (*): "
    "no other row has as few messages and less error."
)


def _cells(row: DensityRow, found: DensityPlan) -> dict[str, str]:
    """Return what tables say of a row, by column."""
    return {
        "features": claims_of(row.family).name,
        "bitsum": row.bitsum.bitsum,
        "bits": f"{row.bits:,}",
        "range R": f"{row.family.R:.3g}",
        "T^2": rounded_up(row.squared_change, 4),
        "messages": f"{row.messages_per_user:,.4g}",
        "bitsum RMSE": f"{row.bitsum.bitsum_rmse:.4g}",
        "RMSE": f"{row.rmse:.3g}",
        "front": mark(any(row is each for each in found.front), row is found.recommended.row),
    }


def _alike(shown: list[dict[str, str]]) -> dict[str, str]:
    """Return what a comparison of bitsums has in common, which takes no columns."""
    if len({cells["bitsum"] for cells in shown}) == 1:
        return {}
    return {name: shown[0][name] for name in _SHARED if len({cells[name] for cells in shown}) == 1}


def density_table(found: DensityPlan) -> RenderableType:
    """Return one row per plan, with what is on the front of error against messages marked."""
    width = "" if found.bandwidth is None else f", bandwidth {found.bandwidth:g}"
    sizes = f"n = {counted(found.users, 'user')}, {found.kernel} kernel, d = {found.dimension:,}"
    title = f"Budget {found.budget}, {sizes}{width}"
    every = [_cells(row, found) for row in found.rows]
    alike = _alike(every)
    columns, numbers = ([name for name in names if name not in alike] for names in (_COLUMNS, _NUMBERS))
    table, notes = Rows(columns, numbers), Notes()
    guarantees = [row.bitsum.guarantee for row in found.rows]
    common = common_model(guarantees)
    for row, cells in zip(found.rows, every, strict=True):
        cells["bitsum"] = name_lines(cells["bitsum"]) + notes.mark(*plan_notes(row.bitsum, common, words=False))
        table.add_row(*(cells[name] for name in columns))
    lines = [f"Of every row: {', '.join(f'{name} {value}' for name, value in alike.items())}."] if alike else []
    lines += [
        f"T^2: what one point can change of all bits. {_MEANING}",
        f"recommended (>): {found.recommended.reason}.",
        f"Every row is {found.budget}-DP: {reading(guarantees)}.",
    ]
    if found.honest is not None:
        lines.append(f"Planned for {found.honest:,} honest users.")
    least = found.curator_rmse
    if least is not None and RATIO * least < found.best.rmse:
        lines.append(
            f"Less error: an inner product is one with the mean of points, whose sums as vectors "
            f"(dpverify sums --dimension {found.dimension}) are planned for {RATIO:g} times a curator's error, an RMSE "
            f"of {rounded_up(RATIO * least, 3)}."
        )
    lines += [f"no plan: {why}" for why in found.failures]
    return Group(Text(title, style="bold"), table, *map(Text, lines), *notes.lines())


def density_front(found: DensityPlan, axes: Axes | None = None) -> Axes:
    """Draw the error of every plan against its messages, and the front as a line."""
    return draw_front(
        found,
        x="messages per user, over all bits",
        y="RMSE of a density",
        title=f"{found.kernel} kernel, d = {found.dimension:,}, {found.budget}, n = {found.users:,}",
        axes=axes,
    )


_ASKED = ("budget epsilon", "budget delta", "n")


def densities_table(grid: DensityGrid) -> RenderableType:
    """Return one row per plan, behind the values that were listed, and the reason of every budget without one.

    Of a row only the most telling columns, as it begins with what was listed: `to_dict` has all of them.
    """
    several = listed(grid.plans, _ASKED)
    bitsum = ["bitsum"] if len({row.bitsum.bitsum for _, row in grid.rows}) > 1 else []
    numbers = ("bits", "messages", "RMSE", "front")
    table = Rows((*several, "features", *bitsum, *numbers), (*several, *numbers))
    for one, row in grid.rows:
        cells = _cells(row, one)
        table.add_row(
            *(shown(one, name) for name in several), *(cells[name] for name in ("features", *bitsum, *numbers))
        )
    width = "" if grid.bandwidth is None else f", bandwidth {grid.bandwidth:g}"
    fixed = [f"{name} = {shown(one, name)}" for one in grid.plans[:1] for name in _ASKED if name not in several]
    title = ", ".join([f"{grid.kernel} kernel, d = {grid.dimension:,}{width}", *fixed])
    lines = [
        _MEANING,
        "recommended (>): the fewest messages at an error next to the least, for each budget and n.",
    ]
    if grid.plans:
        lines.append(f"Every row is DP at its budget: {reading([row.bitsum.guarantee for _, row in grid.rows])}.")
    lines += sorted({f"Planned for {one.honest:,} of {one.users:,} users." for one in grid.plans if one.honest})
    lines += [f"no plan at {one.budget} for n = {one.users:,}: {one.error}" for one in grid.failures]
    lines += [f"no plan at {one.budget} for n = {one.users:,}: {why}" for one in grid.plans for why in one.failures]
    return Group(Text(title, style="bold"), table, *map(Text, lines))


def densities_errors(grid: DensityGrid, axes: Axes | None = None) -> Axes:
    """Draw the front of error against messages of every plan, one line for each."""
    from dpverify.report.charts import finished
    from dpverify.report.plots import axes_for, legend_beside

    drawn = axes_for(axes, 7.4, 4.4)
    several = listed(grid.plans, _ASKED)
    for one in grid.plans:
        at = [(row.messages_per_user, row.rmse) for row in one.front]
        said = ", ".join(f"{name} = {shown(one, name)}" for name in several)
        drawn.plot(*zip(*at, strict=True), marker="o", markersize=4, label=said)
    title = f"{grid.kernel} kernel, d = {grid.dimension:,}"
    finished(drawn, "messages per user, over all bits", "RMSE of a density", title, "xy")
    if several:
        legend_beside(drawn)
    return drawn
