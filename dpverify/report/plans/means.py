"""Estimators of a mean, and of a sum, as tables: exact errors beside what the sources, and a curator, have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import counted, rounded_down, rounded_up
from dpverify.report.layout import Rows
from protocols.sums.split_and_mix import SplitAndMix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.means import MeanPlans
    from dpverify.planning.sums.integers import SumPlans

__all__ = ["means_bars", "means_table", "span_of", "sums_bars", "sums_table"]


def means_bars(found: MeanPlans, axes: Axes | None = None) -> Axes:
    """Draw the exact error of every estimator."""
    from dpverify.report.charts import bars_on

    names, errors = [row.mechanism for row in found.plans], [row.rmse for row in found.plans]
    title = f"{found.budget}, n = {found.users:,}, I = {found.instances:,}"
    return bars_on(axes, names, errors, x="RMSE of a mean of values in [0, 1]", title=title)


def means_table(found: MeanPlans) -> RenderableType:
    """Return one row per estimator: its parameter, its exact error, and the slack of what its source says."""
    numbers = ("epsilon0", "stated", "exact", "slack")
    rows = Rows(("mechanism", "error", *numbers), numbers)
    for row in found.plans:
        own = row.parameters.get("epsilon")
        rows.add_row(
            row.mechanism,
            row.statement,
            "-" if own is None else rounded_down(own, 4),
            *(
                ("-", rounded_up(row.exact, 4), "-")
                if row.published is None
                else (f"{row.published:.4g}", rounded_up(row.exact, 4), f"{row.published / row.exact:.3g}")
            ),
        )
    many = f", I = {found.instances:,} means of each user" if found.instances > 1 else ""
    title = Text(
        f"Means of values in [0, 1], budget {found.budget}, n = {counted(found.users, 'user')}{many}", style="bold"
    )
    lines = [
        "error: what the source states, of the root mean square unless it says E|error|; stated: that number, with the "
        "constant 1; exact: the truth for the worst dataset; slack: their quotient.",
        *(f"{name}: {reason}" for name, reason in found.failures.items()),
    ]
    if found.least_local_rmse is not None:
        least = rounded_down(found.least_local_rmse, 4)
        lines.append(f"No local estimator of a mean of bits has an RMSE below about {least} on every dataset.")
    best = found.recommended
    if best is not None:
        error = f"an RMSE of {rounded_up(best.rmse, 4)}"
        lines.append(f"Least error of any values, without a trusted curator: {best.mechanism}, {error}.")
        if isinstance(best.protocol, SplitAndMix):
            lines.append(
                "One cheat makes a sum of shares anything, and a client that stays away takes its noise along."
            )
    if found.plans:
        guarantee = found.plans[0].guarantee
        lines.append(f"{guarantee.side.value.capitalize()}s, {guarantee.adjacency.value} adjacency.")
    return Group(title, rows, *map(Text, lines))


def span_of(found: Any) -> str:
    """Return what users hold, of a result with `smallest`, `largest` and `real`."""
    return f"{'numbers' if found.real else 'integers'} from {found.smallest:,} to {found.largest:,}"


def sums_bars(found: SumPlans, axes: Axes | None = None) -> Axes:
    """Draw the error of every protocol for a sum, and a curator's."""
    from dpverify.report.charts import bars_on

    names, errors = [row.name for row in found.plans], [row.rmse for row in found.plans]
    if math.isfinite(found.curator):
        names, errors = [*names, "central-gaussian"], [*errors, found.curator]
    title = f"{found.budget}, n = {found.users:,}, {span_of(found)}, I = {found.instances:,}"
    return bars_on(axes, names, errors, x="RMSE of a sum", title=title)


def sums_table(found: SumPlans) -> RenderableType:
    """Return one row per protocol: its error, next to a curator's, and what users send."""
    numbers = ("RMSE", "of a curator's", "messages", "bytes")
    rows = Rows(("protocol", *numbers, "parameters"), numbers)
    for row in found.plans:
        own = {name: value for name, value in row.parameters.items() if name not in ("smallest", "largest")}
        shown = ", ".join(f"{name}={value:.6g}" for name, value in own.items())
        rows.add_row(
            row.name,
            rounded_up(row.rmse, 5),
            rounded_up(row.rmse / found.curator, 3),
            f"{row.messages:.4g}",
            f"{row.size:.4g}",
            shown,
        )
    many = f", I = {found.instances:,} sums of each user" if found.instances > 1 else ""
    whose = f"budget {found.budget}, n = {counted(found.users, 'user')}{many}"
    title = f"Sums of {span_of(found)}, {whose}"
    lines = [
        "of a curator's: times the RMSE of a trusted curator's Gaussian noise; messages and bytes: of a user with the "
        "largest number, expected, in each sum.",
        *(f"{name}: {reason}" for name, reason in found.failures.items()),
    ]
    if not found.real and any(row.protocol.steps for row in found.plans):
        lines.append("steps: so many, to which integers are rounded at random; the RMSE has that in it.")
    if any(row.name == "augmented-sum" for row in found.plans):
        lines.append("augmented-sum: the shuffler draws the noise, knows it, and must not tell.")
    if found.plans:
        guarantee = found.plans[0].guarantee
        lines.append(
            f"{guarantee.side.value.capitalize()}s, {guarantee.adjacency.value} adjacency, "
            f"{guarantee.threat_model.value} threat model."
        )
    return Group(Text(title, style="bold"), rows, *map(Text, lines))
