"""What the best attacker reaches, as a table and as a figure."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import rounded, rounded_down, rounded_up, unrounded
from dpverify.guarantee import Adjacency
from dpverify.report.tables import rows_under, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.risks.meaning import Meaning

__all__ = ["meaning_rows", "meaning_table", "trade_off_figure"]

_DIGITS = 6
_WORDS = {
    "advantage": "advantage",
    "false negatives": "false negatives at rate {}",
    "guess at a prior": "guess at prior {}",
    "guess of a value": "guess among {} values",
}
_NEIGHBOURS = {
    Adjacency.REPLACE_ONE: "two inputs of one user",
    Adjacency.ADD_REMOVE: "whether a record is there",
    Adjacency.ZERO_OUT: "whether a record adds nothing",
}


def meaning_rows(meaning: Meaning) -> list[dict[str, str]]:
    """Return what is asked, what is reached blindly, and both ends of what the best attacker reaches, as texts."""
    return [
        {
            "about": _WORDS[risk.attack.value].format("" if risk.at is None else unrounded(risk.at)),
            "blind": rounded(risk.blind, _DIGITS),
            "least": rounded_down(risk.least, _DIGITS),
            "most": rounded_up(risk.most, _DIGITS),
        }
        for risk in meaning.risks
    ]


def meaning_table(meaning: Meaning) -> RenderableType:
    """Return what the best attacker reaches, one row for each question, and who she is."""
    table = rows_under("the best", "neighbours", "view", numbers=("blind", "at least", "at most"))
    for risk, row in zip(meaning.risks, meaning_rows(meaning), strict=True):
        of = risk.guarantee
        table.add_row(row["about"], of.adjacency.value, of.threat_model.value, row["blind"], row["least"], row["most"])
    told = f"To be told apart: {_NEIGHBOURS[meaning.guarantee.adjacency]}; all else is known. Blind: without the view."
    return Group(title("What the best attacker reaches"), table, Text(told))


def trade_off_figure(meaning: Meaning, axes: Axes | None = None) -> Axes:
    """Draw the least false negatives against the rate of false positives, as a band between its two ends.

    - meaning: As `meaning()` of an account returns it.
    - axes: Where; on a figure of its own when omitted.
    """
    from dpverify.report.plots import STYLES, axes_for

    drawn = axes_for(axes, 4.8, 4.4)
    rates = [Fraction(step, 100) for step in range(101)]
    lower, upper = (np.array(ends, dtype=float) for ends in zip(*map(meaning.trade_off, rates), strict=True))
    shown = np.array(rates, dtype=float)
    (colour, dash, _), (other, other_dash, _), (third, third_dash, _), _ = STYLES
    drawn.fill_between(shown, lower, upper, color=colour, alpha=0.25, linewidth=0)
    drawn.plot(shown, lower, color=colour, linestyle=dash, label="no attacker is below (proved)")
    drawn.plot(shown, upper, color=other, linestyle=other_dash, label="the best is not above")
    point = meaning.guarantee
    if point.epsilon < math.inf:
        power = math.exp(min(point.epsilon, 700.0))
        alone = np.maximum(1.0 - point.delta - power * shown, (1.0 - point.delta - shown) / power)
        label = f"({point.epsilon:.4g}, {point.delta:.3g}) alone"
        drawn.plot(shown, np.maximum(alone, 0.0), color=third, linestyle=third_dash, label=label)
    drawn.plot([0.0, 1.0], [1.0, 0.0], color="0.6", linewidth=0.8, linestyle=":", label="blind")
    drawn.set_xlabel("false positives")
    drawn.set_ylabel("false negatives")
    drawn.grid(which="major", alpha=0.3)
    drawn.legend(frameon=False, fontsize="small")
    about = f"{point.adjacency.value}, {point.threat_model.value} threat model"
    drawn.set_title(f"{meaning.name}, {about}", loc="left", fontsize="medium")
    return drawn
