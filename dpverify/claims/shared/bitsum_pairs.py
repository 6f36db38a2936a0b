"""The pairs of one instance of a binary-sum protocol: what they may leave out, and what a search asks of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from typing import Protocol

from dpverify.changes import Change, Full, L2Ball
from dpverify.guarantee import InfeasibleBudgetError, Interval, ThreatModel
from dpverify.laws.window import DEFAULT_TAIL
from dpverify.privacy_loss.composing.family import Entry
from dpverify.privacy_loss.joint.joint_loss import largest_joint_loss
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve
from dpverify.search import smallest, smallest_at_level
from protocols.classes.frozen import dataclass

__all__ = [
    "DATA_INDEPENDENT",
    "LARGEST_LOSS",
    "LEFT_OUT",
    "NEXT_TO_NO_ERROR",
    "CoinPairs",
    "ComposedEpsilon",
    "Pairs",
    "check_not_too_rare",
    "least_noise",
    "least_normal_deviation",
    "loss_of_bits",
    "negligible",
    "noise_tail",
    "normal_deviation",
    "out_of_reach",
    "searched_epsilon",
    "tail_for",
]

DATA_INDEPENDENT = "the noise does not depend on the data: one pair for every dataset"
"""The note of a protocol whose one pair, of noise and its shift, covers all."""
LARGEST_LOSS = 700.0
"""What searches take for a larger loss of the noise, which would leave the floats: its exponential is nothing."""
LEFT_OUT = 1e-40
"""The P-mass that an instance's pairs leave out, about, unless told otherwise."""
NEXT_TO_NO_ERROR = 1e-6
"""An error, in users, that no plan need fall below."""
_SEEN = Interval(math.inf, math.inf)
"""The loss of a bit that is seen as it is."""
_CUT = 1e-10
"""The share of delta that cut tails may take, over all instances."""
_FAR_OUT = 10.0
"""How much noise of another shape than the normal one may gain, at most and generously: see `out_of_reach`."""
_LEAST_CUT = 1e-260
"""So that the tails of what a view is made of, cut further out, stay within floats."""
_LACKING, _MANY, _GROWS = 1.00085, 64.0, 1e-4
"""What a proof of joint changes exceeds a guess by, as a rule: the first one then lands where it is meant to. From
which T^2 on that grows, and of which power.
"""
_ASIDE = 0.3
"""The share of the tolerance by which more noise is tried than is thought to be enough."""
_NORMAL_NEAR, _MOST_DEVIATION = 1e-2, 1e100
_GUESSES, _FAR_OFF, _JUMPED = 3, 0.2, 1e-2
"""How often a guess is scaled; and what is no scale, but a jump of epsilon that has another place, about so far off."""


class ComposedEpsilon(Hashable, Protocol):
    """Maps the pairs of one instance to the epsilon of the whole composition at the budget's delta: an upper bound."""

    @property
    def change(self) -> Change:
        """What one user's replacement changes in the instances that are composed."""

    @property
    def mechanisms(self) -> int:
        """How many instances are composed."""

    @property
    def delta(self) -> float:
        """The budget's delta. At 0 the call is not allowed: cut tails have no finite loss, and `pure_epsilon` is."""

    @property
    def threat_model(self) -> ThreatModel:
        """Whose view the pairs must be: one of the claims' `threat_models`."""

    @property
    def coarse(self) -> bool:
        """Whether a bound will do that is quick to make, and may be a per cent larger."""

    @property
    def nearly(self) -> ComposedEpsilon:
        """What is nearly as much and quicker, to search roughly with: that of full changes alone, or a guess."""

    @property
    def guessed(self) -> ComposedEpsilon:
        """What is about as much and, for joint changes, quicker: it proves nothing."""

    def scaled(self, ratio: float) -> ComposedEpsilon:
        """Return a guess times what has been seen to be lacking."""

    def __call__(
        self, pairs: Sequence[Entry], *, attained: Sequence[PrivacyLossDistribution] = (), decide: bool = False
    ) -> float:
        """Return it; with `decide`, stop once it is known whether it exceeds the budget, however loose the bound.

        Pairs that are attained tell how sharp the bound is, and whether it pays to look for a better one.
        """
        ...


def negligible(delta: float, instances: int) -> float:
    """Return a P-mass that each of many instances may leave out without notice at this delta."""
    return max(_CUT * delta / instances, _LEAST_CUT)


def noise_tail(left_out: float) -> float:
    """Return where to cut noise for a shift by one to leave out no more than this, with room to spare."""
    return min(1e-3 * left_out, DEFAULT_TAIL)


def tail_for(composed_epsilon: ComposedEpsilon) -> float:
    """Return where a search cuts noise, so that what is left out of all instances is little at the budget's delta.

    Raises InfeasibleBudgetError if such tails leave the floats.
    """
    check_not_too_rare(composed_epsilon.delta, composed_epsilon.mechanisms)
    return noise_tail(negligible(composed_epsilon.delta, composed_epsilon.mechanisms))


def check_not_too_rare(delta: float, instances: int) -> None:
    """Raise InfeasibleBudgetError if what is left out at this delta leaves the floats."""
    if delta / instances < 10.0 * _LEAST_CUT:
        raise InfeasibleBudgetError(
            f"delta={delta:.6g} for instances={instances} is too small to account unbounded noise for: so rare "
            "outcomes leave the floats."
        )


def searched_epsilon(composed_epsilon: ComposedEpsilon, pairs: Sequence[Entry]) -> float:
    """Return the composed epsilon for a search by its values: roughly, if those of joint changes are far too small."""
    return composed_epsilon(pairs, decide=not isinstance(composed_epsilon.change, Full))


def least_noise(
    epsilon: Callable[[ComposedEpsilon, float], float],
    composed_epsilon: ComposedEpsilon,
    target: float,
    start: float,
    ceiling: float,
    tolerance: float,
    **options: float,
) -> float | None:
    """Return about the least noise at which the composed epsilon meets the target, or None.

    Joint changes take long: what a guess finds is tried, and the guess scaled by what it was off.

    - epsilon: Takes the composed epsilon, or a guess of it, and an amount of noise.
    - composed_epsilon: What is to be met.
    - target, start, ceiling, tolerance, options: As for `dpverify.search.smallest_at_level`.
    """
    guess, slope = composed_epsilon.guessed, options.pop("slope", None)
    exact, guessed = (functools.cache(functools.partial(epsilon, one)) for one in (composed_epsilon, guess))
    seen, lacking = list[float](), _LACKING * math.pow(max(composed_epsilon.change.full / _MANY, 1.0), _GROWS)

    def scaled(noise: float) -> float:
        seen.append(noise)
        return lacking * guessed(noise)

    for _ in range(_GUESSES if guess != composed_epsilon else 0):
        noise = smallest_at_level(scaled, target, start, ceiling, tolerance, slope=slope, **options)
        if noise is None:
            break
        slope = _steepness(guessed, sorted(set(seen[-2:]))) or slope
        start, proved, found = noise, exact(noise), guessed(noise)
        if not (0.0 < proved < math.inf and found > 0.0):
            break
        if abs(math.log(proved / found / lacking)) > _FAR_OFF:
            slope = max(slope or 1.0, abs(math.log(proved / target)) / _JUMPED)
            break
        lacking = proved / found
        if (1.0 - tolerance) * target <= proved <= target:
            break
        start *= (proved / target) ** (1.0 / (slope or 1.0)) * (1.0 + _ASIDE * tolerance)
    return smallest_at_level(exact, target, start, ceiling, tolerance, slope=slope, **options)


def _steepness(epsilon: Callable[[float], float], noises: Sequence[float]) -> float | None:
    """Return of which power epsilon falls between two amounts of noise, or None if it does not."""
    if len(noises) < 2 or not 0.0 < epsilon(noises[1]) < epsilon(noises[0]) < math.inf:
        return None
    return math.log(epsilon(noises[0]) / epsilon(noises[1])) / math.log(noises[1] / noises[0])


def normal_deviation(composed_epsilon: ComposedEpsilon, target: float) -> float:
    """Return about the standard deviation of normal noise that meets the target: where searches for others begin."""
    return math.sqrt(-2.0 * composed_epsilon.change.full * math.log(composed_epsilon.delta)) / target


def least_normal_deviation(composed_epsilon: ComposedEpsilon, target: float) -> float:
    """Return the same within a per cent: of the least normal noise, by its exact curve."""
    start = normal_deviation(composed_epsilon, target)
    shift = math.sqrt(composed_epsilon.change.full)

    def meets(deviation: float) -> bool:
        return NormalNoiseCurve(deviation / shift, 1).delta(target).upper <= composed_epsilon.delta

    return smallest(meets, start, _MOST_DEVIATION, _NORMAL_NEAR) or start


@functools.lru_cache(maxsize=64)
def loss_of_bits(change: Change) -> float:
    """Return the largest loss, an upper bound, where the randomly rounded bits themselves are seen.

    Any noise hides more. It is finite only for points of a ball so small that no bit is sure.
    """
    return largest_joint_loss(_SEEN, change).upper if isinstance(change, L2Ball) else math.inf


def out_of_reach(composed_epsilon: ComposedEpsilon, target: float, deviation: float) -> bool:
    """Return whether noise of no more than this standard deviation need not be tried: normal noise needs ten times it.

    Next to epsilon = 0, where `normal_deviation` is far more than enough, that is what the total variation needs.
    """
    unseen = math.sqrt(composed_epsilon.change.full / (2.0 * math.pi)) / composed_epsilon.delta
    return min(normal_deviation(composed_epsilon, target), unseen) > _FAR_OUT * deviation


@dataclass(frozen=True)
class Pairs:
    """The pairs of neighbouring views of one instance of a protocol.

    - every: Together they dominate the pair of every dataset, in both directions; see `FamilyComposition`.
    - attained: Pairs that some dataset attains exactly: the lower bound.
    - note: Which datasets attain them, and how `every` covers the rest.
    """

    every: tuple[Entry, ...]
    attained: tuple[PrivacyLossDistribution, ...]
    note: str = field(default="")

    def delta_upper(self, epsilon: float) -> float:
        """Return an upper bound on the delta of one instance at an epsilon."""
        groups = [(entry,) if isinstance(entry, PrivacyLossDistribution) else entry for entry in self.every]
        return max(pair.delta(epsilon).upper for group in groups for pair in group)


@dataclass(frozen=True)
class CoinPairs:
    """Pairs of one user's full change in two bitsums, where every other user's bit is a fair coin in one or both.

    - every: For the first bitsum, and for the second; one entry dominates for every division of the other users. Made
      one by one, once: there are many.
    - attained: Where the others' bits are all sure in the first bitsum, and coins in the second.
    """

    every: Iterable[tuple[Sequence[PrivacyLossDistribution], Sequence[PrivacyLossDistribution]]]
    attained: tuple[PrivacyLossDistribution, PrivacyLossDistribution]
