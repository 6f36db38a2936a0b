"""What is true of `protocols.bitsum.randomized_response`.

The pairs that its neighbouring views are covered by are in `dpverify.claims.shared.response_pairs`.

More users are never worse: what a further user reports, whatever she holds, could be added to the view of all others.
A flip probability nearer to 1/2 is more private: p' > p is p and then, for every report by itself, a flip with
probability `(p' - p) / (1 - 2p)`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from dpverify.changes import Full, L2Ball
from dpverify.claims.base import Families, MoreUsers
from dpverify.claims.bitsum.base import BitsumClaims, OneMessageClaims
from dpverify.claims.shared.bitsum_pairs import (
    LEFT_OUT,
    CoinPairs,
    ComposedEpsilon,
    Pairs,
    least_noise,
    least_normal_deviation,
    negligible,
    normal_deviation,
)
from dpverify.claims.shared.response_pairs import (
    DAYS_TAIL,
    FEW_CELLS,
    MOST_CELLS,
    TAIL,
    cover,
    cover_of_day,
    extreme,
    note,
    sampled,
    tail_of,
)
from dpverify.digits import shortest
from dpverify.formulas.contexts import FLOATS, arb_context, enclosure, nudged
from dpverify.formulas.protocols import randomized_response as formulas
from dpverify.guarantee import CapacityError, InfeasibleBudgetError, Interval, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.noise import binomial
from dpverify.papers.entries import stated
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions, mixed_reports
from dpverify.rounding import UNIT
from dpverify.search import smallest_at_level
from protocols.bitsum.randomized_response import RandomizedResponse

__all__ = ["RandomizedResponseClaims", "reports_law"]

_COIN_CELLS = 24
"""Of the numbers of others with sure bits, and with ones among these."""
_COIN_TAIL = 1e-30
_LEAST_RMSE, _LARGEST_RMSE, _MOST_INSTANCES = 1e-4, 1e12, 10**12
"""Of points in a ball the first, in users, is an error that hardly ever shows: where bits are random no noise may do.
"""
_COARSE, _LESS = (5e-3, 9e-3), 1.5e-3
"""So much more than the rough error a coarse plan has, at most; and at so much less no dataset's pair meets the target.
"""
_SLOPE = 1.1
"""Epsilon is nearly proportional to 1 / RMSE, and falls a little faster where changes are joint: unless it is known."""
_SPARED = 3e-4
"""The share of epsilon from which on what a search leaves unspent is looked for again."""
_JUMP, _BEYOND = 1e-2, 2e-2
"""How far from the target a rough search ends only where epsilon jumps there, and no slope leads any nearer.

And about how much more noise it takes until what bounds joint changes jumps, too.
"""
_STEEPEST, _JOINT = 200.0, 5e-4
"""Of joint changes: the steepest slope, where epsilon all but jumps, and how much more error may be found, relatively.
"""
_MOST_GUESSES, _NEAR, _AIMED = 3, 6e-4, 3e-5
"""How often is guessed, how near the target the last guess shall be, and how much more error a proof is tried at."""


class RandomizedResponseClaims(OneMessageClaims[RandomizedResponse]):
    """The twin of `RandomizedResponse`."""

    name = "rr"
    protocol = RandomizedResponse
    more_users = MoreUsers.NO_WORSE
    coarse = True
    noise = "flip_probability"
    more_private_towards: ClassVar[Mapping[str, float]] = {"flip_probability": 0.5}
    pure = True
    theorems = stated("wagner2025/bitsum", "randomized_response")

    def pairs(self, protocol: RandomizedResponse) -> Pairs:
        return self.views_at(protocol, self.threat_models[0], LEFT_OUT)

    def views_at(self, protocol: RandomizedResponse, threat_model: ThreatModel, tail: float) -> Pairs:
        users, p = protocol.users, protocol.flip_probability
        return cover(users, p, MOST_CELLS, tail_of(users, p, tail))

    def note(self, protocol: RandomizedResponse, threat_model: ThreatModel) -> str:
        if self._noiseless(protocol):
            return super().note(protocol, threat_model)
        # In words only: listing the pairs for it would take as long as the account.
        users, p = protocol.users, protocol.flip_probability
        return note(users, p, MOST_CELLS, tail_of(users, p, LEFT_OUT))

    def loose_views(self, protocol: RandomizedResponse, threat_model: ThreatModel, delta0: float) -> Pairs:
        return cover(protocol.users, protocol.flip_probability, FEW_CELLS, TAIL)

    def families(
        self, protocol: RandomizedResponse, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        if not loose:
            return super().families(protocol, threat_model, tail)
        users, p = protocol.users, protocol.flip_probability
        found = cover_of_day(users, p, DAYS_TAIL if tail >= DAYS_TAIL else tail_of(users, p, tail))
        return ((found.every, found.attained),)

    def pure_epsilon(self, protocol: RandomizedResponse, threat_model: ThreatModel) -> Interval:
        if protocol.flip_probability == 0.0:
            return Interval(math.inf, math.inf)
        # At most the local loss ln((1-p)/p), and attained: all users report 1, all others hold the same bit.
        with arb_context() as ctx:
            p = ctx.convert(protocol.flip_probability)
            return enclosure(ctx.log((1 - p) / p))

    def among_coins(self, protocol: RandomizedResponse) -> CoinPairs | None:
        users, p = protocol.users, protocol.flip_probability
        if users == 1:
            return None
        attained = mixed_reports(users, users - 1, p).up, mixed_reports(users, 0, p, coins=users - 1).up
        return CoinPairs(_among_coins(users, p), attained)

    def among_equals(self, protocol: RandomizedResponse, size: float) -> Directions | None:
        """Return the pairs of a full change at flip probability `p t + (1 - t)/2`, all other users holding 0."""
        flipped = (protocol.flip_probability * size + 0.5 * (1.0 - size)) * (1.0 + 8.0 * UNIT)
        return extreme(protocol.users, flipped, TAIL) if 0.0 < flipped < 0.5 else None

    def rmse(self, protocol: RandomizedResponse) -> float:
        return float(formulas.rmse(FLOATS, protocol.users, protocol.flip_probability))

    def _view(self, protocol: RandomizedResponse, ones: int, participants: int) -> DiscreteLaw:
        return reports_law(protocol, ones, participants)

    def published(self, users: int, epsilon0: float, delta0: float) -> RandomizedResponse:
        return RandomizedResponse(users, float(formulas.flip_probability(FLOATS, epsilon0, delta0, users)))

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:
        return self.theorems[0].outside(epsilon0=epsilon0, delta0=delta0, n=users)

    def least_noise(self, users: int, composed_epsilon: ComposedEpsilon, target: float) -> RandomizedResponse:
        if composed_epsilon.delta == 0.0:
            return self._least_pure(users, target)
        if isinstance(composed_epsilon.change, Full) and composed_epsilon.mechanisms > _MOST_INSTANCES:
            raise CapacityError(
                f"instances={composed_epsilon.mechanisms} must be at most {_MOST_INSTANCES} for randomized response: "
                "roundings add up"
            )
        asked = shortest(target, downwards=True)

        def at(error: float) -> RandomizedResponse:
            p = float(formulas.flip_probability_at_rmse(FLOATS, users, error))
            if not 0.0 < p < 0.5:
                raise InfeasibleBudgetError(
                    f"epsilon={asked} cannot be met by randomized response with users={users}: the flip probability "
                    "would have to be 1/2, which carries no information."
                )
            return RandomizedResponse(users, p)

        def rough(error: float) -> float:
            p = at(error).flip_probability
            seen.append((error, nearly(extreme(users, p, tail_of(users, p, left_out)))))
            return seen[-1][1]

        def guessed(error: float) -> float:
            p = at(error).flip_probability
            found = sampled(users, p, tail_of(users, p, left_out))
            return composed_epsilon(found.every, attained=found.attained)

        def sharp(error: float) -> float:
            return self.guaranteed_epsilon(at(error), composed_epsilon)

        def within(bound: ComposedEpsilon, error: float) -> float:
            p = at(error).flip_probability
            return sharp(error) if bound == composed_epsilon else bound(extreme(users, p, tail_of(users, p, left_out)))

        seen = list[tuple[float, float]]()
        left_out, nearly = negligible(composed_epsilon.delta, composed_epsilon.mechanisms), composed_epsilon.nearly
        jointly = nearly == composed_epsilon.guessed != composed_epsilon
        ball = isinstance(composed_epsilon.change, L2Ball)
        start = least_normal_deviation(nearly, target) if ball else normal_deviation(nearly, target)
        if jointly:
            # As much as makes no flip at all rare.
            start = max(start, math.sqrt(-math.log(composed_epsilon.delta)))
        if jointly or not ball:
            start = min(start, math.sqrt(users))
        if ball:
            # Guesses of it are some per cent off.
            options = {"slope": _SLOPE, "least": _LEAST_RMSE}
            error = least_noise(within, composed_epsilon, target, start, _LARGEST_RMSE, _JOINT, **options)
        else:
            error = smallest_at_level(rough, target, start, _LARGEST_RMSE, 1e-3)
        if error is not None and not ball:
            slope = _slope(seen, _STEEPEST if jointly else 2.0)
            jumps = abs(seen[-1][1] / target - 1.0) > _JUMP
            if nearly == composed_epsilon and not composed_epsilon.coarse and not jumps:
                error = _aimed(guessed, target, seen, slope)
            error *= math.sqrt(composed_epsilon.change.full / nearly.change.full)
            if jointly and jumps:
                error, slope = error * (1.0 + _BEYOND), 1.0 / _BEYOND
            if composed_epsilon.coarse:
                least = rough(error * (1.0 - _LESS)) > target
                tried = (error * (1.0 + more) for more in _COARSE if least)
                error = next((each for each in tried if sharp(each) <= target), None)
            else:
                error = smallest_at_level(sharp, target, error, _LARGEST_RMSE, _JOINT if jointly else 1e-4, slope=slope)
                if not jointly and error is not None and 1.0 - 10.0 * _SPARED <= sharp(error) / target < 1.0 - _SPARED:
                    # A step of a few losses, which the slope does not tell of; beyond a long one nothing is found.
                    error = smallest_at_level(sharp, target, error, _LARGEST_RMSE, _AIMED, slope=slope)
        if error is None:
            raise InfeasibleBudgetError(
                f"epsilon={asked} cannot be met by randomized response with users={users} at any flip probability "
                "below 1/2."
            )
        return at(error)

    def guaranteed_epsilon(self, protocol: RandomizedResponse, composed_epsilon: ComposedEpsilon) -> float:
        return _guaranteed_epsilon(protocol, composed_epsilon)

    def _least_pure(self, users: int, target: float) -> RandomizedResponse:
        """Return the least flip probability that is pure target-DP: that of local randomized response."""
        most = math.nextafter(0.5, 0.0)
        least = min(1.0 / (1.0 + math.exp(min(target, 700.0))), most)

        def meets(p: float) -> bool:
            return self.pure_epsilon(RandomizedResponse(users, p), self.threat_models[0]).upper <= target

        if not meets(most):
            asked = shortest(target, downwards=True)
            raise InfeasibleBudgetError(f"epsilon={asked} at delta=0 leaves no flip probability below 1/2 for RR.")
        return RandomizedResponse(users, nudged(meets, least, most))


@functools.lru_cache(maxsize=4)
def _guaranteed_epsilon(protocol: RandomizedResponse, composed_epsilon: ComposedEpsilon) -> float:
    """Return it, remembered: a search asks for what it returns, and so does the proof."""
    return BitsumClaims.guaranteed_epsilon(RandomizedResponseClaims(), protocol, composed_epsilon)


def reports_law(protocol: RandomizedResponse, ones: int, participants: int) -> DiscreteLaw:
    """Return the law of (reports of 0, reports of 1) of this many participants, so many of which hold 1."""
    p = protocol.flip_probability
    reported = views.total(views.kept_ones(ones, p), binomial(participants - ones, p, views.TAIL))
    return views.rows(reported, lambda k: np.stack([participants - k, k], axis=-1))


def _aimed(
    guessed: Callable[[float], float], target: float, seen: Sequence[tuple[float, float]], slope: float
) -> float:
    """Return where a proof is likely to meet the target: where a guess does, and a little more error.

    - guessed: What is about proved, by error.
    - target: Of epsilon.
    - seen: Errors and what is a little less than proved for them, in the order of a search.
    - slope: See `_slope`.
    """
    error, epsilon = seen[-1]
    for _ in range(_MOST_GUESSES):
        error *= (epsilon / target) ** (1.0 / slope)
        epsilon = guessed(error)
        if not 0.0 < epsilon < math.inf or abs(epsilon / target - 1.0) <= _NEAR:
            break
    return error * math.exp(math.log(min(max(epsilon / target, 0.5), 2.0)) / slope) * (1.0 + _AIMED)


def _slope(seen: Sequence[tuple[float, float]], steepest: float) -> float:
    """Return of which power epsilon falls with the error, by the last points of a search."""
    if len(seen) < 2 or not all(0.0 < epsilon < math.inf for _, epsilon in seen[-2:]):
        return _SLOPE
    (one, first), (other, second) = seen[-2:]
    return min(max(math.log(first / second) / math.log(other / one), 1.0), steepest)


def _among_coins(users: int, p: float) -> Iterator[tuple[list[PrivacyLossDistribution], list[PrivacyLossDistribution]]]:
    """Yield the pairs in two bitsums, by how many others have sure bits in the first.

    One with two coins is a mixture of two who have one. With m sure bits in the first there are m coins in the second,
    and n - 1 - m coins in the first. A cell m in [a, b] is covered by n - 1 - b coins in the first and a in the second,
    as more coins reveal less. Sure bits are covered over all numbers of ones as `RandomizedResponseClaims.pairs` does.
    """

    def sure(coins: int) -> list[PrivacyLossDistribution]:
        half = (users - 1 - coins) // 2
        width = math.ceil((half + 1) / _COIN_CELLS)
        starts = range(0, half + 1, width)
        cells = (mixed_reports(users - min(width - 1, half - k), k, p, _COIN_TAIL, coins=coins) for k in starts)
        return [pair for cell in cells for pair in cell]

    width = math.ceil(users / _COIN_CELLS)
    for first in range(0, users, width):
        last = min(first + width, users) - 1
        yield sure(users - 1 - last), sure(first)
