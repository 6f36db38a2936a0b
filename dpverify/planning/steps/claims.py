"""The twins of steps, so that days of steps stand beside days of protocols: where one record is replaced.

What a step releases everybody sees, the adversary of a shuffler too: the curator of a step is trusted, whoever the
adversary is. So the view is that of both, and as a record that is replaced changes what all days hold of it, the pairs
of a step compose with those of protocols.
"""

from __future__ import annotations

from typing import Any

from dpverify.changes import Change
from dpverify.claims.base import Families, MechanismClaims
from dpverify.guarantee import Adjacency, Interval, PrivacyCurve, ThreatModel
from dpverify.planning.steps.allocation import RandomAllocation
from dpverify.planning.steps.integers import DiscreteLaplaceStep, IntegerStep
from dpverify.planning.steps.listed import BoundedRangeStep, OpaqueStep, ResponseStep
from dpverify.planning.steps.mixtures import MixtureStep
from dpverify.planning.steps.renyi import ConcentratedStep, RenyiStep
from dpverify.planning.steps.step import NoisyStep, Steps

__all__ = [
    "BoundedRangeStepClaims",
    "ConcentratedStepClaims",
    "DiscreteLaplaceStepClaims",
    "IntegerStepClaims",
    "MixtureStepClaims",
    "NoisyStepClaims",
    "OpaqueStepClaims",
    "RandomAllocationClaims",
    "RenyiStepClaims",
    "ResponseStepClaims",
    "StepClaims",
]

_REPLACED = Adjacency.REPLACE_ONE
_LEAST_TAIL = 1e-280


class StepClaims(MechanismClaims[Any]):
    """The twin of a step of a trusted curator."""

    threat_models = (ThreatModel.CENTRAL, ThreatModel.COMMUNICATION, ThreatModel.MODEL, ThreatModel.LOCAL)

    def curve(
        self,
        protocol: Any,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> PrivacyCurve:
        """Return the privacy curve of so many of these steps."""
        return Steps([(protocol, self.in_full(changes))], _REPLACED).curve(relative_width, reference_delta)

    def families(self, protocol: Any, threat_model: ThreatModel, tail: float, *, loose: bool = False) -> Families:
        """Return lists that dominate one step, and lists that are attained, of noise rounded to cells for one."""
        tail = max(tail, _LEAST_TAIL)
        above, below = protocol.pair(_REPLACED, tail).listed()
        attained = protocol.attained(_REPLACED, tail)
        if attained is not None:
            below = [pair for each in attained for pair in each.listed()[1]]
        return ((above, below),)

    def pure_epsilon(self, protocol: Any, threat_model: ThreatModel) -> Interval:
        """Return the largest privacy loss of one step, which may be infinite."""
        largest: Interval = protocol.largest_loss(_REPLACED)
        return largest

    def note(self, protocol: Any, threat_model: ThreatModel) -> str:
        """Return what is assumed of the sampling."""
        return "; ".join(Steps([(protocol, 1)], _REPLACED).notes)

    def users(self, protocol: Any) -> None:
        """Return None: no step rests on how many records there are."""


class NoisyStepClaims(StepClaims):
    """The twin of `NoisyStep`."""

    name, protocol = "noisy-step", NoisyStep


class IntegerStepClaims(StepClaims):
    """The twin of `IntegerStep`."""

    name, protocol = "integer-step", IntegerStep


class DiscreteLaplaceStepClaims(StepClaims):
    """The twin of `DiscreteLaplaceStep`."""

    name, protocol = "discrete-laplace-step", DiscreteLaplaceStep


class OpaqueStepClaims(StepClaims):
    """The twin of `OpaqueStep`."""

    name, protocol = "opaque-step", OpaqueStep


class BoundedRangeStepClaims(StepClaims):
    """The twin of `BoundedRangeStep`."""

    name, protocol = "bounded-range-step", BoundedRangeStep


class ResponseStepClaims(StepClaims):
    """The twin of `ResponseStep`."""

    name, protocol = "response-step", ResponseStep


class ConcentratedStepClaims(StepClaims):
    """The twin of `ConcentratedStep`."""

    name, protocol = "concentrated-step", ConcentratedStep


class RenyiStepClaims(StepClaims):
    """The twin of `RenyiStep`."""

    name, protocol = "renyi-step", RenyiStep


class RandomAllocationClaims(StepClaims):
    """The twin of `RandomAllocation`, of whole passes."""

    name, protocol = "random-allocation", RandomAllocation


class MixtureStepClaims(StepClaims):
    """The twin of `MixtureStep`."""

    name, protocol = "mixture-step", MixtureStep
