"""What narrows the interval of all mixes where composing a family's supremum, or blocks of mixes, left it wide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.composing.attained_mix import Choice, attained_delta, attained_epsilon
from dpverify.privacy_loss.composing.ordered_mixes import OrderedMixes, ordered_mixes
from dpverify.privacy_loss.datasets.covers import Branch, Covers, Entry, members
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution

__all__ = ["Mixes", "Step", "branches_of", "narrowed"]

Step = Callable[[Interval], Interval]
"""Returns a narrower interval, or the same."""
Family = tuple[Callable[[], Sequence[Branch]], int]

_MOST_PAIRS, _VERY_MANY = 512, 10**5
"""Among so many a mix is looked for; and from so many instances on no more: the transform that proves its end is too
coarse there, and a single pair is as good."""
_NEXT = 1e-9
"""Relative: a bound made for one of the two floats around a number is as sharp at the other."""


class Mixes:
    """All mixes of the pairs of some families over the instances, from above and from below.

    - families: Of each what returns branches of which the pair of one, or an average of some, dominates whatever an
      instance presents; and in how many instances it is met.
    - attained: Of each its branches, of which those that are attained are so in any mix; pairs each of which is
      attained in all instances, which count where no branch is; and in how many it is met, from below.
    """

    def __init__(
        self,
        families: Sequence[tuple[Callable[[], Sequence[Branch]], int]],
        attained: Sequence[tuple[Callable[[], Sequence[Branch]], Sequence[PrivacyLossDistribution], int]],
    ) -> None:
        self._made, self._below = families, attained
        self._bounds = dict[bool, tuple[float, float, OrderedMixes]]()

    @cached_property
    def _families(self) -> list[tuple[list[PrivacyLossDistribution], int]]:
        return [([branch.pair for branch in made()], count) for made, count in self._made if count]

    @cached_property
    def _choices(self) -> list[Choice]:
        found = list[Choice]()
        for made, pairs, count in self._below:
            free = [branch.pair for branch in made() if branch.attained]
            if count and (free or pairs):
                found.append(Choice(free or pairs, count, free=bool(free)))
        return found

    def epsilon_above(self, delta: float, found: Interval, *, quick: bool) -> Interval:
        """Return an interval of epsilon with what the recursion bounds it by."""
        bound = self._bound(found.upper, delta, quick=quick)
        return found if bound is None else Interval.proved(found.lower, min(found.upper, bound.epsilon(delta)))

    def delta_above(self, epsilon: float, found: Interval, *, quick: bool) -> Interval:
        """Return an interval of delta with what the recursion bounds it by."""
        bound = self._bound(epsilon, found.upper, quick=quick) if found.upper > 0.0 else None
        return found if bound is None else Interval.proved(found.lower, min(found.upper, bound.delta(epsilon)))

    def epsilon_below(self, delta: float, found: Interval) -> Interval:
        """Return an interval of epsilon with what some mix attains."""
        lower = self._attained(lambda choices: attained_epsilon(choices, delta, found.lower))
        return Interval.proved(max(found.lower, lower), found.upper)

    def delta_below(self, epsilon: float, found: Interval) -> Interval:
        """Return an interval of delta with what some mix attains."""
        near = found.lower or found.upper
        lower = self._attained(lambda choices: attained_delta(choices, epsilon, near)) if 0.0 < near < 1.0 else 0.0
        return Interval.proved(max(found.lower, lower), found.upper)

    def _bound(self, epsilon: float, delta: float, *, quick: bool) -> OrderedMixes | None:
        """Return the recursion's bound, sharp there; None where there is nothing to mix, or too much."""
        if not 0.0 <= epsilon < math.inf or all(len(pairs) == 1 for pairs, _ in self._families):
            return None
        if quick in self._bounds:
            *place, known = self._bounds[quick]
            if all(math.isclose(*each, rel_tol=_NEXT) for each in zip(place, (epsilon, delta), strict=True)):
                return known
        with suppress(CapacityError):
            found = ordered_mixes(self._families, epsilon, min(delta, 0.5), quick=quick)
            if found is not None:
                self._bounds[quick] = epsilon, delta, found
            return found
        return None

    def _attained(self, lower: Callable[[list[Choice]], float]) -> float:
        number = sum(len(choice.pairs) for choice in self._choices)
        if number == len(self._choices) or number > _MOST_PAIRS:
            return 0.0
        if sum(choice.count for choice in self._choices) > _VERY_MANY:
            return 0.0
        with suppress(CapacityError):
            return lower(self._choices)
        return 0.0


def narrowed(found: Interval, wide: Callable[[Interval], bool], *steps: Step) -> Interval:
    """Return an interval after as many steps, in this order, as leave it wide but for the last."""
    for step in steps:
        if not wide(found):
            break
        found = step(found)
    return found


def branches_of(entries: Sequence[Entry]) -> Callable[[], Sequence[Branch]]:
    """Return what makes branches of a family: its own, or one for each of its pairs; none attained where it is tied."""
    if isinstance(entries, Covers) and entries.single is not None:
        made = entries.single
        return (lambda: [replace(branch, attained=False) for branch in made()]) if entries.tied else made
    return lambda: [Branch(pair) for entry in entries for pair in members(entry)]
