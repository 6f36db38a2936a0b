"""Neighbouring intervals of integers, and what a law gives each of them wherever they are shifted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["Cuts", "Masses", "Sums", "cuts_of", "points"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Cuts(NamedTuple):
    """Neighbouring intervals of integers, `firsts + [0, widths)`; each width is a power of two, or the last is cut."""

    firsts: Integers
    widths: Integers

    @property
    def lasts(self) -> Integers:
        """The last integer of each."""
        return self.firsts + self.widths - 1

    def below(self, stop: int) -> Cuts:
        """Return them with the last one, which holds `stop - 1`, cut short there."""
        return Cuts(self.firsts, np.append(self.widths[:-1], stop - self.firsts[-1]))

    def blocks(self, most: int) -> Iterator[Cuts]:
        """Yield the intervals, at most so many at a time."""
        for begin in range(0, self.firsts.size, max(most, 1)):
            yield Cuts(self.firsts[begin : begin + max(most, 1)], self.widths[begin : begin + max(most, 1)])


def points(stop: int) -> Cuts:
    """Return [0, stop), integer by integer."""
    return Cuts(np.arange(stop, dtype=np.int64), np.ones(stop, dtype=np.int64))


def cuts_of(stop: int, width: Callable[[int], float]) -> Cuts:
    """Cut [0, stop) into intervals of about the width that is wanted where they begin."""
    firsts, widths, edge = [], [], 0
    while edge < stop:
        firsts.append(edge)
        widths.append(2 ** int(math.log2(max(width(edge), 1.0))))
        edge += widths[-1]
    return Cuts(np.array(firsts, dtype=np.int64), np.array(widths, dtype=np.int64))


class Sums:
    """The sums of 1, 2, 4, ... neighbouring values of a pmf on the integers from 0 on, which is 0 elsewhere.

    Those asked for last are kept: who goes through intervals of growing widths makes all of them once.

    - pmf: Of 0, 1, ... .
    - low, high: Integers are looked up in [low, high), which holds those of the pmf.
    """

    def __init__(self, pmf: Floats, low: int, high: int) -> None:
        self.low = low
        self.points: Floats = np.concatenate([np.zeros(-low), pmf, np.zeros(high - pmf.size)])
        self._sums, self._reach = self.points, 1

    def of(self, width: int) -> Floats:
        """Return the sums of so many neighbours, a power of two: of those from low on, from low + 1 on, and so on."""
        if width < self._reach:
            self._sums, self._reach = self.points, 1
        # By additions in turn, none of which cancels.
        while self._reach < width:
            self._sums, self._reach = self._sums[: -self._reach] + self._sums[self._reach :], 2 * self._reach
        return self._sums


class Masses(NamedTuple):
    """P(X in interval + j), shape (intervals, numbers of j), and the pmf at the intervals' first and last integers."""

    masses: Floats
    firsts: Floats
    lasts: Floats

    @classmethod
    def of(cls, sums: Sums, cuts: Cuts, shift: int, length: int) -> Masses:
        """Return them for j = shift, ..., shift + length - 1."""
        starts = cuts.firsts + (shift - sums.low)
        firsts = _windows(sums.points, starts, length)
        if (cuts.widths == 1).all():
            return cls(firsts, firsts, firsts)
        lasts = _windows(sums.points, starts + cuts.widths - 1, length)
        if (cuts.widths == cuts.widths[0]).all():
            return cls(_windows(sums.of(int(cuts.widths[0])), starts, length), firsts, lasts)
        masses = np.empty_like(firsts)
        for width in np.unique(cuts.widths):
            same = cuts.widths == width
            masses[same] = _windows(sums.of(int(width)), starts[same], length)
        return cls(masses, firsts, lasts)

    def backwards(self) -> Masses:
        """Return them with j from the last to the first."""
        return Masses(*(np.ascontiguousarray(matrix[:, ::-1]) for matrix in self))


def _windows(values: Floats, starts: Integers, length: int) -> Floats:
    """Return so many neighbouring values from each start on, shape (starts, length): of a single one, no copy."""
    if starts.size == 1:
        return values[np.newaxis, int(starts[0]) : int(starts[0]) + length]
    return np.asarray(sliding_window_view(values, length)[starts])
