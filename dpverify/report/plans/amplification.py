"""What shuffling gives, as a table and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import counted, rounded_down, rounded_up, typed, unrounded
from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.amplify import Amplified

__all__ = ["amplified_curve", "amplified_table", "inverse_table"]

_DIGITS = 6
_POINTS = 24


def amplified_table(found: Amplified) -> RenderableType:
    """Return the interval of epsilon, and what sources give at the same parameters."""
    table = Rows(("epsilon", "lower", "upper"), ("lower", "upper"))
    table.add_row(
        "this mechanism or class", rounded_down(found.epsilon.lower, _DIGITS), rounded_up(found.epsilon.upper, _DIGITS)
    )
    reasons = []
    for name, value in found.published.items():
        table.add_row(name, "", "-" if isinstance(value, str) else rounded_up(value, _DIGITS))
        reasons += [value] if isinstance(value, str) else []
    of = ", ".join(f"{name} = {value:g}" for name, value in found.parameters.items())
    rounds = f"{found.rounds:,} rounds, " if found.rounds > 1 else ""
    title = f"{found.randomizer}, {of}, n = {counted(found.users, 'user')}, {rounds}delta = {typed(found.delta)}"
    legend = (
        f"The upper end holds for {found.covered}; the lower end is attained by a mechanism and a dataset. All n users "
        "follow the protocol; one user's input is replaced; the adversary sees the shuffled reports."
    )
    return Group(Text(title, style="bold"), table, *map(Text, [legend, *reasons]))


def amplified_curve(found: Amplified, axes: Axes | None = None) -> Axes:
    """Draw delta against epsilon: the band between the two proved bounds."""
    from dpverify.report.plots import axes_for

    drawn = axes_for(axes, 6.4, 4.2)
    last = found.epsilon.upper if found.epsilon.upper < float("inf") else 2.0 * found.epsilon.lower + 1.0
    points = np.linspace(0.0, 1.1 * last, _POINTS)
    ends = [found.curve.delta(float(point)) for point in points]
    lower, upper = (np.maximum([getattr(end, side) for end in ends], 1e-300) for side in ("lower", "upper"))
    drawn.fill_between(points, lower, upper, alpha=0.3, label="between the proved bounds")
    drawn.plot(points, upper, label="upper bound")
    drawn.axhline(found.delta, color="0.4", linestyle=":", label="delta")
    drawn.set_yscale("log")
    drawn.set_ylim(bottom=max(float(upper[upper > 1e-300].min()), found.delta * 1e-3), top=1.0)
    drawn.set_xlabel(r"$\varepsilon$ (nats)")
    drawn.set_ylabel(r"$\delta$")
    drawn.grid(which="major", alpha=0.3)
    drawn.legend(frameon=False, fontsize="small")
    drawn.set_title(f"{found.randomizer}, n = {found.users:,}", loc="left", fontsize="medium")
    return drawn


def inverse_table(result: dict[str, Any]) -> RenderableType:
    """Return the largest epsilon0 for a target.

    - result: `{"randomizer", "users", "delta", "epsilon", "epsilon0": {"lower", "upper"}}`.
    """
    ends = result["epsilon0"]
    table = Rows(("largest epsilon0", "proved to do", "proved too large"), ("proved to do", "proved too large"))
    table.add_row("of one report", rounded_down(ends["lower"], _DIGITS), rounded_up(ends["upper"], _DIGITS))
    title = (
        f"{result['randomizer']}, n = {counted(result['users'], 'user')}, for epsilon = {unrounded(result['epsilon'])} "
        f"at delta = {typed(result['delta'])}"
    )
    return Group(Text(title, style="bold"), table)
