"""What a worker computes: plans, and what they give. Every number is the engine's, and so is every reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from dpverify.digits import json_plain
from dpverify.guarantee import Budget, CapacityError, Interval, Side
from dpverify.planning.account import account
from dpverify.planning.comparison import FailedPlan, compare
from dpverify.planning.crowds import epsilon_among
from dpverify.planning.plan import PlanRow
from dpverify.serve.state import State

__all__ = ["DELTAS", "WAYS", "Question", "Refusal", "Way", "honest", "planned", "profile", "shown"]

Way = Literal["published", "exact", "joint"]
WAYS: tuple[Way, ...] = ("published", "exact", "joint")
"""How parameters are found: by the published formula, exactly, or exactly for bits that change jointly."""
DELTAS = tuple(float(f"1e-{decade}") for decade in range(1, 14))
"""Where a privacy profile is evaluated."""


class Refusal(Exception):
    """Why there is no answer, in one sentence: an ordinary outcome."""


@dataclass(frozen=True)
class Question:
    """A state, and in which way it is planned.

    Parameters
    ----------
    state : State
        Its T^2 matters for joint changes alone.
    way : {"published", "exact", "joint"}
        See `WAYS`.
    """

    state: State
    way: Way

    @classmethod
    def of(cls, state: State, way: Way) -> Question:
        """Return it without what does not matter, so that equal questions are equal."""
        return cls(state if way == "joint" else replace(state, squared_change=None), way)


def planned(question: Question) -> PlanRow:
    """Return the plan.

    Raises
    ------
    Refusal
        If there is none.
    """
    state = question.state
    (row,) = compare(
        Budget(state.epsilon, state.delta),
        users=state.users,
        instances=state.instances,
        bitsums=[state.bitsum],
        methods=["published" if question.way == "published" else "exact"],
        squared_change=state.squared_change,
        honest_fraction=None if state.everybody else state.honest_fraction,
    ).rows
    if isinstance(row, FailedPlan):
        raise Refusal(row.error)
    return row


def profile(question: Question, row: PlanRow) -> dict[str, Any]:
    """Return epsilon at the state's delta as `dpverify account` computes it, and at others, enclosed.

    Raises
    ------
    Refusal
        If the law is too large to compute.
    """
    state = question.state
    try:
        found = account(
            row.protocol,
            instances=state.instances,
            squared_change=state.squared_change,
            delta=state.delta,
            threat_model=row.guarantee.threat_model,
            honest=row.honest,
        )
        ends = found.epsilons(DELTAS)
    except CapacityError as error:
        raise Refusal(error.reason) from error
    return {
        "text": str(found.epsilon),
        "points": [{"x": delta, "text": str(end), **end.to_dict()} for delta, end in zip(DELTAS, ends, strict=True)],
    }


def honest(question: Question, row: PlanRow, users: int) -> Interval:
    """Return what is left of a plan's epsilon where so many users follow the protocol.

    Raises
    ------
    Refusal
        If the law is too large to compute.
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
    plain: dict[str, Any] = json_plain({**row.to_dict(), "proved": row.guarantee.side is Side.UPPER_BOUND})
    return plain
