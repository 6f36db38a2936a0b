"""What is least for an error, as a terminal table and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import counted, unrounded
from dpverify.guarantee import exact_number
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

    from dpverify.planning.plan import PlanRow
    from dpverify.planning.sweeps.least_plans import Least, LeastPlans

__all__ = ["least_bars", "least_table"]

_HEADS = {"users": "least n", "epsilon": "least epsilon", "messages": "fewest messages"}


def _exact(name: str, value: object) -> str:
    return unrounded(exact_number(name, value))  # type: ignore[arg-type]


def _limit(found: LeastPlans) -> str:
    if found.rmse is not None:
        return f"RMSE of at most {unrounded(found.rmse)} users"
    assert found.error is not None
    return f"RMSE of at most {unrounded(found.error)} n"


def _asked(found: LeastPlans) -> str:
    budget = f"delta = {_exact('delta', found.delta)}"
    if found.epsilon is not None:
        budget = f"budget ({_exact('epsilon', found.epsilon)}, {_exact('delta', found.delta)})"
    sizes = changed(f"I = {found.instances:,} instances", found.change)
    sizes = sizes if found.users is None else f"n = {counted(found.users, 'user')}, {sizes}"
    return f"{_HEADS[found.asked].capitalize()} for an {_limit(found)}: {budget}, {sizes}"


def _value(found: LeastPlans, value: float) -> str:
    return {"users": f"{value:,.0f}", "epsilon": f"{value:g}", "messages": number(value)}[found.asked]


def _below(found: LeastPlans, row: Least) -> str:
    """Return what is planned with one step less."""
    from dpverify.planning.sweeps.comparison import FailedPlan

    if row.below is None or row.less is None:
        return "-"
    return "no plan" if isinstance(row.below, FailedPlan) else _error(found, row.below)


def _error(found: LeastPlans, row: PlanRow) -> str:
    """Return what is limited, in as many digits as tell a step from the next."""
    if found.asked == "users":
        return f"{row.bitsum_rmse / row.protocol.users:.6g}"
    return number(row.bitsum_rmse) if found.asked == "messages" else f"{row.bitsum_rmse:.6g}"


def least_table(found: LeastPlans, *, checks: Sequence[str] = ()) -> RenderableType:
    """Return one row per protocol: its answer, the error there, and the error with one step less.

    Parameters
    ----------
    found : LeastPlans
        As `dpverify.planning.sweeps.least` returns it.
    checks : sequence of str
        Commands that check the plans, with all their parameters.
    """
    from dpverify.planning.sweeps.comparison import FailedPlan

    notes, head = Notes(), _HEADS[found.asked]
    guarantees = [row.row.guarantee for row in found.found]
    common = common_model(guarantees)
    stepped = found.asked != "messages"
    error = "RMSE / n" if found.asked == "users" else "RMSE"
    numbers = [head, error, *(["one less"] if stepped else ["epsilon"])]
    numbers += ["messages"] if stepped else []
    table = rows_under("bitsum", numbers=numbers)
    for row in found.rows:
        if isinstance(row, FailedPlan):
            table.add_row(Text(name_lines(row.bitsum) + notes.mark(row.error)), *["-"] * len(numbers))
            continue
        plan = row.row
        last = [_below(found, row), number(plan.messages_per_user)] if stepped else [epsilon_of(plan.guarantee)]
        table.add_row(
            Text(name_lines(row.bitsum) + notes.mark(*plan_notes(plan, common, words=False))),
            _value(found, row.least),
            _error(found, plan),
            *last,
        )
    lines = ["RMSE: of one bitsum, in users. messages: expected per user and instance."]
    if stepped:
        step = "one user fewer" if found.asked == "users" else "one less in its fourth digit"
        lines.append(f"one less: the error of the plan for {step}, which does not reach what is asked.")
    else:
        lines.append("Fewest: as found; the search for a protocol's flood ends within 2 % of it.")
    if found.found:
        lines.append(f"Every row: {reading(guarantees)}.")
    lines += dict.fromkeys(
        enough(row.row.honest, row.row.protocol.users) for row in found.found if row.row.honest is not None
    )
    details = [Text("\nTo check a row, with its parameters in full:"), *shell(*checks)] if checks else []
    return Group(title(_asked(found)), table, *map(Text, lines), *notes.lines(), *details)


def least_bars(found: LeastPlans, axes: Axes | None = None) -> Axes:
    """Draw every protocol's answer as a bar.

    Parameters
    ----------
    found : LeastPlans
        As `dpverify.planning.sweeps.least` returns it.
    axes : Axes, optional
        Where; on a figure of its own when omitted.
    """
    from dpverify.report.charts import bars_on

    names, values = [row.bitsum for row in found.found], [row.least for row in found.found]
    return bars_on(axes, names, values, x=_HEADS[found.asked], title=f"for an {_limit(found)}")
