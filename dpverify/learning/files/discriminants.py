"""A learned discriminant in a file: public settings, what was run, and the published sum, from which its rule is made.

Its guarantee is not believed: the protocol's own account must keep the budget that the file states, and its limits be
those of the vectors that users make. That it was run at all is the word of whoever wrote the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.claims.records import protocol_of, record_of
from dpverify.guarantee import Budget
from dpverify.learning.joint.discriminant import PrivateDiscriminant
from dpverify.learning.joint.moments import ClassMoments
from dpverify.learning.joint.sending import JointPlan
from dpverify.learning.scale import PublicScale
from dpverify.planning.account import account
from dpverify.planning.sums.vectors import plan_of
from protocols.sums.vectors import UnaryVectorSum

__all__ = ["DISCRIMINANT", "discriminant_of", "discriminant_parts"]

DISCRIMINANT = "dpverify-discriminant-1"
_SETTINGS = ("epsilon", "delta", "second_moment", "ratio", "public_random_state")


def discriminant_parts(model: PrivateDiscriminant) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the header of a fitted discriminant has of its own, and its arrays."""
    settings = {name: model._fitted_with[name] for name in _SETTINGS}
    header = {"settings": settings, "second": model.map_.second, "protocol": record_of(model.protocol_)}
    return header, {"classes": model.classes_, "published": model.published_}


def discriminant_of(
    header: dict[str, Any],
    arrays: dict[str, Any],
    public_scale: Any,
    scale: PublicScale,
    notes: tuple[str, ...],
    proved: bool,
) -> PrivateDiscriminant:
    """Return the discriminant of a file.

    - header, arrays: Of the file.
    - public_scale, scale: What users did to their points.
    - notes: Of the guarantee.
    - proved: Whether to prove that the protocol keeps the budget; if not, the budget is what is stated.

    Raises ValueError or TypeError if they do not fit together, or it does not keep the budget.
    """
    if arrays["published"].dtype.kind not in "fiu" or not isinstance(header["protocol"], dict):
        raise ValueError("its values must be real numbers, and its protocol an object")
    classes, published = arrays["classes"], np.asarray(arrays["published"], dtype=np.float64)
    if classes.ndim != 1 or classes.size < 2 or not np.array_equal(np.unique(classes), classes):
        raise ValueError("its classes must be a list of at least 2 labels, sorted")
    model = PrivateDiscriminant(public_scale=public_scale, classes=classes.tolist(), **header["settings"])
    if set(header["settings"]) != set(_SETTINGS):
        raise ValueError("its settings must be those of a discriminant")
    budget, names = model._check(), header["names"]
    second, dimension, protocol = header["second"], header["dimension"], protocol_of(header["protocol"])
    if not isinstance(second, bool) or type(dimension) is not int or dimension < 1:
        raise ValueError("its vectors must have points of at least 1 coordinate, and second moments or not")
    if len(names) not in (0, dimension):
        raise ValueError("its names must be those of a classifier")
    made = ClassMoments(len(classes), dimension, second, model.public_random_state)
    if not isinstance(protocol, UnaryVectorSum) or (protocol.dimension, protocol.clip, protocol.l1) != (
        made.coordinates,
        made.clip,
        made.l1,
    ):
        raise ValueError("its protocol must be of the vectors that its users have")
    if published.shape != (made.coordinates,):
        raise ValueError(f"its values have shape {published.shape}, and must have {(made.coordinates,)}")
    if not np.isfinite(published).all():
        raise ValueError("its values must be finite")
    spent = _proved(protocol, budget) if proved else budget.epsilon
    sent = JointPlan(made, plan_of(protocol, budget, spent))
    model.adopt(sent, published, classes, tuple(names) or None, scale, notes)
    return model


def _proved(protocol: UnaryVectorSum, budget: Budget) -> float:
    """Return the epsilon that a protocol is proved to keep, within the budget."""
    spent = account(protocol, delta=budget.delta).epsilon.upper
    if spent > budget.epsilon:
        raise ValueError(
            f"its parameters do not keep the epsilon={budget.epsilon!r} and delta={budget.delta!r} that it states"
        )
    return spent
