"""What a fitted estimator guarantees, for both kinds of neighbours at once."""

from __future__ import annotations

import math

from dpverify.claims.classifier import Change, classifier_guarantee
from dpverify.digits import rounded_up
from dpverify.guarantee import Adjacency, Budget, Guarantee, Side, ThreatModel
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass

__all__ = ["LearnedGuarantee", "PrivacyWarning", "guarantee_of", "promised_by"]


class PrivacyWarning(UserWarning):
    """Something that is learned is not private, or too few users are there to learn from."""


@dataclass(frozen=True, repr=False)
class LearnedGuarantee(Plain):
    """What is guaranteed to a user whose point is replaced, and to one whose label is replaced, too.

    The number of users is public, and so is who takes part; what is guaranteed covers all that users send.

    - point: Her point is replaced, her label stays.
    - point_and_label: Either or both are replaced: the label's epsilon is added. None where there are no labels.
    - notes: What a reader must know.
    """

    point: Guarantee
    point_and_label: Guarantee | None = None
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> Guarantee:
        """The guarantee against any change of a user's input."""
        return self.point if self.point_and_label is None else self.point_and_label

    @property
    def epsilon(self) -> float:
        """That of `whole`, in nats."""
        return self.whole.epsilon

    @property
    def delta(self) -> float:
        """That of `whole`."""
        return self.whole.delta

    def __str__(self) -> str:
        both = self.point_and_label
        parts = [f"{_pair(self.point)} where a user's point is replaced"]
        if both is not None:
            parts.append(f"{_pair(both)} where her label is replaced, too")
        seen = f"{self.point.side.value}, {self.point.adjacency.value}, {self.point.threat_model.value} threat model"
        return ", ".join(parts) + f"; {seen}" + "".join(f"; {note}" for note in self.notes)

    __repr__ = __str__


def _pair(guarantee: Guarantee) -> str:
    if guarantee.epsilon == math.inf:
        return "no privacy"
    return f"({rounded_up(guarantee.epsilon, 6)}, {rounded_up(guarantee.delta, 3)})-DP"


def promised_by(budget: Budget) -> Guarantee:
    """Return what every plan for a budget keeps: for a class of whatever size, as sizes are drawn and tell of labels.

    A single plan gives a little less than the budget. To state the most that the plans for the sizes *that occurred*
    give would promise too much: another one would have occurred for a neighbour.
    """
    return Guarantee(
        budget.epsilon,
        budget.delta,
        Adjacency.REPLACE_ONE,
        ThreatModel.COMMUNICATION,
        Side.UPPER_BOUND,
        "parameters planned for the budget, whatever the number of users",
        "dpverify.learning.planner",
    )


def guarantee_of(
    promised: Guarantee | None, label_epsilon: float | None, notes: tuple[str, ...] = ()
) -> LearnedGuarantee:
    """Return what is guaranteed before anything is drawn: a function of public parameters alone.

    - promised: Of a class of any size, as a user takes part in that of the reported label only; None without privacy.
    - label_epsilon: Of the label's randomized response in nats, infinite where labels are published in the clear; None
      without labels.
    - notes: What a reader must know.
    """
    worst = promised or Guarantee(
        math.inf, 0.0, Adjacency.REPLACE_ONE, ThreatModel.COMMUNICATION, Side.UPPER_BOUND, "exact sums", "none"
    )
    if label_epsilon is None:
        return LearnedGuarantee(worst, None, notes)
    label = None if label_epsilon == math.inf else label_epsilon
    point, both = (classifier_guarantee(worst, label, worst.threat_model, change) for change in Change)
    return LearnedGuarantee(point, both, notes)
