"""Does a shuffler put every message anywhere? Each position against chance, with p-values that hold for any runs."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.statistics.order.structure import Least, StructureCheck

__all__ = ["PositionCounts"]

_ENDS = 512
"""Positions from each end that are looked at one by one."""
_STRETCHES = 16
"""Parts of a run that are looked at as wholes."""


class PositionCounts:
    """How often one symbol stands at each position, over any number of runs: a few numbers per position are kept.

    In uniformly random order, given the k such messages among m of a run, a position holds one with probability k / m,
    and a stretch of positions a hypergeometric number. Over independent runs the moment generating function of their
    sum is at most that of a binomial with the mean probability (hoeffding1963, for sampling without replacement, and
    Jensen for runs that differ), so that Chernoff's bound holds: `P(share of N off by more) <= 2 exp(-N KL)`.
    """

    def __init__(self, symbol: int) -> None:
        self._symbol = symbol
        self.runs = 0
        # Columns: positions looked at, those that hold the symbol, and the expected number of those.
        self._start, self._end = np.zeros((_ENDS, 3)), np.zeros((_ENDS, 3))
        self._stretches = np.zeros((_STRETCHES, 3))

    def update(self, messages: ArrayLike) -> None:
        """Add one run, the messages in the order of their arrival, shape (messages,)."""
        held = np.asarray(messages) == self._symbol
        size = held.size
        self.runs += 1
        if not size:
            return
        share = float(held.mean())
        near = min(size, _ENDS)
        for counts, part in ((self._start, held[:near]), (self._end, held[::-1][:near])):
            counts[:near, 0] += 1
            counts[:near, 1] += part
            counts[:near, 2] += share
        stretch = np.arange(size) * _STRETCHES // size
        long = np.bincount(stretch, minlength=_STRETCHES)
        self._stretches[:, 0] += long
        self._stretches[:, 1] += np.bincount(stretch, held, _STRETCHES)
        self._stretches[:, 2] += share * long

    def check(self) -> StructureCheck:
        """Return the least p-value over all positions, times their number."""
        least = Least("message positions", "every position holds each symbol as often as chance")
        counts = self._start, self._end, self._stretches
        names = "position {} from the start", "position {} from the end", f"stretch {{}} of {_STRETCHES}"
        return least.of(sum(self._look(least, *each) for each in zip(counts, names, strict=True)))

    def smallest_shift(self, level: float, power: float) -> float:
        """Return by how much more often than chance a position must hold a symbol to be seen with some power.

        An estimate, by the normal approximation, at the first position.

        - level: Of the whole check.
        - power: In (1/2, 1).
        """
        number, _, expected = self._start[0]
        if not number:
            return 1.0
        mean = expected / number
        looked_at = sum(int(np.count_nonzero(counts[:, 0])) for counts in (self._start, self._end, self._stretches))
        spread = math.sqrt(max(mean * (1.0 - mean), 1.0 / number) / number)
        return min(
            1.0, spread * (math.sqrt(2.0 * math.log(2.0 * looked_at / level)) + float(scipy.stats.norm.ppf(power)))
        )

    def _look(self, least: Least, counts: NDArray[np.float64], name: str) -> int:
        """Look at each of some positions; return how many there are."""
        number, seen, expected = counts[counts[:, 0] > 0].T
        if not number.size:
            return 0
        share, mean = seen / number, np.clip(expected / number, 0.0, 1.0)
        divergence = scipy.special.rel_entr(share, mean) + scipy.special.rel_entr(1.0 - share, 1.0 - mean)
        # The sums of shares are rounded: 1e-9 of the number is far above that.
        p_values = np.minimum(1.0, 2.0 * np.exp(-np.maximum(0.0, number * divergence - 1e-9 * number)))
        at = int(np.argmin(p_values))
        held = f"{name.format(at + 1)} holds {self._symbol:+d} {seen[at]:.0f} times"
        least.see(float(p_values[at]), f"{held}; {expected[at]:.5g} expected over {self.runs} runs")
        return int(number.size)
