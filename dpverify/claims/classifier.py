"""What is true of `protocols.classifier`: wagner2025, Corollary 3.4, for both adversaries and both kinds of neighbour.

Let the protocol of a class of any reported size be (eps, delta)-DP for replacing a point, and let labels be published
by eps_lbl-DP randomized response. Then the whole is (eps, delta)-DP where a user's point changes and her label stays,
and (eps + eps_lbl, delta)-DP where her label changes too, where (eps, delta)-DP does not hold. The proofs are in
docs/classifier.md.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar

from dpverify.changes import Change as Changed
from dpverify.claims.base import MechanismClaims
from dpverify.claims.kde.privacy import KernelDensityClaims
from dpverify.claims.theorem import Theorem
from dpverify.claims.theorems.classifier import CLASSIFIER
from dpverify.guarantee import Adjacency, Guarantee, Interval, PrivacyCurve, Side, ThreatModel
from dpverify.rounding import sum_above
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.validation import check_real

__all__ = ["Change", "ClassifierClaims", "classifier_guarantee", "counts_reveal"]


class Change(StrEnum):
    """What of one user's input differs between neighbours."""

    POINT = "point"
    """Her point; her label is the same."""
    POINT_AND_LABEL = "point and label"
    """Either or both."""


def classifier_guarantee(
    per_class: Guarantee, label_epsilon: float | None, threat_model: ThreatModel, change: Change
) -> Guarantee:
    """Return what the classifier's whole learning protocol guarantees.

    Parameters
    ----------
    per_class : Guarantee
        For one class's density protocol, replace-one adjacency, at every reported size: an upper bound, or an
        estimate, of which an estimate is made.
    label_epsilon : float or None
        eps_lbl in nats, positive; None where labels are published in the clear.
    threat_model : ThreatModel
        Communication or model. The guarantee is the same for both: see the module's counterexample.
    change : Change
        The neighbours.

    Returns
    -------
    Guarantee
        With infinite epsilon where labels are published in the clear and may change.

    Raises
    ------
    ValueError
        For another threat model, or a `per_class` that is a lower bound or for another adjacency than replace-one.
    """
    if threat_model not in (ThreatModel.COMMUNICATION, ThreatModel.MODEL):
        raise ValueError(f"threat_model={threat_model.value!r} must be 'communication' or 'model'.")
    if per_class.side is Side.LOWER_BOUND or per_class.adjacency is not Adjacency.REPLACE_ONE:
        raise ValueError(f"per_class={per_class} must be an upper bound, or an estimate, for replace-one adjacency.")
    if per_class.threat_model not in (ThreatModel.COMMUNICATION, threat_model):
        raise ValueError(
            f"per_class is for the {per_class.threat_model.value} threat model, but must be for the "
            f"{threat_model.value} one or for communication."
        )
    epsilon = per_class.epsilon
    if Change(change) is Change.POINT_AND_LABEL:
        label = (
            math.inf if label_epsilon is None else check_real("label_epsilon", label_epsilon, low=0.0, low_open=True)
        )
        epsilon = sum_above(epsilon, label)
    return Guarantee(
        epsilon,
        per_class.delta,
        Adjacency.REPLACE_ONE,
        threat_model,
        per_class.side,
        f"{per_class.method}; neighbours differ in a user's {Change(change).value}",
        "wagner2025, Corollary 3.4, as corrected in dpverify.claims.classifier",
    )


def counts_reveal(epsilon: float, label_epsilon: float, classes: int) -> float:
    """Return the delta that the reported counts alone need at epsilon, for one user whose label changes.

    Parameters
    ----------
    epsilon : float
        At least 0, in nats.
    label_epsilon : float
        eps_lbl in (0, 700], in nats.
    classes : int
        m, at least 2.

    Returns
    -------
    float
        `max(0, keep (1 - e^(epsilon - eps_lbl)))`: positive wherever epsilon < eps_lbl.
    """
    check_real("epsilon", epsilon, low=0.0)
    response = LabelRandomizedResponse(classes, label_epsilon)
    if classes < 2:
        raise ValueError(f"classes={classes} must be an integer in [2, inf).")
    return max(0.0, -math.expm1(epsilon - label_epsilon) * response.keep_probability)


class ClassifierClaims(MechanismClaims[HighestDensityClassifier]):
    """The twin of a fitted `HighestDensityClassifier`: given the published labels, for a replaced point and label.

    Her label may be replaced too, so that the label's epsilon is added to that of the worst class. The classes have the
    numbers of users who reported them; what holds before the labels are published needs every other number as well.
    """

    name: ClassVar[str] = "classifier"
    protocol: ClassVar[type[HighestDensityClassifier]] = HighestDensityClassifier
    theorems: ClassVar[tuple[Theorem, ...]] = CLASSIFIER
    pure: ClassVar[bool] = True

    def adversaries(self, protocol: HighestDensityClassifier) -> tuple[ThreatModel, ...]:
        """Return those of the classes' bitsum; with communication also model, as the corollary is the same for both."""
        known = KernelDensityClaims().adversaries(protocol.class_protocols()[0])
        return (known[0], ThreatModel.MODEL) if known[0] is ThreatModel.COMMUNICATION else known

    def curve(
        self,
        protocol: HighestDensityClassifier,
        changes: Changed,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-4,
        reference_delta: float = 1e-6,
    ) -> PrivacyCurve:
        """Return the privacy curve of the one fit: the worst class's, moved by the label's epsilon."""
        runs = self.in_full(changes)
        if runs > 1:
            raise ValueError(f"instances={runs} must be 1: in another run the same user may report another class.")
        classes, claims = _distinct(protocol), KernelDensityClaims()
        curves = [
            claims.curve(
                made,
                changes,
                _seen(made, threat_model),
                relative_width=relative_width,
                reference_delta=reference_delta,
            )
            for made in classes
        ]
        return _LabelledCurve(curves, _label_loss(protocol))

    def pure_epsilon(self, protocol: HighestDensityClassifier, threat_model: ThreatModel) -> Interval:
        """Return the largest loss of the worst class, with the label's added above."""
        claims = KernelDensityClaims()
        losses = [claims.pure_epsilon(made, _seen(made, threat_model)) for made in _distinct(protocol)]
        most = max(loss.upper for loss in losses)
        return Interval.proved(max(loss.lower for loss in losses), sum_above(most, _label_loss(protocol)))

    def note(self, protocol: HighestDensityClassifier, threat_model: ThreatModel) -> str:
        """Return what is given, and what may change."""
        counts, smallest = protocol.reported_counts_, min(protocol.class_protocols(), key=lambda made: made.users)
        return (
            f"given the published labels, with classes of {counts.min():,} to {counts.max():,} users; her point and "
            "her label may change, and the lower end is for the point alone; "
            f"{KernelDensityClaims().note(smallest, _seen(smallest, threat_model))}"
        )

    def users(self, protocol: HighestDensityClassifier) -> int:
        """Return how many users published a label."""
        return int(protocol.reported_counts_.sum())

    def with_users(
        self, protocol: HighestDensityClassifier, users: int, *, more_private: bool
    ) -> HighestDensityClassifier:
        """Return what is left for the worst class if so many users are honest, who may all have reported another.

        Whoever does not follow the protocol chooses the label that she publishes. So a class that m of n users reported
        may have as few as `m - (n - users)` honest ones, though at least the one whose input is replaced.
        """
        missing, claims = self.users(protocol) - users, KernelDensityClaims()
        classes = [
            claims.with_users(made, max(made.users - missing, 1), more_private=more_private)
            for made in protocol.class_protocols()
        ]
        left = copy.copy(protocol)
        left.class_protocols = lambda: classes  # type: ignore[method-assign]
        return left

    def among_honest(  # noqa: D102
        self, protocol: HighestDensityClassifier, honest: int
    ) -> tuple[HighestDensityClassifier, ...]:
        # Their parameters are those of the smallest class alone.
        return tuple(self.with_users(protocol, honest, more_private=side) for side in (False, True))

    def parameters(self, protocol: HighestDensityClassifier) -> dict[str, Any]:
        """Return the label's epsilon, the number of classes, and the smallest class's protocol."""
        smallest = min(protocol.class_protocols(), key=lambda made: made.users)
        return {
            "label_epsilon": protocol.label_epsilon,
            "classes": len(protocol.classes_),
            "smallest_class": {"name": "kde", "users": smallest.users, **KernelDensityClaims().parameters(smallest)},
        }

    def messages_per_user(self, protocol: HighestDensityClassifier) -> float:
        """Return the expected number of messages in the class that needs most, if all bits are 1, and the label."""
        claims = KernelDensityClaims()
        return 1.0 + max(claims.messages_per_user(made) for made in protocol.class_protocols())


class _LabelledCurve:
    """The worst of several curves, where a published label may cost some epsilon more.

    A label that stays is a neighbour's too, so that the lower ends need no label.
    """

    def __init__(self, classes: Sequence[PrivacyCurve], label: float) -> None:
        self._classes, self._label = classes, label

    def delta(self, epsilon: float) -> Interval:
        lower = max(curve.delta(epsilon).lower for curve in self._classes)
        left = math.nextafter(epsilon - self._label, -math.inf)
        upper = max(curve.delta(left).upper for curve in self._classes) if left >= 0.0 else 1.0
        return Interval.proved(lower, upper)

    def epsilon(self, delta: float) -> Interval:
        found = [curve.epsilon(delta) for curve in self._classes]
        return Interval.proved(max(one.lower for one in found), sum_above(max(one.upper for one in found), self._label))


def _distinct(protocol: HighestDensityClassifier) -> list[KernelDensityProtocol]:
    """Return the protocols of the classes, each bitsum once: the features are the same."""
    return list({made.bitsum: made for made in protocol.class_protocols()}.values())


def _seen(made: KernelDensityProtocol, threat_model: ThreatModel) -> ThreatModel:
    """Return whose view of a class counts: that of all that is sent, where no other is known."""
    known = KernelDensityClaims().adversaries(made)
    return threat_model if threat_model in known else known[0]


def _label_loss(protocol: HighestDensityClassifier) -> float:
    """Return what a label costs: all, where it is published in the clear."""
    return math.inf if protocol.label_epsilon is None else float(protocol.label_epsilon)
