"""Pairs of sums of randomized reports, in bins, by Fourier inversion: the cost does not grow with the number of users.

One user's report is added to W, the sum of the others' reports: `zeros` of them report Bern(p), `ones` Bern(1-p) and
`coins` a fair coin. Y = W + Bern(p) if her bit is 0 and W + Bern(1-p) if it is 1. From the masses f of W,

    P0(a <= Y < b) = F + p G,   P1 - P0 = (1-2p) G,   F = P(a <= W < b),   G = f(a-1) - f(b-1),

all of `F, G, f(y), f(y-1) - f(y)` being sums of c_j f(z+j). After tilting W by e^(tilt y) such a sum is an integral of
`phi(theta) q(theta) e^(-i theta z)` with phi in closed form. The trapezoidal rule with N nodes is exact but for masses
N apart (Bernstein's inequality); nodes beyond some frequency are left out, as a sum of Bernoulli variables of variance
V has `|phi| <= e^(-V (1 - cos theta))`. Both, and the rounding, are charged; relative to the tilted law, so that masses
of 1e-40 are as accurate as the largest. The cumulant generating functions of one report are evaluated in Arb, since n
of them nearly cancel.

P1/P0 grows with y, as W is log-concave (a sum of independent Bernoulli variables: Newton's inequalities), so that
`binned` can bound the profile by bins.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.binned import BinnedPairs
from dpverify.rounding import SUBNORMAL, UNIT
from dpverify.search import bisected
from protocols.validation import check_integer, check_real

__all__ = ["ReportSums"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Complexes = NDArray[np.complex128]

_BITS = 192
_ALIASED = 70.0
"""Tilted mass that is aliased is at most 2 e^-70."""
_OMITTED = 70.0
"""Frequencies are left out where the tilted law's characteristic function is at most e^-70."""
_STEEPEST = 700.0
_MOST = 2**52
"""So many reports: their number, and half of it, is exact as a float."""
_AT_ONCE = 32
"""How many sums are inverted together, so that what is in between stays small."""
_REACH = 2.0
"""Half the distance of neighbouring tilts, in standard deviations."""


@dataclass(frozen=True)
class _Node:
    """Cumulant generating functions of one centred report at a complex number, and the factors q of F, G, f and D."""

    zero: complex
    one: complex
    coin: complex
    factors: tuple[complex, complex, complex, complex]


def _node(p: float, tilt: float, turn: Fraction, width: int) -> _Node:
    with ctx.workprec(_BITS):
        s = acb(arb(tilt), 2 * arb.pi() * turn.numerator / turn.denominator)
        grown, chance = s.exp(), arb(p)
        shrunk = 1 / grown
        zero = (1 + chance * (grown - 1)).log() - chance * s
        one = (1 + chance * (shrunk - 1)).log() + chance * s
        coin = ((1 + grown) / 2).log() - s / 2
        whole = (-width * s).exp()
        bin_sum = acb(width) if tilt == 0.0 and turn == 0 else (1 - whole) / (1 - shrunk)
        factors = (bin_sum, grown * (1 - whole), acb(1), grown - 1)
        return _Node(complex(zero), complex(one), complex(coin), tuple(complex(q) for q in factors))  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Tilted:
    """One tilt: ln E[e^(tilt S)] of the centred sums S, and mean and variance of their tilted laws, shape (sums,)."""

    tilt: float
    log_mgf: Floats
    mean: Floats
    variance: Floats


@dataclass(frozen=True)
class _Inversion:
    """An integral as a sum over nodes, for the knots from `begin` to `end` of each sum, shape (sums,).

    The terms are phi, shape (sums, nodes), times the factors, shape (4, nodes), times cosine and sine, whose columns
    begin at the knot `first`; `floor`, shape (sums, 4), bounds their errors.
    """

    tilted: _Tilted
    begin: Integers
    end: Integers
    first: int
    phi: Complexes
    factors: Complexes
    floor: Floats
    cosine: Floats
    sine: Floats


@dataclass(frozen=True)
class _Side:
    """The tilts on one side of 0, and for each sum the first that is far enough: its tilt, ln mgf and mean.

    `ended`: the support of that sum ends there.
    """

    tilts: list[_Tilted]
    tilt: Floats
    log_mgf: Floats
    mean: Floats
    ended: NDArray[np.bool_]

    def chernoff(self, edge: Floats) -> Floats:
        """Bound the mass of the centred sums beyond `edge`, by `E[e^(tilt S)] e^(-tilt edge)`."""
        rounding = 16.0 * UNIT * (1.0 + np.abs(self.log_mgf) + np.abs(self.tilt * edge))
        return np.asarray(np.exp(np.minimum(self.log_mgf - self.tilt * edge + rounding, 0.0)))


class ReportSums:
    """Sums of the reports of several crowds, which share the flip probability.

    Parameters
    ----------
    zeros, ones, coins : sequence of int, shape (sums,)
        How many other users of each crowd hold 0, hold 1, and report a fair coin; at most 2^52.
    flip_probability : float
        p in (0, 1/2).
    """

    def __init__(self, zeros: list[int], ones: list[int], coins: list[int], flip_probability: float) -> None:
        self.p = check_real("flip_probability", flip_probability, low=0.0, high=0.5, low_open=True, high_open=True)
        crowds = list(zip(zeros, ones, coins, strict=True))
        for crowd in crowds:
            for name, count in zip(("zeros", "ones", "coins"), crowd, strict=True):
                if check_integer(name, count, low=0) > _MOST:
                    raise CapacityError(f"{count} reports are to be added up, but at most 2^52 are.")
        self._counts = np.array(crowds, dtype=np.float64)
        self.sizes = self._counts.sum(axis=1)
        # The mean of each sum as an integer and a rest of at most 1/2, exactly.
        exact = Fraction(self.p)
        means = [zero * exact + one * (1 - exact) + Fraction(coin, 2) for zero, one, coin in crowds]
        self.centres = np.array([round(mean) for mean in means], dtype=np.float64)
        self.rests = np.array([float(mean - round(mean)) for mean in means])

    @property
    def deviation(self) -> float:
        """The largest standard deviation of the sums."""
        return math.sqrt(float(self._moments(0.0)[1].max()))

    def _moments(self, tilt: float) -> tuple[Floats, Floats]:
        """Return mean and variance of the tilted centred sums."""
        mean, variance = np.zeros(self.sizes.size), np.zeros(self.sizes.size)
        for count, q, sign in zip(self._counts.T, (self.p, self.p, 0.5), (1.0, -1.0, 1.0), strict=True):
            grown = math.expm1(sign * tilt)
            scale = 1.0 + q * grown
            mean += sign * count * (q * (1.0 - q) * (grown / scale))
            variance += count * (q * (1.0 - q) / scale) * (math.exp(sign * tilt) / scale)
        return mean, variance

    def _tilted(self, tilt: float) -> _Tilted:
        node = _node(self.p, tilt, Fraction(0), 1)
        log_mgf = self._counts @ np.array([node.zero.real, node.one.real, node.coin.real])
        return _Tilted(tilt, log_mgf, *self._moments(tilt))

    def _side(self, log_tail: float, side: float) -> _Side:
        """Return tilts on one side until, for each sum, Chernoff's bound is below the tail or its support ends."""
        ends = self.sizes - self.centres - self.rests if side > 0 else self.centres + self.rests
        tilts: list[_Tilted] = []
        last = self._tilted(0.0)
        shape = self.sizes.shape
        reached = _Side(tilts, np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=bool))
        todo = np.ones(shape, dtype=bool)
        while True:
            ended = side * last.mean >= ends - 0.5
            now = todo & (ended | (last.log_mgf - last.tilt * last.mean <= log_tail))
            reached.tilt[todo], reached.log_mgf[todo] = last.tilt, last.log_mgf[todo]
            reached.mean[todo], reached.ended[now] = last.mean[todo], ended[now]
            todo &= ~now
            if not todo.any() or abs(last.tilt) >= _STEEPEST:
                return reached
            far_enough = functools.partial(self._reaches, last, side, ends, todo)
            last = self._tilted(side * bisected(far_enough, abs(last.tilt), _STEEPEST, relative=1e-3)[1])
            tilts.append(last)

    def _reaches(self, last: _Tilted, side: float, ends: Floats, todo: NDArray[np.bool_], steepness: float) -> bool:
        """Return whether, for a sum still to do, a tilt is as far from the last one as their windows still overlap."""
        mean, variance = self._moments(side * steepness)
        step = _REACH * (np.sqrt(last.variance + 1.0) + np.sqrt(variance + 1.0))
        enough = (side * (mean - last.mean) > step) | (side * mean >= ends - 0.5)
        return bool(enough[todo].any())

    def pairs(self, *, tail: float = 1e-42, bins_per_deviation: float = 50.0) -> BinnedPairs:
        """Return the pairs of `blocks` together."""
        blocks = self.blocks(tail=tail, bins_per_deviation=bins_per_deviation)
        return BinnedPairs.stacked(blocks, self.sizes.size)

    def blocks(self, *, tail: float = 1e-42, bins_per_deviation: float = 50.0) -> Iterator[BinnedPairs]:
        """Yield the pairs of all sums, few at a time, in bins of a common width: one integer for small deviations.

        Parameters
        ----------
        tail : float
            The mass that may be cut at each side, in [1e-290, 0.5]; masses below about 1e-250 may be lost in rounding.
        bins_per_deviation : float
            How many bins a standard deviation should have, positive.
        """
        check_real("tail", tail, low=1e-290, high=0.5)
        check_real("bins_per_deviation", bins_per_deviation, low=0.0, low_open=True)
        width = max(1, int(self.deviation / bins_per_deviation))
        below, above = self._side(math.log(tail), -1.0), self._side(math.log(tail), 1.0)
        # Integers relative to the centres; each sum has its own window, of whole bins.
        low = np.where(below.ended, -self.centres, np.floor(below.mean + self.rests) - 1.0)
        high = np.where(above.ended, self.sizes + 2.0 - self.centres, np.ceil(above.mean + self.rests) + 2.0)
        low, high = np.maximum(low, -self.centres), np.minimum(high, self.sizes + 2.0 - self.centres)
        start = int(low.min())
        bins = -(-(int(high.max()) - start) // width)
        knots = start + width * np.arange(bins + 1, dtype=np.float64)
        first = knots[np.floor((low - start) / width).astype(np.int64)]
        last = knots[np.ceil((high - start) / width).astype(np.int64)]
        # Y lies below the window only if W does, and above only if W reaches its last integer.
        missing = np.where(first + self.centres <= 0.0, 0.0, below.chernoff(first - 1.0 - self.rests))
        ends = last - 1.0 + self.centres > self.sizes
        missing += np.where(ends, 0.0, above.chernoff(last - 1.0 - self.rests))
        tilts = [*reversed(below.tilts), self._tilted(0.0), *above.tilts]
        window = (knots >= first[:, None]) & (knots <= last[:, None])
        inversions = self._inversions(tilts, knots, width, window)
        blocks = (slice(row, row + _AT_ONCE) for row in range(0, self.sizes.size, _AT_ONCE))
        for rows in blocks:
            yield self._combined(rows, inversions, knots, window[rows], missing[rows])

    def _inversions(
        self, tilts: list[_Tilted], knots: Floats, width: int, window: NDArray[np.bool_]
    ) -> list[_Inversion]:
        """Return what gives the knots of each sum's window, each by the tilt whose mean is nearest."""
        edge = np.full((1, self.sizes.size), np.inf)
        means = np.array([tilted.mean for tilted in tilts]) + self.rests
        borders = np.concatenate([-edge, 0.5 * (means[1:] + means[:-1]), edge])
        begins = window.argmax(axis=1)
        ends = begins + window.sum(axis=1)
        starts = np.clip([np.searchsorted(knots, border) for border in borders], begins, ends)
        found = []
        for tilted, begin, end, mean in zip(tilts, starts[:-1], starts[1:], means, strict=True):
            own = begin < end
            if own.any():
                outermost = knots[[begin[own], end[own] - 1]]
                reach = float(np.abs(outermost - mean[own]).max()) + width + 2.0
                found.append(self._inversion(tilted, knots, begin, end, width, reach))
        return found

    def _values(self, rows: slice, inversions: list[_Inversion], knots: Floats) -> tuple[Floats, Floats]:
        """Return F, G, f and D of some sums in their windows, shape (4, sums, knots), and bounds on their errors."""
        values = np.zeros((4, self.sizes[rows].size, knots.size))
        errors = np.zeros_like(values)
        for inversion in inversions:
            begin, end = inversion.begin[rows, None], inversion.end[rows, None]
            columns = slice(
                int(begin.min(initial=knots.size, where=begin < end)), int(end.max(where=begin < end, initial=0))
            )
            if columns.start < columns.stop:
                number = np.arange(columns.start, columns.stop)
                chosen = (number >= begin) & (number < end)
                part, part_errors = self._inverse(inversion, rows, columns, knots[columns])
                np.copyto(values[:, :, columns], part, where=chosen)
                np.copyto(errors[:, :, columns], part_errors, where=chosen)
        return values, errors

    def _inversion(
        self, tilted: _Tilted, knots: Floats, begin: Integers, end: Integers, width: int, reach: float
    ) -> _Inversion:
        """Return the integral at one tilt as a sum, for knots within `reach` of the tilted mean, bins included."""
        most, least = float(tilted.variance.max()) * (1.0 + 1e-9), float(tilted.variance.min()) * (1.0 - 1e-9)
        # Bernstein: a sum of centred Bernoulli variables passes x with probability at most e^(-x^2 / (2 (V + x/3))).
        far = _ALIASED / 3.0 + math.sqrt((_ALIASED / 3.0) ** 2 + 2.0 * _ALIASED * most)
        period = 2 * math.ceil((reach + far + 2.0) / 2.0) + 1  # odd, so that no node is at -1
        alias = 2.0 * math.exp(-_ALIASED)
        reachable = 2.0 * math.asin(min(1.0, math.sqrt(_OMITTED / (2.0 * least)))) if least > 0.0 else math.pi
        last = min((period - 1) // 2, math.ceil(reachable * period / (2.0 * math.pi)))
        omitted = math.exp(-_OMITTED) if last < (period - 1) // 2 else 0.0
        nodes = [_node(self.p, tilted.tilt, Fraction(j, period), width) for j in range(last + 1)]
        logs = np.array([(node.zero, node.one, node.coin) for node in nodes]).T
        factors = np.array([node.factors for node in nodes]).T
        turns = 2.0 * math.pi / period * np.arange(last + 1)
        exponents = self._counts @ logs - tilted.log_mgf[:, None] + 1j * turns * self.rests[:, None]
        weights = np.where(np.arange(last + 1) == 0, 1.0, 2.0) / period
        phi = np.exp(exponents) * weights
        sizes = self._counts @ np.abs(logs) + np.abs(tilted.log_mgf)[:, None]
        # Per term: three products and sums in the exponent, its exponential, the factor, the turn, and the sum.
        units = np.abs(phi) * (8.0 * sizes + 80.0 + 2.0 * last) * 1.5 * UNIT
        rounding = units @ np.abs(factors).T
        moduli = self._largest_factors(tilted.tilt, width)
        floor = (rounding + moduli * (alias + omitted)) * (1.0 + 1e-6)
        # e^(-i theta z) from z mod period: exact integers until the last product.
        first, stop = int(begin.min()), int(end.max())
        steps = np.outer(np.arange(last + 1), np.mod(knots[first:stop], period))
        steps = np.mod(steps, period) * (2.0 * math.pi / period)
        return _Inversion(tilted, begin, end, first, phi, factors, floor, np.cos(steps), np.sin(steps))

    def _inverse(self, inversion: _Inversion, rows: slice, columns: slice, knots: Floats) -> tuple[Floats, Floats]:
        """Return F, G, f and D of some sums at some knots, shape (4, sums, knots), and bounds on their errors."""
        tilt, log_mgf = inversion.tilted.tilt, inversion.tilted.log_mgf[rows, None]
        turned = slice(columns.start - inversion.first, columns.stop - inversion.first)
        cosine, sine = inversion.cosine[:, turned], inversion.sine[:, turned]
        scale = np.exp(np.clip(log_mgf + tilt * (self.rests[rows, None] - knots), -_STEEPEST, _STEEPEST))
        scale_error = UNIT * (8.0 + 6.0 * np.abs(log_mgf) + 6.0 * np.abs(tilt * knots))
        values = np.empty((4, *scale.shape))
        errors = np.empty_like(values)
        for number in range(4):
            terms = inversion.phi[rows] * inversion.factors[number]
            part = terms.real @ cosine + terms.imag @ sine
            values[number] = part * scale
            errors[number] = (inversion.floor[rows, number, None] + np.abs(part) * scale_error) * scale + SUBNORMAL
        return values, errors

    @staticmethod
    def _largest_factors(tilt: float, width: int) -> Floats:
        """Return the sum of |c_j| e^(-tilt j) for F, G, f and D: it bounds |q|, and multiplies aliased masses."""
        grown, whole = math.exp(tilt), math.exp(-tilt * width)
        # Every term of F's sum is at most the larger of its ends.
        return np.array([width * max(1.0, whole / min(grown, 1.0)), grown * (1.0 + whole), 1.0, grown + 1.0])

    def _combined(
        self,
        rows: slice,
        inversions: list[_Inversion],
        knots: Floats,
        window: NDArray[np.bool_],
        missing: Floats,
    ) -> BinnedPairs:
        """Return the pairs of some sums, of their windows and missing masses."""
        p, tilt = self.p, 1.0 - 2.0 * self.p
        values, errors = self._values(rows, inversions, knots)
        inside, change, mass, fall = values
        inside_error, change_error, mass_error, fall_error = errors
        density = mass + p * fall
        density_error = mass_error + p * fall_error + 4.0 * UNIT * (np.abs(mass) + np.abs(fall))
        places = knots + self.centres[rows, None]
        top = self.sizes[rows, None] + 1.0
        known = window & (places >= 0.0) & (places <= top)
        if (known & (density <= 2.0 * density_error)).any():
            raise ArithmeticError("masses of the sum of reports are lost in rounding; use a larger tail.")
        density = np.where(known, density, 1.0)
        ratio = tilt * fall / density
        ratio_error = (tilt * fall_error + np.abs(ratio) * density_error) / np.maximum(
            density - density_error, 0.5 * density
        ) + 8.0 * UNIT * np.abs(ratio)
        # Elsewhere the least and the greatest ratio that there are, p/(1-p) and (1-p)/p.
        ratio = np.where(known, ratio, np.where(knots > 0.0, tilt / p, -tilt / (1.0 - p)))
        ratio_error = np.where(known, ratio_error, 8.0 * UNIT * np.abs(ratio))
        occupied = window[:, :-1] & window[:, 1:] & (places[:, 1:] > 0.0) & (places[:, :-1] <= top)

        def bins(numbers: Floats) -> Floats:
            return np.where(occupied, numbers[:, :-1], 0.0)

        highest, lowest = (ratio + ratio_error)[window].max(), (ratio - ratio_error)[window].min()
        largest_loss = max(math.log1p(highest), -math.log1p(max(lowest, -1.0 + UNIT))) * (1.0 + 8.0 * UNIT)

        return BinnedPairs(
            zero=bins(inside + p * change),
            zero_error=bins(inside_error + p * change_error + 4.0 * UNIT * (np.abs(inside) + np.abs(change))),
            gain=bins(tilt * change),
            gain_error=bins(tilt * change_error + 4.0 * UNIT * np.abs(change)),
            ratio=ratio,
            ratio_error=ratio_error,
            missing=missing,
            largest_loss=largest_loss,
        )
