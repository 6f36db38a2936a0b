"""What a schedule gives, as a result: of all its days, and after each of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal

from dpverify.changes import Full
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import Interval, Number, PrivacyCurve
from dpverify.planning.answers import PROOF, answered, between, left_out, upper_bound, within_limits
from dpverify.planning.result import AccountResult
from dpverify.planning.schedules.schedule import Schedule
from dpverify.planning.steps.account import is_step
from dpverify.privacy_loss.composing.bounds import LargestLossCurve
from protocols.classes.frozen import dataclass

__all__ = ["ScheduleResult", "account_schedule", "after_days", "never_falling"]

_MOST_FACTORS = 300
"""A cumulative curve with fewer laws in all points together is computed as sharply as the whole."""
_FEWEST_POINTS, _MOST_POINTS = 12, 60


def after_days(counts: Sequence[int]) -> list[int]:
    """Return after how many runs a curve over days is looked at: at ends of days, the last one among them.

    Of more than sixty days as many are evenly chosen; fewer than a dozen are looked at in between, too.

    - counts: How many runs each day has, one after the other, each at least 1; shape (days,).
    """
    ends = list(itertools.accumulate(counts))
    points, parts = min(len(ends), _MOST_POINTS), max(_FEWEST_POINTS // len(ends), 1)
    chosen = [math.ceil(len(ends) * (point + 1) / points) - 1 for point in range(points)]
    return sorted({ends[day] - counts[day] * part // parts for day in chosen for part in range(parts)})


def never_falling(known: Mapping[int, Interval]) -> dict[int, Interval]:
    """Return what is known of epsilon after so many runs, each with the best ends that all of them prove.

    What the first runs show is a part of what more of them show, and who is in at most k of the first is in at most k
    of more: by post-processing no divergence, and so no epsilon, is larger after fewer runs. So the lower end of any is
    one of all later ones, and the upper end one of all before.

    - known: By how many runs there are, all of one schedule and at the same delta.

    Raises ArithmeticError if two of them contradict each other.
    """
    numbers = sorted(known)
    lower = itertools.accumulate((known[number].lower for number in numbers), max)
    upper = list(itertools.accumulate((known[number].upper for number in numbers[::-1]), min))[::-1]
    return {number: Interval.proved(*ends) for number, *ends in zip(numbers, lower, upper, strict=True)}


@dataclass(frozen=True)
class ScheduleResult(AccountResult):
    """What a schedule really gives: an `AccountResult` of all its days, in which a user may take part in a few only.

    - schedule: The days.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.schedules:schedule_table"
    rows_by: ClassVar[str] = "days"
    figure_by: ClassVar[str] = "dpverify.report.plans.schedules:schedule_figure"
    plain_as: ClassVar[str] = (
        "days=_days runs=schedule.runs at_most=schedule.at_most instances change epsilon delta guarantee notes"
    )

    schedule: Schedule = field(kw_only=True, repr=False, compare=False)

    @property
    def users(self) -> int | None:
        """Nothing: each day has its own."""
        return None

    @property
    def _runs(self) -> Sequence[Any]:
        return self.schedule.days

    @property
    def _days(self) -> list[dict[str, Any]]:
        return [
            {
                "protocol": claims.name,
                "users": getattr(day.protocol, "users", None),
                "parameters": claims.parameters(day.protocol),
                "instances": day.instances,
                "honest": day.honest,
            }
            for day in self.schedule.days
            for claims in [mechanism_claims_of(day.protocol)]
        ]

    def _curve(self, relative_width: float, reference_delta: float, *, sharp: bool = True) -> PrivacyCurve:
        return self.schedule.curve(reference_delta, relative_width, sharp=sharp)

    def certificate(self) -> dict[str, Any]:
        """Return a proof that `dpverify check` can check, as for any account; of days of steps there is none yet."""
        if any(is_step(day.protocol) for day in self.schedule.days):
            raise ValueError("certificates are of protocols, and not yet of noisy steps.")
        return super().certificate()

    def cumulative(self, runs: Sequence[int] | None = None) -> list[tuple[int, Interval]]:
        """Return epsilon after so many runs, enclosed, at the delta of the whole.

        - runs: After how many; when omitted see `after_days`.

        Raises ValueError if delta was not what was given, or is 0.
        """
        if self.asked != "delta" or not self.at:
            given = f"{self.asked}={float(self.at)!r}"
            raise ValueError(f"{given} must be a delta above 0 for a curve over the days.")
        chosen = after_days([day.instances for day in self.schedule.days]) if runs is None else runs
        quick = len(chosen) * len(self.schedule._listed) > _MOST_FACTORS
        known = {self.schedule.runs: self.epsilon}
        with within_limits(self.name):
            for number in sorted(set(chosen) - set(known)):
                curve = self.schedule.curve(self.delta.lower, 1e-5, number, quick=quick)
                known[number] = between(curve.epsilon, self.delta)
        found = never_falling(known)
        return [(number, found[number]) for number in chosen]


def account_schedule(
    schedule: Schedule,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    relative_width: float = 1e-6,
    quick: bool = False,
) -> ScheduleResult:
    """Compute what a schedule gives, as an interval that contains the truth; see `account` and `Schedule.curve`."""
    with within_limits("this schedule"):
        asked: Literal["epsilon", "delta"]
        asked, exact, made, point, statement = answered(
            lambda reference: schedule.curve(reference, relative_width, quick=quick),
            lambda: LargestLossCurve(schedule.largest_loss(schedule.runs), Full(1)),
            delta,
            epsilon,
        )
    names = sorted({mechanism_claims_of(day.protocol).name for day in schedule.days})
    listed = "one law" if schedule.uniform else f"{len(schedule._listed)} laws listed"
    each = () if schedule.steps is not None else (f"any in each run, and any of them in different runs; {listed}",)
    notes = (*each, *schedule.notes, *left_out(made))
    return ScheduleResult(
        " and ".join(names),
        tuple(day.protocol for day in schedule.days),
        {},
        Full(schedule.at_most),
        *point,
        upper_bound(*statement, schedule.threat_model, "exact laws, exact composition", PROOF, schedule.adjacency),
        asked,
        exact,
        notes,
        schedule=schedule,
    )
