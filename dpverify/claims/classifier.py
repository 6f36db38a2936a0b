"""What is true of `protocols.classifier`: wagner2025, Corollary 3.4, for both adversaries and both kinds of neighbour.

Let the protocol of a class of any reported size be (eps, delta)-DP for replacing a point, and let labels be published
by eps_lbl-DP randomized response. Then the whole is (eps, delta)-DP where a user's point changes and her label stays,
and (eps + eps_lbl, delta)-DP where her label changes too, where (eps, delta)-DP does not hold. The proofs are in
docs/classifier.md.
"""

from __future__ import annotations

import math
from enum import StrEnum

from dpverify.guarantee import Adjacency, Guarantee, Side, ThreatModel
from dpverify.rounding import sum_above
from protocols.local.labels import LabelRandomizedResponse
from protocols.validation import check_real

__all__ = ["Change", "classifier_guarantee", "counts_reveal"]


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
