"""Designs as a table and a figure: what binds, and how much every query errs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from dpverify.digits import counted, rounded_up, unrounded
from dpverify.report.layout import Rows
from dpverify.report.tables import not_a_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.collection.design import Design
    from dpverify.collection.query import Query

__all__ = ["design_bars", "design_table"]


def design_bars(found: Design, axes: Axes | None = None) -> Axes:
    """Draw the relative error of every query."""
    from dpverify.report.charts import bars_on

    names, errors = [row.query.name for row in found.queries], [row.relative_error for row in found.queries]
    return bars_on(axes, names, errors, x="relative error", title=_title(found))


def _title(found: Design) -> str:
    honest = (
        "" if found.honest is None else f", {found.honest:,} of them honest{not_a_share(found.honest, found.users)}"
    )
    return f"{counted(found.users, 'user')}{honest}"


def _asks(query: Query) -> str:
    if query.number is not None:
        low, high = query.number
        within = f"{'a number' if query.real else 'an integer'} from {low:,} to {high:,}"
        return within if query.categories is None else f"{within}, {query.categories:,} categories"
    size = f"{getattr(query, query.kind):,}"
    if query.density is None:
        return f"{size} {query.kind}"
    return f"density, {size} waves" + ("" if query.classes == 1 else f", {counted(query.classes, 'class', 'classes')}")


def design_table(found: Design) -> Group:
    """Return a row for each query and for each budget."""
    weights = ("weight",) if len({row.query.weight for row in found.queries}) > 1 else ()
    numbers = (*weights, "RMSE", "relative", "upload")
    rows = Rows(("query", "asks", "bitsum", "noise", *numbers), numbers)
    for row in found.queries:
        drawn = {name: value for name, value in row.parameters.items() if name not in ("smallest", "largest")}
        noise = ", ".join(f"{value:.4g}" for value in drawn.values() if isinstance(value, float))
        rows.add_row(
            row.query.name,
            _asks(row.query),
            row.bitsum,
            noise,
            *(f"{float(row.query.weight):g}" for _ in weights),
            rounded_up(row.rmse, 4),
            f"{rounded_up(100.0 * row.relative_error, 3)} %",
            f"{math.ceil(row.upload / 8.0):,} B",
        )
    limits = Rows(("days", "epsilon", "delta", "changed sums", "spends at most", ""), ("days", "changed sums"))
    for limit in found.limits:
        limits.add_row(
            f"{limit.days:,}",
            unrounded(limit.budget.exact_epsilon),
            unrounded(limit.budget.exact_delta),
            f"{limit.changed:,}",
            rounded_up(limit.guarantee.epsilon, 6, within=limit.budget.exact_epsilon),
            "binds" if limit.binds else "",
        )
    others = [
        f"Beside them, by a trusted curator: at most {each.instances:,} x {each.step}"
        + ("." if each.days is None else f" in any {counted(each.days, 'day')}.")
        for each in found.beside
    ]
    others += [
        f"{row.query.name}: the middle of all possible answers, without any message, errs less."
        for row in found.queries
        if row.relative_error > (0.5 if row.query.vector is None else 1.0)
    ]
    if any(row.query.number is not None for row in found.queries):
        others.append("Of numbers: RMSE in their unit, noise of shares p and r, relative to the range of all users.")
    guarantee = found.limits[0].guarantee
    lines = (
        "noise: the flip probability of rr, the mean of poisson. RMSE: exact, of one sum, in users. relative: of all "
        "users; of a mean, to its range; of a density, to the kernel's largest value, without what its waves err. "
        "upload: what a user sends a day, at most on average, without addresses. "
        "changed sums: those that replacing one user may change.",
        f"{guarantee.side.value.capitalize()}s of everything together, {guarantee.adjacency.value} adjacency (all that "
        f"a user sends in these days), {guarantee.threat_model.value} threat model.",
    )
    return Group(Text(_title(found), style="bold"), rows, limits, *map(Text, (*others, *lines)))
