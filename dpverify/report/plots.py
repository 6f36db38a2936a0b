"""Rows as matplotlib figures, drawn without a display and without pyplot's global state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dpverify import files
from dpverify.guarantee import Budget, Interval
from protocols.classes.frozen import dataclass

if TYPE_CHECKING:
    from dpverify.demo import DemoResult, DemoRow
    from dpverify.planning.plan import PlanRow
    from dpverify.planning.result import AccountResult
    from dpverify.planning.sweeps.comparison import Comparison
    from dpverify.shown import Drawn

__all__ = [
    "STYLES",
    "Curve",
    "account_profile",
    "axes_for",
    "check_path",
    "demo_accuracies",
    "demo_figure",
    "drawn_figure",
    "figure_of",
    "legend_beside",
    "plan_errors",
    "plan_profile",
    "privacy_profile",
    "save",
]

# Told apart by dash and marker as well, so that a print without colour can be read (colours: Okabe and Ito).
STYLES = (("#0072B2", "-", "o"), ("#D55E00", "--", "s"), ("#009E73", "-.", "^"), ("#CC79A7", ":", "D"))

_AROUND = [0.5 * step for step in range(-6, 7)]
"""Decades from the point that was asked for at which its profile is drawn."""

_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""What a figure can be written as, by extension, without the stamps that would differ from run to run."""


@dataclass(frozen=True)
class Curve:
    """A privacy profile, as points.

    - label: The legend's text.
    - deltas: Where it was evaluated, positive.
    - epsilons: In nats; of an interval the whole width is drawn.
    """

    label: str
    deltas: Sequence[float]
    epsilons: Sequence[float | Interval]


def figure_of(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure of this size in inches, and its axes, side by side."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, columns, column + 1) for column in range(columns)]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def axes_for(axes: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """Return the axes to draw on: the given ones, or those of a figure of their own, of this size in inches."""
    return figure_of(width, height)[1][0] if axes is None else axes


def legend_beside(axes: Axes) -> None:
    """Name the lines, of which there may be many, on the right of the axes."""
    axes.legend(frameon=False, fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def drawn_figure(result: Drawn) -> Figure:
    """Return the figure of a result that draws itself."""
    figure = result.plot().figure
    if not isinstance(figure, Figure):
        raise TypeError(f"result={result!r} must be drawn in a figure, not in a part of one.")
    return figure


def _write(axis: Axes, text: str, x: float, y: float, color: str = "black") -> None:
    """Write a text to the right of a point."""
    axis.annotate(text, (x, y), xytext=(6, 0), textcoords="offset points", va="center", color=color)


def privacy_profile(curves: Sequence[Curve], *, budget: Budget | None = None, title: str | None = None) -> Figure:
    """Draw epsilon against delta.

    - curves: At most four.
    - budget: Marked with a cross.
    - title: Above the axes.

    Raises ValueError for more curves than there are styles to tell them apart.
    """
    if len(curves) > len(STYLES):
        raise ValueError(f"curves holds {len(curves)} curves, but at most {len(STYLES)} can be told apart.")
    figure, (axis,) = figure_of(6.4, 4.0)
    for curve, (colour, dash, marker) in zip(curves, STYLES, strict=False):
        ends = [value if isinstance(value, Interval) else Interval(value, value) for value in curve.epsilons]
        upper = [end.upper for end in ends]
        axis.fill_between(curve.deltas, [end.lower for end in ends], upper, color=colour, alpha=0.3, linewidth=0)
        axis.plot(curve.deltas, upper, color=colour, linestyle=dash, marker=marker, markersize=3.5, label=curve.label)
    if budget is not None:
        axis.plot(budget.delta, budget.epsilon, "kx", markersize=9, label=f"budget {budget}", linestyle="none")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(r"$\delta$")
    axis.set_ylabel(r"$\varepsilon$ (nats)")
    axis.grid(which="major", alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False)
    if title is not None:
        axis.set_title(title, loc="left", fontsize="medium")
    return figure


def account_profile(result: AccountResult, axes: Axes | None = None) -> Axes:
    """Draw the privacy profile around the point that was asked for, as a band between its two ends."""
    drawn = axes_for(axes)
    at = result.delta.upper
    centre = math.log10(at) if 1e-200 < at < 0.5 else -6.0
    deltas = [10.0 ** (centre + shift) for shift in _AROUND if centre + shift < math.log10(0.5)]
    known = [(delta, end) for delta, end in zip(deltas, result.epsilons(deltas), strict=True) if end.upper < math.inf]
    (colour, dash, _), (other, other_dash, _) = STYLES[:2]
    if known:
        shown, ends = zip(*known, strict=True)
        lower, upper = [end.lower for end in ends], [end.upper for end in ends]
        drawn.fill_betweenx(shown, lower, upper, color=colour, alpha=0.25, linewidth=0)
        drawn.plot(upper, shown, color=colour, linestyle=dash, label="at most (proved)")
        drawn.plot(lower, shown, color=other, linestyle=other_dash, label="at least")
    point = result.epsilon.upper
    if 0.0 < at < 1.0 and point < math.inf:
        drawn.plot(point, at, "o", color="black", markersize=5, label=f"({point:.4g}, {at:.3g})")
    drawn.set_yscale("log")
    drawn.set_xlabel(r"$\varepsilon$ (nats)")
    drawn.set_ylabel(r"$\delta$")
    drawn.grid(which="major", alpha=0.3)
    if drawn.get_legend_handles_labels()[0]:
        drawn.legend(frameon=False)
    drawn.set_title(f"{result.name}, {result.guarantee.threat_model.value} threat model", loc="left", fontsize="medium")
    return drawn


def plan_errors(comparison: Comparison, axes: Axes | None = None) -> Axes:
    """Draw the error of every plan, and the messages that it needs above its mark."""
    bitsums = list(dict.fromkeys(row.bitsum for row in comparison.plans))
    drawn = axes_for(axes, 6.4, 1.4 + 0.42 * max(len(bitsums), 3))
    methods = list(dict.fromkeys(row.method for row in comparison.plans))
    for method, (colour, _, marker) in zip(methods, STYLES, strict=False):
        rows = [row for row in comparison.plans if row.method == method]
        places = [bitsums.index(row.bitsum) for row in rows]
        drawn.plot([row.bitsum_rmse for row in rows], places, marker, color=colour, markersize=5, label=method)
        for row, place in zip(rows, places, strict=True):
            drawn.annotate(
                f"{row.messages_per_user:.3g}",
                (row.bitsum_rmse, place),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                color=colour,
                fontsize="x-small",
            )
    drawn.set_xscale("log")
    drawn.margins(x=0.1)
    drawn.set_yticks(range(len(bitsums)), bitsums)
    drawn.set_ylim(len(bitsums) - 0.5, -0.8)
    drawn.set_xlabel("RMSE in users (above: messages per user)")
    drawn.grid(which="major", axis="x", alpha=0.3)
    if methods:
        drawn.legend(frameon=False)
    drawn.set_title(
        f"{comparison.budget}, n = {comparison.users:,}, I = {comparison.instances:,}", loc="left", fontsize="medium"
    )
    return drawn


def plan_profile(row: PlanRow, axes: Axes | None = None) -> Axes:
    """Draw the privacy profile of a plan: what its parameters really give around what they are planned for."""
    from dpverify.changes import Full, L2Ball
    from dpverify.planning.account import account

    change = row.change
    found = account(
        row.protocol,
        instances=change.instances,
        squared_change=None if isinstance(change, Full) else change.squared_change,
        ball=isinstance(change, L2Ball),
        delta=row.guarantee.delta,
        threat_model=row.guarantee.threat_model,
        honest=row.honest,
    )
    drawn = account_profile(found, axes)
    at = row.guarantee
    if at.delta > 0.0:
        drawn.plot(at.epsilon, at.delta, "kx", markersize=9, linestyle="none", label="as planned")
        drawn.legend(frameon=False)
    drawn.set_title(f"{row.bitsum}, {row.method}, n = {row.protocol.users:,}", loc="left", fontsize="medium")
    return drawn


def demo_accuracies(result: DemoResult, axes: Axes | None = None) -> Axes:
    """Draw the demonstration and return the axes of its accuracies, or those alone on given axes.

    - result: As `dpverify.demo.run` returns it.
    - axes: Where; on a figure with the noise beside them when omitted.
    """
    if axes is None:
        return demo_figure(result).axes[0]
    _draw_accuracies(result, axes)
    return axes


def _style_of(row: DemoRow) -> tuple[str, str, str]:
    return STYLES[0 if row.method is None else 1 if row.method == "published" else 2]


def _refer(axis: Axes, reference: float, text: str, rows: int) -> None:
    axis.axvline(reference, color="0.4", linestyle=":")
    _write(axis, text, reference, -0.6, color="0.4")
    axis.set_ylim(rows - 0.5, -0.9)


def _draw_accuracies(result: DemoResult, axes: Axes) -> None:
    rows = [row for row in result.rows if row.accuracies]
    for place, row in enumerate(rows):
        colour, _, marker = _style_of(row)
        axes.barh(place, row.accuracy, color=colour, alpha=0.35, height=0.6)
        axes.plot(row.accuracies, [place] * len(row.accuracies), marker, color=colour, markersize=4)
    _refer(axes, 1 / result.classes, "chance", len(rows))
    axes.set_yticks(range(len(rows)), [f"{row.name}   {row.accuracy:.0%}" for row in rows])
    axes.set_xlim(0, 1)
    axes.set_xlabel("test accuracy (bar: mean; marks: runs)")


def demo_figure(result: DemoResult) -> Figure:
    """Draw the demonstration: the accuracy and the noise of every row that ran."""
    rows = [row for row in result.rows if row.accuracies]
    places = range(len(rows))
    figure, (accuracy, noise) = figure_of(9.0, 1.7 + 0.45 * len(rows), 2)
    _draw_accuracies(result, accuracy)
    for place, row in zip(places, rows, strict=True):
        colour, _, marker = _style_of(row)
        if row.rmse is not None:
            noise.plot(row.rmse, place, marker, color=colour)
            _write(noise, f"{row.rmse:,.3g}" if row.rmse < 1000 else f"{row.rmse:,.0f}", row.rmse, place)
    _refer(noise, result.users_per_class, "class size", len(rows))
    noise.set_yticks([])
    noise.set_xscale("log")
    noise.margins(x=0.3)
    noise.set_xlabel("noise of one bitsum, RMSE in users")
    figure.suptitle(
        f"Digits, about {result.users_per_class} users per class: features {result.budget}-DP, labels "
        f"({result.label_epsilon:g}, 0)-DP, replace-one",
        x=0.01,
        ha="left",
        fontsize="medium",
    )
    return figure


def check_path(path: Path, name: str = "plot") -> None:
    """Check, before the work for a figure, that it can be saved there; see `dpverify.files.check_path`."""
    files.check_path(path, name, _METADATA)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, all of it or nothing: a reader never sees half a file.

    - figure: What to write.
    - path: Where, in a folder that exists; its extension names the format, and a file there is replaced.

    Raises ValueError if the extension is none of .png, .svg, .pdf, or something other than a file is there. Raises
    OSError if the folder cannot be written to.
    """
    check_path(path, "path")
    kind = path.suffix.lower()
    with files.replaced(path) as name:
        figure.savefig(name, format=kind[1:], metadata=_METADATA[kind])
