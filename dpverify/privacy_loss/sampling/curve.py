"""The privacy curve of many steps, each of which a record takes part in by chance, in both directions.

A record that one of two datasets lacks is there in every step or in none: all steps go the same way, and the divergence
is the larger one of two compositions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.line import NoiseLine, SampledGrids
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.saddle import LossMoments, TotalLoss
from dpverify.privacy_loss.windows.step import fitting_step
from dpverify.privacy_loss.windows.transform import Composition
from protocols.validation import check_integer, check_real

__all__ = ["LinePair", "ListedPair", "SampledCurve", "SampledPair"]

_ROUNDS = 4
"""How often the step is chosen again where the interval is wider than what was asked for."""
_FINEST, _AIM = 16.0, 0.8
"""How many times smaller a step may be than the one before, and the share of the width that is aimed at."""
_MOST_BYTES_FIRST, _MOST_BYTES = 2**31, 2**28
"""Of a transform, at the first step and where it is chosen again: a second's work."""
_COARSE = 8.0
"""How many times larger a step may be that only says that the other direction is the lesser one."""


class SampledPair(Protocol):
    """A pair in both directions, on any grid."""

    @property
    def moments(self) -> LossMoments:
        """About the moments of the loss of removal."""

    @property
    def symmetric(self) -> bool:
        """Whether both directions have the same law."""

    def on_grid(self, step: float) -> SampledGrids:
        """Return both directions on the multiples of a step."""


class LinePair:
    """Noise on a line, and a record that takes part with probability `rate`."""

    def __init__(self, line: NoiseLine, rate: float) -> None:
        self._line, self._rate = line, check_real("rate", rate, low=0.0, high=1.0, low_open=True)

    @cached_property
    def moments(self) -> LossMoments:
        """About the moments of the loss of removal."""
        return self._line.moments(self._rate)

    @property
    def symmetric(self) -> bool:
        """Whether both directions have the same law."""
        return self._rate == 1.0 or self._line.opposite

    def on_grid(self, step: float) -> SampledGrids:
        """Return both directions on the multiples of a step."""
        return self._line.sampled(self._rate, step)


class ListedPair:
    """A pair whose losses are listed, removal first."""

    def __init__(self, pair: Directions) -> None:
        self._pair = pair

    @cached_property
    def moments(self) -> LossMoments:
        """About the moments of the loss of removal."""
        first = self._pair.up
        return LossMoments(first.losses, np.log(first.masses))

    @property
    def symmetric(self) -> bool:
        """Whether both directions have the same law."""
        return self._pair.up is self._pair.down

    def on_grid(self, step: float) -> SampledGrids:
        """Return both directions on the multiples of a step."""
        up = connect_the_dots(self._pair.up, step)
        return SampledGrids(up, up if self.symmetric else connect_the_dots(self._pair.down, step))


class SampledCurve:
    """The curve of independent steps, each pair used a number of times.

    Parameters
    ----------
    parts : sequence of (SampledPair, int)
        At least one.
    relative_width : float
        Of epsilon, wanted. The step is chosen again, smaller, for as long as the interval is wider and memory allows.
    reference_delta : float
        Where that is wanted.
    """

    def __init__(
        self, parts: Sequence[tuple[SampledPair, int]], *, relative_width: float = 1e-4, reference_delta: float = 1e-6
    ) -> None:
        if not parts:
            raise ValueError("parts is empty, but must hold at least one (pair, count).")
        self._parts = [(pair, check_integer("count", count, low=1)) for pair, count in parts]
        self._width = check_real("relative_width", relative_width, low=0.0, low_open=True)
        self._reference = check_real(
            "reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True
        )
        self._made: dict[float, tuple[Composition, Composition | None]] = {}

    @cached_property
    def _step(self) -> float:
        scale = max(float(np.abs(pair.moments.losses).max(initial=1e-300)) for pair, _ in self._parts)
        return fitting_step(
            TotalLoss([(pair.moments, count) for pair, count in self._parts], scale / 2.0**14),
            sum(count for _, count in self._parts),
            scale,
            relative_width=self._width,
            reference_delta=self._reference,
        )

    def _at(self, step: float) -> tuple[Composition, Composition | None]:
        """Return the compositions of both directions; None for a second one that is the first."""
        if step not in self._made:
            most = _MOST_BYTES_FIRST if step >= self._step else _MOST_BYTES
            grids = [(pair.on_grid(step), count) for pair, count in self._parts]
            add = None
            if not all(pair.symmetric for pair, _ in self._parts):
                add = Composition([(grid.add, count) for grid, count in grids], max_bytes=most)
            self._made[step] = Composition([(grid.remove, count) for grid, count in grids], max_bytes=most), add
        return self._made[step]

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which neither direction's divergence is above delta, proved."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)

        def ask(step: float) -> Interval:
            remove, add = self._at(step)
            found = remove.epsilon(delta)
            if add is None or self._lesser(_COARSE * step, delta, found.lower):
                return found
            return _larger(found, add.epsilon(delta))

        return self._refined(ask)

    def delta(self, epsilon: float) -> Interval:
        """Return the larger divergence of both directions at one real epsilon, proved."""
        check_real("epsilon", epsilon)

        def ask(step: float) -> Interval:
            remove, add = self._at(step)
            found = remove.delta(epsilon)
            return found if add is None else _larger(found, add.delta(epsilon))

        return self._refined(ask)

    def _lesser(self, step: float, delta: float, epsilon: float) -> bool:
        """Return whether adding a record is proved, on a coarse grid, to reveal less than epsilon."""
        add = self._at(step)[1]
        return add is not None and add.epsilon_upper(delta) <= epsilon

    def _refined(self, ask: Callable[[float], Interval]) -> Interval:
        """Return an answer of a step that is small enough, or of the smallest that fits in memory and time."""
        step = self._step
        found: Interval | None = None
        for _ in range(_ROUNDS):
            try:
                new = ask(step)
            except CapacityError:
                if found is not None:
                    break
                step *= 4.0
                continue
            found = new if found is None else Interval.proved(max(found.lower, new.lower), min(found.upper, new.upper))
            excess = new.width / (self._width * new.upper) if 0.0 < new.upper < math.inf else 0.0
            if excess <= 1.0:
                break
            # The width falls like the square of the step.
            step *= max(math.sqrt(_AIM / excess), 1.0 / _FINEST)
        return ask(step) if found is None else found  # raises, and says why


def _larger(first: Interval, second: Interval) -> Interval:
    return Interval(max(first.lower, second.lower), max(first.upper, second.upper))
