"""Charts of anything against anything, in the style of the other figures: for walkthroughs and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from dpverify.guarantee import Interval
from dpverify.report.plots import STYLES, axes_for, figure_of
from protocols.classes.frozen import dataclass

__all__ = ["Series", "bars", "bars_on", "chart", "finished", "side_by_side"]

_FEW = 40
"""Up to so many points of a line are marked."""
_LARGE = 1000.0
"""From here on a bar's value is written in full."""
_NARROW = 300.0
"""A logarithmic axis whose ends are less far apart, as a ratio, has numbers between powers of ten."""


@dataclass(frozen=True)
class Series:
    """Numbers that belong together.

    - label: The legend's text.
    - x: Where.
    - y: What; an interval is drawn in its whole width.
    - kind: `line` for what is computed, `points` for what was simulated or measured, `steps` for probabilities of
      integers.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float | Interval]
    kind: Literal["line", "points", "steps"] = "line"


def side_by_side(columns: int, *, width: float = 4.2, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes from left to right, each of this size in inches."""
    return figure_of(width * columns, height, columns)


def chart(
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    title: str | None = None,
    log: Literal["", "x", "y", "xy"] = "",
    level: tuple[str, float] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Draw series in one pair of axes, told apart by colour, dash and marker.

    - series: At most four.
    - x, y: The axes' labels, with units.
    - title: Above the axes.
    - log: Which axes are logarithmic.
    - level: A horizontal line, with its name.
    - axes: Where; on a figure of their own when omitted.

    Raises ValueError for more series than there are styles to tell them apart.
    """
    if len(series) > len(STYLES):
        raise ValueError(f"series holds {len(series)} series, but at most {len(STYLES)} can be told apart.")
    drawn = axes_for(axes)
    for one, (colour, dash, marker) in zip(series, STYLES, strict=False):
        ends = list(map(_ends, one.y))
        lower, upper = [end.lower for end in ends], [end.upper for end in ends]
        if one.kind == "steps":
            drawn.step(one.x, upper, where="mid", color=colour, linestyle=dash, label=one.label)
        elif one.kind == "points":
            middle = (np.array(lower) + np.array(upper)) / 2
            drawn.errorbar(
                one.x, middle, upper - middle, fmt=marker, color=colour, markersize=4, capsize=2, label=one.label
            )
        else:
            drawn.fill_between(one.x, lower, upper, color=colour, alpha=0.3, linewidth=0)
            few = len(one.x) <= _FEW
            drawn.plot(
                one.x,
                upper,
                color=colour,
                linestyle=dash,
                marker=marker if few else "",
                markersize=3.5,
                label=one.label,
            )
    if level is not None:
        drawn.axhline(level[1], color="black", linewidth=0.8, linestyle=(0, (1, 2)))
        side, at = ("left", 0.01) if _crowded_at_the_right(series, level[1], "y" in log) else ("right", 0.99)
        drawn.annotate(
            level[0], (at, level[1]), xycoords=("axes fraction", "data"), xytext=(0, 3), textcoords="offset points",
            ha=side, fontsize="small",
        )  # fmt: skip
    return finished(drawn, x, y, title, log)


def _ends(value: float | Interval) -> Interval:
    """Return an interval as it is, and a number as one."""
    return value if isinstance(value, Interval) else Interval(value, value)


def _crowded_at_the_right(series: Sequence[Series], level: float, log: bool) -> bool:
    """Return whether a series ends nearer to the level than any begins."""

    def distance(place: int) -> float:
        ends = (_ends(one.y[place]).upper for one in series)
        apart = (abs(math.log(end / level)) if log and min(end, level) > 0 else abs(end - level) for end in ends)
        return min((value for value in apart if math.isfinite(value)), default=math.inf)

    return distance(-1) < distance(0)


def bars(
    names: Sequence[str],
    values: Sequence[float],
    *,
    x: str,
    title: str | None = None,
    log: bool = False,
    axes: Axes | None = None,
) -> Figure:
    """Draw one bar for each name, from above to below, with its value at its end.

    - names: What the bars are.
    - values: Their lengths, positive where `log`.
    - x: What they measure, with its unit.
    - title, axes: As for `chart`.
    - log: Whether the lengths are logarithmic.
    """
    drawn = axes_for(axes, 6.4, 1.2 + 0.36 * len(names))
    places = range(len(names))
    drawn.barh(places, values, color=STYLES[0][0], height=0.6)
    for place, value in zip(places, values, strict=True):
        text = f"{value:,.0f}" if value >= _LARGE else f"{value:.3g}"
        drawn.annotate(text, (value, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize="small")
    drawn.set_yticks(places, names)
    drawn.invert_yaxis()
    drawn.margins(x=0.12)
    return finished(drawn, x, "", title, "x" if log else "")


def bars_on(
    axes: Axes | None, names: Sequence[str], values: Sequence[float], *, x: str, title: str, log: bool = False
) -> Axes:
    """Draw `bars` on given axes, or on those of a figure of their size, and return the axes."""
    drawn = axes_for(axes, 6.4, 1.2 + 0.36 * len(names))
    bars(names, values, x=x, title=title, log=log, axes=drawn)
    return drawn


def finished(axes: Axes, x: str, y: str, title: str | None, log: str) -> Figure:
    """Return the figure of axes on which all is drawn, after their scales, labels, grid, legend and title."""
    if "x" in log:
        axes.set_xscale("log")
        _few_ticks(axes.xaxis, axes.get_xlim())
    if "y" in log:
        axes.set_yscale("log")
        _few_ticks(axes.yaxis, axes.get_ylim())
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(which="major", alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small", framealpha=0.85, edgecolor="none")
    if title is not None:
        axes.set_title(title, loc="left", fontsize="medium")
    figure = axes.figure
    if not isinstance(figure, Figure):
        raise TypeError(f"axes={axes!r} must stand in a figure, not in a part of one.")
    return figure


def _few_ticks(axis: Axis, ends: tuple[float, float]) -> None:
    """Write numbers at 1, 2 and 5 where a logarithmic axis spans little, and never between them: they would overlap."""
    axis.set_minor_formatter(NullFormatter())
    if ends[1] < ends[0] * _NARROW:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
