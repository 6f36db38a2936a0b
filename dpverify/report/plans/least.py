"""What is least for an error, of bitsums or of densities, as terminal tables and as figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.claims.registry import claims_of
from dpverify.digits import counted, unrounded
from dpverify.report.plans.fronts import draw_front, mark
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

    from dpverify.planning.kernels.least_densities import LeastDensities
    from dpverify.planning.sweeps.least_plans import Least, LeastPlans

__all__ = ["least_bars", "least_density_front", "least_density_table", "least_table"]

_HEADS = {"users": "least n", "epsilon": "least epsilon", "messages": "fewest messages"}


def _spent(found: LeastPlans | LeastDensities) -> str:
    """Return the budget, or delta where epsilon is asked, and n where it is not."""
    delta = unrounded(found.delta)
    spent = f"delta = {delta}" if found.epsilon is None else f"budget ({unrounded(found.epsilon)}, {delta})"
    return spent if found.users is None else f"{spent}, n = {counted(found.users, 'user')}"


def _value(found: LeastPlans | LeastDensities, value: float) -> str:
    return {"users": f"{value:,.0f}", "epsilon": f"{value:g}", "messages": number(value)}[found.asked]


def _error(row: Any, share: bool = False, digits: int = 6) -> str:
    """Return what is limited, in as many digits as tell a step from the next."""
    error = getattr(row, row.measure)
    return f"{error / row.protocol.users if share else error:.{digits}g}"


def _below(row: Least[Any], share: bool = False, digits: int = 6) -> str:
    """Return what is planned with one step less."""
    from dpverify.planning.sweeps.setting import FailedPlan

    if row.below is None:
        return "-"
    return "no plan" if isinstance(row.below, FailedPlan) else _error(row.below, share, digits)


def _limit(found: LeastPlans) -> str:
    users = "" if found.users is None else f" ({found.error * found.users:.6g} users)"
    return f"RMSE of at most {unrounded(found.error)} n{users}"


def least_table(found: LeastPlans, *, checks: Sequence[str] = ()) -> RenderableType:
    """Return one row per protocol: its answer, the error there, and the error with one step less.

    - found: As `dpverify.planning.sweeps.least` returns it.
    - checks: Commands that check the plans, with all their parameters.
    """
    from dpverify.planning.sweeps.setting import FailedPlan

    notes, head = Notes(), _HEADS[found.asked]
    guarantees = [row.row.guarantee for row in found.found]
    common = common_model(guarantees)
    stepped, share = found.asked != "messages", found.asked == "users"
    numbers = [head, "RMSE / n" if share else "RMSE", *(["one less"] if stepped else ["epsilon"])]
    numbers += ["messages"] if stepped else []
    table = rows_under("bitsum", numbers=numbers)
    for row in found.rows:
        if isinstance(row, FailedPlan):
            table.add_row(Text(name_lines(row.bitsum) + notes.mark(row.error)), *["-"] * len(numbers))
            continue
        plan = row.row
        last = [_below(row, share), number(plan.messages_per_user)] if stepped else [epsilon_of(plan.guarantee)]
        table.add_row(
            Text(name_lines(row.bitsum) + notes.mark(*plan_notes(plan, common, words=False))),
            _value(found, row.least),
            _error(plan, share) if stepped else number(plan.bitsum_rmse),
            *last,
        )
    lines = ["RMSE: of one bitsum, in users. messages: expected per user and instance."]
    if stepped:
        step = "one user fewer" if share else "one less in its fourth digit"
        lines.append(f"one less: the error of the plan for {step}, which does not reach what is asked.")
    else:
        lines.append("Fewest: as found; the search for a protocol's flood ends within 2 % of it.")
    if found.found:
        lines.append(f"Every row: {reading(guarantees)}.")
    lines += dict.fromkeys(
        enough(row.row.honest, row.row.protocol.users) for row in found.found if row.row.honest is not None
    )
    details = [Text("\nTo check a row, with its parameters in full:"), *shell(*checks)] if checks else []
    asked = f"{head.capitalize()} for an {_limit(found)}: {_spent(found)}, "
    headline = title(asked + changed(f"I = {counted(found.instances, 'instance')}", found.change))
    return Group(headline, table, *map(Text, lines), *notes.lines(), *details)


def least_bars(found: LeastPlans, axes: Axes | None = None) -> Axes:
    """Draw every protocol's answer as a bar."""
    from dpverify.report.charts import bars_on

    names, values = [row.bitsum for row in found.found], [row.least for row in found.found]
    return bars_on(axes, names, values, x=_HEADS[found.asked], title=f"for an {_limit(found)}")


def least_density_table(found: LeastDensities) -> RenderableType:
    """Return one row per number of bits and bitsum: what it needs, its error, and that with one step less."""
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
            _value(found, row.least),
            _error(row.row, digits=5),
            _below(row, digits=5),
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
        lines.append(f"Planned for {unrounded(found.honest)} of the users, who follow the protocol.")
    lines += [f"Not here: {why}" for why in found.failures]
    width = "" if found.bandwidth is None else f", bandwidth {found.bandwidth:g}"
    sizes = f"{found.kernel} kernel, d = {found.dimension:,}{width}"
    return Group(
        title(f"{head.capitalize()} for an {limit}: {_spent(found)}, {sizes}"), table, *map(Text, lines), *notes.lines()
    )


def least_density_front(found: LeastDensities, axes: Axes | None = None) -> Axes:
    """Draw what every row needs against its messages, and the front as a line."""
    return draw_front(
        found,
        x="messages per user, over all bits",
        y=_HEADS[found.asked],
        title=f"{found.kernel} kernel, d = {found.dimension:,}, RMSE of at most {found.error:.4g}",
        axes=axes,
    )
