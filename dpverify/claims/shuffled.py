"""What is true of `protocols.shuffled`: amplification by shuffling, from the law of one report.

The upper end is that of the blanket, what all inputs report at least, of Laplace noise by strips of inputs; the lower
end is exact for the dataset in which all others hold one input (docs/amplification.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpverify.changes import Change
from dpverify.claims.base import Families, MechanismClaims, MoreUsers
from dpverify.claims.local.base import LocalClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.papers.entries import stated
from dpverify.privacy_loss.shuffling.amplification import reports
from dpverify.privacy_loss.shuffling.amplified_curve import Amplification
from dpverify.privacy_loss.shuffling.noisy_reports import noisy_reports
from dpverify.privacy_loss.shuffling.repeated_amplification import RepeatedAmplification
from protocols.local.laplace import LaplaceMean
from protocols.shuffled import ShuffledReports
from protocols.validation import check_real

__all__ = ["ShuffledClaims"]

_PER_TAIL, _LEAST = 1e10, 1e-200
"""At which delta a listed pair is meant to be sharp, in units of what laws may leave out; and the least tail."""


class ShuffledClaims(MechanismClaims[ShuffledReports]):
    """The twin of `ShuffledReports`."""

    name = "shuffled"
    protocol = ShuffledReports
    more_users = MoreUsers.NO_WORSE
    pure = True
    theorems = stated("wang_lecture9/amplification", "amplification")

    def parameters(self, protocol: ShuffledReports) -> dict[str, Any]:
        """Return the local mechanism, by its name and parameters."""
        claims = mechanism_claims_of(protocol.local)
        return {"local": {"name": claims.name, **claims.parameters(protocol.local)}}

    def one(self, protocol: ShuffledReports) -> Amplification:
        """Return the curve of one round.

        Raises TypeError if the law of one report is not known: its twin is no `LocalClaims`. Raises ValueError if it is
        Laplace noise of an epsilon outside of [0.001, 100].
        """
        claims = mechanism_claims_of(protocol.local)
        if not isinstance(claims, LocalClaims):
            raise TypeError(f"local={protocol.local!r} must be a local mechanism, whose twin has the law of a report.")
        if isinstance(protocol.local, LaplaceMean):
            epsilon = check_real("epsilon", protocol.local.epsilon, low=1e-3, high=100.0)
            return noisy_reports(1.0 / epsilon, 1.0, protocol.users)
        law = claims.report_matrix(protocol.local)
        found = reports(law.matrix, protocol.users, relative_error=law.relative_error, outside=law.outside)
        most = claims.pure_epsilon(protocol.local, ThreatModel.LOCAL).upper
        return replace(found, largest=min(found.largest, most))

    def curve(
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

    def families(
        self, protocol: ShuffledReports, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        one = self.one(protocol)
        once = RepeatedAmplification(one, 1, reference_delta=max(_PER_TAIL * tail, _LEAST))
        return (((once.pair,), (once.attained,)),)

    def pure_epsilon(self, protocol: ShuffledReports, threat_model: ThreatModel) -> Interval:
        return self.one(protocol).epsilon(0.0)

    def note(self, protocol: ShuffledReports, threat_model: ThreatModel) -> str:
        return (
            "the upper end holds for every dataset, by what inputs report at least; the lower end is attained "
            "where all others hold one input"
        )
