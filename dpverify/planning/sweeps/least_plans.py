"""What `dpverify.planning.sweeps.least` returns: the least of something for an error, by protocol."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Generic, Literal, TypeVar

from dpverify.changes import Change
from dpverify.planning.plan import PlanRow
from dpverify.planning.sweeps.setting import FailedPlan, Row, Tried
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass

__all__ = ["Least", "LeastPlans"]

_Row = TypeVar("_Row", bound=Row)


@dataclass(frozen=True)
class Least(Plain, Generic[_Row]):
    """The answer for one protocol, or for one density estimator.

    - least: The least number of users, epsilon or messages.
    - row: The plan that meets what is asked with so much.
    - less: One step less; None where the answer is the least that is looked for, and for messages, which have no steps.
    - below: What is planned with that, which does not meet what is asked.
    """

    plain_as: ClassVar[str] = "least one_less=_one_less *row"

    least: float
    row: _Row
    less: float | None = None
    below: _Row | FailedPlan | None = None

    @property
    def bitsum(self) -> str:
        """The protocol's name."""
        return self.plan.bitsum

    @property
    def plan(self) -> PlanRow:
        """The bitsum's plan, which is the row or a part of it."""
        return self.row if isinstance(self.row, PlanRow) else self.row.bitsum  # type: ignore[attr-defined]

    @property
    def _one_less(self) -> dict[str, Any] | None:
        if self.below is None:
            return None
        name = "error" if isinstance(self.below, FailedPlan) else self.below.measure
        return {"value": self.less, name: getattr(self.below, name)}


@dataclass(frozen=True)
class LeastPlans(Tried[Least[PlanRow]], Drawn):
    """The least of something for an error, by protocol.

    - asked ({"users", "epsilon", "messages"}): What is as little as possible.
    - epsilon, delta: The budget of the whole; epsilon is None where it is asked.
    - users: n; None where it is asked.
    - instances: I.
    - change: What one user's replacement changes.
    - error: The largest root mean squared error of one bitsum, as a share of the users.
    - rows: One per protocol, as asked.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.least:least_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.least:least_bars"

    asked: Literal["users", "epsilon", "messages"]
    epsilon: Fraction | None
    delta: Fraction
    users: int | None
    instances: int
    change: Change
    error: float
    rows: tuple[Least[PlanRow] | FailedPlan, ...]

    @property
    def found(self) -> tuple[Least[PlanRow], ...]:
        """The rows that are answers."""
        return self.plans

    @property
    def best(self) -> Least[PlanRow]:
        """The answer of the protocol that needs least."""
        return min(self.found, key=lambda row: row.least)
