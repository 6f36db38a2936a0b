"""The plans of density estimators as a terminal table and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.claims.registry import claims_of
from dpverify.digits import rounded_up
from dpverify.report.fronts import draw_front, mark
from dpverify.report.layout import Rows
from dpverify.report.tables import reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.density import DensityPlan

__all__ = ["density_front", "density_table"]


def density_table(found: DensityPlan) -> RenderableType:
    """Return one row per plan, with what is on the front of error against messages marked.

    Parameters
    ----------
    found : DensityPlan
        As `dpverify.planning.density.plan_density` returns it.
    """
    width = "" if found.bandwidth is None else f", bandwidth {found.bandwidth:g}"
    title = f"Budget {found.budget}, n = {found.users:,} users, {found.kernel} kernel, d = {found.dimension:,}{width}"
    numbers = ("bits", "range R", "T^2", "messages", "bitsum RMSE", "RMSE", "front")
    table = Rows(("features", "bitsum", *numbers), numbers)
    front, chosen = set(map(id, found.front)), found.recommended
    for row in found.rows:
        table.add_row(
            claims_of(row.family).name,
            row.bitsum.bitsum,
            f"{row.bits:,}",
            f"{row.family.R:.3g}",
            rounded_up(row.squared_change, 4),
            f"{row.messages_per_user:,.4g}",
            f"{row.bitsum.bitsum_rmse:.4g}",
            f"{row.rmse:.3g}",
            mark(id(row) in front, row is chosen.row),
        )
    lines = [
        "T^2: what one point can change of all bits. messages: expected per user, over all bits. RMSE: exact, of a "
        "density where all users hold one point. front (*): no other row has as few messages and less error.",
        f"recommended (>): {chosen.reason}.",
        f"Every row is {found.budget}-DP: {reading([row.bitsum.guarantee for row in found.rows])}.",
    ]
    if found.honest is not None:
        lines.append(f"Planned for {found.honest:,} honest users.")
    return Group(Text(title, style="bold"), table, *map(Text, (*lines, *(f"no plan: {why}" for why in found.failures))))


def density_front(found: DensityPlan, axes: Axes | None = None) -> Axes:
    """Draw the error of every plan against its messages, and the front as a line.

    Parameters
    ----------
    found : DensityPlan
        As `dpverify.planning.density.plan_density` returns it.
    axes : Axes, optional
        Where; on a figure of its own when omitted.
    """
    chosen = found.recommended.row
    return draw_front(
        [(row.bitsum.bitsum, row.messages_per_user, row.rmse) for row in found.rows],
        [(row.messages_per_user, row.rmse) for row in found.front],
        (chosen.messages_per_user, chosen.rmse),
        x="messages per user, over all bits",
        y="RMSE of a density",
        title=f"{found.kernel} kernel, d = {found.dimension:,}, {found.budget}, n = {found.users:,}",
        axes=axes,
    )
