"""All mixes of the pairs of one or two groups over the instances, composed on grids of losses.

Composing the pointwise supremum of the profiles dominates every mix, even an adaptive one. With two groups (say one per
direction) the inputs are fixed before the first instance runs, so the worst mix is a number m of instances with the
first and the rest with the second: branch and bound over m, where a block m in [a, b] is bounded by a instances of the
first, I - b of the second and b - a of the supremum of both. The lower end is the largest over the attained pairs, each
used in all instances.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.contour_composition import ContourComposition, MixesBound
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.saddle import total_loss
from dpverify.privacy_loss.windows.step import MOST_LENGTH, choose_step, least_step, rarest
from dpverify.privacy_loss.windows.transform import Composition, WindowTooLargeError
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass

__all__ = ["GridMixes", "Steps", "choose_steps", "few_blocks", "level_above"]

Answer = TypeVar("Answer")
Pairs = Sequence[PrivacyLossDistribution]
Block = tuple[int, int]
"""The least and the most instances with the first of the groups."""

_MOST_BLOCKS = 48
"""That are proved one by one; a larger gap where that is not enough."""
_MOST_MIX_LENGTH = 2**18
"""Of the windows in the search over mixes, which takes a dozen transforms."""
_MOST_BYTES = 2**27
"""For a transform at a step that was chosen here: 2^21 cells."""
_NEXT_TO_NOTHING = 1e-9
"""The share of an epsilon that is to be decided, or of a nat over the tilt, below which no epsilon is told from 0."""
_USELESS = 1e-5
"""How much of the total's variance the splitting of losses may add before no window of cells is worth its while."""
_FINER = 1e-6
"""Of the width that is asked for: one that a window gets closer to if there are more cells to be had."""
_FAR_BELOW, _LEAST_DELTA = 1e-3, 1e-280
"""What a delta is at least, as a share of what the moments say, and as such: there accuracy is wanted."""
_CELLS_PER_DEVIATION, _MOST_CELLS = 150.0, 2**12
"""Of one loss, along contours."""


@dataclass(frozen=True)
class Steps:
    """Of the grids, in nats.

    - fine, mixed: For what is attained, and for the search over mixes.
    - chosen: Whether they were chosen here, so that they may be coarsened, and rare losses trimmed.
    - along_contours: Whether no window of cells resolves the total loss: the cost of contours grows with the cells of
      one loss.
    """

    fine: float
    mixed: float
    chosen: bool = True
    along_contours: bool = False

    def trimmed(self, pairs: Pairs, cut: float) -> list[PrivacyLossDistribution]:
        """Return the pairs without losses so rare that they count for nothing, and that would widen every window."""
        return [pair.trimmed(cut) for pair in pairs] if self.chosen else list(pairs)


def choose_steps(groups: Sequence[Pairs], attained: Pairs, instances: int, width: float, delta: float) -> Steps:
    """Return steps for about this relative width of epsilon at delta."""
    steps, cut = Steps(0.0, 0.0), rarest(delta, instances)
    trimmed, every = steps.trimmed(attained, cut), _distinct(groups)

    def chosen(width: float, most_length: int = MOST_LENGTH) -> float:
        accuracy = {"relative_width": width, "reference_delta": delta}
        return min(choose_step(pair, instances, most_length=most_length, **accuracy) for pair in trimmed)

    fine = mixed = chosen(width)
    if len(groups) > 1:
        # The search over mixes stops at a gap of 1e-4: a grid for a tenth of that is fine enough, and quicker.
        mixed = max(fine, chosen(max(width, 1e-5), _MOST_MIX_LENGTH))
    if len(every) > 1:
        # Unlike one pair, their supremum has a mass in every cell.
        mixed = max(mixed, least_step(steps.trimmed(every, cut)))
    listed = [pair for pair in attained if pair.losses.size]
    points = [total_loss([(pair, instances)]).saddle_point(delta) for pair in listed]
    deviations = [total / math.sqrt(instances) for *_, total in points]
    if points:
        epsilon, worst = max((point[0], place) for place, point in enumerate(points))
        top = float(steps.trimmed(listed, cut)[worst].losses[-1])
        # Next to the largest total an upper bound is off by as much as the grid goes beyond it: it ends there.
        if 0.0 < top * instances <= epsilon + mixed * instances:
            mixed = top / math.ceil(top / mixed) * (1.0 + 4.0 * UNIT)
    # Where all losses are 0 as floats there is nothing to resolve.
    resolved = fine <= 2.0 * math.sqrt(_USELESS) * max(deviations, default=0.0)
    # Cells that are as small as was asked are enough, however wide they are: only the largest window is too coarse.
    if resolved or not any(pair.largest_loss for pair in listed) or chosen(_FINER * width) < fine:
        return Steps(fine, mixed)
    step = max(
        min(deviations) / _CELLS_PER_DEVIATION,
        max(pair.largest_loss for pair in steps.trimmed(listed, cut)) / _MOST_CELLS,
    )
    return Steps(step, step, along_contours=True)


class GridMixes:
    """The epsilons and deltas of all mixes, and of what is attained in all instances.

    - groups: One of some pair dominates whatever an instance presents.
    - attained: Pairs that a single dataset attains in every instance at once.
    - instances: I.
    - steps: Coarsened where a window does not fit in memory, unless they were given.
    - gap: At which the search over mixes of two groups stops: each halving costs another composition.
    - delta: Where accuracy is wanted: what is trimmed is nothing beside it.
    """

    def __init__(
        self, groups: Sequence[Pairs], attained: Pairs, instances: int, steps: Steps, gap: float, delta: float
    ) -> None:
        self._laws, self._steps, self._gap, self._reference = (groups, attained, instances), steps, gap, delta

    @cached_property
    def _grids(self) -> _Grids:
        return _Grids(*self._laws, self._steps, self._gap, self._reference)

    def _answer(self, delta: float, question: Callable[[_Grids], Answer]) -> Answer:
        """Ask, on coarser and coarser grids until the windows fit in memory, unless the step was given."""
        if delta < self._reference:
            self._reference = delta
            self.__dict__.pop("_grids", None)
        while True:
            try:
                return question(self._grids)
            except WindowTooLargeError:
                if not self._steps.chosen:
                    raise
                self._steps = replace(self._steps, fine=4.0 * self._steps.fine, mixed=4.0 * self._steps.mixed)
                self.__dict__.pop("_grids", None)

    def upper_epsilon(self, delta: float, decide: float | None = None) -> float:
        """Return an upper bound on the largest epsilon; with `decide` until it is known to be above that or not."""
        return self._answer(delta, lambda grids: grids.worst_epsilon(delta, decide))

    def lower_epsilon(self, delta: float) -> tuple[float, PrivacyLossDistribution]:
        """Return the largest epsilon that an attained pair has in all instances, from below, and which one has it."""
        found, place = self._answer(
            delta, lambda grids: max((each.epsilon_lower(delta), i) for i, each in enumerate(grids.attained))
        )
        return found, self._laws[1][place]

    def upper_delta(self, epsilon: float, known: float) -> float:
        """Return an upper bound on the largest divergence, given a rougher one."""
        return self._answer(max(_FAR_BELOW * known, _LEAST_DELTA), lambda grids: grids.worst_delta(epsilon))

    def lower_delta(self, epsilon: float) -> float:
        """Return the largest divergence that an attained pair has in all instances, from below."""
        return self._answer(self._reference, lambda grids: max(each.delta(epsilon).lower for each in grids.attained))


class _Grids:
    """Everything on grids: `fine` for what is attained, `mixed` for the search over mixes."""

    def __init__(
        self, groups: Sequence[Pairs], attained: Pairs, instances: int, steps: Steps, gap: float, delta: float
    ) -> None:
        self._instances, self._steps, self._gap = instances, steps, gap
        # What is attained and dominates is the same pair, with one grid, and composed once.
        every = _distinct([*groups, attained])
        known = dict(zip(every, steps.trimmed(every, rarest(delta, instances)), strict=True))
        self._groups = [[known[pair] for pair in group] for group in groups]
        self._attained = [known[pair] for pair in attained]
        self._grid = functools.cache(connect_the_dots)
        self._composition = functools.cache(functools.partial(_composed, steps))

    @cached_property
    def attained(self) -> list[Composition]:
        """The compositions of the attained pairs."""
        grids = [self._grid(pair, self._steps.fine) for pair in self._attained]
        return [self._composition((grid, self._instances)) for grid in grids]

    @cached_property
    def _ends(self) -> list[GridPrivacyLoss]:
        two = len(self._groups) == 2 and len(_distinct(self._groups)) > 1
        grids = [self._above(group) for group in self._groups] if two else []
        return [end.capped() for end in grids] if self._steps.along_contours else grids

    @cached_property
    def _supremum(self) -> GridPrivacyLoss:
        ends = self._ends
        found = dominating_grid(ends, self._steps.mixed) if ends else self._above(_distinct(self._groups))
        return found.capped() if self._steps.along_contours else found

    def _above(self, pairs: Pairs) -> GridPrivacyLoss:
        grids = [self._grid(pair, self._steps.mixed) for pair in pairs]
        return grids[0] if len(grids) == 1 else dominating_grid(grids, self._steps.mixed)

    def _mix(self, low: int, high: int) -> Composition:
        """Return a composition that dominates every mix with `low` to `high` instances of the first group."""
        parts: list[tuple[GridPrivacyLoss, int]] = [(self._supremum, high - low)]
        if self._ends:
            parts += [(self._ends[0], low), (self._ends[1], self._instances - high)]
        return self._composition(*((grid, count) for grid, count in parts if count > 0))

    @property
    def _two(self) -> list[Composition]:
        return [self._mix(m, m) for m in (0, self._instances)]

    def worst_epsilon(self, delta: float, decide: float | None) -> float:
        """Return an upper bound on the largest epsilon at delta over all mixes."""
        whole = self._mix(0, self._instances)
        if not self._ends:
            return whole.epsilon_upper(delta)
        attained = max(end.epsilon_upper(delta) for end in self._two)
        if attained == math.inf or (decide is not None and attained > decide):
            return attained
        tilt = max(end.saddle_point(delta)[1] for end in self._two)
        # A larger level is one, too, and no relative gap would do above 0.
        attained = max(attained, _NEXT_TO_NOTHING * (1.0 / max(tilt, 1.0) if decide is None else decide))
        gap = max(self._gap, 0.0 if decide is None else decide / attained - 1.0)
        if whole.delta_upper(attained * (1.0 + gap)) <= delta:
            return whole.epsilon_upper(delta)
        rough = self._both_ends(attained)
        along = math.inf if rough is None else rough.epsilon(delta)
        if along <= attained * (1.0 + gap):
            return along
        blocks, gap = self._blocks(tilt, tilt * attained, gap)
        level = level_above(
            attained * (1.0 + gap),
            blocks,
            lambda block, level: self._mix(*block).delta_upper(level) > delta,
            lambda block: self._mix(*block).epsilon_upper(delta) * (1.0 + self._gap),
        )
        return min(level, along)

    def worst_delta(self, epsilon: float) -> float:
        """Return an upper bound on the largest divergence at an epsilon over all mixes."""
        whole = self._mix(0, self._instances).delta_upper(epsilon)
        if not self._ends:
            return whole
        attained = max(end.delta_upper(epsilon) for end in self._two)
        rough = self._both_ends(epsilon)
        whole = whole if rough is None else min(whole, rough.delta(epsilon))
        if whole <= attained * (1.0 + self._gap):
            return whole
        blocks, gap = self._blocks(max(end.tilt_at(epsilon) for end in self._two), 1.0, self._gap)
        level = level_above(
            attained * (1.0 + gap),
            blocks,
            lambda block, level: self._mix(*block).delta_upper(epsilon) > level,
            lambda block: self._mix(*block).delta_upper(epsilon) * (1.0 + self._gap),
        )
        return min(level, whole)

    def _both_ends(self, epsilon: float) -> MixesBound | None:
        """Return a bound on every mix that needs no search; None where there is none."""
        contours = [end for end in self._two if isinstance(end, ContourComposition) and not end.singular]
        return MixesBound(contours, epsilon) if len(contours) == 2 and epsilon > 0.0 else None

    def _blocks(self, tilt: float, scale: float, gap: float) -> tuple[list[Block], float]:
        exponents = [grid.moments.at(tilt)[0] for grid in (*self._ends, self._supremum)]
        return few_blocks(self._instances, exponents, scale, gap)


def _composed(steps: Steps, *parts: tuple[GridPrivacyLoss, int]) -> Composition:
    if steps.along_contours:
        return ContourComposition(parts)
    return Composition(parts, max_bytes=_MOST_BYTES) if steps.chosen else Composition(parts)


def _distinct(groups: Sequence[Pairs]) -> list[PrivacyLossDistribution]:
    return list({id(pair): pair for group in groups for pair in group}.values())


def few_blocks(instances: int, exponents: Sequence[float], scale: float, gap: float) -> tuple[list[Block], float]:
    """Cut [0, instances] into few blocks, each of which an estimate puts within the gap; or a larger gap that does.

    To first order epsilon grows by the growth of the logarithm of the moment generating function over the tilt, and
    ln(delta) by that growth itself: a block may exceed the worse end by `scale` times the gap.

    - instances: I.
    - exponents: That logarithm, at the tilt, for the first pair, the second, and the supremum of both.
    - scale, gap: See above.
    """
    first, second, supremum = exponents
    while True:
        budget = instances * max(first, second) + 0.8 * scale * gap
        blocks, low = list[Block](), 0
        while low < instances and len(blocks) <= _MOST_BLOCKS:
            room = budget - low * first - (instances - low) * second
            growth = max(supremum - second, 1e-300)
            high = low + int(min(max(room / growth, 1.0), instances - low))
            blocks.append((low, high))
            low = high
        if low == instances:
            return blocks, gap
        gap *= 2.0


def level_above(
    level: float,
    blocks: list[Block],
    exceeds: Callable[[Block, float], bool],
    reached: Callable[[Block], float],
) -> float:
    """Return a level that no mix in the blocks exceeds: the given one, or just above what single mixes reached.

    A block of mixes does not exceed the level if its dominating composition does not. One that may is halved, down to
    two neighbours, which are looked at themselves.
    """
    while blocks:
        low, high = blocks.pop()
        if high - low <= 1:
            for mix in ((low, low), (high, high)):
                if exceeds(mix, level):
                    level = max(level, reached(mix))
        elif exceeds((low, high), level):
            middle = (low + high) // 2
            blocks += [(middle, high), (low, middle)]
    return level
