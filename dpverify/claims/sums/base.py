"""What the twin of a protocol for sums states: the noise's law, the pair of its largest move, error and messages.

**Only the largest move matters**, of noise Z with a unimodal law f. At epsilon >= 0 the divergence of Z from Z + a is
the sum over y of `(f(y) - e^epsilon f(y-a))+`. Up to the mode f(y-a) falls with a. Beyond it f(y-a) >= f(y) at first,
so that the term is 0, and from where it is not f(y-a) falls as well. So no term falls with a, and that of Z + a from Z
is the same of -Z. Each direction at -epsilon is a rising function of the other one at epsilon. So the pair of a move by
L dominates that of every change of one user's integer, whatever the others hold, at every real epsilon.

**Rounding is part of the law.** A real number x between two integers has the law `(1-f) N(floor x) + f N(ceil x)`,
which is affine between integers: the divergence of two inputs is jointly convex there, and largest at integers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, TypeVar

from numpy.typing import NDArray

from dpverify.changes import Change, Full
from dpverify.claims.base import MechanismClaims
from dpverify.claims.shared.bitsum_pairs import LEFT_OUT, Pairs, noise_tail
from dpverify.guarantee import CapacityError, Interval, PrivacyCurve, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.noise import binomial
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.privacy_loss.composing.bounds import BestCurve, InfiniteLossCurve, LargestLossCurve
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.pairs import moved
from protocols.sums.base import SumProtocol

__all__ = ["SumClaims"]

P = TypeVar("P", bound=SumProtocol)


class SumClaims(MechanismClaims[P]):
    """The twin of a protocol for sums of integers."""

    audited_as = "dpverify.audit.subjects.mechanisms:sum_subject"

    @abstractmethod
    def noise_law(self, protocol: P, share: float, tail: float) -> IntegerLaw:
        """Return the law of the noise of a share of the users, in [0, 1]: unimodal for any share."""

    @abstractmethod
    def variance(self, protocol: P) -> float:
        """Return the mean squared error that the noise adds, in steps, for the worst input; at most."""

    def rmse(self, protocol: P) -> float:
        """Return the root mean squared error of the sum, for the worst input; that of integers in units of 1.

        Of a real number rounding has a variance of a quarter of a step, squared, at most.
        """
        rounding = 0.0 if protocol.steps is None else 0.25 * protocol.users
        return float(protocol.step) * math.sqrt(self.variance(protocol) + rounding)

    def parameters(self, protocol: P) -> dict[str, Any]:
        """Return the parameters by argument name; where numbers begin, and their steps, if that is not usual."""
        usual = {"smallest": 0, "steps": None}
        return {k: v for k, v in super().parameters(protocol).items() if k not in usual or v != usual[k]}

    @abstractmethod
    def messages_per_user(self, protocol: P) -> float:
        """Return the expected number of messages of a user with the largest number."""

    @abstractmethod
    def bytes_per_message(self, protocol: P) -> int:
        """Return the bytes of a message's content, at least 1."""

    @abstractmethod
    def estimate_law(self, protocol: P, total: int, participants: int, midway: int = 0) -> DiscreteLaw:
        """Return the exact law of the estimate of those who take part.

        - total: The sum of what they send, of those midway between two steps the lower ones.
        - participants, midway: How many there are, and how many of them round a number in the middle.
        """

    @abstractmethod
    def watched(self, protocol: P) -> tuple[int, DiscreteLaw, int, float]:
        """Return a symbol, how often a user with 0 sends it, and the fewest and the most messages of any user."""

    def pairs(self, protocol: P, tail: float = LEFT_OUT) -> Pairs:
        """Return the pairs of the noise and its move by one user's change, as `every` and `attained`.

        Raises CapacityError if there is no noise.
        """
        if getattr(protocol, self.noise) == 0.0:
            raise CapacityError(f"{self.noise}=0.0 must be positive: without noise no loss of {self.name} is finite.")
        law = self.noise_law(protocol, 1.0, noise_tail(tail))
        # Noise that is as likely up as down has one pair in both directions.
        pair = tuple(moved(law, protocol.levels))[: 1 if law.start == 1 - law.stop else 2]
        return Pairs(
            pair, pair, "attained by one user's change from the smallest to the largest; all others' do not matter"
        )

    def noise_epsilon(self, protocol: P) -> Interval:
        """Return bounds on the largest loss of the sum alone: here none is known to be finite."""
        return Interval(math.inf, math.inf)

    def best_of_sums(
        self, protocol: P, changes: Change, threat_model: ThreatModel, relative_width: float, reference_delta: float
    ) -> BestCurve:
        """Return the curve of sums that are seen, by their largest loss, infinite losses and exact law."""
        changes = Full(self.in_full(changes))
        return BestCurve(
            LargestLossCurve(self.noise_epsilon(protocol), changes),
            lambda: InfiniteLossCurve(self.infinite_mass(protocol, threat_model), changes),
            lambda: self.composed(protocol, changes, relative_width, reference_delta),
        )

    def noisy_law(self, protocol: P, total: int, participants: int, midway: int) -> IntegerLaw:
        """Return the law of a sum and the noise of those who take part: see `estimate_law`."""
        noise = self.noise_law(protocol, participants / protocol.users, views.TAIL)
        return views.total(point_mass(total), noise, binomial(midway, 0.5, views.TAIL))

    def composed(self, protocol: P, changes: Change, relative_width: float, reference_delta: float) -> PrivacyCurve:
        """Return the curve of sums that are seen, with all of their noise, and nothing else."""
        runs = self.in_full(changes)
        pairs = self.pairs(protocol, min(LEFT_OUT, 1e-10 * reference_delta / runs))
        return FamilyComposition(
            pairs.every, runs, attained=pairs.attained, relative_width=relative_width, reference_delta=reference_delta
        )

    def infinite_mass(self, protocol: P, threat_model: ThreatModel) -> float:
        return float(getattr(protocol, self.noise) == 0.0)

    def note(self, protocol: P, threat_model: ThreatModel) -> str:
        if getattr(protocol, self.noise) == 0.0:
            return f"{self.noise} = 0: without noise the view tells the sum"
        return "attained by one user's change from the smallest to the largest integer, whatever the others hold"

    def readable_estimate(self, protocol: P, estimates: NDArray[Any]) -> NDArray[Any]:
        """Return what of estimates an audit reads: themselves."""
        return estimates
