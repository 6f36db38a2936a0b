"""What days add to a schedule whose bits all change together, as the features of points of bounded norm do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpverify.claims.base import MechanismClaims
from dpverify.guarantee import ThreatModel
from dpverify.privacy_loss.composing.together import Part
from dpverify.privacy_loss.joint.attained_change import Parts

__all__ = ["joint_days"]


def joint_days(
    protocols: Mapping[int, tuple[Any, MechanismClaims[Any]]],
    threat_model: ThreatModel,
    reference_delta: float,
    upper: Sequence[int],
    lower: Sequence[int],
    *,
    guess: bool = False,
) -> tuple[list[Part], Parts]:
    """Return what bounds the runs of these protocols, one change for each, and what is attained in them at once.

    - protocols: By number.
    - threat_model: Whose view.
    - reference_delta: Where accuracy is wanted.
    - upper, lower: By number, how many runs each bounds from above and from below.
    - guess: Whether what bounds them need only be about right, and nothing attained is wanted.
    """
    changes: list[Part] = []
    attained: Parts = ()
    for number, (protocol, claims) in protocols.items():
        made = {
            runs: claims.joint(protocol, threat_model, runs, reference_delta, guess=guess)
            for runs in {upper[number], 0 if guess else lower[number]} - {0}
        }
        changes += [made[runs][0] for runs in (upper[number],) if runs]
        attained += made[lower[number]][1] if lower[number] and not guess else ()
    return changes, attained
