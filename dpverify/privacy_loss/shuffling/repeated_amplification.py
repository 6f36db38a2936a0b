"""Many rounds of shuffled reports of the same users: composed by the engine, from the bound on one round."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.profile_pair import pair_above
from dpverify.privacy_loss.shuffling.amplified_curve import Amplification
from dpverify.privacy_loss.shuffling.counted_reports import counted_reports
from dpverify.search import galloped, least_integer
from protocols.validation import check_integer

__all__ = ["RepeatedAmplification"]

_PER_DEVIATION = 8.0
"""Points per standard deviation of one round's loss: their chords add less than half a per cent to it."""
_MOST_POINTS = 400
_LEFT = 1e-4
"""Of delta, over all rounds: what the lower end may leave out of one round."""
_LAST = 1e-12
"""The same, of what the upper bound on one round has left at its last point, about."""


class RepeatedAmplification:
    """The privacy curve of so many rounds, each with fresh reports, whatever the inputs of each round.

    Parameters
    ----------
    one : Amplification
        One round.
    rounds : int
        At least 1.
    reference_delta : float
        At which delta the upper bound is meant to be sharp, in (0, 1).

    Notes
    -----
    The upper end composes a pair that dominates one round. The lower end is that of a single round, or of how often in
    each round a set of reports is made (`counted_reports`), whichever is larger.
    """

    def __init__(self, one: Amplification, rounds: int, *, reference_delta: float = 1e-6) -> None:
        self._one, self._rounds = one, check_integer("rounds", rounds, low=1)
        self._reference = reference_delta

    @cached_property
    def _counted(self) -> FamilyComposition:
        pair = counted_reports(self._one.attained[0], _LEFT * self._reference / self._rounds)
        return FamilyComposition([pair], self._rounds, relative_width=1e-4, reference_delta=self._reference)

    @cached_property
    def _composed(self) -> FamilyComposition:
        return FamilyComposition([self.pair], self._rounds, relative_width=1e-4, reference_delta=self._reference)

    @cached_property
    def pair(self) -> PrivacyLossDistribution:
        """A pair that dominates one round, in both directions."""
        one, last_left = self._one, _LAST * self._reference / self._rounds
        deviation = 1.0 / (one.index.lower * math.sqrt(one.users))
        step, leading = deviation / _PER_DEVIATION, one.covers[0][0]

        def ends(count: int) -> bool:
            # By one pair of a cover: the bound on all is asked at the points themselves.
            return count * step >= one.largest or leading.delta(count * step).upper <= last_left

        within = galloped(ends, 0, 8, ceiling=_MOST_POINTS)
        count = _MOST_POINTS if within is None else least_integer(ends, *within)
        last = min(count * step, one.largest, 600.0)
        return pair_above(one.delta_upper, np.linspace(0.0, last, count + 1)[1:].tolist())

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon >= 0."""
        if self._rounds == 1:
            return self._one.delta(epsilon)
        upper = 0.0 if epsilon >= self._rounds * self._one.largest else self._composed.delta(epsilon).upper
        lower = max(self._one.delta_lower(epsilon), self._counted.delta(epsilon).lower)
        return Interval.proved(min(lower, 1.0), max(upper, 0.0))

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta in [0, 1)."""
        if self._rounds == 1:
            return self._one.epsilon(delta)
        most = self._rounds * self._one.largest * (1.0 + 1e-15)
        if delta == 0.0:
            return Interval.proved(self._one.least, most)
        lower = max(self._one.epsilon_lower(delta), self._counted.epsilon(delta).lower)
        return Interval.proved(lower, min(self._composed.epsilon(delta).upper, most))
