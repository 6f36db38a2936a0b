"""From pairs to an answer: what several strategies prove of every mix of them, from above and from below."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing.any_mix import AnyMix
from dpverify.privacy_loss.composing.attained_mix import estimated_epsilon
from dpverify.privacy_loss.composing.grid_mixes import GridMixes, Steps, choose_steps
from dpverify.privacy_loss.composing.mixes import Mixes, branches_of, narrowed
from dpverify.privacy_loss.composing.once import OneInstance
from dpverify.privacy_loss.datasets.covers import Covers, Entry, members
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.concentration import Concentration
from protocols.validation import check_integer, check_real

__all__ = ["Entry", "FamilyComposition", "Strategy"]

_SHARP, _LOOSE = 5e-4, 7e-4
"""The widths of which more than grids is asked, and beyond which a bound is to be improved: seconds, for .004 %."""
_HOPED = 1.05
"""An upper end that is to be decided is not narrowed from so many times what it is compared with."""
_LOOSE_DELTA = 5e-3
"""The relative width of a delta beyond which it is to be improved: that of epsilon times a large tilt."""
_MOST_RECURRED = 16
"""Up to so many instances the recursion over datasets comes first: it is as quick as a contour, and the sharper."""
_HOPELESS = 8.0
"""Where the largest total of losses is no more than so many errors there is nothing to compose."""
_LIKELY = 0.9
"""The share of the largest epsilon that a pair must have to count for the lower end, where there are many."""
_LEAST_GAP = 1e-4
"""At which the search over mixes stops at the least: each halving costs another composition."""

Ask = Callable[[float, Interval], Interval]
"""Returns what is known of an answer at an argument, narrowed, or the same."""


class Strategy(NamedTuple):
    """One theorem on every mix: what it makes of an interval of epsilon at a delta, and of delta at an epsilon.

    Quick ones are for searches, too, which ask often.
    """

    name: str
    epsilon: Ask
    delta: Ask
    quick: bool = False


class FamilyComposition:
    """Composition of `instances` mechanisms run on fixed inputs, each of which may meet any pair of a family.

    - pairs: Every pair that an instance may present: both directions, and every dataset that matters. A group (itself a
      sequence) is covered by the supremum of its profiles.
    - instances: How many instances the same user takes part in.
    - attained: Pairs that a single dataset attains in every instance at once, for the lower bound; when omitted,
      `pairs`, which must then hold no groups.
    - step: Grid step in nats; chosen for `relative_width` at `reference_delta` when omitted, and coarsened if a heavy
      tail would need more memory than a composition may take.
    - relative_width, reference_delta: The accuracy wanted: see `choose_step`. Also the gap at which the search over
      mixes of two pairs stops, but no less than 1e-4: each halving of that gap costs another composition.

    A replaced user's bit may go up in some instances and down in others. Randomised bits are covered by joint convexity
    of the divergence. Moments and grids come first; the other strategies are asked in turn for
    as long as the interval is wide.
    """

    def __init__(
        self,
        pairs: Sequence[Entry],
        instances: int,
        *,
        attained: Sequence[PrivacyLossDistribution] | None = None,
        step: float | None = None,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> None:
        self.instances = check_integer("instances", instances, low=1)
        self._width = check_real("relative_width", relative_width, low=0.0, low_open=True)
        self._reference = check_real(
            "reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True
        )
        self._step = None if step is None else check_real("step", step, low=0.0, low_open=True)
        if not pairs:
            raise ValueError("pairs is empty, but must hold at least one distribution.")
        if attained is None and any(len(members(entry)) > 1 for entry in pairs):
            raise ValueError("attained is None, but must be given when pairs holds groups.")
        self._covers = pairs if isinstance(pairs, Covers) else Covers(pairs, ())
        self._attained = _distinct(_every(pairs) if attained is None else attained)
        # What a plan promises is what an account finds, which is no sharper than the gap of its search over mixes.
        self._sharp, self._loose = step is None and relative_width <= _SHARP, _LOOSE + 2.0 * relative_width

    @cached_property
    def _once(self) -> OneInstance:
        covers = [_every(self._covers), *map(list, self._covers.others[-1:])]
        return OneInstance(covers, [*self._attained, *self._covers.once])

    @cached_property
    def _laws(self) -> tuple[Sequence[Entry], list[PrivacyLossDistribution]]:
        """The choice of covers that is likely the sharpest, and what of the attained may count."""
        if not self._covers.others:
            return self._covers, self._attained
        estimate = functools.partial(estimated_epsilon, instances=self.instances, delta=self._reference)
        # What is better by far would only ask for a finer grid.
        found = [estimate(pair) for pair in self._attained]
        likely = [pair for pair, own in zip(self._attained, found, strict=True) if own >= _LIKELY * max(found)]
        return self._covers.likeliest(self.instances, estimate), likely

    @cached_property
    def _moments(self) -> Concentration:
        entries, attained = self._laws
        return Concentration(_every(entries), attained, self.instances)

    @cached_property
    def _hopeless(self) -> bool:
        """Whether no listed loss is known well enough to say more than the largest ones do."""
        error = max(pair.loss_error for pair in _every(self._laws[0])) * self.instances
        return self._step is None and self._moments.basic <= _HOPELESS * error

    @cached_property
    def _grids(self) -> GridMixes:
        entries, attained = self._laws
        groups, width, delta = [members(entry) for entry in entries], self._width, self._reference
        if self._step is None:
            steps = choose_steps(groups, attained, self.instances, width, delta)
        else:
            steps = Steps(self._step, self._step, chosen=False)
        return GridMixes(groups, attained, self.instances, steps, max(width, _LEAST_GAP), delta)

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """What is asked of more than one instance, in this order."""
        return *self._always, *self._where_wide

    @cached_property
    def _always(self) -> tuple[Strategy, ...]:
        moments, grids = self._moments, self._grids

        def epsilon_by_moments(delta: float, found: Interval) -> Interval:
            return _within(found, moments.epsilon(delta))

        def delta_by_moments(epsilon: float, found: Interval) -> Interval:
            return _within(found, moments.delta(epsilon))

        def epsilon_on_grids(delta: float, found: Interval) -> Interval:
            upper = min(found.upper, grids.upper_epsilon(delta))
            return Interval.proved(max(found.lower, grids.lower_epsilon(delta)[0]), upper)

        def delta_on_grids(epsilon: float, found: Interval) -> Interval:
            upper = min(found.upper, grids.upper_delta(epsilon, found.upper))
            return Interval.proved(max(found.lower, grids.lower_delta(epsilon)), upper)

        return (
            Strategy("moments", epsilon_by_moments, delta_by_moments, quick=True),
            Strategy("grids", epsilon_on_grids, delta_on_grids, quick=True),
        )

    @cached_property
    def _where_wide(self) -> tuple[Strategy, ...]:
        made = branches_of(self._covers)
        mixes = Mixes([(made, self.instances)], [(made, self._laws[1], self.instances)])

        def epsilon_along(delta: float, found: Interval) -> Interval:
            bound = self._any_mix
            return found if bound is None else _within(found, Interval(0.0, bound.epsilon(delta)))

        def delta_along(epsilon: float, found: Interval) -> Interval:
            bound = self._any_mix if epsilon > 0.0 else None
            return found if bound is None else _within(found, Interval(0.0, bound.delta(epsilon)))

        def above(quick: bool) -> tuple[Ask, Ask]:
            asked = mixes.epsilon_above, mixes.delta_above
            return functools.partial(asked[0], quick=quick), functools.partial(asked[1], quick=quick)

        few = Strategy("recursion", *above(quick=True)), Strategy("any mix", epsilon_along, delta_along, quick=True)
        return (
            *(few if self.instances <= _MOST_RECURRED else few[::-1]),
            Strategy("found mix", mixes.epsilon_below, mixes.delta_below),
            Strategy("recursion of sets", *above(quick=False)),
        )

    @cached_property
    def _any_mix(self) -> AnyMix | None:
        """The bound from single pairs, made where accuracy is wanted; None where it has nothing to go by."""
        epsilon, worst = self._grids.lower_epsilon(self._reference)
        if self._covers.single is None or not epsilon > 0.0:
            return None
        return AnyMix(self._covers.single(), worst, self.instances, epsilon=epsilon, delta=self._reference)

    def epsilon(self, delta: float, *, quick: bool = False, decide: float | None = None) -> Interval:
        """Return the smallest epsilon >= 0 at which the largest divergence over every mix is at most delta, proved.

        - delta: In (0, 1).
        - quick: Whether the upper end alone is wanted, of the quick strategies: for searches, which ask often.
        - decide: Stop once epsilon is known to be above this or not.
        """
        if self.instances == 1:
            return Interval(0.0, self._once.epsilon_upper(delta)) if quick else self._once.epsilon(delta)
        found = self._moments.epsilon(check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True))
        wanted = 0.0 if decide is None else decide
        if found.lower == math.inf or self._hopeless or found.upper <= wanted:
            return found
        unbounded = found.upper == math.inf
        upper = math.inf if unbounded else min(found.upper, self._grids.upper_epsilon(delta, decide))
        if quick and (unbounded or not self._sharp or upper <= wanted):
            return Interval(found.lower, upper)
        found = Interval.proved(max(found.lower, self._grids.lower_epsilon(delta)[0]), upper)
        if unbounded or not self._sharp:
            return found

        def wide(found: Interval) -> bool:
            decided = wanted > 0.0 and (found.lower > wanted or found.upper > _HOPED * wanted)
            return found.upper > max((1.0 + self._loose) * found.lower, wanted) and not decided

        return narrowed(
            found,
            wide,
            *(functools.partial(each.epsilon, delta) for each in self._where_wide if each.quick or not quick),
        )

    def epsilon_lower(self, delta: float) -> float:
        """Return only a lower bound of `epsilon`, that of one attained pair in all instances."""
        if self.instances == 1:
            return self._once.epsilon(delta).lower
        known = self._moments.epsilon(delta).lower
        return known if known == math.inf or self._hopeless else max(known, self._grids.lower_epsilon(delta)[0])

    def delta(self, epsilon: float) -> Interval:
        """Return the largest hockey-stick divergence over every mix of the pairs, as a proved interval."""
        if self.instances == 1:
            return self._once.delta(epsilon)
        check_real("epsilon", epsilon)
        if self._hopeless and epsilon >= 0.0:
            return self._moments.delta(epsilon)
        found = Interval(0.0, 1.0)
        for strategy in self._always:
            found = strategy.delta(epsilon, found)
        if not self._sharp or self._hopeless or epsilon < 0.0:
            return found
        return narrowed(
            found,
            lambda found: found.upper > (1.0 + _LOOSE_DELTA) * found.lower,
            *(functools.partial(each.delta, epsilon) for each in self._where_wide),
        )


def _within(found: Interval, other: Interval) -> Interval:
    return Interval.proved(max(found.lower, other.lower), min(found.upper, other.upper))


def _every(entries: Sequence[Entry]) -> list[PrivacyLossDistribution]:
    return _distinct([pair for entry in entries for pair in members(entry)])


def _distinct(pairs: Sequence[PrivacyLossDistribution]) -> list[PrivacyLossDistribution]:
    return list({id(pair): pair for pair in pairs}.values())
