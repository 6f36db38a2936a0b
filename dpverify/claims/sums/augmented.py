"""What is true of `protocols.sums.augmented`.

**Privacy.** The number of all messages is public, so the view is the number of ones: the sum, and noise that does not
depend on the data and is nobody's, whoever colludes with the analyzer but the shuffler. Its law is that of D given
`|D| <= M`, which is unimodal as that of D is, so that `SumClaims` has its pair. Where the noise ends a view tells the
neighbours apart: L values at either end, whose mass is charged as infinitely lost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpverify.claims.sums.unary import CountClaims
from dpverify.guarantee import ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.two_sided import two_sided
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.rounding import UNIT, summation_error
from protocols.sums.augmented import AugmentedSum

__all__ = ["AugmentedSumClaims"]


class AugmentedSumClaims(CountClaims[AugmentedSum]):
    """The twin of `AugmentedSum`."""

    name = "augmented-sum"
    protocol = AugmentedSum
    noise = "p"

    def noise_law(self, protocol: AugmentedSum, share: float, tail: float) -> IntegerLaw:
        """Return the law of D, of any share of the users: the shuffler draws it."""
        if protocol.p == 0.0:
            return point_mass(0)
        law = two_sided(protocol.shape, protocol.p, tail)
        beyond = law.pmf[max(protocol.margin + 1 - law.start, 0) :]
        listed, off = float(np.sum(beyond)), law.relative_error + summation_error(beyond.size) + 8.0 * UNIT
        # P(|D| <= M), and how far a mass may be off once it is divided by that.
        outside = 2.0 * listed
        wrong = 2.0 * (listed * 2.0 * off + law.tail_above) + UNIT
        inside = 1.0 - outside
        error = (law.relative_error + 4.0 * UNIT + wrong / inside) * (1.0 + 4.0 * (law.relative_error + wrong / inside))
        kept = law.pmf[beyond.size : law.pmf.size - beyond.size] / inside
        tails = 0.0 if protocol.margin < law.stop else law.tail_above * (1.0 + 2.0 * error) / inside
        return replace(
            law, start=law.start + beyond.size, pmf=kept, relative_error=error, tail_below=tails, tail_above=tails
        )

    def variance(self, protocol: AugmentedSum) -> float:
        """Return an upper bound: noise that is drawn again where it is large has less."""
        return 2.0 * protocol.shape * protocol.p / (1.0 - protocol.p) ** 2

    def messages_per_user(self, protocol: AugmentedSum) -> float:
        return float(protocol.levels)

    def estimate_law(self, protocol: AugmentedSum, total: int, participants: int, midway: int = 0) -> DiscreteLaw:
        law = DiscreteLaw.from_integer_law(self.noisy_law(protocol, total + protocol.margin, participants, midway))
        return law.image(lambda ones: protocol.analyze(ones, participants=participants))

    def watched(self, protocol: AugmentedSum) -> tuple[int, DiscreteLaw, int, float]:
        return 1, DiscreteLaw.from_integer_law(point_mass(0)), protocol.levels, protocol.levels

    def note(self, protocol: AugmentedSum, threat_model: ThreatModel) -> str:
        return f"{super().note(protocol, threat_model)}; the adversary does not know the shuffler's dummies"
