"""What batches say as a table and a figure: estimates with their intervals, and alarms."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.collection.query import ONE_OF
from dpverify.digits import rounded_up
from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.collection.analysis.aggregate import Aggregate, Estimate

__all__ = ["aggregate_bars", "aggregate_table"]

_MOST = 10
"""Of a query's buckets or cells that are shown: those with the largest estimates."""
_REAL = ("numbers", "weights", "vector")
"""What is asked where sums need not be whole."""


def aggregate_bars(found: Aggregate, axes: Axes | None = None) -> Axes:
    """Draw the intervals: means on the scale of their levels, all else each of its query's range."""
    from dpverify.report.plots import axes_for

    rows = _shown(found)
    drawn = axes_for(axes, 6.4, 1.2 + 0.3 * len(rows))
    places = range(len(rows), 0, -1)
    # A mean of levels has a scale of its own, above where there are others; of these each is drawn as a share of its
    # query's largest end.
    of_levels = {row.of == "levels" for row in rows}
    means = drawn.twiny() if len(of_levels) > 1 else drawn
    largest = {row.query: max(max(r.high, r.value) for r in rows if r.query == row.query) or 1.0 for row in rows}
    for place, row in zip(places, rows, strict=True):
        on, scale, color = (means, 1.0, "C1") if row.of == "levels" else (drawn, largest[row.query], "C0")
        if row.low <= row.high:
            on.plot([row.low / scale, row.high / scale], [place, place], color=color, solid_capstyle="butt")
        on.plot([row.value / scale], [place], "o", color=color)
    drawn.set_yticks(list(places), [_name(row) for row in rows])
    drawn.set_ylim(0.5, len(rows) + 0.5)
    if False in of_levels:
        drawn.set_xlabel("share of the largest of the query")
    if True in of_levels:
        means.set_xlabel("mean level", color="C1")
    drawn.set_title(_title(found))
    return drawn


def _title(found: Aggregate) -> str:
    return f"{', '.join(found.batches) or 'sums'}: {max(found.users.values()):,} users"


def _name(row: Estimate) -> str:
    place: object = row.instance if row.bucket is None else row.bucket
    if row.of == "density":
        place = f"at point {row.bucket}" + ("" if row.instance is None else f", class {row.instance}")
    if row.of == "rappor":
        return f"{row.query} {row.strings[0]!r}"
    named = f" ({', '.join(map(repr, row.strings))})" if row.strings else ""
    return row.query if place is None else f"{row.query} {place}{named}"


def _shown(found: Aggregate) -> list[Estimate]:
    rows = []
    for name in found.users:
        of = [row for row in found.estimates if row.query == name]
        rows += sorted(of, key=lambda row: -row.value)[:_MOST] if of and of[0].of in (*ONE_OF, "rappor") else of
    return rows


def _outwards(end: float, digits: int, rounding: str) -> str:
    """Return an end of an interval, outside of it where it is rounded."""
    rounded = Context(prec=1_000, rounding=rounding).quantize(Decimal(end), Decimal(1).scaleb(-digits))
    return f"{rounded:,.{digits}f}"


def aggregate_table(found: Aggregate) -> RenderableType:
    """Return a row for each estimate, of buckets the largest ones, and a line for each alarm."""
    rows = Rows(("query", "asks", "estimate", "low", "high"), ("estimate", "low", "high"))
    for row in _shown(found):
        digits = 4 if row.of in ("levels", "density") else 0
        if row.of in _REAL and 0.0 < row.high - row.low < 10.0:  # two of the interval's width
            digits = 1 - math.floor(math.log10(row.high - row.low))
        ends = [f"{end:,.0f}" for end in (row.low, row.high)]  # whole truths are between those that are near
        if digits or row.of in _REAL:
            ends = [_outwards(row.low, digits, ROUND_FLOOR), _outwards(row.high, digits, ROUND_CEILING)]
        value = f"{row.value:,.{digits}f}"
        rows.add_row(_name(row), row.of, value, *(ends if row.low <= row.high else ["none", "none"]))
    all_of = "and of a query's buckets, cells or candidates, of all together"
    lines = [f"{found.confidence:.4g} confidence: of each interval, {all_of}."]
    if any(row.low > row.high for row in found.estimates):
        lines.append("none: a batch that no true sum leaves, by that confidence.")
    if any(row.low <= row.high and not row.low <= row.value <= row.high for row in found.estimates):
        lines.append("Estimates are unbiased, and may be more or less than users can hold; intervals are not.")
    for name in dict.fromkeys(row.query for row in found.estimates if row.of in ONE_OF):
        first, others = found.most_frequent(name)
        lines.append(f"{name}: {first.bucket} is the most frequent by its estimate, of {len(others):,} that may be it.")
    for name, density in found.densities.items():
        classes = "" if density.signs.classes == 1 else f"{density.signs.classes} classes, "
        of, rmse = f"{classes}{density.signs.features:,} waves", rounded_up(density.sup_rmse, 3)
        lines.append(f"{name}: a density, {of}; it errs by {rmse} at any point, at most (root mean square).")
    if found.spent is not None:
        lines.append(f"The ledger has spent epsilon {rounded_up(found.spent, 6)} with this.")
    said = [f"ALARM, {alarm.query}: {alarm.reason}" for alarm in found.alarms]
    said = said or [f"No alarm, which users who follow the protocols raise with at most {found.level:g}."]
    return Group(Text(_title(found), style="bold"), rows, *map(Text, [*lines, *said]))
