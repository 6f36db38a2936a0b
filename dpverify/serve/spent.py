"""What a text's design or days spend: computed in a worker, and told part by part, as the command prints it."""

from __future__ import annotations

import functools
import math
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dpverify.claims.registry import ours_alone
from dpverify.digits import unrounded
from dpverify.guarantee import Interval, ThreatModel
from dpverify.planning.schedules.days import days_in
from dpverify.planning.schedules.result import ScheduleResult, account_schedule, after_days, never_falling
from dpverify.planning.schedules.schedule import Schedule
from dpverify.report.layout import parts_of
from dpverify.serve.desk import Desk
from dpverify.serve.texts import Text
from dpverify.serve.work import Refusal
from dpverify.shown import named
from protocols.classes.frozen import dataclass

if TYPE_CHECKING:
    from dpverify.collection.design import Design

__all__ = ["Curve", "after", "told", "whole"]

_SAID = "the text"
_AT_ONCE = 6
"""Points of a curve that are asked for together: a part of a second's work, mostly."""
_DECADE = 12
"""So many points of a design's curve lie between a day and ten days."""
_MOST_CURVES = 4
_WIDTH = 1e-3


class Ceiling(NamedTuple):
    """A design's budget, as a point of a figure: an epsilon for any so many days."""

    x: int
    upper: float
    text: str


@dataclass(frozen=True)
class Curve:
    """Epsilon after so many days, or runs, at one delta.

    - delta: As typed.
    - at: After how many it is looked at, in order.
    - budgets: A design's at this delta, by the number of days.
    """

    delta: str
    at: tuple[int, ...]
    budgets: tuple[Ceiling, ...] = ()


# A page goes on to ask for points of what it has just asked for; two pages may be open.
@functools.lru_cache(maxsize=2)
def _found(text: Text) -> Design | ScheduleResult:
    """Return what the text is about: no code of others runs for it, and no file is read, as a text names none."""
    with ours_alone():
        if text.designs:
            from dpverify.collection.file import design_in  # workers alone need it

            return design_in(text.written, _SAID)
        days = days_in(text.written, _SAID, objects=text.name == "days.json")
        return account_schedule(Schedule(days, text.at_most), delta=text.delta)


def whole(text: Text) -> tuple[list[dict[str, Any]], list[Curve]]:
    """Return what the command prints, and which curves belong to it.

    Raises ValueError with what the command says if there is none.
    """
    found = _found(text)
    parts = parts_of(named(found.table_by)(found))
    if isinstance(found, ScheduleResult):
        return parts, [Curve(text.delta, tuple(after_days([day.instances for day in found.schedule.days])))]
    curves = []
    for delta in dict.fromkeys(limit.budget.exact_delta for limit in found.limits[::-1]):
        limits = [limit for limit in found.limits if limit.budget.exact_delta == delta]
        budgets = [Ceiling(each.days, each.budget.epsilon, unrounded(each.budget.exact_epsilon)) for each in limits]
        ends, last = {each.x for each in budgets}, budgets[-1].x
        steps = range(math.ceil(_DECADE * math.log10(last)))
        at = ends | {round(10.0 ** (step / _DECADE)) for step in steps}
        curves.append(Curve(unrounded(delta), tuple(sorted(at)), tuple(budgets)))
    return parts, curves


def after(text: Text, delta: str, at: Sequence[int]) -> list[tuple[int, Interval]]:
    """Return epsilon after so many days of a design, or so many runs of days, enclosed.

    Raises ValueError if it is too large to compute.
    """
    found = _found(text)
    if isinstance(found, ScheduleResult):
        return found.cumulative(at)
    schedules = {days: Schedule(found.days(days), threat_model=ThreatModel.COMMUNICATION) for days in at}
    return [
        (days, account_schedule(each, delta=delta, relative_width=_WIDTH, quick=True).epsilon)
        for days, each in schedules.items()
    ]


async def told(text: Text, desk: Desk, number: int) -> AsyncIterator[dict[str, Any]]:
    """Yield what the page shows: how the text is read, what the command prints, and then curves, coarse before fine.

    Where something cannot be computed, the key "error" says why. Parts are asked for one after the other, so that the
    process that knows the text answers all.

    - number: Of the page: what a later one wants is answered first.
    """
    yield {"name": text.name}
    ask = functools.partial(desk.ask, rank=(-number,), near=text.key)
    try:
        parts, curves = await ask(text.key, whole, text)
    except Refusal as refusal:
        yield {"error": str(refusal)}
        return
    ends = {curve.delta: curve.budgets[-1].x for curve in curves if curve.budgets}
    yield {
        "parts": parts,
        "shell": text.shell,
        "python": text.python(ends),
        "left_out": len(curves[_MOST_CURVES:]),
        "curves": [
            {"delta": curve.delta, "left": len(curve.at), "budgets": [each._asdict() for each in curve.budgets]}
            for curve in curves[:_MOST_CURVES]
        ],
    }
    for place, curve in enumerate(curves[:_MOST_CURVES]):
        known: dict[int, Interval] = {}
        apart = math.ceil(len(curve.at) / _AT_ONCE)
        for first in range(apart):
            at = curve.at[::-1][first::apart]
            try:
                known |= dict(await ask((*text.key, place, at), after, text, curve.delta, at))
            except Refusal as refusal:
                yield {"curve": place, "error": str(refusal)}
                break
            points = [{"x": number, "text": str(end), **end.to_dict()} for number, end in never_falling(known).items()]
            yield {"curve": place, "left": len(curve.at) - len(known), "points": points}
