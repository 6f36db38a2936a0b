"""Plans side by side, at one budget or over lists: a table, and the error of every plan against what was listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import counted, rounded_down, unrounded
from dpverify.guarantee import Side, ThreatModel
from dpverify.report.layout import Rows
from dpverify.report.tables import (
    Notes,
    changed,
    common_model,
    enough,
    epsilon_of,
    name_lines,
    number,
    plan_notes,
    reading,
    set_parameters,
    shell,
    title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.planning.plan import PlanRow
    from dpverify.planning.sweeps.comparison import Comparison, PlanGrid

__all__ = ["AXES", "grid_errors", "listed", "plan_table", "shown"]

_FEW = 4
"""Plans whose commands are all printed; of more the table would be off the screen."""

AXES: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], str]]] = {
    "budget epsilon": (r"budget $\varepsilon$ (nats)", lambda one: one.budget.exact_epsilon, unrounded),
    "budget delta": (r"budget $\delta$", lambda one: one.budget.exact_delta, unrounded),
    "n": ("users n", lambda one: one.users, lambda value: f"{value:,}"),
    "I": ("instances I", lambda one: one.instances, lambda value: f"{value:,}"),
}
"""What may be listed of a comparison, or but for I of a plan of a density: axis, value, and how that is written."""


def shown(one: Any, name: str) -> str:
    """Return one of these values of what is in a list, as it is written."""
    _, value, write = AXES[name]
    return write(value(one))


def listed(ones: Sequence[Any], names: Iterable[str] = AXES) -> list[str]:
    """Return which of these names have several values."""
    return [name for name in names if len({AXES[name][1](one) for one in ones}) > 1]


def _values(grid: PlanGrid, name: str) -> list[Any]:
    return list(dict.fromkeys(AXES[name][1](one) for one in grid.comparisons))


def _headline(grid: PlanGrid) -> str:
    epsilon, delta, n, count = (", ".join(map(write, _values(grid, name))) for name, (_, _, write) in AXES.items())
    squares = changed("", grid.comparisons[0].change)
    return f"Budgets: epsilon = {epsilon}; delta = {delta}; users: n = {n}; instances: I = {count}{squares}"


def _checked(plans: Sequence[PlanRow], checks: Sequence[tuple[PlanRow, str]], common: ThreatModel) -> list[Text]:
    """Return the commands that check a few plans, or of many those that no other beats."""
    from dpverify.planning.sweeps.fronts import undominated

    if len(checks) <= _FEW:
        return [Text("\nTo check a row, with its parameters in full:"), *shell(*(check for _, check in checks))]
    alike = [row for row in plans if row.guarantee.threat_model is common and row.guarantee.side is Side.UPPER_BOUND]
    best = undominated(alike, lambda row: row.messages_per_user, lambda row: row.bitsum_rmse)
    names = ", ".join(f"{row.bitsum} {row.method}" for row in best)
    commands = {id(row): check for row, check in checks}
    return [
        Text(f"\nIn the {common.value} threat model no row beats these in both error and messages: {names}."),
        Text("To check them, with their parameters in full (of the other rows: --json):"),
        *shell(*(commands[id(row)] for row in best if id(row) in commands)),
    ]


def plan_table(found: Comparison | PlanGrid, *, checks: Sequence[tuple[PlanRow, str]] = ()) -> RenderableType:
    """Return one row per plan, behind the values that were listed, and the reason of every plan that failed.

    - found: As `dpverify.planning.sweeps.comparison` returns it.
    - checks: Commands that check the plans of one budget, with all their parameters; without them, the parameters are
      listed.
    """
    # Here, as the other tables need no engine.
    from dpverify.planning.sweeps.comparison import Comparison, PlanGrid
    from dpverify.planning.sweeps.setting import FailedPlan

    alone, notes = isinstance(found, Comparison), Notes()
    grid = found if isinstance(found, PlanGrid) else PlanGrid((found,))
    one, leading = grid.comparisons[0], listed(grid.comparisons)
    numbers = ("RMSE", "messages", *(("epsilon0", "delta0") if alone else ()), "epsilon")
    table = Rows((*leading, "bitsum", "method", *numbers), (*leading, *numbers))
    guarantees = [row.guarantee for row in grid.plans]
    common = common_model(guarantees)
    for one, row in grid.rows:
        start = [*(shown(one, name) for name in leading), name_lines(row.bitsum)]
        if isinstance(row, FailedPlan):
            table.add_row(*start, Text(row.method + notes.mark(f"no plan: {row.error}")), *["-"] * len(numbers))
            continue
        each = ["-" if row.epsilon0 is None else rounded_down(row.epsilon0, 4)] if alone else []
        each += ["-" if row.delta0 is None else rounded_down(row.delta0, 3)] if alone else []
        # Parameters that are words, where numbers alone are listed below: checks name what concerns privacy only.
        marks = plan_notes(row, common, words=bool(checks) or not alone)
        table.add_row(
            *start,
            Text(row.method + notes.mark(*marks)),
            number(row.bitsum_rmse),
            number(row.messages_per_user),
            *each,
            epsilon_of(row.guarantee, one.budget.exact_epsilon),
        )
    # Below the table: their names and number differ from protocol to protocol.
    details = [Text(f"{row.bitsum}, {row.method}: {set_parameters(row)}") for row in grid.plans if alone]
    if checks:
        details = _checked(grid.plans, checks, common)
    whose, whole, every = "one bitsum", "the whole", "Every row"
    if alone:
        whose, whole = "root mean squared error of one binary sum", "the whole, in nats"
        every = f"At delta = {unrounded(one.budget.exact_delta)}"
    lines = [
        f"RMSE: {'' if alone else 'of '}{whose}, in users. messages: expected per user and instance. "
        f"{'epsilon0, delta0: of one instance, rounded down. ' if alone else ''}epsilon: of {whole}."
    ]
    if grid.plans:
        lines.append(f"{every}: {reading(guarantees)}.")
    lines += dict.fromkeys(
        enough(row.honest, one.users) for one in grid.comparisons for row in one.plans if row.honest is not None
    )
    headline = _headline(grid)
    if alone:
        sizes = changed(f"I = {counted(one.instances, 'instance')}", one.change)
        headline = f"Budget {one.budget}, n = {counted(one.users, 'user')}, {sizes}"
    return Group(title(headline), table, *map(Text, lines), *notes.lines(), *details)


def grid_errors(grid: PlanGrid, axes: Axes | None = None) -> Axes:
    """Draw the error of every plan against what has the most values, one line for each bitsum, method and the rest."""
    from dpverify.report.charts import finished
    from dpverify.report.plots import axes_for, legend_beside

    drawn = axes_for(axes, 7.4, 4.4)
    several = listed(grid.comparisons)
    across = max(several or ["budget epsilon"], key=lambda name: len(_values(grid, name)))
    others = [name for name in several if name != across]
    lines: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for one in grid.comparisons:
        for row in one.plans:
            at = float(AXES[across][1](one))
            key = (row.bitsum, row.method, *(shown(one, name) for name in others))
            lines.setdefault(key, []).append((at, row.bitsum_rmse))
    bitsums = list(dict.fromkeys(key[0] for key in lines))
    kinds = list(dict.fromkeys(key[1:] for key in lines))
    methods = len({key[1] for key in lines})
    for key, points in lines.items():
        said = [str(key[0])] + ([str(key[1])] if methods > 1 else [])
        said += [f"{_short(name)} = {value}" for name, value in zip(others, key[2:], strict=True)]
        kind = kinds.index(key[1:])
        drawn.plot(
            *zip(*sorted(points), strict=True),
            color=_COLOURS[bitsums.index(key[0]) % len(_COLOURS)],
            linestyle=_DASHES[kind % len(_DASHES)],
            marker=_MARKERS[kind % len(_MARKERS)],
            markersize=4,
            label=", ".join(said),
        )
    one = grid.comparisons[0]
    fixed = [f"{_short(name)} = {shown(one, name)}" for name in AXES if name not in several]
    # At delta = 0, which is a value like others, no axis is logarithmic.
    log = "xy" if min(_values(grid, across)) > 0 else "y"
    finished(drawn, AXES[across][0], "RMSE of one bitsum, in users", ", ".join(fixed), log)
    if lines:
        legend_beside(drawn)
    return drawn


def _short(name: str) -> str:
    return name.removeprefix("budget ")


# Told apart in print and by the colour-blind (Okabe and Ito).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#7A5195")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
