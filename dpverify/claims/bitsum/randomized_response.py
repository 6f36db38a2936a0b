"""What is true of `protocols.bitsum.randomized_response`.

Exact pair for k ones among the other n - 1 users: `W + Bern(p)` against `W + Bern(1-p)`, `W = Bin(k, 1-p) +
Bin(n-1-k, p)`. Which k is worst depends on epsilon: an end point away from epsilon = 0, the middle next to it. All k
are covered at once, by cells and a chord:

- A dataset with between k and k + w ones can reveal, of up to w users, whose report is a coin toss (which it is with
  probability 2p, whatever her bit) and what the others report. That leaves the n - w users with k ones, and a binomial
  number of coins. Fewer coins only lose privacy, so the pair with so few that next to none of the mass has fewer
  dominates every dataset of the cell. Cells over [0, (n-1)/2] are enough: flipping all bits maps k to n-1-k and
  exchanges the directions.
- The cells lie below the chord between k = 0 and k = n-1, and below several others from k = n-1 to the supremum of all
  that are far from it; see `dpverify.privacy_loss.chord`. Which is best depends on how often it is used.
- With few flipped reports the worst cell, in all instances, bounds any mix; see `dpverify.privacy_loss.any_mix`.

More users are never worse: what a further user reports, whatever she holds, could be added to the view of all others.
A flip probability nearer to 1/2 is more private: p' > p is p and then, for every report by itself, a flip with
probability `(p' - p) / (1 - 2p)`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from dpverify.claims.base import MoreUsers
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.claims.bitsum_pairs import LEFT_OUT, CoinPairs, ComposedEpsilon, Pairs, negligible, normal_deviation
from dpverify.claims.theorem import Theorem
from dpverify.claims.theorems.bitsum import RANDOMIZED_RESPONSE
from dpverify.formulas import randomized_response as formulas
from dpverify.formulas.contexts import FLOATS, arb_context, lower_float, nudged, upper_float
from dpverify.guarantee import InfeasibleBudgetError, Interval, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.messages import MessagesLaw, counted_bits
from dpverify.laws.noise import binomial
from dpverify.privacy_loss.binned import BinnedPairs
from dpverify.privacy_loss.chord import chord, pieces, towards_end
from dpverify.privacy_loss.covers import Covers, Entry
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.listed_reports import ListedReports, sure_coins
from dpverify.privacy_loss.pairs import Directions, binomial_randomized_response, mixed_reports
from dpverify.privacy_loss.report_sums import ReportSums
from dpverify.rounding import UNIT
from dpverify.search import galloped, smallest_at_level
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.randomized_response import RandomizedResponse

__all__ = ["RandomizedResponseClaims", "reports_law"]

_TAIL = 1e-42
"""Where binomials are cut, unless so little may be left out that this is too much."""
_SHORT_TAIL = 1e-26
"""Where they are cut for many users, if that is nothing beside what may be left out: cells then have more coins."""
_SMALL, _LEAST_TAIL, _LEAST_BINNED_TAIL = 1e-28, 1e-290, 1e-220
"""What may be left out before the tails must be cut further out, the least tail, and that of masses in bins."""
_MOST_LISTED, _MOST_CELLS_FAR_OUT = 10_000, 128
"""Up to so many users each cell is listed for a small delta; and how many cells, whatever the users."""
_MOST_CELLS, _MOST_SKEWED_CELLS, _SKEWED_FLIPS = 512, 768, 2500.0
"""How many cells, and how many with fewer flipped reports: sums of these are skewed, which costs something, too."""
_FEW_CELLS = 8
"""For bounds that need not be sharp."""
_DAYS_CELLS, _DAYS_TAIL, _DAYS_BINS = 63, 1e-24, 20
"""For one of many days, of which each adds a little: several times as quick as the sharp cover, and .6 % looser."""
_BINS_PER_DEVIATION = 40
_LARGEST_LISTED_DEVIATION = 300.0
"""Up to this standard deviation the attained pair is listed report by report, beyond it in bins."""
_COIN_CELLS = 24
"""Of the numbers of others with sure bits, and with ones among these."""
_COIN_TAIL = 1e-30
_FEWEST_FLIPS = 4.0
"""With fewer flipped reports in expectation every cell is listed."""
_MOST_LISTED_CELLS = 64
"""With few flips the end is worst by far, so that wide cells away from it do; `AnyMix` divides those that do not."""
_GROWTH, _NARROW = 0.04, 2**14
"""The cells next to the end are of so many on either side, and grow by this share of their distance from it."""
_REACHES = ((0.5, 1.0), (0.2, 0.5), (0.05, 0.5), (0.03, 0.2), (0.012, 0.05), (0.005, 0.02), (1e-300, 1.0))
"""Up to where, as a share of all users, members are put below a chord to the end; none, at last. And its other foot."""
_CUTS = ((0.004, 0.05), (0.004, 0.05, 0.25))
"""Between the pieces of covers for joint changes, as shares of all users: near the end a wide one costs more."""
_MOST_LISTED_FLIPS, _MOST_DIVIDED_FLIPS = 128.0, 512.0
"""With fewer flips the cells are listed report by report rather than in bins, which do not resolve rare losses.

And with fewer than the second they are listed, and divided, where the chords do not do.
"""
_LEAST_BINNED = 1e-280
"""Losses of smaller flip probabilities leave the floats in bins."""
_LARGEST_RMSE = 1e9
_COARSE = 5e-3
"""In such steps a search goes up from the rough error where a coarse bound will do: one is enough, as a rule."""
_SLOPE = 1.1
"""Epsilon is nearly proportional to 1 / RMSE, and falls a little faster where changes are joint: unless it is known."""


class RandomizedResponseClaims(BitsumClaims[RandomizedResponse]):
    """The twin of `RandomizedResponse`."""

    name: ClassVar[str] = "rr"
    protocol: ClassVar[type[BitsumProtocol]] = RandomizedResponse
    more_users: ClassVar[MoreUsers] = MoreUsers.NO_WORSE
    coarse: ClassVar[bool] = True
    noise: ClassVar[str] = "flip_probability"
    more_private_towards: ClassVar[Mapping[str, float]] = {"flip_probability": 0.5}
    pure: ClassVar[bool] = True
    theorems: ClassVar[tuple[Theorem, ...]] = RANDOMIZED_RESPONSE

    def pairs(self, protocol: RandomizedResponse) -> Pairs:  # noqa: D102
        return self.views_at(protocol, self.threat_models[0], LEFT_OUT)

    def views_at(self, protocol: RandomizedResponse, threat_model: ThreatModel, tail: float) -> Pairs:  # noqa: D102
        return _pairs(protocol.users, protocol.flip_probability, _MOST_CELLS, _tail(protocol, tail))

    def note(self, protocol: RandomizedResponse, threat_model: ThreatModel) -> str:  # noqa: D102
        if self._noiseless(protocol):
            return super().note(protocol, threat_model)
        # In words only: listing the pairs for it would take as long as the account.
        return _note(protocol.users, protocol.flip_probability, _MOST_CELLS, _tail(protocol, LEFT_OUT))

    def loose_views(self, protocol: RandomizedResponse, threat_model: ThreatModel, delta0: float) -> Pairs:  # noqa: D102
        return _pairs(protocol.users, protocol.flip_probability, _FEW_CELLS, _TAIL)

    def families(  # noqa: D102
        self, protocol: RandomizedResponse, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Sequence[tuple[Sequence[Entry], Sequence[PrivacyLossDistribution]]]:
        if not loose:
            return super().families(protocol, threat_model, tail)
        cut = _DAYS_TAIL if tail >= _DAYS_TAIL else _TAIL
        found = _pairs(protocol.users, protocol.flip_probability, _DAYS_CELLS, cut, _DAYS_BINS)
        return ((found.every, found.attained),)

    def pure_epsilon(self, protocol: RandomizedResponse, threat_model: ThreatModel) -> Interval:  # noqa: D102
        if protocol.flip_probability == 0.0:
            return Interval(math.inf, math.inf)
        # At most the local loss ln((1-p)/p), and attained: all users report 1, all others hold the same bit.
        with arb_context() as ctx:
            p = ctx.convert(protocol.flip_probability)
            loss = ctx.log((1 - p) / p)
            return Interval(lower_float(loss), upper_float(loss))

    def among_coins(self, protocol: RandomizedResponse) -> CoinPairs | None:  # noqa: D102
        users, p = protocol.users, protocol.flip_probability
        if users == 1:
            return None
        attained = mixed_reports(users, users - 1, p).up, mixed_reports(users, 0, p, coins=users - 1).up
        return CoinPairs(_among_coins(users, p), attained)

    def among_equals(self, protocol: RandomizedResponse, size: float) -> Directions | None:
        """Return the pairs of a full change at flip probability `p t + (1 - t)/2`, all other users holding 0."""
        flipped = (protocol.flip_probability * size + 0.5 * (1.0 - size)) * (1.0 + 8.0 * UNIT)
        return _extreme(protocol.users, flipped, _TAIL) if 0.0 < flipped < 0.5 else None

    def parameters(self, protocol: RandomizedResponse) -> dict[str, Any]:  # noqa: D102
        return {"flip_probability": protocol.flip_probability}

    def rmse(self, protocol: RandomizedResponse) -> float:  # noqa: D102
        return float(formulas.rmse(FLOATS, protocol.users, protocol.flip_probability))

    def messages_per_user(self, protocol: RandomizedResponse, fraction_of_ones: float = 1.0) -> float:  # noqa: D102
        return 1.0

    def messages_law(  # noqa: D102
        self, protocol: RandomizedResponse, instances: int = 1, fraction_of_ones: float = 1.0
    ) -> MessagesLaw:
        return MessagesLaw((counted_bits(instances, 1.0),))

    def messages_range(self, protocol: RandomizedResponse) -> tuple[int, float]:  # noqa: D102
        return 1, 1

    def _readable(self, protocol: RandomizedResponse, ones: int, participants: int) -> DiscreteLaw:
        return reports_law(protocol, ones, participants)

    def published(self, users: int, epsilon0: float, delta0: float) -> RandomizedResponse:  # noqa: D102
        return RandomizedResponse(users, float(formulas.flip_probability(FLOATS, epsilon0, delta0, users)))

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:  # noqa: D102
        failed = self.theorems[0].failed_hypotheses(epsilon0=epsilon0, delta0=delta0, n=users)
        return tuple(f"outside the published range: {hypothesis.statement}" for hypothesis in failed)

    def least_error(  # noqa: D102
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> RandomizedResponse:
        if max_messages_per_user is not None and max_messages_per_user < 1.0:
            raise InfeasibleBudgetError(
                f"max_messages_per_user={max_messages_per_user!r} must be at least 1: RR sends one message."
            )

        if composed_epsilon.delta == 0.0:
            return self._least_pure(users, target)

        def at(error: float) -> RandomizedResponse:
            p = float(formulas.flip_probability_at_rmse(FLOATS, users, error))
            if not 0.0 < p < 0.5:
                raise InfeasibleBudgetError(
                    f"epsilon={target!r} cannot be met by randomized response with users={users}: the flip probability "
                    "would have to be 1/2, which carries no information."
                )
            return RandomizedResponse(users, p)

        def rough(error: float) -> float:
            tail = _tail(tried := at(error), left_out)
            seen.append((error, nearly(_extreme(users, tried.flip_probability, tail))))
            return seen[-1][1]

        def sharp(error: float) -> float:
            return self.guaranteed_epsilon(at(error), composed_epsilon)

        seen = list[tuple[float, float]]()
        left_out, nearly = negligible(composed_epsilon.delta, composed_epsilon.mechanisms), composed_epsilon.nearly
        start = min(normal_deviation(nearly, target), math.sqrt(users))
        error = smallest_at_level(rough, target, start, _LARGEST_RMSE, 1e-3)
        if error is not None:
            error *= math.sqrt(composed_epsilon.change.full / nearly.change.full)
            slope = _slope(seen) if nearly == composed_epsilon else _SLOPE
            if composed_epsilon.coarse:
                error = _soon(lambda tried: sharp(tried) <= target, error)
            else:
                error = smallest_at_level(sharp, target, error, _LARGEST_RMSE, 1e-4, slope=slope)
        if error is None:
            raise InfeasibleBudgetError(
                f"epsilon={target!r} cannot be met by randomized response with users={users} at any flip probability "
                "below 1/2."
            )
        return at(error)

    def guaranteed_epsilon(self, protocol: RandomizedResponse, composed_epsilon: ComposedEpsilon) -> float:  # noqa: D102
        return _guaranteed_epsilon(protocol, composed_epsilon)

    def _least_pure(self, users: int, target: float) -> RandomizedResponse:
        """Return the least flip probability that is pure target-DP: that of local randomized response."""
        most = math.nextafter(0.5, 0.0)
        least = min(1.0 / (1.0 + math.exp(min(target, 700.0))), most)

        def meets(p: float) -> bool:
            return self.pure_epsilon(RandomizedResponse(users, p), self.threat_models[0]).upper <= target

        if not meets(most):
            raise InfeasibleBudgetError(f"epsilon={target!r} at delta=0 leaves no flip probability below 1/2 for RR.")
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


def _slope(seen: Sequence[tuple[float, float]]) -> float:
    """Return of which power epsilon falls with the error, by the last points of a search."""
    if len(seen) < 2 or not all(0.0 < epsilon < math.inf for _, epsilon in seen[-2:]):
        return _SLOPE
    (one, first), (other, second) = seen[-2:]
    return min(max(math.log(first / second) / math.log(other / one), 1.0), 2.0)


def _soon(holds: Callable[[float], bool], error: float) -> float | None:
    """Return an error a little above a rough one that a bound confirms, or None."""
    step = 1.0 + _COARSE
    found = galloped(holds, error, error * step, grow=lambda tried: tried * step * step, ceiling=_LARGEST_RMSE)
    return None if found is None else found[1]


def _tail(protocol: RandomizedResponse, left_out: float) -> float:
    """Return the tails to cut: a small delta needs smaller ones, as entries that a cut could change are cut too."""
    users, p = protocol.users, protocol.flip_probability
    many = users > _MOST_LISTED and users * p >= _MOST_LISTED_FLIPS
    if left_out >= _SMALL:
        return _SHORT_TAIL if many and left_out >= 1e6 * _SHORT_TAIL else _TAIL
    # Bins keep the digits of every mass, and of a law that is listed those that are 1e16 times what is cut.
    return max(1e-14 * left_out, _LEAST_BINNED_TAIL) if many else max(1e-20 * left_out * p, _LEAST_TAIL)


def _extreme(users: int, p: float, tail: float) -> Directions:
    """Return the pair for all other users holding 0, or bins of it, which a curator may report instead."""
    if users * p * (1.0 - p) <= _LARGEST_LISTED_DEVIATION**2:
        return binomial_randomized_response(users, p, tail)
    return ReportSums([users - 1], [0], [0], p).pairs(tail=tail, bins_per_deviation=_BINS_PER_DEVIATION).merged(0)


def _cells(half: int, most_cells: int) -> Iterator[tuple[int, int]]:
    """Yield the least number of ones of each cell of [0, half], and how many more its largest has.

    The end is a cell of its own, and those next to it are narrower: what a wide cell costs would matter there, but for
    few cells, whose bound need not be sharp. The narrower ones come on top of the most.
    """
    widest = math.ceil((half + 1) / most_cells)
    narrowest = widest if most_cells <= _DAYS_CELLS else math.ceil((half + 1) / _NARROW)
    first, width = 0, 1
    while first <= half:
        width = min(width, half + 1 - first)
        yield first, width - 1
        first += width
        width = min(max(narrowest, int(_GROWTH * first)), widest)


def _next_to_the_end(users: int, p: float, tail: float) -> list[PrivacyLossDistribution]:
    """Return attained pairs that may exceed that of the end, whose losses have wide gaps if few reports are flipped."""
    distances = np.append(np.geomspace(0.02, 3.0, 12) / (users * p), 0.5)
    ones = {round(distance * (users - 1)) for distance in distances if distance <= 0.5} - {0}
    return [pair for k in sorted(ones) for pair in mixed_reports(users, k, p, tail)]


def _cells_at_most(users: int, p: float, most_cells: int, tail: float) -> int:
    if _listed(users, p, tail):
        return min(most_cells, _MOST_LISTED_CELLS if users * p < _MOST_LISTED_FLIPS else _MOST_CELLS_FAR_OUT)
    return _MOST_SKEWED_CELLS if most_cells == _MOST_CELLS and users * p < _SKEWED_FLIPS else most_cells


def _listed(users: int, p: float, tail: float) -> bool:
    return users * p < _MOST_LISTED_FLIPS or (tail < _TAIL and users <= _MOST_LISTED)


def _chorded(users: int, p: float, tail: float) -> bool:
    return not (_listed(users, p, tail) and (tail < _TAIL or p < _LEAST_BINNED))


def _note(users: int, p: float, most_cells: int, tail: float) -> str:
    if users <= 2:
        return "attained by all others, one at most"
    cells = 2 * sum(1 for _ in _cells((users - 1) // 2, _cells_at_most(users, p, most_cells, tail)))
    chord = " and a chord between two pairs" if _chorded(users, p, tail) else ""
    return f"attained by all other users holding the same bit; every number of ones is covered by {cells} cells{chord}"


@functools.lru_cache(maxsize=4)
def _pairs(users: int, p: float, most_cells: int, tail: float, bins: int = _BINS_PER_DEVIATION) -> Pairs:
    note = _note(users, p, most_cells, tail)
    if users <= 2:
        # All others, one at most, hold the same bit.
        alone = tuple(binomial_randomized_response(users, p, tail))
        return Pairs(alone, alone, note=note)
    cells = list(_cells((users - 1) // 2, _cells_at_most(users, p, most_cells, tail)))
    shares = np.array([(first / (users - 1), (first + unsure) / (users - 1)) for first, unsure in cells])
    attained = tuple(_extreme(users, p, tail))
    reports, once = ListedReports(users, p, tail), list[PrivacyLossDistribution]()
    wide = list(_cells((users - 1) // 2, min(most_cells, _MOST_LISTED_CELLS)))
    single = functools.partial(reports.branches, wide) if users * p < _MOST_DIVIDED_FLIPS else None
    exchanged: BinnedPairs | None = None
    least_missing = 0.0
    if _listed(users, p, tail):
        # So few reports are flipped that their sum is no bell, or so few sent and so little left out: each is listed.
        listed = [reports.pair(*cell) for cell in cells]
        if not _chorded(users, p, tail):
            groups = (tuple(pair.up for pair in listed), tuple(pair.down for pair in listed))
            return Pairs(Covers(groups, (), single=functools.partial(reports.branches, cells)), attained, note=note)
        once = _next_to_the_end(users, p, tail)
        binned = [BinnedPairs.listed(listed)]
        exchanged = BinnedPairs.listed([Directions(pair.down, pair.up) for pair in listed])
    else:
        coins, lost = zip(*(sure_coins(unsure, p, tail) for _, unsure in cells), strict=True)
        least_missing = max(lost)
        zeros, ones = [users - 1 - first - unsure for first, unsure in cells], [first for first, _ in cells]
        binned = list(ReportSums(zeros, ones, list(coins), p).blocks(tail=tail, bins_per_deviation=bins))
    # Points as dense as the bins, up to beyond the largest loss.
    deviation = (1.0 - 2.0 * p) / math.sqrt(users * p * (1.0 - p))
    # No loss is larger than that of a report by itself.
    listed_to = max(part.largest_loss for part in binned)
    largest = min(listed_to, (math.log1p(-p) - math.log(p)) * (1.0 + 16.0 * UNIT))
    points = math.ceil(largest / deviation * bins)
    points = min(max(points, 20 * bins), 80 * bins)
    step = largest / points * (1.0 + 1e-9)
    losses = step * np.arange(-points, points + 1, dtype=np.float64)
    excess = np.concatenate([part.excess(losses) for part in binned])
    grown = np.exp(losses) * (1.0 + 8.0 * UNIT)
    if exchanged is not None:
        # A likelihood ratio near 0 is known from the other direction, where it is large, to all its digits.
        other = exchanged.excess(losses[points:])
        excess[:, :points] = grown[:points] * other[:, :0:-1]
    if largest < listed_to:
        excess[:, [0, -1]] = 0.0
    missing = float(max(part.missing.max() for part in binned)) + least_missing
    # The end is k = n - 1, where the mirror image of k = 0 is.
    mirrored = grown * excess[:, ::-1]
    # The pairs that stand for the cells have as many ones, or zeros, as the least of the cell.
    members, distances = np.concatenate([mirrored[1:], excess[::-1]]), np.append(shares[1:, 0], 1.0 - shares[::-1, 1])
    nearby = towards_end(step, mirrored[0], members, distances, missing, _REACHES)
    fine = [pieces(step, mirrored[0], members, distances, missing, cuts) for cuts in _CUTS]
    few = users * p < _FEWEST_FLIPS
    every: Sequence[PrivacyLossDistribution] = nearby.pop(0) if few else chord(step, excess[0], excess, shares, missing)
    return Pairs(Covers(every, nearby, once, single, fine), attained, note=note)


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
