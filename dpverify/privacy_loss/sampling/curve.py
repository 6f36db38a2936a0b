"""The privacy curve of many steps, each of which a record takes part in by chance, in both directions.

A record that one of two datasets lacks is there in every step or in none: all steps go the same way, and the divergence
is the larger one of two compositions. Where one record stands for another each step may go either way; all in one
direction are attained then, and what dominates both directions of each step is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.sampling.pairs import SampledPair
from dpverify.privacy_loss.windows.grid import dominating_grid
from dpverify.privacy_loss.windows.saddle import TotalLoss
from dpverify.privacy_loss.windows.step import fitting_step
from dpverify.privacy_loss.windows.transform import Composition
from protocols.validation import check_integer, check_real

__all__ = ["SampledCurve"]

_ROUNDS = 4
"""How often the step is chosen again where the interval is wider than what was asked for."""
_FINEST, _AIM = 16.0, 0.8
"""How many times smaller a step may be than the one before, and the share of the width that is aimed at."""
_MOST_BYTES_FIRST, _MOST_BYTES = 2**31, 2**28
"""Of a transform, at the first step and where it is chosen again: a second's work."""
_MOST_CELLS = 2**21
"""Of one grid, where its step is chosen again: a second's work, too."""
_COARSE = 8.0
"""How many times larger a step may be that only says that the other direction is the lesser one."""


class _Made(NamedTuple):
    """Compositions on one grid; None for a second direction that is the first, and where no step may go either way."""

    remove: Composition
    add: Composition | None
    either: Composition | None


class SampledCurve:
    """The curve of independent steps, each pair used a number of times.

    - parts: At least one.
    - relative_width: Of epsilon, wanted. The step is chosen again, smaller, for as long as the interval is wider and
      memory allows.
    - reference_delta: Where that is wanted.
    - either_way: Whether each step may go either way, and not all the same.
    """

    def __init__(
        self,
        parts: Sequence[tuple[SampledPair, int]],
        *,
        relative_width: float = 1e-4,
        reference_delta: float = 1e-6,
        either_way: bool = False,
    ) -> None:
        if not parts:
            raise ValueError("parts is empty, but must hold at least one (pair, count).")
        self._parts = [(pair, check_integer("count", count, low=1)) for pair, count in parts]
        self._width = check_real("relative_width", relative_width, low=0.0, low_open=True)
        self._reference = check_real(
            "reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True
        )
        self._either_way = either_way
        self._made: dict[float, _Made] = {}

    @cached_property
    def _scale(self) -> float:
        """About the largest loss of all."""
        return max(float(np.abs(pair.moments.losses).max(initial=1e-300)) for pair, _ in self._parts)

    @cached_property
    def _step(self) -> float:
        return fitting_step(
            TotalLoss([(pair.moments, count) for pair, count in self._parts], self._scale / 2.0**14),
            sum(count for _, count in self._parts),
            self._scale,
            relative_width=self._width,
            reference_delta=self._reference,
        )

    def _at(self, step: float) -> _Made:
        """Return the compositions at a step."""
        if step not in self._made:
            most = _MOST_BYTES_FIRST if step >= self._step else _MOST_BYTES
            grids = [(pair.on_grid(step), count) for pair, count in self._parts]
            add = either = None
            if not all(pair.symmetric for pair, _ in self._parts):
                add = Composition([(grid.add, count) for grid, count in grids], max_bytes=most)
                if self._either_way:
                    both = [(dominating_grid(list(dict.fromkeys(grid)), step), count) for grid, count in grids]
                    either = Composition(both, max_bytes=most)
            remove = Composition([(grid.remove, count) for grid, count in grids], max_bytes=most)
            self._made[step] = _Made(remove, add, either)
        return self._made[step]

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which neither direction's divergence is above delta, proved."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)

        def ask(step: float) -> Interval:
            remove, add, _ = self._at(step)
            found = remove.epsilon(delta)
            if add is None or self._lesser(_COARSE * step, delta, found.lower):
                return found
            return _larger(found, add.epsilon(delta))

        return self._refined(ask, lambda either: either.epsilon_upper(delta))

    def delta(self, epsilon: float) -> Interval:
        """Return the larger divergence of both directions at one real epsilon, proved."""
        check_real("epsilon", epsilon)

        def ask(step: float) -> Interval:
            remove, add, _ = self._at(step)
            found = remove.delta(epsilon)
            return found if add is None else _larger(found, add.delta(epsilon))

        return self._refined(ask, lambda either: either.delta(epsilon).upper)

    def _lesser(self, step: float, delta: float, epsilon: float) -> bool:
        """Return whether adding a record is proved, on a coarse grid, to reveal less than epsilon."""
        add = self._at(step).add
        return add is not None and add.epsilon_upper(delta) <= epsilon

    def _refined(self, ask: Callable[[float], Interval], upper: Callable[[Composition], float]) -> Interval:
        """Return an answer of a step that is small enough, or of the smallest that fits in memory and time.

        What is attained decides which step. Where a step may go either way, the upper end is asked anew then.
        """
        step = last = self._step
        found: Interval | None = None
        for _ in range(_ROUNDS):
            try:
                new = ask(step)
            except CapacityError:
                if found is not None:
                    break
                step *= 4.0
                continue
            last = step
            found = new if found is None else Interval.proved(max(found.lower, new.lower), min(found.upper, new.upper))
            excess = new.width / (self._width * new.upper) if 0.0 < new.upper < math.inf else 0.0
            if excess <= 1.0 or (new.lower == 0.0 and new.upper <= self._left_out(step)):
                break
            # The width falls like the square of the step.
            finest = self._scale / _MOST_CELLS
            if last <= 1.5 * finest:
                break
            step = max(step * max(math.sqrt(_AIM / excess), 1.0 / _FINEST), finest)
        if found is None:
            return ask(step)  # raises, and says why
        return found if self._at(last).either is None else Interval.proved(found.lower, self._either_upper(last, upper))

    def _either_upper(self, step: float, upper: Callable[[Composition], float]) -> float:
        """Return the upper end where a step may go either way, whose window is wider: at a larger step if need be."""
        for _ in range(_ROUNDS):
            try:
                either = self._at(step).either
                assert either is not None
                return upper(either)
            except CapacityError as error:
                refused = error
            step *= 4.0
        raise refused

    def _left_out(self, step: float) -> float:
        """Return about the mass that has no finite loss, which no smaller step makes less."""
        made = self._at(step)
        return max(each.unbounded_mass for each in (made.remove, made.add) if each is not None) * (1.0 + 1e-6)


def _larger(first: Interval, second: Interval) -> Interval:
    return Interval(max(first.lower, second.lower), max(first.upper, second.upper))
