"""The privacy curve of shuffled reports: below what a cover proves, above what is attained."""

from __future__ import annotations

import math

from dpverify.guarantee import Interval
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["Amplification", "Cover"]

Cover = tuple[HiddenReport, ...]
"""Pairs of which one dominates the view, whatever the mechanism of a class and the dataset."""

_NEXT_TO = 0.99


@dataclass(frozen=True, eq=False)
class Amplification:
    """What shuffling gives: a privacy curve, as proved intervals.

    - covers: The pairs of each dominate together; the best cover counts.
    - attained: Pairs that a mechanism of the class and a dataset have.
    - largest: An upper bound on the loss of one report, which that of the view never exceeds; it may be inf.
    - least: A lower bound on the largest loss of a view, over the class.
    """

    covers: tuple[Cover, ...]
    attained: tuple[HiddenReport, ...]
    largest: float = math.inf
    least: float = 0.0

    @property
    def users(self) -> int:
        """How many users there are."""
        return self.attained[0].users

    @property
    def index(self) -> Interval:
        """The shuffle indices: that of the best cover, and that of the least private attained pair.

        First-order theory: with n users, epsilon is about that of a normal law with sensitivity 1 and deviation
        `index sqrt(n)`. The band collapses where the two agree.
        """
        shuffled = [cover for cover in self.covers if cover[0].users == self.users]
        low = max(min(report.index for report in cover) for cover in shuffled)
        high = min(report.index for report in self.attained)
        return Interval(min(low, high), max(low, high))

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon >= 0."""
        check_real("epsilon", epsilon, low=0.0)
        return Interval.proved(self.delta_lower(epsilon), self.delta_upper(epsilon))

    def delta_lower(self, epsilon: float) -> float:
        """Return a lower bound on delta at an epsilon >= 0."""
        return max(report.delta(epsilon).lower for report in self.attained)

    def meets(self, epsilon: float, delta: float, *, leading: bool = False) -> bool:
        """Return whether a cover proves delta at an epsilon >= 0, or might, by its leading pair alone."""
        if epsilon >= self.largest:
            return True
        chosen = (cover[:1] if leading else cover for cover in self.covers)
        return any(all(report.delta(epsilon).upper <= delta for report in pairs) for pairs in chosen)

    def delta_upper(self, epsilon: float, *, enough: float = 0.0) -> float:
        """Return an upper bound on delta at an epsilon >= 0; once a cover proves `enough`, no other is asked."""
        if epsilon >= self.largest:
            return 0.0
        found = 1.0
        for cover in self.covers:
            worst = 0.0
            for report in cover:
                worst = max(worst, report.delta(epsilon).upper)
                if worst >= found:  # no other pair of this cover makes it better than one before
                    break
            found = min(found, worst)
            if found <= enough:
                break
        return found

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta in [0, 1)."""
        check_real("delta", delta, low=0.0, high=1.0, high_open=True)
        if delta == 0.0:
            return Interval.proved(self.least, self.largest)
        upper = min(self._highest(cover, delta) for cover in self.covers)
        return Interval.proved(self.epsilon_lower(delta), min(upper, self.largest))

    def epsilon_lower(self, delta: float) -> float:
        """Return a lower bound on epsilon at a delta in (0, 1)."""
        # Of another pair only where it exceeds delta at what the pairs before it have.
        found = self.attained[0].epsilon_lower(delta)
        for report in self.attained[1:]:
            if report.delta(found).lower > delta:
                found = max(found, report.epsilon_lower(delta, guess=found))
        return found

    def _highest(self, cover: Cover, delta: float) -> float:
        """Return an epsilon at which no pair of the cover exceeds delta."""
        found = cover[0].epsilon_upper(delta)
        if found >= self.largest or all(report.delta(found).upper <= delta for report in cover[1:]):
            return found
        if found >= _NEXT_TO * self.largest:
            # There the expectations are the hardest, and little is to be gained.
            return self.largest
        return max(found, *(report.epsilon_upper(delta) for report in cover[1:]))
