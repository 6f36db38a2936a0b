"""The plots of a report: each a figure for the page, and the same numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverify.digits import counted, rounded_down, rounded_up, unrounded
from dpverify.dossier.contents import Curve, Curves, Dossier
from dpverify.guarantee import Interval
from dpverify.planning.crowds import Crowd
from dpverify.planning.sums.fronts import SumFront
from dpverify.planning.sums.vectors import VectorFront, central_rmse
from dpverify.report.charts import Series, chart
from dpverify.report.html.svg import Mark, svg
from dpverify.report.plans.means import span_of
from dpverify.report.plots import figure_of
from protocols.classes.frozen import dataclass

__all__ = ["Plot", "beside_curves", "crowd_curves", "interval", "missing", "plots"]

_DIGITS = 5
_SIZE = (4.2, 3.5)
"""Inches: a unit of the SVG is then about a pixel on a phone, where its text must be read."""
_MOST_LOSSES = 1_000
_DEEPEST = 1e-6
"""Of the budget's delta: what is below is in the table only."""
_APART = 0.17
"""Between the numbers below an axis, in its lengths."""


@dataclass(frozen=True)
class Plot:
    """A figure with its numbers.

    - name: Its identifier on the page.
    - title: What it shows.
    - lead: How to read it, in a sentence or two.
    - figure: The SVG element.
    - headers: Of the table: the x axis, and one for each line.
    - rows: Of the table; an empty cell is where nothing is known.
    - notes: What is missing, and why.
    """

    name: str
    title: str
    lead: str
    figure: Markup
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def interval(end: Interval | None) -> str:
    """Return an interval in a few digits, rounded outwards; one number where its ends are one."""
    if end is None:
        return ""
    if end.lower == end.upper:
        return _few(end.upper)
    return f"[{rounded_down(end.lower, _DIGITS)}, {rounded_up(end.upper, _DIGITS)}]"


def _plot(
    name: str,
    title: str,
    lead: str,
    curves: Curves,
    *,
    x: str,
    y: str,
    log: Literal["", "x", "y", "xy"],
    level: tuple[str, float] | None = None,
    shown: Callable[[float], str] = unrounded,
    floor: float = 0.0,
    ticks: bool = False,
    falling: bool = False,
) -> Plot | None:
    """Return a plot of curves, or None where nothing is known at all."""
    if not curves.lines:
        return None
    figure, (axes,) = figure_of(*_SIZE)
    series, marks = [], []
    for number, line in enumerate(curves.lines):
        drawn = [(at, end) for at, end in zip(line.x, line.y, strict=True) if _can_be_drawn(at, end, log, floor)]
        ends = [end for _, end in drawn if end is not None]
        kind: Literal["steps", "line"] = "steps" if line.steps else "line"
        series.append(Series(line.label, [at for at, _ in drawn], ends, kind))
        for at, end in zip((at for at, _ in drawn), ends, strict=True):
            text = f"{line.label}: {x} {shown(at)}, {y} {interval(end)}"
            marks.append(Mark(number, at, end.upper, text))
    chart(series, x=x, y=y, log=log, level=level, axes=axes)
    if ticks:
        _ticks(axes, [at for line in curves.lines for at in line.x], shown)
    if falling:
        axes.invert_xaxis()
    if floor:
        axes.set_ylim(floor, 2.0)  # of probabilities
    _legend_above(figure, axes)
    return Plot(
        name,
        title,
        lead,
        Markup(svg(figure, axes, name, marks)),
        (x, *(line.label for line in curves.lines)),
        _rows(curves.lines, shown),
        curves.notes,
    )


def _legend_above(figure: Figure, axes: Axes) -> None:
    """Move the legend out of the way of the lines, in as many columns as the figure is wide enough for."""
    handles, labels = axes.get_legend_handles_labels()
    if (legend := axes.get_legend()) is None:
        return
    legend.remove()
    for columns in (2, 1):
        legend = figure.legend(
            handles, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize="small"
        )
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _ticks(axes: Axes, places: Sequence[float], shown: Callable[[float], str]) -> None:
    """Write numbers where points are, as far as they do not overlap."""
    chosen: list[float] = []
    lengths = {
        place: float(axes.transAxes.inverted().transform(axes.transData.transform((place, 1.0)))[0]) for place in places
    }
    for place in sorted(lengths, key=lambda place: -lengths[place]):
        if not chosen or lengths[chosen[-1]] - lengths[place] >= _APART:
            chosen.append(place)
    axes.minorticks_off()
    axes.set_xticks(chosen, [shown(place) for place in chosen])


def _can_be_drawn(at: float, end: Interval | None, log: str, floor: float) -> bool:
    if end is None or math.isinf(end.upper):
        return False
    return (at > 0 or "x" not in log) and (end.upper > floor or "y" not in log)


def _rows(lines: Sequence[Curve], shown: Callable[[float], str]) -> tuple[tuple[str, ...], ...]:
    found = [dict(zip(line.x, line.y, strict=True)) for line in lines]
    places = sorted({at for line in lines for at in line.x})
    return tuple((shown(at), *(interval(values.get(at)) for values in found)) for at in places)


def crowd_curves(crowd: Crowd) -> Curves:
    """Return epsilon against the share of honest users as curves, with the reasons of what is not known."""
    shares = tuple(float(fraction) for fraction in crowd.fractions)
    lines = tuple(Curve(row.plan.bitsum, shares, row.epsilons) for row in crowd.plans)
    reasons = [f"{row.plan.bitsum}: {error}" for row in crowd.plans for error in row.errors]
    reasons += [f"{row.bitsum}: {row.error}" for row in crowd.failures]
    return Curves(lines, tuple(reasons))


def beside_curves(front: SumFront | VectorFront) -> tuple[str, float, Curves]:
    """Return what is summed, a curator's error, and each protocol's error against messages as curves."""
    if isinstance(front, SumFront):
        what, curator = span_of(front), front.curator
        points = [(row.name, row.messages, row.rmse) for row in front.rows]
    else:
        what, curator = (
            f"vectors of norm at most 1, d = {front.dimension:,}",
            central_rmse(front.budget, front.dimension),
        )
        points = [("signed unary messages", row.messages_per_user, row.rmse) for row in front.plans]
        # By family, PREAMBLE with all blocks or some: four curves can be told apart.
        points += [(row.name.split(",")[0], float(row.messages), row.rmse) for row in front.peers]
    lines = []
    for name in dict.fromkeys(name for name, _, _ in points):
        # Of as many messages the least error counts.
        best = {x: y for _, x, y in sorted((p for p in points if p[0] == name), key=lambda p: (p[1], -p[2]))}
        lines.append(Curve(name, tuple(best), tuple(Interval(y, y) for y in best.values())))
    return what, curator, Curves(tuple(lines), tuple(front.failures.values()))


def _few(value: float) -> str:
    return f"{value:.4g}" if value < 1e3 else f"{value:,.0f}"


def missing(dossier: Dossier, drawn: Collection[str], names: Sequence[str]) -> list[str]:
    """Return why some of these plots are not drawn, once each."""
    known = {
        "profile": dossier.profile.notes,
        "tail": dossier.tail.notes,
        "loss": dossier.losses.notes,
        "users": dossier.by_users.notes,
        "epsilon": dossier.by_epsilon.notes,
        "crowd": tuple(filter(None, [dossier.left_out.get("crowd")])),
        **{f"beside-{place}": tuple(each.failures.values()) for place, each in enumerate(dossier.beside)},
        "evidence": () if dossier.audit is None else _evidence(dossier.audit.report).notes,
    }
    return list(dict.fromkeys(note for name in names if name not in drawn for note in known[name]))


def plots(dossier: Dossier) -> dict[str, Plot]:
    """Return the plots of a report by name, but for those of which nothing is known."""
    plans, chosen = dossier.plans, dossier.chosen
    budget = plans.budget
    whole = f"all {plans.instances:,} sums together" if plans.instances > 1 else "the sum"
    made = [
        _plot(
            "profile",
            "Privacy profile",
            f"Epsilon of {whole} at every delta. An exact law gives an interval that contains the truth, drawn in its "
            "whole width: mostly thinner than the line.",
            dossier.profile,
            x="δ",
            y="ε (nats)",
            log="xy",
            level=("budget", budget.epsilon),
        ),
        _plot(
            "tail",
            "Delta against epsilon",
            f"The least δ for which {whole} can be (ε, δ)-private, at every ε: the same curve, asked the other way "
            "round.",
            dossier.tail,
            x="ε (nats)",
            y="δ",
            log="y",
            level=("budget", budget.delta),
            floor=_DEEPEST * budget.delta,
        ),
        _plot(
            "loss",
            "Privacy loss of one sum",
            "How likely a loss of at least x is in one sum, for a pair of neighbouring inputs that is among the worst. "
            "The further left, the more private.",
            dossier.losses,
            x="x (nats)",
            y="P[loss ≥ x]",
            log="y",
            shown=lambda value: f"{value:.4g}",
        ),
        _plot(
            "users",
            "Error against the number of users",
            f"Root mean squared error of one sum, in users, of a plan for the same budget {budget} with n users.",
            dossier.by_users,
            x="n",
            y="RMSE (users)",
            log="xy",
            shown=_few,
            ticks=True,
        ),
        _plot(
            "epsilon",
            "Error against epsilon",
            f"Root mean squared error of one sum, in users, of a plan for {counted(plans.users, 'user')} and another "
            f"epsilon at δ = {unrounded(budget.exact_delta)}.",
            dossier.by_epsilon,
            x="ε (nats)",
            y="RMSE (users)",
            log="xy",
            ticks=True,
        ),
    ]
    if dossier.crowd is not None:
        made.append(
            _plot(
                "crowd",
                "Epsilon against honest users",
                "What is left of each plan if only this share of the users follows the protocol, and the adversary "
                "knows all that the others send, or they stay away. No point is where epsilon is infinite.",
                crowd_curves(dossier.crowd),
                x="share of honest users",
                y="ε (nats)",
                log="xy",
                level=("budget", budget.epsilon),
                ticks=True,
                falling=True,
            )
        )
    for place, front in enumerate(dossier.beside):
        what, curator, curves = beside_curves(front)
        made.append(
            _plot(
                f"beside-{place}",
                f"Sums of {what}",
                f"Root mean squared error of one such sum, in units of 1, against the messages of a user, at {budget}; "
                "as level that of a trusted curator's Gaussian noise.",
                curves,
                x="messages of a user",
                y="RMSE",
                log="xy",
                level=("curator", curator),
                shown=_few,
            )
        )
    if dossier.audit is not None:
        made.append(
            _plot(
                "evidence",
                "Privacy loss of the outputs",
                f"The loss of what was really put out, with the band that a correct implementation leaves seldom, and "
                f"that of the law which {chosen.bitsum} must have.",
                _evidence(dossier.audit.report),
                x="x (nats)",
                y="P[loss ≥ x]",
                log="y",
                shown=lambda value: f"{value:.4g}",
            )
        )
    return {plot.name: plot for plot in made if plot is not None}


def _evidence(report: object) -> Curves:
    """Return the loss of an audit's outputs and the exact one; a reason where the file holds anything but numbers."""
    rows = report.get("loss_rows") if isinstance(report, dict) else None
    keys = ("loss", "lower", "upper", "exact")
    if not isinstance(rows, (list, tuple)) or not rows:
        return Curves((), ("No plot of the outputs' privacy loss: the audit has no finite losses with a known law.",))
    if len(rows) > _MOST_LOSSES:
        return Curves((), (f"No plot of the outputs' privacy loss: the audit has more than {_MOST_LOSSES:,} losses.",))
    try:
        values = [tuple(float(row[key]) for key in keys) for row in rows]
        if not all(math.isfinite(value) for row in values for value in row):
            raise ValueError("infinite or nan")
        x = tuple(row[0] for row in values)
        outputs = tuple(Interval(row[1], row[2]) for row in values)
    except (TypeError, KeyError, ValueError, OverflowError):
        return Curves((), ("No plot of the outputs' privacy loss: the losses in the audit are no finite numbers.",))
    exact = tuple(Interval(row[3], row[3]) for row in values)
    return Curves((Curve("exact", x, exact), Curve("outputs, band", x, outputs)))
