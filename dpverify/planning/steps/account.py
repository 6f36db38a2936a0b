"""What noisy steps of a trusted curator give: one point of their privacy curve, as an interval."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from dpverify.changes import Full
from dpverify.guarantee import Adjacency, Number, PrivacyCurve, ThreatModel
from dpverify.planning.answers import PROOF, answered, left_out, upper_bound, within_limits
from dpverify.planning.result import AccountResult
from dpverify.planning.steps.allocation import RandomAllocation
from dpverify.planning.steps.events import is_event, steps_of_event
from dpverify.planning.steps.integers import DiscreteLaplaceStep, IntegerStep
from dpverify.planning.steps.listed import BoundedRangeStep, OpaqueStep, ResponseStep
from dpverify.planning.steps.mixtures import MixtureStep
from dpverify.planning.steps.renyi import RenyiKnown
from dpverify.planning.steps.step import NoisyStep, Step, Steps
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["StepsResult", "account_steps", "is_step", "steps_of"]

_NAME = "noisy steps"
_STEPS = (
    NoisyStep,
    IntegerStep,
    DiscreteLaplaceStep,
    OpaqueStep,
    BoundedRangeStep,
    ResponseStep,
    RenyiKnown,
    RandomAllocation,
    MixtureStep,
)


@dataclass(frozen=True)
class StepsResult(AccountResult):
    """What steps of a trusted curator really give: an `AccountResult` whose notes say which sampling is assumed.

    - steps: The steps, and their adjacency.
    """

    table_by: ClassVar[str] = "dpverify.report.tables:steps_table"
    rows_by: ClassVar[str] = "steps"
    plain_as: ClassVar[str] = "steps=_rows number=steps.number adjacency=steps.adjacency epsilon delta guarantee notes"

    steps: Steps = field(kw_only=True)

    @property
    def users(self) -> int | None:
        """Nothing: no step rests on how many records there are."""
        return None

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [step.to_dict() | {"instances": count} for step, count in self.steps.parts]

    def _curve(self, relative_width: float, reference_delta: float, *, sharp: bool = True) -> PrivacyCurve:
        return self.steps.curve(relative_width, reference_delta)

    def certificate(self) -> dict[str, Any]:
        """Return a proof of the epsilon at this delta that `dpverify check` can check, slightly above `epsilon`.

        See `dpverify.planning.steps.certificate.step_certificate`. Raises ValueError for steps, or an adjacency, that
        have none, or if epsilon was what was given.
        """
        from dpverify.planning.steps.certificate import step_certificate

        return step_certificate(self.steps, delta=self._certified_delta)


def is_step(given: Any) -> bool:
    """Return whether something is a step, and neither a protocol nor an event."""
    return isinstance(given, _STEPS)


def steps_of(given: Any, instances: int = 1, adjacency: Adjacency | str | None = None) -> Steps | None:
    """Return the steps that are meant, so often, or None where something else is, or both and a record is replaced.

    - given: A `NoisyStep`, another step or an event of dp-accounting, or a list of them, each alone or as (step,
      instances).
    - instances: How often that is done.
    - adjacency: Add-remove when omitted.

    Raises ValueError where steps stand beside protocols, and it is not said that a record is replaced.
    """
    parts = list(given) if isinstance(given, (list, tuple)) else [given]
    single = [part[0] if isinstance(part, (list, tuple)) and part else part for part in parts]
    meant = [is_event(each) or is_step(each) for each in single]
    if not any(meant):
        return None
    if not all(meant):
        if adjacency == Adjacency.REPLACE_ONE:
            return None
        raise ValueError(
            f"adjacency={adjacency!r} must be 'replace-one' where steps stand beside protocols, such as "
            f"{single[meant.index(False)]!r}: these are accounted for no other, steps for the one that is asked for."
        )
    check_integer("instances", instances, low=1)
    made: list[tuple[Step, int]] = []
    for part, each in zip(parts, single, strict=True):
        if part is not each and len(part) != 2:
            raise ValueError(f"protocol={part!r} must be (step, instances).")
        count = check_integer("instances", 1 if part is each else part[1], low=1) * instances
        inner = steps_of_event(each) if is_event(each) else [(each, 1)]
        made += [(step, number * count) for step, number in inner]
    return Steps(made, Adjacency.ADD_REMOVE if adjacency is None else adjacency)


def account_steps(
    steps: Steps, *, delta: Number | None = None, epsilon: Number | None = None, relative_width: float = 1e-6
) -> StepsResult:
    """Compute what steps give; see `dpverify.account`.

    - delta, epsilon (int, float, Fraction, Decimal or decimal string): Exactly one.
    - relative_width: The numerical accuracy wanted.
    """
    with within_limits(_NAME):
        asked, exact, made, point, statement = answered(
            lambda reference: steps.curve(relative_width, reference), lambda: steps.largest_loss, delta, epsilon
        )
    guarantee = upper_bound(
        *statement, ThreatModel.CENTRAL, "sampled losses, exact composition", PROOF, steps.adjacency
    )
    notes = (*steps.notes, *left_out(made))
    return StepsResult(_NAME, steps, {}, Full(steps.number), *point, guarantee, asked, exact, notes, steps=steps)
