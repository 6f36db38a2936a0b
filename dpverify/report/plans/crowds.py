"""Epsilon against the honest fraction, as a table and as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.claims.registry import claims_of
from dpverify.digits import counted, rounded_down, rounded_up, unrounded
from dpverify.report.layout import Rows
from dpverify.report.tables import name_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.crowds import Crowd

__all__ = ["crowd_curves", "crowd_table"]

_DIGITS = 4
_DASHES = ("-", "--", "-.", ":")
_MARKERS = "osdDvP*Xh<>"
_APART = 0.96
"""Between marks that would cover each other."""


def crowd_table(crowd: Crowd) -> RenderableType:
    """Return one row per plan: the upper ends of epsilon, one column for each fraction."""
    from dpverify.planning.sweeps.setting import FailedPlan  # here, as the table needs no engine

    numbers = ("RMSE", *(unrounded(fraction) for fraction in crowd.fractions))
    table, reasons = Rows(("bitsum", *numbers), numbers), []
    for row in crowd.rows:
        if isinstance(row, FailedPlan):
            table.add_row(name_lines(row.bitsum), *["-"] * len(numbers))
            reasons.append(f"{row.bitsum}: {row.error}")
            continue
        found = ("-" if end is None else _shown(end.upper, crowd) for end in row.epsilons)
        table.add_row(name_lines(row.plan.bitsum), f"{row.plan.bitsum_rmse:.4g}", *found)
        reasons += [f"{row.plan.bitsum}: {error}" for error in row.errors]
    title = f"Budget {crowd.budget}, n = {counted(crowd.users, 'user')}, I = {counted(crowd.instances, 'instance')}"
    if crowd.density is not None:
        name = claims_of(crowd.density.family).name
        title = (
            f"Budget {crowd.budget}, n = {counted(crowd.users, 'user')}, {name} features, {crowd.density.bits:,} bits"
        )
    legend = (
        "Columns: epsilon at the budget's delta, rounded up, if this share of the users follows the protocol and the "
        "adversary knows all that the others send, or they drop out (replace-one adjacency). RMSE: of one binary sum, "
        "in users, if all follow it."
    )
    planned = {row.plan.honest for row in crowd.plans} - {None}
    promise = [f"Planned for {count:,} honest users." for count in planned]
    return Group(Text(title, style="bold"), table, *map(Text, [legend, *promise, *reasons]), *_attacks(crowd))


def _attacks(crowd: Crowd) -> list[RenderableType]:
    """Return what malicious users can do, one row per plan, if it was asked for."""
    numbers = ("least", "most", "cap", "least, capped", "most, capped")
    table, notes, malicious = Rows(("bitsum", *numbers), numbers), [], 0
    for row in crowd.plans:
        if row.attack is None:
            return []
        freely, capped, cap = row.attack.freely, row.attack.capped, row.attack.cap
        malicious = freely.malicious
        ends = [end for each in (freely, capped) for end in (rounded_down(each.lower, 5), rounded_up(each.upper, 5))]
        shown = f"{cap.messages:,}" if cap is not None else "?" if row.attack.note else "-"
        table.add_row(name_lines(row.plan.bitsum), *ends[:2], shown, *ends[2:])
        notes += [f"{row.plan.bitsum}: {row.attack.note}"] if row.attack.note else []
    what = "a sum, in users and compared with staying away: at the least and at the most, exactly"
    if crowd.density is not None:
        what = "a density, compared with staying away: no more than this, at any query (of norm 1, for inner products)"
    legend = (
        f"What {malicious:,} users who send what they like can add to {what}. cap: messages per user and instance that "
        "the shuffler passes on, the fewest that cost a thousandth of delta at most; -: none is needed."
    )
    return [table, *map(Text, [legend, *notes])] if crowd.plans else []


def _shown(epsilon: float, crowd: Crowd) -> str:
    """Return an upper bound, rounded up, though not above the budget that it keeps."""
    budget = crowd.budget.exact_epsilon
    return rounded_up(epsilon, _DIGITS, within=budget if epsilon <= budget else math.inf)


def crowd_curves(crowd: Crowd, axes: Axes | None = None) -> Axes:
    """Draw epsilon against the honest fraction, and the budget as a line.

    A triangle at the upper edge is where a plan's epsilon is infinite for the first time.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator

    from dpverify.report.plots import axes_for

    drawn = axes_for(axes, 6.4, 4.2)
    infinite = False
    for number, row in enumerate(crowd.plans):
        points = [
            (float(fraction), end.upper)
            for fraction, end in zip(crowd.fractions, row.epsilons, strict=True)
            if end is not None and end.upper < math.inf
        ]
        if points:
            drawn.plot(
                *zip(*points, strict=True),
                color=f"C{number % 10}",
                linestyle=_DASHES[number % len(_DASHES)],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4,
                alpha=0.85,
                label=row.plan.bitsum,
            )
        lost = [
            f for f, end in zip(crowd.fractions, row.epsilons, strict=True) if end is not None and end.upper == math.inf
        ]
        if lost:  # at the upper edge, side by side
            place = float(max(lost)) * _APART**number
            drawn.plot(place, 1.0, "^", color=f"C{number % 10}", transform=drawn.get_xaxis_transform(), clip_on=False)
            infinite = True
    if infinite:
        drawn.plot([], [], "^", color="0.4", label="infinite from here on")
    drawn.axhline(crowd.budget.epsilon, color="0.4", linestyle=":", label="budget")
    drawn.set_xscale("log")
    drawn.set_yscale("log")
    drawn.invert_xaxis()
    drawn.set_xticks([float(fraction) for fraction in crowd.fractions], [unrounded(f) for f in crowd.fractions])
    drawn.tick_params("x", labelrotation=60)
    drawn.minorticks_off()
    drawn.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    drawn.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    drawn.set_xlabel("share of the users who follow the protocol")
    drawn.set_ylabel(rf"$\varepsilon$ at $\delta$ = {unrounded(crowd.budget.exact_delta)}, at most (nats)")
    drawn.grid(which="major", alpha=0.3)
    drawn.legend(frameon=False, fontsize="small")
    drawn.set_title(f"{crowd.budget}, n = {crowd.users:,}, I = {crowd.instances:,}", loc="left", fontsize="medium")
    return drawn
