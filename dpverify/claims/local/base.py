"""What a local mechanism's twin states: the law of one user's report for every input, and what follows from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from dpverify.changes import Change
from dpverify.claims.base import MechanismClaims
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.privacy_loss.covers import Entry
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.family import FamilyComposition

__all__ = ["LocalClaims"]

P = TypeVar("P")


class LocalClaims(MechanismClaims[P]):
    """The twin of a mechanism with `randomize(inputs, rng)`, shape (users,), whose reports are seen by everyone."""

    threat_models: ClassVar[tuple[ThreatModel, ...]] = (ThreatModel.LOCAL,)
    pure: ClassVar[bool] = True

    @abstractmethod
    def inputs(self, protocol: P) -> Sequence[Any]:
        """Return two neighbouring inputs or more, of which the first two attain the largest privacy loss."""

    @abstractmethod
    def report_law(self, protocol: P, value: Any) -> DiscreteLaw:
        """Return the exact law of a user's report given her input."""

    @abstractmethod
    def pairs(self, protocol: P) -> Sequence[PrivacyLossDistribution]:
        """Return pairs of reports that some inputs attain and that together dominate those of all inputs."""

    @abstractmethod
    def pure_epsilon(self, protocol: P, threat_model: ThreatModel) -> Interval:
        """Return the largest privacy loss of one report over all inputs."""

    def families(  # noqa: D102
        self, protocol: P, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Sequence[tuple[Sequence[Entry], Sequence[PrivacyLossDistribution]]]:
        pairs = self.pairs(protocol)
        return ((pairs, pairs),)

    def curve(
        self,
        protocol: P,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> PrivacyCurve:
        """Return the privacy curve of so many independent reports on the same input."""
        return FamilyComposition(
            self.pairs(protocol),
            self.in_full(changes),
            attained=self.pairs(protocol),
            relative_width=relative_width,
            reference_delta=reference_delta,
        )
