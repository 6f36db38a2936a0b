"""What is true of `protocols.shuffled`: amplification by shuffling, from the law of one report.

The upper end is that of the blanket, what all inputs report at least; the lower end is exact for the dataset in which
all others hold one input (docs/amplification.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from dpverify.changes import Change
from dpverify.claims.base import MechanismClaims, MoreUsers
from dpverify.claims.local.base import LocalClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.theorem import Theorem
from dpverify.claims.theorems.amplification import AMPLIFICATION
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.privacy_loss.amplification import reports
from dpverify.privacy_loss.amplified_curve import Amplification
from dpverify.privacy_loss.repeated_amplification import RepeatedAmplification
from protocols.shuffled import ShuffledReports

__all__ = ["ShuffledClaims"]


class ShuffledClaims(MechanismClaims[ShuffledReports]):
    """The twin of `ShuffledReports`."""

    name: ClassVar[str] = "shuffled"
    protocol: ClassVar[type[Any]] = ShuffledReports
    more_users: ClassVar[MoreUsers] = MoreUsers.NO_WORSE
    pure: ClassVar[bool] = True
    theorems: ClassVar[tuple[Theorem, ...]] = AMPLIFICATION

    def parameters(self, protocol: ShuffledReports) -> dict[str, Any]:
        """Return the local mechanism, by its name and parameters."""
        claims = mechanism_claims_of(protocol.local)
        return {"local": {"name": claims.name, **claims.parameters(protocol.local)}}

    def one(self, protocol: ShuffledReports) -> Amplification:
        """Return the curve of one round.

        Raises
        ------
        TypeError
            If the law of one report is not listed: its twin is no `LocalClaims`, or its reports have a density.
        """
        claims = mechanism_claims_of(protocol.local)
        if not isinstance(claims, LocalClaims):
            raise TypeError(f"local={protocol.local!r} must be a local mechanism, whose twin has the law of a report.")
        law = claims.report_matrix(protocol.local)
        found = reports(law.matrix, protocol.users, relative_error=law.relative_error, outside=law.outside)
        most = claims.pure_epsilon(protocol.local, ThreatModel.LOCAL).upper
        return replace(found, largest=min(found.largest, most))

    def curve(  # noqa: D102
        self,
        protocol: ShuffledReports,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> PrivacyCurve:
        rounds = self.in_full(changes)
        one = self.one(protocol)
        return one if rounds == 1 else RepeatedAmplification(one, rounds, reference_delta=reference_delta)

    def pure_epsilon(self, protocol: ShuffledReports, threat_model: ThreatModel) -> Interval:  # noqa: D102
        return self.one(protocol).epsilon(0.0)

    def note(self, protocol: ShuffledReports, threat_model: ThreatModel) -> str:  # noqa: D102
        return (
            "the upper end holds for every dataset, by what all inputs report at least; the lower end is that of one "
            "round in which all others hold one input"
        )
