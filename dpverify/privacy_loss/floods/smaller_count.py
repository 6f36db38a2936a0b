"""The smaller of two negative binomial counts of a whole shape, given their difference, beneath a flood.

For Z1, Z2 ~ NB(r, p) with a whole r, and d >= 0 (docs/accounting.md has the proof),

    P(Z1 = w + d, Z2 = w) = sum over j < r of weight_j(d) P(j + NB(r + j, p^2) = w),
    weight_j(d) = p^(d+2j) (1-p)^(r-j) (1+p)^(-r-j) sum over i < r - j of C(d, i) (r-1+j)! / (j! (j+i)! (r-1-i-j)!).

No term is negative. So given the difference, the smaller count is one of r sums of j and NB(r + j, p^2): a sum over r
instead of all values of the noise, however wide it is. With the flood each of them is one geometric sum more than the
one before.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.floods.intervals import Cuts, Masses
from dpverify.privacy_loss.floods.shared_flood import Scale, Summed
from dpverify.privacy_loss.losses.recurrence import decayed_sums, decayed_sums_error
from dpverify.rounding import UNIT
from dpverify.search import least_argument

__all__ = ["SmallerCount"]

Floats = NDArray[np.float64]

_SHARE = 0.25
"""Of the tail, for the differences and for the smaller counts that are not listed; the rest is room for rounding."""
_CELL = 1000.0
"""About how many products take as long as all else that is done with a probability of a cell."""
_SMALLEST = 1e-300
_DEEPEST = 640.0
"""No factor of a weight is below e to the minus this: none leaves the floats, or keeps too few of its digits."""
_MOST_LISTED = 2**23
"""So many differences and counts are listed, at most."""


class SmallerCount:
    """A `View` of both counts, for noise of a whole shape.

    - shape: r >= 1.
    - p: In (0, 1).
    - flood: The shape and the p of Z3. None where the smaller count is not seen.
    - law: Of Z3; None likewise.
    - tail: About which mass may be left out, in (0, 0.5].
    """

    def __init__(
        self, shape: int, p: float, flood: tuple[float, float] | None, law: IntegerLaw | None, tail: float
    ) -> None:
        self.terms, self._p, self._law, self.short = shape, p, law, True
        self.cost = self.terms + _CELL
        self.own, self.flood = Scale.of_noise(shape, p), None if law is None else Scale.of(law)
        self._level = math.log(4.0 / (_SHARE * tail))
        # Both counts are looked up one place off where x = 1.
        self.differences = 2 + self._reach([(shape, p)], lambda tilt: _log_mgf(shape, p, -tilt))
        self.outside, self.lack = tail * _SHARE, 0.0
        self.counts, self.start, self.rare = 1, 0, 0
        if law is not None and flood is not None:
            # Of the parts the first is the smallest, and the last the largest.
            self.start, most = law.start, 2 * shape - 1
            self.rare = max(self._least([(shape, p * p), flood]) - law.start, 0)
            highest = self._reach([(most, p * p), flood], lambda tilt: tilt * (shape - 1.0))
            self.counts = max(highest + 2 - law.start, 1)
            # What the flood's window lacks below is lacked everywhere; above, only by counts beyond.
            self.lack = law.tail_below + (law.tail_above if self.counts > law.pmf.size else 0.0)
            self.outside += tail * _SHARE + self.lack

    @property
    def listable(self) -> bool:
        """Whether all fits in memory, and every product in floats.

        Of a weight, p^d C(d, i) (1-p)^i is at least p^d (1-p)^r where it is not 0, one factor after the other, and what
        it is multiplied with at least (1-p)^r p^(2(r-1)) (1+p)^(-2r).
        """
        r, p = self.terms, self._p
        exponents = -(self.differences + 2.0 * r) * math.log(p) - 2.0 * r * math.log1p(-p) + 2.0 * r * math.log1p(p)
        return exponents <= _DEEPEST and self.differences + self.counts <= _MOST_LISTED

    def _reach(self, parts: list[tuple[float, float]], rest: Callable[[float], float]) -> int:
        """Return an integer that a sum of NB(r, p) and of what the rest adds reaches with a share of the tail at most.

        Chernoff's bound `P(X >= k) <= e^(K(t) - t k)` at about its best tilt, evaluated to many digits more than the
        factor 4 leaves, of which both signs of a difference take 2.
        """
        largest = -math.log(max(_SMALLEST, *(p for _, p in parts)))

        def reached(share: float) -> float:
            tilt = share * largest
            return (sum(_log_mgf(*part, tilt) for part in parts) + rest(tilt) + self._level) / tilt

        return math.ceil(reached(least_argument(reached, 1e-6, 1.0 - 1e-6)))

    def _least(self, parts: list[tuple[float, float]]) -> int:
        """Return an integer below which a sum of NB(r, p) is about as rarely: it only says where cells may be large."""

        def missed(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            return (sum(_log_mgf(*part, -tilt) for part in parts) + self._level) / tilt

        return max(math.floor(-missed(least_argument(missed, -40.0, 7.0))), 0)

    def error(self, rows: Cuts, columns: Cuts) -> float:  # noqa: D102
        width, rate = float(rows.widths.max() + columns.widths.max()), -2.0 * math.log(self._p)
        # Products of at most r factors, a handful of roundings each, and powers; the exponents of p^d; sums over
        # cells, and two over at most r parts.
        found = (32.0 * self.terms + 64.0 + 2.0 * self.differences * rate + width) * UNIT
        if self._law is not None:
            # The rate is off by two units, which weigh as often as a term is old: no more than the count, in all sums.
            rounds = 2.0 * self.terms * (decayed_sums_error(self.counts) + 6.0 * UNIT)
            found += self._law.relative_error + 1.01 * rounds + 3.0 * UNIT * self.counts * rate
        return 1.01 * found

    def cut(self, rows: Cuts, columns: Cuts) -> Callable[[Cuts, int, bool], Summed]:  # noqa: D102
        weights, seen = self._weights(rows), self._columns(columns)

        def summed(down: Cuts, shift: int, later: bool) -> Summed:
            begin = int(np.searchsorted(rows.firsts, down.firsts[0]))
            block = slice(begin, begin + down.firsts.size)
            return Summed(Masses(*(each[block] for each in weights[shift + 1])), seen[later])

        return summed

    def _weights(self, cuts: Cuts) -> list[Masses]:
        """Return what each part has on intervals of |d - 1|, of d and of d + 1, shape (cuts, r) each."""
        r, p, d = self.terms, self._p, np.abs(np.arange(-1.0, self.differences + 1.0))
        found, powers = np.empty((3, 3, cuts.firsts.size, r)), np.exp(d * math.log(p))
        for i in range(r):
            if i:
                # C(d, i) (1-p)^i p^d one factor after the other: no product leaves the floats, see `listable`.
                powers *= np.maximum(d - (i - 1.0), 0.0) * ((1.0 - p) / i)
            for shift in range(3):
                found[shift, :, :, i] = _on(powers, Cuts(cuts.firsts + shift, cuts.widths))
        parts = np.zeros((r, r))
        for j in range(r):
            for i in range(r - j):
                parts[i, j] = _multinomial(r, i, j) * (1.0 - p) ** (r - j - i) * (p * p) ** j / (1.0 + p) ** (r + j)
        return [Masses(*(each @ parts)) for each in found]

    def _columns(self, cuts: Cuts) -> list[Masses]:
        """Return what each part, with the flood, has on intervals of counts, and on those one lower: (cuts, r) each."""
        law = self._law
        if law is None:
            return 2 * [Masses(*3 * (np.ones((1, self.terms)),))]
        rate, scale = -2.0 * math.log(self._p), (1.0 - self._p) * (1.0 + self._p)
        summed = np.zeros(self.counts)
        listed = min(law.pmf.size, summed.size)
        summed[:listed] = law.pmf[:listed]
        found = np.zeros((2, 3, cuts.firsts.size, self.terms))
        for j in range(-self.terms + 1, self.terms):
            summed = decayed_sums(summed, rate)
            summed *= scale
            # P(j + NB(r + j, p^2) + Z3 = m) is the sum at m - j.
            for later in range(2 if j >= 0 else 0):
                found[later, :, :, j] = _on(np.concatenate([np.zeros(j + later), summed])[: summed.size], cuts)
        return [Masses(*each) for each in found]


def _on(values: Floats, cuts: Cuts) -> Masses:
    """Return the sums of values, along the last axis, over intervals, and those at their first and last integers."""
    begin, end = int(cuts.firsts[0]), int(cuts.lasts[-1]) + 1
    masses = np.add.reduceat(values[..., begin:end], cuts.firsts - begin, axis=-1)
    return Masses(masses, values[..., cuts.firsts], values[..., cuts.lasts])


def _multinomial(r: int, i: int, j: int) -> float:
    """Return `(r-1+j)! / (j! (j+i)! (r-1-i-j)!)`."""
    return float(math.comb(r - 1 + j, j) * math.comb(r - 1, j + i))


def _log_mgf(shape: float, p: float, tilt: float) -> float:
    """Return `ln E e^(tilt Z)` for Z ~ NB(shape, p) and a tilt below -ln p."""
    return shape * (math.log1p(-p) - math.log(-math.expm1(tilt + math.log(p)))) if p > 0.0 else 0.0
