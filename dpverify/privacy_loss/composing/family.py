"""From pairs to an answer: a bound for every mix of them over the instances, and the lower bound to match."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing.any_mix import AnyMix
from dpverify.privacy_loss.composing.attained_mix import estimated_epsilon
from dpverify.privacy_loss.composing.mix_blocks import Block, few_blocks, level_above
from dpverify.privacy_loss.composing.mixes import Mixes, branches_of, narrowed
from dpverify.privacy_loss.composing.once import OneInstance
from dpverify.privacy_loss.datasets.covers import Covers, Entry, members
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.concentration import Concentration, total_loss
from dpverify.privacy_loss.windows.contour_composition import ContourComposition, MixesBound
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.step import MOST_LENGTH, choose_step, least_step
from dpverify.privacy_loss.windows.transform import Composition, WindowTooLargeError
from protocols.validation import check_integer, check_real

__all__ = ["Entry", "FamilyComposition"]

Answer = TypeVar("Answer")
_MOST_MIX_LENGTH = 2**18
"""Of the windows in the search over mixes, which takes a dozen transforms."""
_MOST_BYTES = 2**27
"""For a transform at a step that was chosen here: 2^21 cells."""
_NEXT_TO_NOTHING = 1e-9
"""The share of an epsilon that is to be decided, or of a nat over the tilt, below which no epsilon is told from 0."""
_CUT = 1e-9
"""The share of delta that the instances may lose together, on each side, by trimming the rarest losses."""
_USELESS = 1e-5
"""How much of the total's variance the splitting of losses may add before no window of cells is worth its while."""
_FINER = 1e-6
"""Of the width that is asked for: one that a window gets closer to if there are more cells to be had."""
_SHARP, _LOOSE = 5e-4, 6e-4
"""The widths of which single pairs are asked for a better bound, and beyond which a bound is to be improved."""
_LOOSE_DELTA = 5e-3
"""The relative width of a delta beyond which it is to be improved: that of epsilon times a large tilt."""
_MOST_RECURRED = 64
"""Up to so many instances the recursion over datasets comes first: it is the quicker bound, and the sharper."""
_CELLS_PER_DEVIATION, _MOST_CELLS = 150.0, 2**12
"""Of one loss, along contours."""


class FamilyComposition:
    """Composition of `instances` mechanisms run on fixed inputs, each of which may meet any pair of a family.

    Parameters
    ----------
    pairs : sequence of PrivacyLossDistribution or of groups of them
        Every pair that an instance may present: both directions, and every dataset that matters. A group (itself a
        sequence) is covered by the supremum of its profiles.
    instances : int
        How many instances the same user takes part in.
    attained : sequence of PrivacyLossDistribution, optional
        Pairs that a single dataset attains in every instance at once, for the lower bound; when omitted, `pairs`, which
        must then hold no groups.
    step : float, optional
        Grid step in nats; chosen for `relative_width` at `reference_delta` when omitted, and coarsened if a heavy
        tail would need more memory than a composition may take.
    relative_width, reference_delta : float
        The accuracy wanted: see `choose_step`. Also the gap at which the search over mixes of two pairs stops, but no
        less than 1e-4: each halving of that gap costs another composition.

    Notes
    -----
    A replaced user's bit may go up in some instances and down in others. Composing the pointwise supremum of the
    profiles dominates every mix, even an adaptive one. With two entries (say one per direction) the inputs are fixed
    before the first instance runs, so the worst mix is a number m of instances with the first and the rest with the
    second: branch and bound over m, where a block m in [a, b] is bounded by a instances of the first, I - b of the
    second and b - a of the supremum of both. Randomised bits are covered by joint convexity of the divergence.
    The lower bound is the largest over the attained pairs, each used in all instances.
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
        check_real("relative_width", relative_width, low=0.0, low_open=True)
        check_real("reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if not pairs:
            raise ValueError("pairs is empty, but must hold at least one distribution.")
        groups = [members(entry) for entry in pairs]
        if attained is None and any(len(group) > 1 for group in groups):
            raise ValueError("attained is None, but must be given when pairs holds groups.")
        every = _distinct([pair for group in groups for pair in group])
        lower_pairs = every if attained is None else _distinct(attained)

        covers = pairs if isinstance(pairs, Covers) else Covers(pairs, ())
        self._single = (
            OneInstance([every, *map(list, covers.others[-1:])], [*lower_pairs, *covers.once])
            if instances == 1
            else None
        )
        if self._single is not None:
            self.step = 0.0
            return
        if covers.others:
            estimate = functools.partial(estimated_epsilon, instances=instances, delta=reference_delta)
            groups = [members(entry) for entry in covers.likeliest(instances, estimate)]
            every = _distinct([pair for group in groups for pair in group])
            # What is better by far would only ask for a finer grid.
            found = [estimate(pair) for pair in lower_pairs]
            lower_pairs = [pair for pair, own in zip(lower_pairs, found, strict=True) if own >= 0.9 * max(found)]
        # Where the search over mixes is told to stop early nothing sharper is wanted.
        self._singles = covers.single if step is None and relative_width <= _SHARP else None
        # A coarser bound, off by its grid's width and by the gap of its search over mixes, is improved only where that
        # is, too: what a plan promises is then what an account finds.
        self._loose = _LOOSE + 2.0 * relative_width
        self._any_mix: AnyMix | None = None
        self._best_attained: tuple[float, float, int] | None = None
        self._narrow = step is None and relative_width <= _SHARP
        made = branches_of(pairs)
        self._every_mix = Mixes([(made, instances)], [(made, lower_pairs, instances)])
        self._groups, self._every, self._attained = groups, every, lower_pairs
        self._bounds = Concentration(every, lower_pairs, instances)
        self._step_given, self._reference = step is not None, reference_delta
        # The search over mixes stops at a gap of 1e-4: a grid for a tenth of that is fine enough, and quicker.
        self._mix_gap = max(relative_width, 1e-4)
        if step is not None:
            self.step = self._mix_step = check_real("step", step, low=0.0, low_open=True)
        else:
            trimmed = self._trimmed(lower_pairs)
            self.step = min(
                choose_step(pair, instances, relative_width=relative_width, reference_delta=reference_delta)
                for pair in trimmed
            )
            coarse = {"relative_width": max(relative_width, 1e-5), "reference_delta": reference_delta}
            most = MOST_LENGTH if len(groups) == 1 else _MOST_MIX_LENGTH
            self._mix_step = min(choose_step(pair, instances, most_length=most, **coarse) for pair in trimmed)
            self._mix_step = self.step if len(groups) == 1 else max(self.step, self._mix_step)
            if len(every) > 1:
                # Unlike one pair, their supremum has a mass in every cell.
                self._mix_step = max(self._mix_step, least_step(self._trimmed(every)))
        self._along_contours = step is None and self._widely_split(relative_width)
        self._built = False

    def _trimmed(self, pairs: Sequence[PrivacyLossDistribution]) -> list[PrivacyLossDistribution]:
        """Return the pairs without losses so rare that they count for nothing, and that would widen every window."""
        if self._step_given:
            return list(pairs)
        return [pair.trimmed(_CUT * self._reference / self.instances) for pair in pairs]

    def _widely_split(self, relative_width: float) -> bool:
        """Return whether no window of cells that fits resolves the total loss, and set steps for contours if so.

        The cost of contours grows with the cells of one loss, and does not depend on the instances.
        """
        listed = [pair for pair in self._attained if pair.losses.size]
        totals = [total_loss([(pair, self.instances)]).saddle_point(self._reference)[2] for pair in listed]
        deviations = [total / math.sqrt(self.instances) for total in totals]
        # Where all losses are 0 as floats there is nothing to resolve.
        least = 2.0 * math.sqrt(_USELESS) * max(deviations, default=0.0)
        if not any(pair.largest_loss for pair in listed) or self.step <= least:
            return False
        # Cells that are as small as was asked are enough, however wide they are: only the largest window is too coarse.
        trimmed = self._trimmed(listed)
        finer = min(
            choose_step(pair, self.instances, relative_width=_FINER * relative_width, reference_delta=self._reference)
            for pair in trimmed
        )
        if finer < self.step:
            return False
        most = max(pair.largest_loss for pair in trimmed)
        self.step = self._mix_step = max(min(deviations) / _CELLS_PER_DEVIATION, most / _MOST_CELLS)
        return True

    def _hopeless(self) -> bool:
        """Return whether no listed loss is known well enough to say more than the moments do."""
        error = max(pair.loss_error for pair in self._every) * self.instances
        return not self._step_given and self._bounds.basic <= 8.0 * error

    def _build(self) -> None:
        """Put everything on grids: `step` for the lower bounds, `mix_step` for the search over mixes."""
        groups = [self._trimmed(group) for group in self._groups]
        two = len(groups) == 2 and len(self._every) > 1
        self._ends = [dominating_grid(group, self._mix_step) for group in groups] if two else []
        every = [pair for group in groups for pair in group]
        self._supremum = dominating_grid(self._ends or every, self._mix_step)
        if self._along_contours:
            self._ends, self._supremum = [end.capped() for end in self._ends], self._supremum.capped()
        self._mixes: dict[tuple[int, int], Composition] = {}
        self._any_mix = self._best_attained = None
        self._lower_compositions: list[Composition] = []
        self._built = True

    def _answer(self, delta: float, question: Callable[[], Answer]) -> Answer:
        """Ask, on coarser and coarser grids until the windows fit in memory, unless the step was given.

        What is trimmed is nothing beside `delta`.
        """
        if not self._built or delta < self._reference:
            self._reference = min(delta, self._reference)
            self._build()
        while True:
            try:
                return question()
            except WindowTooLargeError:
                if self._step_given:
                    raise
                self.step, self._mix_step = 4.0 * self.step, 4.0 * self._mix_step
                self._build()

    def _composition(self, parts: list[tuple[GridPrivacyLoss, int]]) -> Composition:
        if self._along_contours:
            return ContourComposition(parts)
        return Composition(parts) if self._step_given else Composition(parts, max_bytes=_MOST_BYTES)

    def _lower(self) -> list[Composition]:
        """Return the compositions of the attained pairs, made when a lower bound is first asked for."""
        if not self._lower_compositions:
            grids = [connect_the_dots(pair, self.step) for pair in self._trimmed(self._attained)]
            self._lower_compositions = [self._composition([(grid, self.instances)]) for grid in grids]
        return self._lower_compositions

    def _lower_epsilon(self, delta: float) -> tuple[float, int]:
        """Return the largest epsilon that an attained pair has in all instances, from below, and which one has it."""
        if self._best_attained is None or self._best_attained[0] != delta:
            found = self._answer(delta, lambda: max((c.epsilon(delta).lower, i) for i, c in enumerate(self._lower())))
            self._best_attained = delta, *found
        return self._best_attained[1:]

    def _mix(self, low: int, high: int) -> Composition:
        """Return a composition that dominates every mix with `low` to `high` instances of the first pair."""
        if (low, high) not in self._mixes:
            parts: list[tuple[GridPrivacyLoss, int]] = [(self._supremum, high - low)]
            if self._ends:
                parts += [(self._ends[0], low), (self._ends[1], self.instances - high)]
            self._mixes[low, high] = self._composition([(grid, count) for grid, count in parts if count > 0])
        return self._mixes[low, high]

    def _worst_epsilon(self, delta: float, decide: float | None) -> float:
        """Return an upper bound on the largest epsilon at delta over all mixes."""
        whole = self._mix(0, self.instances)
        if not self._ends:
            return whole.epsilon_upper(delta)
        ends = [self._mix(m, m) for m in (0, self.instances)]
        attained = max(end.epsilon_upper(delta) for end in ends)
        if attained == math.inf or (decide is not None and attained > decide):
            return attained
        tilt = max(end.saddle_point(delta)[1] for end in ends)
        # A larger level is one, too, and no relative gap would do above 0.
        attained = max(attained, _NEXT_TO_NOTHING * (1.0 / max(tilt, 1.0) if decide is None else decide))
        gap = max(self._mix_gap, 0.0 if decide is None else decide / attained - 1.0)
        if whole.delta(attained * (1.0 + gap)).upper <= delta:
            return whole.epsilon_upper(delta)
        rough = self._mixes_bound(ends, attained)
        if rough is not None and rough.epsilon(delta) <= attained * (1.0 + gap):
            return rough.epsilon(delta)
        blocks, gap = self._blocks(tilt, tilt * attained, gap)
        level = self._raised(
            attained * (1.0 + gap),
            blocks,
            lambda mix, level: mix.delta(level).upper > delta,
            lambda mix: mix.epsilon_upper(delta),
        )
        return level if rough is None else min(level, rough.epsilon(delta))

    def _mixes_bound(self, ends: Sequence[Composition], epsilon: float) -> MixesBound | None:
        """Return a bound on every mix that needs no search; None where it is too rough."""
        contours = [end for end in ends if isinstance(end, ContourComposition) and not end.singular]
        return MixesBound(contours, epsilon) if len(contours) == len(ends) and epsilon > 0.0 else None

    def _worst_delta(self, epsilon: float) -> float:
        """Return an upper bound on the largest divergence at an epsilon over all mixes."""
        whole = self._mix(0, self.instances).delta(epsilon).upper
        if not self._ends:
            return whole
        ends = [self._mix(m, m) for m in (0, self.instances)]
        attained = max(end.delta(epsilon).upper for end in ends)
        rough = self._mixes_bound(ends, epsilon)
        whole = whole if rough is None else min(whole, rough.delta(epsilon))
        if whole <= attained * (1.0 + self._mix_gap):
            return whole
        blocks, gap = self._blocks(max(end.tilt_at(epsilon) for end in ends), 1.0, self._mix_gap)
        level = self._raised(
            attained * (1.0 + gap),
            blocks,
            lambda mix, level: mix.delta(epsilon).upper > level,
            lambda mix: mix.delta(epsilon).upper,
        )
        return min(level, whole)

    def _blocks(self, tilt: float, scale: float, gap: float) -> tuple[list[Block], float]:
        exponents = [grid.moments.at(tilt)[0] for grid in (*self._ends, self._supremum)]
        return few_blocks(self.instances, exponents, scale, gap)

    def _raised(
        self,
        level: float,
        blocks: list[Block],
        exceeds: Callable[[Composition, float], bool],
        reached: Callable[[Composition], float],
    ) -> float:
        return level_above(
            level,
            blocks,
            lambda block, level: exceeds(self._mix(*block), level),
            lambda block: reached(self._mix(*block)) * (1.0 + self._mix_gap),
        )

    def _improved(self) -> AnyMix | None:
        """Return the bound from single pairs, made where accuracy is wanted; None where it has nothing to go by."""
        if self._any_mix is None and self._singles is not None and not self._hopeless():
            epsilon, worst = self._lower_epsilon(self._reference)
            if epsilon > 0.0:
                at = {"epsilon": epsilon, "delta": self._reference}
                self._any_mix = AnyMix(self._singles(), self._attained[worst], self.instances, **at)
        return self._any_mix

    def delta(self, epsilon: float) -> Interval:
        """Return the largest hockey-stick divergence over every mix of the pairs, as a proved interval."""
        if self._single is not None:
            return self._single.delta(epsilon)
        upper, lower = self.delta_upper(epsilon), self._bounds.infinite
        if not self._hopeless() or epsilon < 0.0:
            lower = self._answer(self._reference, lambda: max(c.delta(epsilon).lower for c in self._lower()))
        found = Interval.proved(lower, upper)
        if not self._narrow or epsilon < 0.0 or self._hopeless():
            return found
        return narrowed(
            found,
            lambda found: found.upper > (1.0 + _LOOSE_DELTA) * found.lower,
            functools.partial(self._every_mix.delta_above, epsilon, quick=True),
            functools.partial(self._every_mix.delta_below, epsilon),
            functools.partial(self._every_mix.delta_above, epsilon, quick=False),
        )

    def delta_upper(self, epsilon: float) -> float:
        """Return only the upper bound of `delta`, for which nothing need be attained."""
        if self._single is not None:
            return self._single.delta_upper(epsilon)
        rough = self._bounds.delta_upper(epsilon) if check_real("epsilon", epsilon) >= 0.0 else 1.0
        if self._hopeless() and epsilon >= 0.0:
            return rough
        found = min(rough, self._answer(max(1e-3 * rough, 1e-280), lambda: self._worst_delta(epsilon)))
        improved = self._improved() if epsilon > 0.0 else None
        return found if improved is None else min(found, improved.delta(epsilon))

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which that divergence is at most delta, as a proved interval."""
        if self._single is not None:
            return self._single.epsilon(delta)
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if self._bounds.infinite > delta:
            return Interval(math.inf, math.inf)
        found = self._within(delta, None, mixes=True)
        lower = max(found.lower, self._bounds.epsilon_lower(delta))
        if not self._hopeless():
            lower = max(lower, self._lower_epsilon(delta)[0])
        return Interval.proved(lower, found.upper)

    def epsilon_upper(self, delta: float, *, decide: float | None = None) -> float:
        """Return only the upper bound of `epsilon`; with `decide`, stop once it is known to be above that or not."""
        if self._single is not None:
            return self._single.epsilon_upper(delta)
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        return self._within(delta, decide, mixes=False).upper

    def _within(self, delta: float, decide: float | None, *, mixes: bool) -> Interval:
        """Return an interval of epsilon: its lower end is 0 where the upper one is good enough."""
        rough = self._bounds.epsilon_upper(delta)
        if rough == math.inf or self._hopeless() or (decide is not None and rough <= decide):
            return Interval(0.0, rough)
        found = min(rough, self._answer(delta, lambda: self._worst_epsilon(delta, decide)))
        if not self._narrow or self._hopeless() or (decide is not None and found <= decide):
            return Interval(0.0, found)
        above = functools.partial(self._every_mix.epsilon_above, delta)
        recursion, line = functools.partial(above, quick=True), functools.partial(self._along_a_line, delta)
        steps = (
            *((recursion, line) if self.instances <= _MOST_RECURRED else (line, recursion)),
            functools.partial(self._every_mix.epsilon_below, delta),
            functools.partial(above, quick=False),
        )
        return narrowed(
            Interval.proved(self._lower_epsilon(delta)[0], found),
            lambda found: found.upper > (1.0 + self._loose) * found.lower,
            # Searches ask often, and the recursion takes up to a second.
            *(steps if mixes else (line,)),
        )

    def _along_a_line(self, delta: float, found: Interval) -> Interval:
        improved = self._improved()
        return found if improved is None else Interval.proved(found.lower, min(found.upper, improved.epsilon(delta)))


def _distinct(pairs: Sequence[PrivacyLossDistribution]) -> list[PrivacyLossDistribution]:
    return list({id(pair): pair for pair in pairs}.values())
