"""The privacy of bucket-by-bucket bitsums with noise that hides each count, for histogram and selection alike.

Every pair of neighbours has the same pair of views, the product of `Z + 1 against Z` and `Z against Z + 1` (see
docs/buckets.md). ghazi2021 charges two buckets at (eps/2, delta/2) each instead. Many runs on the same users compose as
many of either.
"""

from __future__ import annotations

import math

from flint import arb, ctx

from dpverify.formulas.contexts import upper_float
from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError, Interval, PrivacyCurve
from dpverify.privacy_loss.losses.pairs import Directions, negative_binomial
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.product import delta_of_two
from dpverify.privacy_loss.windows.step import choose_step
from dpverify.privacy_loss.windows.transform import Composition
from dpverify.search import bisected, smallest
from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial
from protocols.classes.frozen import dataclass
from protocols.histogram import BucketSums
from protocols.validation import check_integer, check_real

__all__ = [
    "BucketAccount",
    "TwoBuckets",
    "bucket_curve",
    "least_shape",
    "noise_of",
    "noise_tail",
    "under_estimating",
]

_BITS = 128
_MOST_SHAPE = 2.0**20


def under_estimating(users: int, shape: float, p: float) -> NegativeBinomial:
    """Return the bitsum of one bucket: negative binomial noise, and n minus the count as the estimate."""
    return NegativeBinomial(users, shape, p, estimate=Estimate.UNDER)


def noise_of(protocol: BucketSums) -> NegativeBinomial:
    """Return the bitsum of every bucket, which must be negative binomial, as that of the source is."""
    if not isinstance(protocol.bitsum, NegativeBinomial):
        raise TypeError(f"bitsum={protocol.bitsum!r} must be NegativeBinomial, the noise that the source bounds.")
    return protocol.bitsum


def noise_tail(shape: float, p: float, above: int) -> float:
    """Return P(Y > above) for Y ~ NB(shape, p), rounded up: `I_p(above + 1, shape)` in Arb.

    - shape, p: The noise of one bucket, in the seeds' convention.
    - above: At least 0.
    """
    check_integer("above", above, low=0)
    with ctx.workprec(_BITS):
        return min(1.0, upper_float(arb(p).beta_lower(above + 1, arb(shape), regularized=True)))


@dataclass(frozen=True)
class TwoBuckets:
    """The privacy curve of two buckets, one count up and one down: the same for every dataset and every neighbour.

    - directions: The pairs of one bucket.
    """

    directions: Directions

    def delta(self, epsilon: float) -> Interval:
        """Return the exact delta at epsilon, as a proved interval."""
        return delta_of_two(*self.directions, check_real("epsilon", epsilon, low=0.0))

    def epsilon(self, delta: float) -> Interval:
        """Return the least epsilon >= 0 at which delta is met, within 1e-9, as a proved interval.

        Infinite if an empty noise alone reveals more than delta.
        """
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        up, down = self.directions
        # Beyond the largest loss only infinite losses are left.
        last = up.largest_loss + down.largest_loss + 1e-6
        at_last = delta_of_two(up, down, last)
        if at_last.lower > delta:
            return Interval(math.inf, math.inf)

        def from_above(epsilon: float) -> bool:
            return delta_of_two(up, down, epsilon).upper <= delta

        def from_below(epsilon: float) -> bool:
            return delta_of_two(up, down, epsilon).lower <= delta

        most = bisected(from_above, -1e-9, last, absolute=1e-9)[1] if at_last.upper <= delta else math.inf
        least = bisected(from_below, -1e-9, last, absolute=1e-9)[0]
        return Interval.proved(max(least, 0.0), max(most, 0.0))

    def basic_delta(self, epsilon: float) -> float:
        """Return the delta at epsilon by basic composition of two buckets at epsilon / 2, as ghazi2021 does."""
        return 2.0 * max(pair.delta(epsilon / 2.0).upper for pair in self.directions)


class BucketAccount(TwoBuckets):
    """That of negative binomial noise.

    - shape, p: The noise of one bucket.
    """

    def __init__(self, shape: float, p: float) -> None:
        super().__init__(negative_binomial(shape, p))


def bucket_curve(
    directions: Directions, instances: int, *, relative_width: float = 1e-6, reference_delta: float = 1e-6
) -> PrivacyCurve:
    """Return the privacy curve of many instances: in each, one bucket's count goes up and another's down."""
    if instances == 1:
        return TwoBuckets(directions)
    step = min(
        choose_step(pair, 2 * instances, relative_width=relative_width, reference_delta=reference_delta)
        for pair in directions
    )
    return Composition([(connect_the_dots(pair, step), instances) for pair in directions])


def least_shape(budget: BudgetLike, p: float, *, tolerance: float = 1e-4) -> float:
    """Return the least r, within a relative tolerance, at which two buckets of NB(r, p) noise meet the budget.

    - budget: delta must be positive.
    - p: In (0, 1).
    - tolerance: The result meets the budget; r / (1 + tolerance) does not.

    Raises InfeasibleBudgetError if no r up to 2^20 meets the budget.
    """
    budget = Budget.of(budget)
    epsilon, delta = budget.epsilon, check_real("delta", budget.delta, low=0.0, low_open=True)

    def meets(shape: float) -> bool:
        return BucketAccount(shape, p).delta(epsilon).upper <= delta

    found = smallest(meets, 8.0, _MOST_SHAPE, tolerance)
    if found is None:
        raise InfeasibleBudgetError(f"the budget {budget} needs a shape above 2^20 at p={p!r}; pass a larger p.")
    return found
