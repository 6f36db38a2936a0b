"""Error against messages, as a terminal table and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import counted, rounded_up
from dpverify.report.plans.means import span_of
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
    rows_under,
    shell,
    title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.sums.fronts import SumFront
    from dpverify.planning.sums.vectors import VectorFront
    from dpverify.planning.sweeps.fronts import Front, Fronted

__all__ = [
    "draw_front",
    "front_figure",
    "front_table",
    "mark",
    "sums_figure",
    "sums_table",
    "vectors_figure",
    "vectors_table",
]

_WIDE = 5.0
"""Values of which the largest is so many times the least are drawn on a logarithmic axis."""


def mark(on_front: bool, recommended: bool) -> str:
    """Return what stands in the column of the front: both marks for the row to take."""
    return f"{'>' if recommended else ''}{'*' if on_front else ''}"


def front_table(found: Front, *, check: str = "") -> RenderableType:
    """Return one row per plan, the fewest messages first, with what is on the front marked, and what to take.

    - found: As `dpverify.planning.sweeps.fronts.front` returns it.
    - check: The command that checks the recommended row, with all its parameters.
    """
    notes, front, chosen = Notes(), set(map(id, found.front)), found.recommended
    guarantees = [row.guarantee for row in found.rows]
    common = common_model(guarantees)
    table = rows_under("bitsum", numbers=("messages", "RMSE", "epsilon", "front"))
    for row in found.rows:
        table.add_row(
            Text(name_lines(row.bitsum) + notes.mark(*plan_notes(row, common, words=False))),
            number(row.messages_per_user),
            number(row.bitsum_rmse),
            epsilon_of(row.guarantee, found.budget.exact_epsilon),
            mark(id(row) in front, row is chosen.row),
        )
    shown = changed(f"I = {counted(found.instances, 'instance')}", found.change)
    lines = [
        f"Recommended (>): {chosen.row.bitsum}, {chosen.reason}.",
        "messages: expected per user and instance. RMSE: of one bitsum, in users. epsilon: of the whole. front (*): no "
        "other row has as few messages and as little error.",
        f"Every row: {reading(guarantees)}.",
        *{enough(row.honest, found.users) for row in found.rows if row.honest is not None},
        *(f"No plan for {row.bitsum}: {row.error}" for row in found.failures),
    ]
    headline = title(f"Budget {found.budget}, n = {counted(found.users, 'user')}, {shown}")
    checks = [Text("\nTo check the recommended row, with its parameters in full:"), *shell(check)] if check else []
    return Group(headline, table, *map(Text, lines), *notes.lines(), *checks)


def front_figure(found: Front, axes: Axes | None = None) -> Axes:
    """Draw the error of every plan against its messages, the front as a line, and the recommended row."""
    return draw_front(
        found,
        x="messages per user and instance",
        y="RMSE of one bitsum, in users",
        title=f"{found.budget}, n = {found.users:,}, I = {found.instances:,}",
        axes=axes,
    )


def draw_front(found: Fronted, *, x: str, y: str, title: str, axes: Axes | None) -> Axes:
    """Draw rows by messages and error, the front below them, and a ring around the recommended one.

    - found: What has the rows.
    - x, y, title: The axes' labels, and what stands above.
    - axes: Where; on a figure of its own when omitted.
    """
    from dpverify.report.charts import finished
    from dpverify.report.plots import STYLES, axes_for

    drawn = axes_for(axes)
    points = [found.point(row) for row in found.rows]
    _, messages, errors = zip(*map(found.point, found.front), strict=True)
    drawn.plot(messages, errors, color="0.6", drawstyle="steps-post", label="front")
    for place, name in enumerate(dict.fromkeys(point[0] for point in points)):
        colour, _, marker = STYLES[place % len(STYLES)]
        own = [point for point in points if point[0] == name]
        drawn.plot([p[1] for p in own], [p[2] for p in own], marker, color=colour, markersize=5, label=name)
    drawn.plot(
        *found.point(found.recommended.row)[1:],
        "o",
        color="black",
        markersize=12,
        fillstyle="none",
        label="recommended",
    )
    spread = {"x": [point[1] for point in points], "y": [point[2] for point in points]}
    log = "".join(axis for axis, values in spread.items() if max(values) > _WIDE * min(values))
    finished(drawn, x, y, title, log)
    return drawn


def sums_table(found: SumFront) -> RenderableType:
    """Return one row per plan of a sum of numbers, the fewest messages first, with what to take."""
    table = rows_under("protocol", numbers=("steps", "messages", "bytes", "RMSE", "of a curator's", "front"))
    front, chosen = set(map(id, found.front)), found.recommended
    for row in found.rows:
        steps = row.protocol.levels
        cells = number(row.messages), number(row.size), rounded_up(row.rmse, 5), rounded_up(row.rmse / found.curator, 3)
        table.add_row(row.name, f"{steps:,}", *cells, mark(id(row) in front, row is chosen.row))
    lines = [
        f"Recommended (>): {chosen.row.name} in {counted(chosen.row.protocol.levels, 'step')}, {chosen.reason}.",
        "messages and bytes: of a user with the largest number, expected, in each sum. RMSE: of a sum, rounding to so "
        "many steps included. front (*): no other row has as few messages and as little error. Parameters in full: "
        "to_dict(), --json.",
        f"Every row: {reading([row.guarantee for row in found.rows])}.",
        *(f"No plan for {name}: {reason}" for name, reason in found.failures.items()),
    ]
    return Group(title(f"Sums of {span_of(found)}, budget {found.budget}{_among(found)}"), table, *map(Text, lines))


def _among(found: SumFront) -> str:
    many = f", I = {found.instances:,} sums of each user" if found.instances > 1 else ""
    return f", n = {counted(found.users, 'user')}{many}"


def sums_figure(found: SumFront, axes: Axes | None = None) -> Axes:
    """Draw the error of every plan of a sum of numbers against its messages."""
    shown = f"{found.budget}, n = {found.users:,}, {span_of(found)}"
    return draw_front(found, x="messages per user and sum", y="RMSE of one sum", title=shown, axes=axes)


def vectors_table(found: VectorFront) -> RenderableType:
    """Return one row per limit on the bytes: what is sent, and the error next to a curator's."""
    table = rows_under("noise", numbers=("bytes", "messages", "RMSE", "of a curator's", "scale"))
    for row in found.plans:
        table.add_row(
            str(row.parameters["noise"]["name"]),
            number(row.bytes_per_user),
            number(row.messages_per_user),
            rounded_up(row.rmse, 5),
            rounded_up(row.ratio, 4),
            f"{row.protocol.scale:.5g}",
        )
    lines = [
        "messages and bytes: of a user with a unit vector, expected. RMSE: of the sum of n unit vectors, as a norm, on "
        "average over the public rotation. of a curator's: times that of a trusted curator's Gaussian noise of the "
        "same guarantee. Parameters in full: to_dict(), --json.",
        *found.failures.values(),
        *[f"Every row: {reading([row.guarantee for row in found.plans])}."][: len(found.plans)],
    ]
    whose = f"Sums of vectors of norm at most 1, d = {found.dimension:,}"
    return Group(
        title(f"{whose}, budget {found.budget}, n = {counted(found.users, 'user')}"),
        table,
        *map(Text, lines),
        *_peers(found),
    )


def _peers(found: VectorFront) -> list[RenderableType]:
    """Return what published protocols need, as a table of its own; nothing where that was not asked for."""
    if not found.peers:
        return []
    from dpverify.planning.sums.peers import UNKNOWN

    table = rows_under("protocol", numbers=("bytes", "messages", "RMSE", "of a curator's"))
    for row in found.peers:
        about = "~ " * row.estimated
        cells = about + number(row.bytes), number(row.messages), about + number(row.rmse), about + f"{row.ratio:.4g}"
        table.add_row(row.name, *cells)
    trust = ", or ".join(dict.fromkeys(row.trust for row in found.peers))
    return [
        title("Published protocols at the same budget"),
        table,
        Text(f"Trusted: {trust} (PREAMBLE). bytes: to each who receives any, without keys and proofs. ~: an estimate."),
        Text(UNKNOWN),
    ]


def vectors_figure(found: VectorFront, axes: Axes | None = None) -> Axes:
    """Draw the error over a curator's against the bytes of a user."""
    from dpverify.report.charts import finished
    from dpverify.report.plots import axes_for

    drawn = axes_for(axes)
    ours = [row.bytes_per_user for row in found.plans], [row.ratio for row in found.plans]
    drawn.plot(*ours, "o-", markersize=5, label="signed unary messages")
    for row, marker in zip(found.peers, "sD^v", strict=False):
        drawn.plot([row.bytes], [row.ratio], marker, markersize=6, label=row.name + " (about)" * row.estimated)
    drawn.axhline(1.0, color="0.6", linewidth=0.8, linestyle="--")
    whose = f"{found.budget}, n = {found.users:,}, d = {found.dimension:,}"
    finished(drawn, "bytes per user", "RMSE over a curator's", whose, "xy" if found.peers else "x")
    return drawn
