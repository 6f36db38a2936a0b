"""What is true of `protocols.sums.split_and_mix`; docs/sums.md has the proofs.

**Privacy.** The shuffled shares are within `split_distance` of a view that depends on nothing but the noisy sum modulo
q. That view is private by the noise, of which `SumClaims` has the pair of a move by L, whatever becomes of it modulo q.
The distance d is charged, (1 + e^epsilon) d to delta for each of several sums, as the distances of independent views
add up. The views themselves are not known to be pure, and pairs of theirs are not listed: only curves are bounded.

The noise is unimodal: log-concave for r >= 1, and for r < 1 the pmf g of NB falls, so that the law of the difference,
the sum over j of g(j) g(j+k), falls with k >= 0.

**What is attained** is the privacy of the sum modulo q, which anybody can read off the messages: that of the sum itself
but for the chance that the noise leaves q integers around it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from dpverify.changes import Change
from dpverify.claims.base import Families
from dpverify.claims.shared.shares import split_distance
from dpverify.claims.sums.base import SumClaims
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.two_sided import two_sided
from dpverify.laws.window import DEFAULT_TAIL, IntegerLaw, point_mass
from dpverify.privacy_loss.composing.bounds import NearCurve
from dpverify.rounding import UNIT, summation_error
from protocols.sums.split_and_mix import SplitAndMix

__all__ = ["SplitAndMixClaims"]


class SplitAndMixClaims(SumClaims[SplitAndMix]):
    """The twin of `SplitAndMix`."""

    name = "split-and-mix"
    protocol = SplitAndMix
    noise = "p"
    # Of the sum, by independent noise on top; and what is charged depends on neither.
    more_private_towards: ClassVar[Mapping[str, float]] = {"shape": math.inf, "p": 1.0}

    def noise_law(self, protocol: SplitAndMix, share: float, tail: float) -> IntegerLaw:
        return two_sided(protocol.shape * share, protocol.p, tail) if share > 0.0 else point_mass(0)

    def distance(self, protocol: SplitAndMix) -> float:
        """Return an upper bound on the distance of the shuffled shares from a view that the noisy sum makes."""
        return split_distance(protocol.users, protocol.shares, protocol.modulus)

    def wrapped(self, protocol: SplitAndMix, margin: int | None = None) -> float:
        """Return an upper bound on the probability that the noise exceeds a margin in size: at first the protocol's."""
        law = self.noise_law(protocol, 1.0, DEFAULT_TAIL)
        beyond = law.pmf[max((protocol.margin if margin is None else margin) + 1 - law.start, 0) :]
        off = law.relative_error + summation_error(beyond.size) + 8.0 * UNIT
        return min(1.0, 2.0 * (float(np.sum(beyond)) * (1.0 + 2.0 * off) + law.tail_above) * (1.0 + 4.0 * UNIT))

    def noise_epsilon(self, protocol: SplitAndMix) -> Interval:
        """Return an upper bound on the largest loss of the sum alone: L ln(1/p), for log-concave noise.

        Its ratios of neighbours fall to p. No pure guarantee is claimed of the messages.
        """
        if protocol.p == 0.0 or protocol.shape < 1.0:
            return Interval(0.0, math.inf)
        return Interval(0.0, -math.log(protocol.p) * protocol.levels * (1.0 + 8.0 * UNIT))

    def curve(
        self,
        protocol: SplitAndMix,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> PrivacyCurve:
        runs = self.in_full(changes)
        above, below = (min(1.0, runs * each * (1.0 + 2.0 * UNIT)) for each in self.apart(protocol))
        return NearCurve(
            self.best_of_sums(protocol, changes, threat_model, relative_width, reference_delta), above, below
        )

    def apart(self, protocol: SplitAndMix) -> tuple[float, float]:
        """Return the distance of the shares from the sum, and of the sum from its integer: see `MechanismClaims`."""
        # What wraps round leaves a window of q integers, in which both sums have their noise.
        window = (protocol.modulus - 1 - protocol.levels) // 2
        return self.distance(protocol), self.wrapped(protocol, window)

    def near_families(
        self, protocol: SplitAndMix, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        """Return the pairs of the sum that is seen, which the shares are near."""
        pairs = self.pairs(protocol, tail)
        return ((pairs.every, pairs.attained),)

    def pure_epsilon(self, protocol: SplitAndMix, threat_model: ThreatModel) -> Interval:
        """Return [0, inf]: no largest loss of the messages is known, and without noise it is infinite."""
        return Interval(math.inf if protocol.p == 0.0 else 0.0, math.inf)

    def families(
        self, protocol: SplitAndMix, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        raise ValueError(
            f"protocol={protocol!r} has no pairs: the curve of split-and-mix is bounded by that of its sums and a "
            "distance."
        )

    def note(self, protocol: SplitAndMix, threat_model: ThreatModel) -> str:
        charged = f"{self.distance(protocol):.3g}, the distance of the shares from what the sum tells, is charged"
        return f"{super().note(protocol, threat_model)}; {charged}"

    def variance(self, protocol: SplitAndMix) -> float:
        """Return an upper bound, that of the noise and what wrapping round adds: q at most."""
        variance = 2.0 * protocol.shape * protocol.p / (1.0 - protocol.p) ** 2
        return variance + float(protocol.modulus) ** 2 * self.wrapped(protocol)

    def messages_per_user(self, protocol: SplitAndMix) -> float:
        return float(protocol.shares)

    def bytes_per_message(self, protocol: SplitAndMix) -> int:
        return -(-(protocol.modulus - 1).bit_length() // 8)

    def estimate_law(self, protocol: SplitAndMix, total: int, participants: int, midway: int = 0) -> DiscreteLaw:
        made = DiscreteLaw.from_integer_law(self.noisy_law(protocol, total, participants, midway))
        estimates = protocol.analyze(made.points % protocol.modulus, participants=participants)
        return DiscreteLaw.of(estimates, made.pmf, made.outside)

    def watched(self, protocol: SplitAndMix) -> tuple[int, DiscreteLaw, int, float]:
        """Return 0, and how many of a user's shares are: j of k, of the q^(k-1) that have her sum, uniformly.

        Of the m-tuples without a 0, `((q-1)^m + (q-1) (-1)^m) / q` add up to 0, and `((q-1)^m - (-1)^m) / q` to u else.
        """
        k, q = protocol.shares, protocol.modulus
        noise = self.noise_law(protocol, 1.0 / protocol.users, views.TAIL)
        nothing = float(noise.pmf[noise.support % q == 0].sum())
        chances = []
        for j in range(k + 1):
            m, sign = k - j, (-1) ** (k - j)
            at_zero, elsewhere = ((q - 1) ** m + (q - 1) * sign) // q, ((q - 1) ** m - sign) // q
            weights = [math.comb(k, j) * ways / q ** (k - 1) for ways in (at_zero, elsewhere)]
            chances.append(nothing * weights[0] + (1.0 - nothing) * weights[1])
        return 0, DiscreteLaw.of(np.arange(k + 1), np.array(chances), 1e-12), k, k
