"""What else happens to the same users in any so many days: steps that a trusted curator makes, now and then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dpverify.guarantee import Adjacency, Interval
from dpverify.planning.schedules.day import Day
from dpverify.planning.steps.account import is_step
from dpverify.planning.steps.step import Steps
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["Beside", "alone"]


@dataclass(frozen=True)
class Beside(Plain):
    """Steps that a trusted curator makes on the same users' records: a training, or a query of every day.

    - step: Such as a `dpverify.NoisyStep`, covered where one record is replaced.
    - instances: How many there are at most in any so many days.
    - days: At least 1; when omitted there are no more, ever.
    """

    step: Any
    instances: int = 1
    days: int | None = None

    def __post_init__(self) -> None:
        if not is_step(self.step):
            raise TypeError(f"step={self.step!r} must be a step of a trusted curator, such as a NoisyStep.")
        self.step.check(Adjacency.REPLACE_ONE)
        check_integer("instances", self.instances, low=1)
        if self.days is not None:
            check_integer("days", self.days, low=1, high=10**6)

    def within(self, days: int) -> Day:
        """Return what any so many days may have of it: they lie in so many times its own, rounded up."""
        return Day(self.step, self.instances * (1 if self.days is None else math.ceil(days / self.days)))


def alone(beside: Sequence[Beside], days: int, delta: float, relative_width: float) -> Interval:
    """Return the epsilon of all that any so many days may have of these, at least one, where one record is replaced."""
    parts = [(each.step, each.within(days).instances) for each in beside]
    return Steps(parts, Adjacency.REPLACE_ONE).curve(relative_width, delta).epsilon(delta)
