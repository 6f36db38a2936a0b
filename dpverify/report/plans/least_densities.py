"""The least users or epsilon for an error of a density, as a terminal table and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.claims.registry import claims_of
from dpverify.digits import counted, unrounded
from dpverify.guarantee import exact_number
from dpverify.report.plans.fronts import draw_front, mark
from dpverify.report.tables import Notes, common_model, name_lines, number, plan_notes, reading, rows_under, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.kernels.least_densities import LeastDensities, LeastDensity

__all__ = ["least_density_front", "least_density_table"]

_HEADS = {"users": "least n", "epsilon": "least epsilon"}


def _asked(found: LeastDensities) -> str:
    spent = f"delta = {_exact(found.delta)}"
    if found.epsilon is not None:
        spent = f"budget ({_exact(found.epsilon)}, {_exact(found.delta)})"
    sizes = "" if found.users is None else f", n = {counted(found.users, 'user')}"
    width = "" if found.bandwidth is None else f", bandwidth {found.bandwidth:g}"
    return f"{spent}{sizes}, {found.kernel} kernel, d = {found.dimension:,}{width}"


def _exact(value: object) -> str:
    return unrounded(exact_number("budget", value))  # type: ignore[arg-type]


def _below(row: LeastDensity) -> str:
    """Return what is planned with one step less."""
    if row.below is None:
        return "-"
    return "no plan" if isinstance(row.below, str) else f"{row.below.rmse:.5g}"


def least_density_table(found: LeastDensities) -> RenderableType:
    """Return one row per number of bits and bitsum: what it needs, its error, and that with one step less.

    Parameters
    ----------
    found : LeastDensities
        As `dpverify.planning.kernels.least_density` returns it.
    """
    head, notes = _HEADS[found.asked], Notes()
    guarantees = [row.row.bitsum.guarantee for row in found.rows]
    common = common_model(guarantees)
    table = rows_under("features", "bitsum", numbers=("bits", "messages", head, "RMSE", "one less", "front"))
    front = {id(row) for row in found.front}
    for row in found.rows:
        marks = notes.mark(*plan_notes(row.row.bitsum, common, words=False))
        table.add_row(
            claims_of(row.row.family).name,
            Text(name_lines(row.row.bitsum.bitsum) + marks),
            f"{row.row.bits:,}",
            number(row.row.messages_per_user),
            f"{row.least:,.0f}" if found.asked == "users" else f"{row.least:g}",
            f"{row.row.rmse:.5g}",
            _below(row),
            mark(id(row) in front, row is found.recommended.row),
        )
    limit = f"RMSE of at most {found.error:.6g} of a density"
    lines = [
        "messages: expected per user, over all bits. RMSE: exact, of a density where all users hold one point.",
        "one less: that of the plan for one less in the fourth digit, which does not reach what is asked. front (*): "
        "no other row has as few messages and needs as little.",
    ]
    if found.margin is not None:
        lines.append(
            f"An RMSE of {found.error:.6g} puts the densities of two classes that differ by {found.margin:g} in the "
            f"right order with probability {found.confidence:g} at least (Chebyshev); n is that of each class."
        )
    if found.rows:
        lines.append(f"recommended (>): {found.recommended.reason}.")
        lines.append(f"Every row: {reading(guarantees)}.")
    if found.honest is not None:
        lines.append(f"Planned for {_exact(found.honest)} of the users, who follow the protocol.")
    lines += [f"Not here: {why}" for why in found.failures]
    return Group(
        title(f"{head.capitalize()} for an {limit}: {_asked(found)}"), table, *map(Text, lines), *notes.lines()
    )


def least_density_front(found: LeastDensities, axes: Axes | None = None) -> Axes:
    """Draw what every row needs against its messages, and the front as a line.

    Parameters
    ----------
    found : LeastDensities
        As `dpverify.planning.kernels.least_density` returns it.
    axes : Axes, optional
        Where; on a figure of its own when omitted.
    """
    chosen = found.recommended.row
    return draw_front(
        [(row.row.bitsum.bitsum, row.row.messages_per_user, row.least) for row in found.rows],
        [(row.row.messages_per_user, row.least) for row in found.front],
        (chosen.row.messages_per_user, chosen.least),
        x="messages per user, over all bits",
        y=_HEADS[found.asked],
        title=f"{found.kernel} kernel, d = {found.dimension:,}, RMSE of at most {found.error:.4g}",
        axes=axes,
    )
