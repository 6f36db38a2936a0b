"""What is true of `protocols.classifier`: wagner2025, Corollary 3.4, for both adversaries and both kinds of neighbour.

Let the protocol of a class of any reported size be (eps, delta)-DP for replacing a point, and let labels be published
by eps_lbl-DP randomized response. Then the whole is (eps, delta)-DP where a user's point changes and her label stays,
and (eps + eps_lbl, delta)-DP where her label changes too, where (eps, delta)-DP does not hold. **Any** size means all
that could be reported, not those that were: which sizes occur is drawn, and depends on the labels. The proofs are in
docs/classifier.md.
"""

from __future__ import annotations

import copy
import math
from enum import StrEnum
from typing import Any

from dpverify.changes import Change as Changed
from dpverify.changes import Full
from dpverify.claims.base import MechanismClaims, MoreUsers
from dpverify.claims.kde.privacy import KernelDensityClaims
from dpverify.claims.registry import claims_of
from dpverify.formulas.contexts import arb_context, lower_float
from dpverify.guarantee import (
    Adjacency,
    CapacityError,
    Guarantee,
    InfeasibleBudgetError,
    Interval,
    PrivacyCurve,
    Side,
    ThreatModel,
)
from dpverify.papers.entries import stated
from dpverify.privacy_loss.composing.bounds import LargestLossCurve, WorstCurve
from dpverify.rounding import sum_above
from protocols.classes.frozen import dataclass
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.validation import check_real

__all__ = ["Change", "ClassifierClaims", "classifier_guarantee", "counts_reveal"]

_MOST_SIZES = 256
"""Of classes with different parameters, each with a curve of its own."""


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

    - per_class: For one class's density protocol, replace-one adjacency, at every size that could be reported: an upper
      bound, or an estimate, of which an estimate is made.
    - label_epsilon: eps_lbl in nats, positive; None where labels are published in the clear.
    - threat_model: Communication or model. The guarantee is the same for both: see the module's counterexample.
    - change: The neighbours.

    Returns: With infinite epsilon where labels are published in the clear and may change. Raises ValueError for another
    threat model, or a `per_class` that is a lower bound or for another adjacency than replace-one.
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

    - epsilon: At least 0, in nats.
    - label_epsilon: eps_lbl in (0, 700], in nats.
    - classes: m, at least 2.

    Returns: `max(0, keep (1 - e^(epsilon - eps_lbl)))`: positive wherever epsilon < eps_lbl.
    """
    check_real("epsilon", epsilon, low=0.0)
    response = LabelRandomizedResponse(classes, label_epsilon)
    if classes < 2:
        raise ValueError(f"classes={classes} must be an integer in [2, inf).")
    return max(0.0, -math.expm1(epsilon - label_epsilon) * response.keep_probability)


class ClassifierClaims(MechanismClaims[HighestDensityClassifier]):
    """The twin of a fitted `HighestDensityClassifier`, before any label is published: a point and its label change.

    The label's epsilon is added to that of the worst class of any size, from 1 to all users. Where `bitsum` has an
    attribute `promised`, a `Guarantee` of what its protocols give at every size, that is taken for the sizes that did
    not occur; else `bitsum` is asked for the protocol of every size.
    """

    name = "classifier"
    protocol = HighestDensityClassifier
    theorems = stated("wagner2025/classifier", "classifier")
    audited_as = "dpverify.audit.subjects.classifier:classifier_subject"
    pure = True

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
        """Return the privacy curve of the one fit: that of the worst class that could be, moved by the label's."""
        runs = self.in_full(changes)
        if runs > 1:
            raise ValueError(f"instances={runs} must be 1: in another run the same user may report another class.")
        claims = KernelDensityClaims()
        curves: list[PrivacyCurve] = [
            claims.curve(
                made, changes, _seen(made, threat_model), relative_width=relative_width, reference_delta=reference_delta
            )
            for made in _possible(protocol)
        ]
        if _classes(protocol) == 1:
            return curves[0]
        if (promised := _promised(protocol)) is not None:
            curves.append(_PromisedCurve(promised))
        return _LabelledCurve(WorstCurve(curves), _Label.of(protocol, threat_model))

    def pure_epsilon(self, protocol: HighestDensityClassifier, threat_model: ThreatModel) -> Interval:
        """Return the largest loss of the worst class that could be, with the label's added above."""
        claims, label = KernelDensityClaims(), _Label.of(protocol, threat_model)
        losses = [claims.pure_epsilon(made, _seen(made, threat_model)) for made in _possible(protocol)]
        if _classes(protocol) == 1:
            return losses[0]
        promised = _promised(protocol)
        most = max(loss.upper for loss in losses)
        if promised is not None:
            most = max(most, _PromisedCurve(promised).epsilon(0.0).upper)
        return Interval.proved(label.epsilon(0.0), sum_above(most, label.loss))

    def note(self, protocol: HighestDensityClassifier, threat_model: ThreatModel) -> str:
        """Return what is given, and what may change."""
        smallest = min(protocol.class_protocols(), key=lambda made: made.users)
        inside = KernelDensityClaims().note(smallest, _seen(smallest, threat_model))
        if _classes(protocol) == 1:
            return inside
        return (
            f"before labels are published: a class may have any size up to {self.users(protocol):,} users; her point "
            f"and her label may change, and the lower end is that of the reported label alone; {inside}"
        )

    def users(self, protocol: HighestDensityClassifier) -> int:
        """Return how many users published a label."""
        return int(protocol.reported_counts_.sum())

    def with_users(
        self, protocol: HighestDensityClassifier, users: int, *, more_private: bool
    ) -> HighestDensityClassifier:
        """Return what is left for every class that could be if so many users are honest.

        Whoever does not follow the protocol chooses the label that she publishes. So a class that m of n users reported
        may have as few as `m - (n - users)` honest ones, though at least the one whose input is replaced.
        """
        if _promised(protocol) is not None:
            raise ValueError(
                f"honest={users} must be omitted: each class is planned for its size with all users honest, and what "
                "is planned for sizes that did not occur is not known; of a HighestDensityClassifier whose bitsum "
                "returns the protocol of every size there is an account."
            )
        missing, claims = self.users(protocol) - users, KernelDensityClaims()
        left = copy.copy(protocol)
        left.possible_ = [
            claims.with_users(made, max(made.users - missing, 1), more_private=more_private)
            for made in _possible(protocol, missing)
        ]
        return left

    def among_honest(self, protocol: HighestDensityClassifier, honest: int) -> tuple[HighestDensityClassifier, ...]:
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


@dataclass(frozen=True)
class _Label:
    """What a reported label costs, and what it alone reveals to whoever sees it: the lower end of all.

    - loss: eps_lbl in nats; infinite where labels are published in the clear.
    - classes: m, at least 2.
    - seen: Whether a user's report is seen as hers; else the counts are, from which nothing is concluded here.
    """

    loss: float
    classes: int
    seen: bool

    @classmethod
    def of(cls, protocol: HighestDensityClassifier, threat_model: ThreatModel) -> _Label:
        loss = math.inf if protocol.label_epsilon is None else float(protocol.label_epsilon)
        # In the clear the counts tell the label of a user to whoever knows all others'.
        return cls(loss, _classes(protocol), threat_model is ThreatModel.COMMUNICATION or loss == math.inf)

    def delta(self, epsilon: float) -> float:
        """Return `keep (1 - e^(epsilon - eps_lbl))`, rounded down: see `counts_reveal`."""
        if not self.seen or epsilon >= self.loss:
            return 0.0
        if self.loss == math.inf:
            return 1.0
        with arb_context() as ctx:
            odds = ctx.exp(ctx.convert(self.loss))
            return max(0.0, lower_float((odds - ctx.exp(ctx.convert(epsilon))) / (odds + self.classes - 1)))

    def epsilon(self, delta: float) -> float:
        """Return where that falls to delta, rounded down."""
        if not self.seen or self.loss == math.inf:
            return self.loss if self.seen else 0.0
        with arb_context() as ctx:
            odds = ctx.exp(ctx.convert(self.loss))
            left = odds - ctx.convert(delta) * (odds + self.classes - 1)
            return max(0.0, lower_float(ctx.log(left))) if lower_float(left) > 1.0 else 0.0


class _PromisedCurve:
    """What an (epsilon, delta)-DP statement alone says of all other points of the curve."""

    def __init__(self, promised: Guarantee) -> None:
        self._promised = promised
        self._largest = LargestLossCurve(Interval(0.0, promised.epsilon), Full(1))

    def delta(self, epsilon: float) -> Interval:
        # P(T) - e^epsilon Q(T) is at most what it is for a largest loss, and delta more.
        return Interval(0.0, min(1.0, sum_above(self._largest.delta(epsilon).upper, self._promised.delta)))

    def epsilon(self, delta: float) -> Interval:
        return Interval(0.0, self._promised.epsilon if delta >= self._promised.delta else math.inf)


class _LabelledCurve:
    """The worst class's curve from above, where a published label costs some epsilon more; the label's from below."""

    def __init__(self, classes: PrivacyCurve, label: _Label) -> None:
        self._classes, self._label = classes, label

    def delta(self, epsilon: float) -> Interval:
        left = math.nextafter(epsilon - self._label.loss, -math.inf)
        upper = self._classes.delta(left).upper if left >= 0.0 else 1.0
        return Interval.proved(self._label.delta(epsilon), upper)

    def epsilon(self, delta: float) -> Interval:
        upper = sum_above(self._classes.epsilon(delta).upper, self._label.loss)
        return Interval.proved(self._label.epsilon(delta), upper)


def _classes(protocol: HighestDensityClassifier) -> int:
    """Return how many labels could be reported."""
    return len(protocol.classes_) + len(protocol.empty_classes_)


def _promised(protocol: HighestDensityClassifier) -> Guarantee | None:
    """Return what holds at every size by plan: nothing is asked for where the only class has all users."""
    return None if _classes(protocol) == 1 else getattr(protocol.bitsum, "promised", None)


def _possible(protocol: HighestDensityClassifier, missing: int = 0) -> list[KernelDensityProtocol]:
    """Return the protocols of classes than which none that could be is less private, if so many users are missing.

    Of sizes with the same parameters more users are no less private, where a twin says so. If some are missing, and
    fewer than two honest ones are sure to be left, a larger class has the same one user, and her share of the noise is
    smaller: so the largest of these counts.
    """
    if hasattr(protocol, "possible_"):
        return list(protocol.possible_)
    occurred = list({made.bitsum: made for made in protocol.class_protocols()}.values())
    for made in occurred:
        claims_of(made.bitsum)  # none is private that has no twin
    if _classes(protocol) == 1 or _promised(protocol) is not None or protocol.label_epsilon is None:
        return occurred
    found: dict[Any, KernelDensityProtocol] = {}
    for users in range(1, int(protocol.reported_counts_.sum()) + 1):
        try:
            made = protocol.class_protocol(users)
        except InfeasibleBudgetError:  # then the fit is refused, and nothing is sent but the labels
            continue
        claims = claims_of(made.bitsum)
        key: Any = (type(made.bitsum), *claims.parameters(made.bitsum).items())
        if claims.more_users is MoreUsers.UNKNOWN:
            key = (users, *key)
        if key not in found or users <= missing + 1:
            found[key] = made
        if len(found) > _MOST_SIZES:
            raise CapacityError(
                f"the classes that could be have over {_MOST_SIZES} different parameters; let bitsum return the same "
                "ones for more numbers of users."
            )
    return list(found.values())


def _seen(made: KernelDensityProtocol, threat_model: ThreatModel) -> ThreatModel:
    """Return whose view of a class counts: that of all that is sent, where no other is known."""
    known = KernelDensityClaims().adversaries(made)
    return threat_model if threat_model in known else known[0]
