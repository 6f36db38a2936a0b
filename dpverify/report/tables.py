"""Results as terminal tables, readable at any width and without colour."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from dpverify.changes import Change, Full
from dpverify.digits import counted, rounded_down, rounded_toward, rounded_up, unrounded
from dpverify.guarantee import Side, ThreatModel
from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from dpverify.demo import DemoResult
    from dpverify.guarantee import Guarantee
    from dpverify.planning.plan import PlanRow
    from dpverify.planning.result import AccountResult
    from dpverify.planning.schedules.result import ScheduleResult
    from dpverify.planning.steps.account import StepsResult
    from dpverify.planning.steps.step import Steps

__all__ = [
    "WIDTH",
    "Notes",
    "account_table",
    "as_text",
    "changed",
    "common_model",
    "demo_table",
    "enough",
    "epsilon_of",
    "name_lines",
    "number",
    "plan_notes",
    "plan_row_table",
    "point_of",
    "reading",
    "rows_under",
    "set_parameters",
    "shell",
    "steps_table",
    "title",
]

WIDTH = 80
"""The width in columns that tables are laid out for where there is no terminal."""
_LONG = 17
"""Columns that a name may take."""
_MOST_STEPS = 12
"""Of different steps; more are left out."""


def as_text(table: RenderableType) -> str:
    """Return a table as plain text, without spaces at the ends of lines."""
    # In a notebook a console would also display what it prints, here nothing.
    screen = Console(
        file=io.StringIO(), width=WIDTH, highlight=False, color_system=None, force_terminal=False, force_jupyter=False
    )
    with screen.capture() as captured:
        screen.print(table, markup=False)
    return "\n".join(line.rstrip() for line in captured.get().rstrip().split("\n"))


def number(value: float | None, digits: int = 4) -> str:
    """Return a number to a few digits, with thousands separators rather than an exponent where it is large."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.{digits}g}"


def rows_under(*columns: str, numbers: Sequence[str] = ()) -> Rows:
    """Return rows under these columns, with those of numbers behind the others."""
    return Rows((*columns, *numbers), numbers)


class Notes:
    """Footnotes, each text numbered once."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def mark(self, *texts: str) -> str:
        """Return the marks of some texts, such as " [1,3]"; empty for none."""
        for text in texts:
            if text not in self._texts:
                self._texts.append(text)
        return f" [{','.join(str(self._texts.index(text) + 1) for text in texts)}]" if texts else ""

    def lines(self) -> list[Text]:
        """Return the texts behind their numbers."""
        return [Text(f"[{number}] {text}") for number, text in enumerate(self._texts, 1)]


def title(text: str) -> Text:
    """Return the line above a table."""
    # Not the table's own title, which would be folded to the width of a narrow table.
    return Text(text, style="bold")


def _parameters(parameters: Mapping[str, Any], limits: Mapping[str, float] | None = None) -> str:
    """Return parameters in few digits where they get more private towards a limit, and in full where not."""
    return ", ".join(f"{name}={_parameter(value, (limits or {}).get(name))}" for name, value in parameters.items())


def _parameter(value: Any, limit: float | None) -> str:
    if isinstance(value, Mapping):
        return f"{value['name']}({_parameters({key: part for key, part in value.items() if key != 'name'})})"
    if value is None or isinstance(value, (str, bool)):
        return str(value)
    return unrounded(value) if limit is None else rounded_toward(value, limit, 8)


def common_model(guarantees: Sequence[Guarantee]) -> ThreatModel:
    """Return the threat model of most guarantees of a table; of others a footnote says so (`plan_notes`)."""
    models = [guarantee.threat_model for guarantee in guarantees]
    return max(models, key=models.count, default=ThreatModel.COMMUNICATION)


def reading(guarantees: Sequence[Guarantee]) -> str:
    """Return what the guarantees of a table have in common besides their numbers."""
    read = "; ".join(sorted({f"{g.side.value}, {g.adjacency.value} adjacency" for g in guarantees}))
    others = " unless noted" if len({g.threat_model for g in guarantees}) > 1 else ""
    return f"{read}, {common_model(guarantees).value} threat model{others}"


def shell(*lines: str) -> list[Text]:
    """Return lines for the shell, which a narrow terminal does not break: they can be copied."""
    return [Text(line, no_wrap=True, overflow="ignore") for text in lines for line in text.split("\n")]


def _upper(value: float, digits: int, within: float | Fraction = math.inf) -> str:
    """Return an upper bound, rounded up, with thousands separators where it is large."""
    if not 1e3 <= value < 1e9:
        return rounded_up(value, digits, within=within)
    return f"{Decimal(rounded_up(value, max(digits, len(str(int(value)))), within=within)):,f}"


def epsilon_of(guarantee: Guarantee, within: float | Fraction = math.inf) -> str:
    """Return what a guarantee spends, rounded up but not beyond a budget that it is within."""
    return _upper(guarantee.epsilon, 5, within) + ("" if guarantee.side is Side.UPPER_BOUND else " (unproved)")


def plan_notes(row: PlanRow, common: ThreatModel, *, words: bool = True) -> list[str]:
    """Return what a reader of a plan must know that a table's columns do not say.

    - row: The plan.
    - common: That of most plans of the table, which need not be said.
    - words: Whether to add the parameters that are words.
    """
    adversary = row.guarantee.threat_model
    special = [] if adversary is common else [f"{adversary.value} threat model"]
    if words:
        special += [f"{name}={value}" for name, value in row.parameters.items() if isinstance(value, str)]
    return [*row.notes, *_in_vain(row), *special]


def _in_vain(row: PlanRow) -> list[str]:
    """Return what to say of an error that is larger than the largest of n/2."""
    half = row.bitsum_rmse > row.protocol.users / 2
    return ["answering n/2, without any message, errs less"] if half else []


def plan_row_table(row: PlanRow) -> RenderableType:
    """Return one plan: its parameters, its error and messages, and what it guarantees."""
    return Group(
        title(f"{row.bitsum}, {row.method}, n = {counted(row.protocol.users, 'user')}"),
        Text(set_parameters(row)),
        Text(f"RMSE of one bitsum: {number(row.bitsum_rmse)} users"),
        Text(f"messages per user and instance: {number(row.messages_per_user)} expected"),
        Text(f"the whole: {row.guarantee}"),
        *([] if row.honest is None else [Text(enough(row.honest, row.protocol.users))]),
        *(Text(f"{note}.") for note in (*row.notes, *_in_vain(row))),
    )


def name_lines(bitsum: str) -> str:
    """Return a name in two lines, at its last hyphen, where it would take the place of other columns."""
    start, hyphen, end = bitsum.rpartition("-")
    return f"{start}-\n{end}" if len(bitsum) > _LONG and hyphen else bitsum


def set_parameters(row: PlanRow) -> str:
    """Return what was set for one instance."""
    from dpverify.claims.bitsum import claims_of

    share = ""
    if row.epsilon0 is not None and row.delta0 is not None:
        # What an instance may spend.
        share = f", epsilon0={rounded_down(row.epsilon0, 4)}, delta0={rounded_down(row.delta0, 3)}"
    limits = claims_of(row.protocol).more_private_towards
    return f"{_parameters(row.parameters, limits)} ({row.composition} composition{share})"


def account_table(result: AccountResult) -> RenderableType:
    """Return the point of the privacy curve that was computed, as an interval."""
    sizes = _instances(result)
    if result.users is not None:
        sizes = f"n = {counted(result.users, 'user')}, {sizes}"
    headline = f"{result.name} ({_parameters(result.parameters)}), {sizes}"
    return Group(
        title(headline),
        point_of(result),
        Text(f"At most: {reading([result.guarantee])}."),
        *([] if isinstance(result.change, Full) else [Text(f"Change: {result.change}.")]),
        *([] if result.honest is None else [Text(_honest(result.honest, result.users))]),
        *(Text(f"Datasets: {note}.") for note in result.notes),
    )


def point_of(result: AccountResult | ScheduleResult) -> Rows:
    """Return the point of a privacy curve as a table."""
    table = rows_under("", numbers=("at least", "at most"))
    for name, interval in (("epsilon", result.epsilon), ("delta", result.delta)):
        # What was given is one number, not the floats next to it; what was computed is rounded outwards.
        if name == result.asked or interval.lower == interval.upper:
            known = unrounded(result.at if name == result.asked else interval.lower)
            table.add_row(name, known, known)
        else:
            table.add_row(name, rounded_down(interval.lower, 10), rounded_up(interval.upper, 10))
    return table


def steps_table(result: StepsResult) -> RenderableType:
    """Return what steps of a trusted curator give, as an interval, and what is assumed."""
    steps = result.steps
    return Group(
        title(f"{_steps(steps)}, {steps.adjacency.value}"),
        *(Text(f"{count:,} x {step}") for step, count in steps.parts[:_MOST_STEPS]),
        *([Text("...")] if len(steps.parts) > _MOST_STEPS else []),
        point_of(result),
        Text(f"At most: {reading([result.guarantee])}."),
        *(Text(f"Note: {note}.") for note in result.notes),
    )


def _steps(steps: Steps) -> str:
    """Return how many steps there are, one by one and in passes."""
    from dpverify.planning.steps.allocation import RandomAllocation

    in_passes = [(step.steps, count) for step, count in steps.parts if isinstance(step, RandomAllocation)]
    single = steps.number - sum(count for _, count in in_passes)
    passes = [
        f"{counted(count, 'pass', 'passes')} of {counted(each, 'noisy step')}"
        for each, count in in_passes[:_MOST_STEPS]
    ]
    more = ["..."] if len(in_passes) > _MOST_STEPS else []
    return ", ".join([*([counted(single, "noisy step")] if single else []), *passes, *more])


def not_a_share(honest: int, users: int) -> str:
    """Return what to add to a number of honest users that may have been meant as a percentage of all users."""
    return f" (a number, not {honest} %, which is {honest / 100})" if honest <= 100 and 2 * honest < users else ""


def enough(honest: int, users: int) -> str:
    """Return on whom a guarantee depends."""
    who = f"{honest:,} of {users:,} users{not_a_share(honest, users)}"
    return f"This holds as long as {who} follow the protocol, whatever the others send."


def _honest(honest: int, users: int | None) -> str:
    who = f"{honest:,} of {users:,} users{not_a_share(honest, users or 0)}"
    return f"Honest: {who}; what the others send is known, or they stay away."


def _instances(result: AccountResult) -> str:
    """Return how many bitsums or runs of another protocol there are, and how much changes where that is not all."""
    from protocols.bitsum.base import BitsumProtocol

    change = result.change
    if isinstance(result.protocol, BitsumProtocol):
        shown = f"I = {counted(change.instances, 'instance')}"
    else:
        shown = "1 run" if change.instances == 1 else f"{change.instances:,} runs"
    return changed(shown, change)


def changed(shown: str, change: Change) -> str:
    """Return what is there, and how much of it changes where that is not all."""
    return shown if isinstance(change, Full) else f"{shown}, T^2 = {unrounded(change.squared_change)}"


def demo_table(result: DemoResult) -> RenderableType:
    """Return one row per classifier, what each costs, and what the whole run guarantees."""
    notes = Notes()
    headline = f"Digits: {result.users:,} users, about {result.users_per_class} per class; {result.repeats} runs each"
    numbers = ("accuracy", "RMSE", "messages", "spent", "epsilon", "delta")
    table = rows_under("classifier", numbers=numbers)
    for row in result.rows:
        name = Text(row.name + notes.mark(*row.notes))
        if row.error is not None:
            table.add_row(name + Text(f": no plan{notes.mark(row.error)}"), *["-"] * len(numbers))
            continue
        table.add_row(
            name,
            f"{row.accuracy:.1%}",
            number(row.rmse, 3),
            number(row.messages, 3),
            "-" if row.exact_epsilon is None else _upper(row.exact_epsilon.upper, 3),
            "inf" if row.guarantee is None else epsilon_of(row.guarantee),
            "-" if row.guarantee is None else _upper(row.guarantee.delta, 4),
        )
    guarantees = [row.guarantee for row in result.rows if row.guarantee is not None]
    allowed = unrounded(result.budget.exact_epsilon)
    legend = [
        Text(
            f"accuracy: mean over the runs on {result.queries} held-out digits; chance is {1 / result.classes:.0%}. "
            "RMSE: of one bitsum, in users. messages: expected per user in all. spent: the exact epsilon of the "
            f"features in a class of {result.users_per_class} users; {allowed} is allowed."
        ),
    ]
    if guarantees:
        legend.append(
            Text(
                f"epsilon, delta: of all that reaches the analyzer, features and label together "
                f"({reading(guarantees)}); the published labels "
                f"spend {result.label_epsilon:g} of epsilon, and given them the features spend at most "
                f"{allowed}."
            )
        )
    return Group(title(headline), table, *legend, *notes.lines())
