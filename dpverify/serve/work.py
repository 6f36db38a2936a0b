"""What a worker computes: plans, and what they give. Every number is the engine's, and so is every reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from dpverify.digits import rounded_up
from dpverify.guarantee import Budget, CapacityError, Guarantee, Interval, Side
from dpverify.planning.account import account
from dpverify.planning.answers import within_limits
from dpverify.planning.crowds import epsilon_among
from dpverify.planning.plan import PlanRow
from dpverify.planning.result import HonestView
from dpverify.planning.risks.meaning import meaning_of_plan
from dpverify.planning.sweeps.setting import FailedPlan, Setting
from dpverify.report.risks import meaning_rows
from dpverify.serve.state import State
from dpverify.shown import plain
from protocols.classes.frozen import dataclass

__all__ = [
    "DELTAS",
    "WAYS",
    "Question",
    "Refusal",
    "Way",
    "accounted",
    "honest",
    "meaning",
    "planned",
    "profile",
    "quickly",
    "shown",
]

Way = Literal["published", "exact", "joint"]
WAYS: tuple[Way, ...] = ("published", "exact", "joint")
"""How parameters are found: by the published formula, exactly, or exactly for bits that change jointly."""
DELTAS = tuple(float(f"1e-{decade}") for decade in range(1, 14))
"""Where a privacy profile is evaluated."""


_PROFILE_WIDTH = 1e-3


class Refusal(Exception):
    """Why there is no answer, in one sentence: an ordinary outcome."""


@dataclass(frozen=True)
class Question:
    """A state, and in which way it is planned.

    - state: Its T^2 matters for joint changes alone.
    - way ({"published", "exact", "joint"}): See `WAYS`.
    """

    state: State
    way: Way

    @classmethod
    def of(cls, state: State, way: Way) -> Question:
        """Return it without what does not matter, so that equal questions are equal."""
        return cls(state if way == "joint" else replace(state, squared_change=None), way)


def planned(question: Question) -> PlanRow:
    """Return the plan.

    Raises Refusal if there is none.
    """
    return _planned(question, coarse=False)


def quickly(question: Question) -> PlanRow:
    """Return a plan that is found sooner and errs a little more, which is proved too: for who waits for the best.

    Raises Refusal if there is none.
    """
    return _planned(question, coarse=True)


def _planned(question: Question, coarse: bool) -> PlanRow:
    state = question.state
    row = Setting(
        state.bitsum,
        Budget(state.epsilon, state.delta),
        state.users,
        state.instances,
        state.squared_change,
        honest=None if state.everybody else state.honest,
        method="published" if question.way == "published" else "exact",
        coarse=coarse,
    ).attempted()
    if isinstance(row, FailedPlan):
        raise Refusal(row.error)
    return row


def profile(row: PlanRow) -> list[Interval]:
    """Return what a plan gives at `DELTAS`, enclosed more closely than the eye sees.

    Raises Refusal if the law is too large to compute.
    """
    try:
        with within_limits(row.bitsum):
            view = HonestView.of(row.protocol, row.honest, row.guarantee.threat_model)
            curve = view.curve(row.change, _PROFILE_WIDTH, min(DELTAS))
            return [_within(row.guarantee, delta, curve.epsilon(delta)) for delta in DELTAS]
    except CapacityError as error:
        raise Refusal(error.reason) from error


def _within(proved: Guarantee, delta: float, found: Interval) -> Interval:
    """Return epsilon at a delta, at most what is proved of the plan at a smaller one: the curve is coarser."""
    if proved.side is not Side.UPPER_BOUND or delta < proved.delta:
        return found
    return Interval(found.lower, min(found.upper, proved.epsilon))


def accounted(question: Question, row: PlanRow) -> Interval:
    """Return epsilon at the state's delta, as `dpverify account` computes it.

    Raises Refusal if the law is too large to compute.
    """
    state = question.state
    try:
        return account(
            row.protocol,
            instances=state.instances,
            squared_change=state.squared_change,
            delta=state.delta,
            threat_model=row.guarantee.threat_model,
            honest=row.honest,
        ).epsilon
    except CapacityError as error:
        raise Refusal(error.reason) from error


def meaning(row: PlanRow) -> list[dict[str, str]]:
    """Return what the best attacker reaches, row by row.

    Raises Refusal if the law is too large to compute.
    """
    try:
        return meaning_rows(meaning_of_plan(row))
    except CapacityError as error:
        raise Refusal(error.reason) from error


def honest(question: Question, row: PlanRow, users: int) -> Interval:
    """Return what is left of a plan's epsilon where so many users follow the protocol.

    Raises Refusal if the law is too large to compute.
    """
    state = question.state
    budget = Budget(state.epsilon, state.delta)
    try:
        return epsilon_among(
            users, row.protocol, row, budget, instances=state.instances, squared_change=state.squared_change
        )
    except CapacityError as error:
        raise Refusal(error.reason) from error


def shown(row: PlanRow) -> dict[str, Any]:
    """Return a plan as plain JSON values, and whether its budget is proved to be met."""
    proved = row.guarantee.side is Side.UPPER_BOUND
    text = rounded_up(row.guarantee.epsilon, 6)
    found: dict[str, Any] = plain({**row.to_dict(), "proved": proved, "text": text})
    return found
