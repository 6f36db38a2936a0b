"""What a classifier has learned from a file, as a terminal table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from dpverify.learning.evaluate import Learned

__all__ = ["learned_table"]

_MOST_CLASSES = 20


def learned_table(learned: Learned) -> RenderableType:
    """Return the guarantee, the accuracy, and one row per class.

    Parameters
    ----------
    learned : Learned
        As `dpverify.learning.evaluate.learn` returns it.
    """
    made = learned.classifier
    kernel = made.kernel if made.bandwidth_ is None else f"{made.kernel} kernel, bandwidth {made.bandwidth_:.3g}"
    title = f"{learned.users:,} users, {len(made.classes_):,} classes, d = {made.n_features_in_:,}, {kernel}"
    table = Rows(("class", "reported by", "noise"), ("reported by", "noise"))
    rows = list(zip(made.classes_.tolist(), made.reported_counts_.tolist(), made.noise_.tolist(), strict=True))
    for label, users, noise in rows[:_MOST_CLASSES]:
        table.add_row(str(label), f"{users:,}", f"{noise:.2g}")
    lines = [f"and {len(rows) - _MOST_CLASSES:,} more classes"] if len(rows) > _MOST_CLASSES else []
    lines.append(
        "noise: standard deviation of a class's density, at a query of norm 1; the kernel is at most 1. reported by: "
        "how many users published this label."
    )
    interval = learned.accuracy_interval
    if interval is not None:
        lines.append(
            f"Accuracy: {learned.accuracy:.3f} on {learned.tested:,} rows that took no part "
            f"([{math.floor(1e3 * interval.lower) / 1e3:.3f}, {math.ceil(1e3 * interval.upper) / 1e3:.3f}] with "
            "confidence .95); it is not private towards these."
        )
    lines.append(f"Privacy: {made.guarantee_}.")
    return Group(Text(title, style="bold"), table, *map(Text, lines))
