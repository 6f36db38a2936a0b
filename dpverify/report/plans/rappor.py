"""Plans of RAPPOR as a table, and what reports reveal as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import rounded_up, unrounded
from dpverify.report.layout import Rows
from dpverify.report.tables import shell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.rappor import RapporPlan

__all__ = ["rappor_losses", "rappor_table"]

_REPORTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)


def rappor_table(plan: RapporPlan) -> RenderableType:
    """Return one row per number of hash functions, and the command that checks the best one."""
    numbers = ("hashes", "f", "p", "q", "cohorts", "eps, one", "eps, all", "RMSE", "named from")
    table = Rows(numbers, numbers)
    for row in plan.rows:
        made = row.protocol
        table.add_row(
            str(made.hashes),
            *(f"{value:.4g}" for value in (made.f, made.p, made.q)),
            f"{made.cohorts:,}",
            rounded_up(row.epsilon_one.upper, 4, within=plan.epsilon_one),
            rounded_up(row.epsilon_limit.upper, 4, within=plan.epsilon_limit),
            f"{row.deviation:,.4g}",
            f"{row.least_holders:,.0f}",
        )
    title = (
        f"RAPPOR: one report {unrounded(plan.epsilon_one)}, all on one value {unrounded(plan.epsilon_limit)}; "
        f"{plan.best.protocol.bits} bits, {plan.users:,} users, {plan.candidates:,} candidates"
    )
    legend = (
        "eps: exact largest loss of one report, and of any number of reports on one value (replace-one, local). RMSE: "
        "about, of a rare string's count. named from: about how many users must hold a string to have it named with "
        "probability 1/2, at level 0.05. That a value changes is not hidden (docs/rappor.md)."
    )
    best = plan.best.protocol
    check = (
        f"dpverify account rappor --bits {best.bits} --hashes {best.hashes} --f {best.f!r} --p {best.p!r} "
        f"--q {best.q!r} --delta 0"
    )
    return Group(Text(title, style="bold"), table, Text(legend), *shell("Check the best:", check))


def rappor_losses(plan: RapporPlan, axes: Axes | None = None) -> Axes:
    """Draw the exact largest loss against the number of reports on one value, with memory and without."""
    from dpverify.report.plots import axes_for

    drawn = axes_for(axes)
    # Of the best row: those of other numbers of hash functions are hardly another line.
    best = plan.best
    drawn.plot(
        _REPORTS, [best.after(reports).upper for reports in _REPORTS], marker="o", markersize=4, label="with memory"
    )
    one = best.epsilon_one.upper
    drawn.plot(_REPORTS, [reports * one for reports in _REPORTS], color="0.3", linestyle="--", label="without memory")
    drawn.axhline(float(plan.epsilon_limit), color="0.3", linestyle=":", label="permanent response")
    drawn.set_xscale("log")
    drawn.set_ylim(0.0, 2.0 * float(plan.epsilon_limit))
    drawn.set_xticks([1, 10, 100], ["1", "10", "100"])
    drawn.set_xlabel("reports on one value")
    drawn.set_ylabel(r"largest loss $\varepsilon$ (nats)")
    drawn.grid(which="major", alpha=0.3)
    drawn.legend(frameon=False, fontsize="small", loc="lower right")
    title = (
        f"one report {unrounded(plan.epsilon_one)}, limit {unrounded(plan.epsilon_limit)}, h = {best.protocol.hashes}"
    )
    drawn.set_title(title, loc="left", fontsize="medium")
    return drawn
