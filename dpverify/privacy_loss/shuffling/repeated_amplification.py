"""Many rounds of shuffled reports of the same users: composed by the engine, from the bound on one round."""

from __future__ import annotations

import math
from functools import cached_property, partial

import numpy as np

from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.profile_pair import pair_above, pair_below
from dpverify.privacy_loss.shuffling.amplified_curve import Amplification
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.search import galloped, least_integer
from protocols.validation import check_integer

__all__ = ["RepeatedAmplification"]

_PER_DEVIATION = 12.0
"""Points per standard deviation of one round's loss: their chords cost about a seventh of a per cent on either side."""
_MOST_POINTS = 600
_LAST = 1e-12
"""Of delta, over all rounds: what the bound on one round has left at its last point, about."""
_LITTLE = 1e-2
"""Of delta, over all rounds: where the first cover leaves less than this of one round, another would hardly help."""


class RepeatedAmplification:
    """The privacy curve of so many rounds, each with fresh reports, whatever the inputs of each round.

    - one: One round.
    - rounds: At least 1.
    - reference_delta: At which delta the upper bound is meant to be sharp, in (0, 1).

    The upper end composes a pair that dominates one round, and the lower end what a dataset attains of one.
    """

    def __init__(self, one: Amplification, rounds: int, *, reference_delta: float = 1e-6) -> None:
        self._one, self._rounds = one, check_integer("rounds", rounds, low=1)
        self._reference = reference_delta

    @cached_property
    def _attained(self) -> FamilyComposition:
        return FamilyComposition([self.attained], self._rounds, relative_width=1e-4, reference_delta=self._reference)

    @cached_property
    def _composed(self) -> FamilyComposition:
        return FamilyComposition([self.pair], self._rounds, relative_width=1e-4, reference_delta=self._reference)

    @cached_property
    def pair(self) -> PrivacyLossDistribution:
        """A pair that dominates one round, in both directions."""
        enough = _LITTLE * self._reference / self._rounds
        bound = partial(self._one.delta_upper, enough=enough)
        return pair_above(bound, self._points(self._one.covers[0][0]))

    @cached_property
    def attained(self) -> PrivacyLossDistribution:
        """A pair that one round's view has, of the least private dataset that is known, or less."""
        worst = self._one.attained[0]
        return pair_below(worst.delta, worst.reversed().delta, self._points(worst))

    def _points(self, report: HiddenReport) -> list[float]:
        """Return at which epsilons the profile of a pair is asked."""
        step = 1.0 / (report.index * math.sqrt(report.users) * _PER_DEVIATION)
        last_left = _LAST * self._reference / self._rounds

        def ends(count: int) -> bool:
            # By one pair of a cover: the bound on all is asked at the points themselves.
            return count * step >= self._one.largest or report.delta(count * step).upper <= last_left

        within = galloped(ends, 0, 8, ceiling=_MOST_POINTS)
        count = _MOST_POINTS if within is None else least_integer(ends, *within)
        last = min(count * step, self._one.largest, 600.0)
        points: list[float] = np.linspace(0.0, last, count + 1)[1:].tolist()
        return points

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon >= 0."""
        if self._rounds == 1:
            return self._one.delta(epsilon)
        upper = 0.0 if epsilon >= self._rounds * self._one.largest else self._composed.delta(epsilon).upper
        lower = max(self._one.delta_lower(epsilon), self._attained.delta(epsilon).lower)
        return Interval.proved(min(lower, 1.0), max(upper, 0.0))

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta in [0, 1)."""
        if self._rounds == 1:
            return self._one.epsilon(delta)
        most = self._rounds * self._one.largest * (1.0 + 1e-15)
        if delta == 0.0:
            return Interval.proved(self._one.least, most)
        lower = max(self._one.epsilon_lower(delta), self._attained.epsilon(delta).lower)
        return Interval.proved(lower, min(self._composed.epsilon(delta).upper, most))
