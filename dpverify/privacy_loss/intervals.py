"""Neighbouring intervals of integers, and what a law gives each of them wherever they are shifted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

__all__ = ["Cuts", "Masses", "cuts_of", "points"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Cuts(NamedTuple):
    """Neighbouring intervals of integers, `firsts + [0, widths)`; each width is a power of two."""

    firsts: Integers
    widths: Integers

    @property
    def lasts(self) -> Integers:
        """The last integer of each."""
        return self.firsts + self.widths - 1

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


class Masses(NamedTuple):
    """P(X in interval + j), shape (intervals, numbers of j), and the pmf at the intervals' first and last integers."""

    masses: Floats
    firsts: Floats
    lasts: Floats

    @classmethod
    def of(cls, pmf: Floats, cuts: Cuts, shift: int, length: int) -> Masses:
        """Return them for j = shift, ..., shift + length - 1, X from 0 on."""
        # With zeros beyond the values, on either side as many as the intervals reach.
        below = max(0, -int(cuts.firsts[0]) - shift)
        above = max(0, int(cuts.lasts[-1]) + shift + length - pmf.size)
        padded = np.concatenate([np.zeros(below), pmf, np.zeros(above)])
        starts = cuts.firsts + (shift + below)
        firsts = sliding_window_view(padded, length)[starts]
        if (cuts.widths == 1).all():
            return cls(firsts, firsts, firsts)
        masses, sums, reach = np.empty_like(firsts), padded, 1
        for width in np.unique(cuts.widths):
            # The sums of 2^k neighbours, by k additions in turn, none of which cancels.
            while reach < width:
                sums, reach = sums[:-reach] + sums[reach:], 2 * reach
            same = cuts.widths == width
            masses[same] = sliding_window_view(sums, length)[starts[same]]
        return cls(masses, firsts, sliding_window_view(padded, length)[starts + cuts.widths - 1])

    def backwards(self) -> Masses:
        """Return them with j from the last to the first."""
        return Masses(*(np.ascontiguousarray(matrix[:, ::-1]) for matrix in self))
