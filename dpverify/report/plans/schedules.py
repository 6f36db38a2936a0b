"""Schedules as tables and figures: what the days are, and what they cost, one after the other."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.claims.registry import mechanism_claims_of
from dpverify.digits import rounded_down, rounded_up, unrounded
from dpverify.report.layout import Rows
from dpverify.report.tables import point_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.schedules.result import ScheduleResult

__all__ = ["schedule_figure", "schedule_table"]

_MOST_ROWS = 12
"""Of different days in a table; more are summed up."""


def schedule_table(result: ScheduleResult, *, curve: bool = False) -> Group:
    """Return what a schedule costs: its days, the point of the privacy curve, and how much basic composition says.

    - result: As `dpverify.account` returns it for a list.
    - curve: Whether to add epsilon after the days, one after the other.
    """
    schedule = result.schedule
    most = (
        "in all of which the same user may be"
        if schedule.at_most == schedule.runs
        else f"at most {schedule.at_most:,} a user"
    )
    days = Rows(("protocol", "parameters", "users", "runs"), ("users", "runs"))
    for name, parameters, users, runs in _rows(result):
        days.add_row(name, parameters, users, f"{runs:,}")
    parts: list[RenderableType] = [
        Text(f"{schedule.runs:,} run{'s' * (schedule.runs != 1)}, {most}", style="bold"),
        days,
        point_of(result),
        Text(f"At most: {result.guarantee}."),
        *(Text(f"Datasets: {note}.") for note in result.notes),
    ]
    if result.asked == "delta" and result.at:
        basic = schedule.basic_epsilon(result.delta.lower)
        if basic < math.inf:
            parts.append(Text(f"Basic composition of the same runs: epsilon {rounded_up(basic, 6)}."))
        if curve:
            table = Rows(
                ("runs", "epsilon at least", "epsilon at most"), ("runs", "epsilon at least", "epsilon at most")
            )
            for runs, end in result.cumulative():
                table.add_row(f"{runs:,}", rounded_down(end.lower, 6), rounded_up(end.upper, 6))
            parts.append(table)
    return Group(*parts)


def _rows(result: ScheduleResult) -> list[tuple[str, str, str, int]]:
    """Return (name, parameters, users, runs) of each protocol, of several numbers of users where they are many."""
    runs: Counter[tuple[str, str, int | None]] = Counter()
    for day in result.schedule.days:
        claims = mechanism_claims_of(day.protocol)
        parameters = ", ".join(f"{name}={value}" for name, value in claims.parameters(day.protocol).items())
        parameters += "" if day.honest is None else f", of whom {day.honest:,} are honest"
        runs[claims.name, parameters, getattr(day.protocol, "users", None)] += day.instances
    if len(runs) <= _MOST_ROWS:
        return [(name, shown, "" if n is None else f"{n:,}", count) for (name, shown, n), count in runs.items()]
    kinds: dict[tuple[str, str], list[tuple[int | None, int]]] = {}
    for (name, shown, n), count in runs.items():
        kinds.setdefault((name, shown), []).append((n, count))
    found = [
        (name, shown, _between([n for n, _ in each if n is not None]), sum(count for _, count in each))
        for (name, shown), each in kinds.items()
    ]
    if len(found) <= _MOST_ROWS:
        return found
    rest = found[_MOST_ROWS:]
    return [*found[:_MOST_ROWS], (f"and {len(rest)} others", "", "", sum(row[3] for row in rest))]


def _between(users: list[int]) -> str:
    if not users:
        return ""
    return f"{min(users):,}" if min(users) == max(users) else f"{min(users):,} to {max(users):,}"


def schedule_figure(result: ScheduleResult, axes: Axes | None = None) -> Axes:
    """Draw epsilon after the runs, one after the other, as a band between its two ends.

    - result: Of a delta above 0.
    - axes: Where; on a figure of its own when omitted.
    """
    from dpverify.report.plots import axes_for

    drawn = axes_for(axes)
    known = [(runs, end) for runs, end in result.cumulative() if end.upper < math.inf]
    if known:
        runs, ends = [count for count, _ in known], [end for _, end in known]
        lower, upper = [end.lower for end in ends], [end.upper for end in ends]
        drawn.fill_between(runs, lower, upper, color="#0072B2", alpha=0.25, linewidth=0)
        drawn.plot(runs, upper, color="#0072B2", label="at most (proved)")
        drawn.plot(runs, lower, color="#D55E00", linestyle="--", label="at least")
        drawn.legend(frameon=False)
    drawn.set_xlabel("runs")
    drawn.set_ylabel(r"$\varepsilon$ (nats)")
    drawn.set_ylim(bottom=0.0)
    drawn.grid(which="major", alpha=0.3)
    drawn.set_title(f"{result.name} at delta {unrounded(result.at)}", loc="left", fontsize="medium")
    return drawn
