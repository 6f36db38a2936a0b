"""What is true of `protocols.histogram`; the proofs are in docs/buckets.md.

**Privacy.** See `dpverify.claims.shared.buckets`.

**Error.** With F the law of the noise, the largest error exceeds alpha with probability at most `1 - F(alpha)^m`,
`m = min(buckets, n // (alpha + 1))`, attained by m equal buckets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpverify.changes import Change
from dpverify.claims.base import Families, MechanismClaims
from dpverify.claims.bitsum.negative_binomial import SingleNoiseClaims
from dpverify.claims.registry import claims_of
from dpverify.claims.shared.bitsum_pairs import noise_tail as cut_for
from dpverify.claims.shared.buckets import bucket_curve, least_shape, noise_of, under_estimating
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import histogram as formulas
from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError, PrivacyCurve, ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.messages import TAIL, MessagesLaw, counted_bits
from dpverify.laws.window import DEFAULT_TAIL
from dpverify.papers.entries import stated
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.search import least_argument, least_integer
from protocols.histogram import BucketSums, Histogram
from protocols.validation import check_integer, check_real

__all__ = ["HistogramClaims"]

_DECAYS = (0.02, 3.0)
"""The range of `-ln p / epsilon` that is searched for the least error."""


class HistogramClaims(MechanismClaims[BucketSums]):
    """The twin of `Histogram`."""

    name = "histogram"
    protocol: ClassVar[type[BucketSums]] = Histogram
    theorems = stated("ghazi2021/histogram", "histogram")
    audited_as = "dpverify.audit.subjects.buckets:bucket_subject"

    def count_laws(self, protocol: BucketSums, held: ArrayLike) -> list[DiscreteLaw]:
        """Return the law of each bucket's number of messages, all independent, given how many users hold each value."""
        claims = claims_of(protocol.bitsum)
        return [
            claims.view_law(protocol.bitsum, ones).image(lambda rows: rows[:, 0]) for ones in np.asarray(held).tolist()
        ]

    def published_laws(self, protocol: BucketSums, held: ArrayLike) -> Sequence[DiscreteLaw]:
        """Return the law of each number that is published, given how many users hold each value.

        Of a histogram they are independent: one estimate for each bucket.
        """
        counts = self.count_laws(protocol, held)
        return [law.image(lambda count: np.maximum(protocol.users - count, 0)) for law in counts]

    def curve(
        self, protocol: BucketSums, changes: Change, threat_model: ThreatModel, **accuracy: float
    ) -> PrivacyCurve:
        """Return the privacy curve of many runs, which every dataset and every neighbour has."""
        return bucket_curve(self._directions(protocol), self.in_full(changes), **accuracy)

    @staticmethod
    def _noise(protocol: BucketSums) -> SingleNoiseClaims[Any]:
        """Return the twin of every bucket's bitsum."""
        claims = claims_of(protocol.bitsum)
        if not isinstance(claims, SingleNoiseClaims):
            raise TypeError(f"bitsum={protocol.bitsum!r} must have a twin that states the law of its noise.")
        return claims

    def _directions(self, protocol: BucketSums, tail: float = DEFAULT_TAIL) -> Directions:
        return self._noise(protocol).directions(protocol.bitsum, tail)

    def families(
        self, protocol: BucketSums, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        up, down = self._directions(protocol, cut_for(tail))
        return ((up,), (up,)), ((down,), (down,))

    def parameters(self, protocol: BucketSums) -> dict[str, Any]:
        """Return the noise of every bucket, and their number."""
        found = self._noise(protocol).parameters(protocol.bitsum)
        del found["estimate"]
        return {**found, "buckets": protocol.buckets}

    def messages_per_user(self, protocol: BucketSums) -> float:
        """Return the expected number of messages per user: one per bucket that she is not in, and her noise."""
        return protocol.buckets - 1 + protocol.buckets * protocol.bitsum.noise_mean / protocol.users

    def messages_law(self, protocol: BucketSums) -> MessagesLaw:
        """Return the exact law of how many messages one user sends, whatever her value."""
        own = self._noise(protocol).noise_law(protocol.bitsum, protocol.buckets / protocol.users, TAIL)
        return MessagesLaw((counted_bits(protocol.buckets - 1, 1.0), (1, own)))

    def rmse(self, protocol: BucketSums) -> float:
        """Return the root mean squared error of an unclipped estimate, `sqrt(E Y^2)`: bias included."""
        return self._noise(protocol).rmse(protocol.bitsum)

    def failure_probability(self, protocol: BucketSums, error: int) -> float:
        """Return an upper bound, attained by some dataset, on the probability that some count is off by more.

        - protocol: The histogram.
        - error: alpha, at least 0.
        """
        crowded = min(protocol.buckets, protocol.users // (check_integer("error", error, low=0) + 1))
        tail = self._noise(protocol).noise_above(protocol.bitsum, error)
        if crowded == 0 or tail == 0.0:
            return 0.0
        return 1.0 if tail == 1.0 else min(1.0, -math.expm1(crowded * math.log1p(-tail)) * (1.0 + 1e-14))

    def error_bound(self, protocol: BucketSums, beta: float) -> int:
        """Return the least alpha such that the error exceeds alpha with probability at most beta, for every dataset."""
        check_real("beta", beta, low=0.0, high=1.0, low_open=True, high_open=True)

        def rarely_exceeded(error: int) -> bool:
            return self.failure_probability(protocol, error) <= beta

        # No error exceeds the number of users.
        return least_integer(rarely_exceeded, -1, protocol.users)

    def per_bucket_beta(self, users: int, beta: float) -> float:
        """Return the failure probability that the source asks of one bucket."""
        return beta / users

    def published(self, users: int, buckets: int, epsilon: float, delta: float, beta: float) -> BucketSums:
        """Return the protocol with the published parameters: each bucket at (epsilon/2, delta/2).

        Raises FormulaRangeError if epsilon / 2, delta / 2 or beta is out of the formulas' range.
        """
        p = formulas.published_p(FLOATS, epsilon / 2.0)
        shape = math.ceil(formulas.published_shape(FLOATS, delta / 2.0, self.per_bucket_beta(users, beta)))
        return self.protocol(under_estimating(users, float(shape), float(p)), buckets)

    def published_bound(self, protocol: BucketSums) -> float:
        """Return the error bound T = 2r/(1-p) of the proof of Corollary 40, which is about negative binomial noise."""
        noise = noise_of(protocol)
        return float(formulas.published_threshold(FLOATS, noise.shape, noise.p))

    def least_error(self, users: int, buckets: int, budget: BudgetLike, beta: float) -> BucketSums:
        """Return the protocol whose `error_bound` at beta is least, over the family of (r, p) that meet the budget.

        Golden-section search over `-ln p / epsilon`, with the least private shape at each: a heuristic for the
        optimum, but every protocol tried meets the budget.

        Raises InfeasibleBudgetError if no parameters in the range that is searched meet the budget.
        """
        budget = Budget.of(budget)
        tried: list[tuple[int, BucketSums]] = []

        def error_at(log_decay: float) -> float:
            p = math.exp(-budget.epsilon * math.exp(log_decay))
            try:
                shape = least_shape(budget, p, tolerance=1e-3)
            except InfeasibleBudgetError:
                return math.inf
            protocol = self.protocol(under_estimating(users, shape, p), buckets)
            tried.append((self.error_bound(protocol, beta), protocol))
            return float(tried[-1][0])

        least_argument(error_at, math.log(_DECAYS[0]), math.log(_DECAYS[1]), steps=13)
        if not tried:
            raise InfeasibleBudgetError(
                f"the budget {budget} cannot be met by negative binomial noise of shape <= 2^20."
            )
        return min(tried, key=lambda attempt: attempt[0])[1]
