"""What is true of `protocols.sums.unary`.

The view is the sum of the integers and the noise, which does not depend on the data: `SumClaims` has its pair. Poisson
and NB laws are unimodal. More noise is that of less and independent noise on top, as for bits
(`dpverify.claims.bitsum.negative_binomial` has the proof), so that more of any parameter is more private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, TypeVar

from dpverify.changes import Change
from dpverify.claims.base import Families, MoreUsers
from dpverify.claims.sums.base import SumClaims
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import negative_binomial as formulas
from dpverify.guarantee import ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.noise import negative_binomial, poisson
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.privacy_loss.composing.bounds import BestCurve
from protocols.sums.base import SumProtocol
from protocols.sums.unary import NegativeBinomialSum, PoissonSum, UnarySum

__all__ = ["CountClaims", "NegativeBinomialSumClaims", "PoissonSumClaims", "UnarySumClaims"]

C = TypeVar("C", bound=SumProtocol)
S = TypeVar("S", bound=UnarySum)


class CountClaims(SumClaims[C]):
    """The twin of a protocol whose view is one count: the sum, and all of the noise."""

    more_users = MoreUsers.SAME

    def curve(
        self,
        protocol: C,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> BestCurve:
        return self.best_of_sums(protocol, changes, threat_model, relative_width, reference_delta)

    def families(self, protocol: C, threat_model: ThreatModel, tail: float, *, loose: bool = False) -> Families:
        pairs = self.pairs(protocol, tail)
        return ((pairs.every, pairs.attained),)

    def bytes_per_message(self, protocol: C) -> int:
        return 1


class UnarySumClaims(CountClaims[S]):
    """The twin of a protocol whose users send as many messages as they hold."""

    def messages_per_user(self, protocol: S) -> float:
        return protocol.levels + protocol.noise_mean / protocol.users

    def estimate_law(self, protocol: S, total: int, participants: int, midway: int = 0) -> DiscreteLaw:
        law = DiscreteLaw.from_integer_law(self.noisy_law(protocol, total, participants, midway))
        return law.image(lambda counts: protocol.analyze(counts, participants=participants))

    def watched(self, protocol: S) -> tuple[int, DiscreteLaw, int, float]:
        share = self.noise_law(protocol, 1.0 / protocol.users, views.TAIL)
        return 1, DiscreteLaw.from_integer_law(share), 0, math.inf


class PoissonSumClaims(UnarySumClaims[PoissonSum]):
    """The twin of `PoissonSum`."""

    name = "poisson-sum"
    protocol = PoissonSum
    noise = "mean"
    more_private_towards: ClassVar[Mapping[str, float]] = {"mean": math.inf}

    def noise_law(self, protocol: PoissonSum, share: float, tail: float) -> IntegerLaw:
        return poisson(protocol.mean * share, tail)

    def variance(self, protocol: PoissonSum) -> float:
        return protocol.mean


class NegativeBinomialSumClaims(UnarySumClaims[NegativeBinomialSum]):
    """The twin of `NegativeBinomialSum`."""

    name = "nb-sum"
    protocol = NegativeBinomialSum
    noise = "p"
    more_private_towards: ClassVar[Mapping[str, float]] = {"shape": math.inf, "p": 1.0}

    def noise_law(self, protocol: NegativeBinomialSum, share: float, tail: float) -> IntegerLaw:
        return negative_binomial(protocol.shape * share, protocol.p, tail) if share > 0.0 else point_mass(0)

    def variance(self, protocol: NegativeBinomialSum) -> float:
        return float(formulas.variance(FLOATS, protocol.p, protocol.shape))
