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
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.datasets.binned import BinnedPairs
from dpverify.rounding import SUBNORMAL, UNIT
from dpverify.search import bisected
from protocols.classes.frozen import dataclass
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
_ALIKE = 1.0
"""How far apart, in standard deviations, the means of sums that are inverted together may be under each tilt."""
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
    """An integral as a sum over nodes, for knots from number `first` on: the product of `terms` and `turns`.

    Terms are phi times factors, real and imaginary parts side by side, shape (numbers, sums, 2 nodes), turns cosine and
    sine. No sum exceeds `most`, and each is off by `floor` at most, shape (numbers, sums).
    """

    tilted: _Tilted
    first: int
    terms: Floats
    turns: Floats
    most: Floats
    floor: Floats


class _Alike(NamedTuple):
    """Sums whose tilted means are nearly the same: which, and from where to where each tilt gives their knots."""

    rows: slice
    borders: Integers


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

    - zeros, ones, coins (sequence of int, shape (sums,)): How many other users of each crowd hold 0, hold 1, and report
      a fair coin; at most 2^52.
    - flip_probability: p in (0, 1/2).
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
        chance, whole = Fraction(self.p).as_integer_ratio()
        doubled = [2 * (zero * chance + one * (whole - chance)) + coin * whole for zero, one, coin in crowds]
        centres = [(mean + whole) // (2 * whole) for mean in doubled]
        self.centres = np.array(centres, dtype=np.float64)
        self.rests = np.array([(mean - 2 * whole * c) / (2 * whole) for mean, c in zip(doubled, centres, strict=True)])

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

        - tail: The mass that may be cut at each side, in [1e-290, 0.5]; masses below about 1e-250 may be lost in
          rounding.
        - bins_per_deviation: How many bins a standard deviation should have, positive.
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
        window = np.stack([np.floor((low - start) / width), np.ceil((high - start) / width)]).astype(np.int64)
        first, last = knots[window]
        # Y lies below the window only if W does, and above only if W reaches its last integer.
        missing = np.where(first + self.centres <= 0.0, 0.0, below.chernoff(first - 1.0 - self.rests))
        ends = last - 1.0 + self.centres > self.sizes
        missing += np.where(ends, 0.0, above.chernoff(last - 1.0 - self.rests))
        tilts = [*reversed(below.tilts), self._tilted(0.0), *above.tilts]
        alike = self._alike(tilts, knots, window)
        inversions = self._inversions(tilts, alike, knots, width)
        for some in alike:
            yield self._combined(some, inversions, knots, window[:, some.rows], missing[some.rows])

    def _alike(self, tilts: list[_Tilted], knots: Floats, window: Integers) -> list[_Alike]:
        """Return neighbouring sums that can be inverted together: each knot by the tilt whose mean is about nearest."""
        means = np.array([tilted.mean for tilted in tilts]) + self.rests
        middles = 0.5 * (means[1:] + means[:-1])
        allowed = _ALIKE * np.sqrt(np.array([tilted.variance for tilted in tilts]) + 1.0)
        found, row = list[_Alike](), 0
        while row < self.sizes.size:
            rows = slice(row, row + _AT_ONCE)
            near = (np.abs(means[:, rows] - means[:, row, None]) <= allowed[:, row, None]).all(axis=0)
            rows = slice(row, row + int(np.append(near, False).argmin()))
            begin, end = int(window[0, rows].min()), int(window[1, rows].max()) + 1
            borders = np.clip(np.searchsorted(knots, middles[:, row]), begin, end)
            found.append(_Alike(rows, np.concatenate([[begin], borders, [end]])))
            row = rows.stop
        return found

    def _inversions(
        self, tilts: list[_Tilted], alike: list[_Alike], knots: Floats, width: int
    ) -> dict[int, _Inversion]:
        """Return what gives the knots of all sums, by the place of a tilt that gives any."""
        found = dict[int, _Inversion]()
        for place, tilted in enumerate(tilts):
            spans = [(some.rows, *some.borders[place : place + 2]) for some in alike]
            used = [(tilted.mean[rows] + self.rests[rows], begin, end) for rows, begin, end in spans if begin < end]
            if used:
                reach = max(float(np.abs(knots[[begin, end - 1], None] - mean).max()) for mean, begin, end in used)
                first, stop = min(begin for _, begin, _ in used), max(end for _, _, end in used)
                found[place] = self._inversion(tilted, knots, first, stop, width, reach + width + 2.0)
        return found

    def _inversion(self, tilted: _Tilted, knots: Floats, first: int, stop: int, width: int, reach: float) -> _Inversion:
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
        factors = np.array([node.factors for node in nodes]).T[self._numbers(width)]
        turns = 2.0 * math.pi / period * np.arange(last + 1)
        exponents = self._counts @ logs - tilted.log_mgf[:, None] + 1j * turns * self.rests[:, None]
        weights = np.where(np.arange(last + 1) == 0, 1.0, 2.0) / period
        phi = np.exp(exponents) * weights
        sizes = self._counts @ np.abs(logs) + np.abs(tilted.log_mgf)[:, None]
        moduli = np.abs(phi)
        most = np.abs(factors) @ moduli.T * (1.0 + 1e-6)
        # Per term: three products and sums in the exponent, its exponential, the factor, the turn, and the sum.
        rounding = np.abs(factors) @ (moduli * (8.0 * sizes + 80.0 + 4.0 * last) * 1.5 * UNIT).T
        floor = (
            rounding + self._largest_factors(tilted.tilt, width)[self._numbers(width), None] * (alias + omitted)
        ) * (1.0 + 1e-6)
        terms = phi * factors[:, None, :]
        # e^(-i theta z) from z mod period: exact integers until the last product.
        steps = np.outer(np.arange(last + 1), np.mod(knots[first:stop], period))
        steps = np.mod(steps, period) * (2.0 * math.pi / period)
        turned = np.concatenate([np.cos(steps), np.sin(steps)])
        return _Inversion(tilted, first, np.concatenate([terms.real, terms.imag], axis=2), turned, most, floor)

    def _inverse(
        self, inversion: _Inversion, rows: slice, columns: slice, knots: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the numbers of some sums at some knots but for a scale, what they are off by, their bound, the scale.

        Shapes (numbers, sums, knots), (numbers, sums, 1), (numbers, sums, 1) and (sums, knots).
        """
        tilt, log_mgf = inversion.tilted.tilt, inversion.tilted.log_mgf[rows, None]
        values = (
            inversion.terms[:, rows]
            @ inversion.turns[:, columns.start - inversion.first :][:, : columns.stop - columns.start]
        )
        middle = knots[columns][(columns.stop - columns.start) // 2]
        exponents = log_mgf + tilt * (self.rests[rows, None] - middle), tilt * (middle - knots[columns])
        row, column = (np.exp(np.clip(part, -_STEEPEST, _STEEPEST)) for part in exponents)
        farthest = float(np.abs(knots[columns]).max()) + 1.0
        scale_error = UNIT * (16.0 + 8.0 * np.abs(log_mgf) + 8.0 * abs(tilt) * farthest)
        most = inversion.most[:, rows, None]
        return values, inversion.floor[:, rows, None] + most * scale_error, most, row * column

    @staticmethod
    def _numbers(width: int) -> slice:
        """Return which of F, G, f and D are needed: a bin of one integer has F = f and G = D."""
        return slice(2 if width == 1 else 0, 4)

    @staticmethod
    def _largest_factors(tilt: float, width: int) -> Floats:
        """Return the sum of |c_j| e^(-tilt j) for F, G, f and D: it bounds |q|, and multiplies aliased masses."""
        grown, whole = math.exp(tilt), math.exp(-tilt * width)
        # Every term of F's sum is at most the larger of its ends.
        return np.array([width * max(1.0, whole / min(grown, 1.0)), grown * (1.0 + whole), 1.0, grown + 1.0])

    def _combined(
        self, some: _Alike, inversions: dict[int, _Inversion], knots: Floats, window: Integers, missing: Floats
    ) -> BinnedPairs:
        """Return the pairs of some sums, of their windows and missing masses."""
        p, tilt, rows = self.p, 1.0 - 2.0 * self.p, some.rows
        shape = (missing.size, knots.size)
        ratio, ratio_error, lost = np.ones(shape), np.ones(shape), np.zeros(shape, dtype=bool)
        zero, zero_error, gain, gain_error = np.zeros((4, *shape))
        for place, (start, stop) in enumerate(pairwise(some.borders)):
            if start >= stop:
                continue
            columns = slice(int(start), int(stop))
            values, errors, most, scale = self._inverse(inversions[place], rows, columns, knots)
            errors += 4.0 * UNIT * most
            inside, change, mass, fall = values if values.shape[0] == 4 else (None, None, *values)
            fall_error, mass_error = errors[-1], errors[-2] + p * errors[-1] + 4.0 * UNIT * (most[-2] + most[-1])
            density = p * fall
            density += mass
            np.less_equal(density, 2.0 * mass_error, out=lost[:, columns])
            # The density is off by at most half of it.
            inverse = np.divide(1.0, density, out=np.ones_like(density), where=~lost[:, columns])
            off = 2.0 * mass_error * inverse
            off += 8.0 * UNIT
            off *= np.abs(np.multiply(fall, tilt * inverse, out=ratio[:, columns]))
            inverse *= 2.0 * tilt * fall_error
            np.add(off, inverse, out=ratio_error[:, columns])
            if inside is not None:
                # A wide bin: of its masses the first integer's are only a part.
                density = p * change
                density += inside
                fall, fall_error = change, errors[1]
                mass_error = errors[0] + p * errors[1] + 4.0 * UNIT * (most[0] + most[1])
            np.multiply(density, scale, out=zero[:, columns])
            np.multiply(mass_error, scale, out=zero_error[:, columns])
            scale *= tilt
            np.multiply(fall, scale, out=gain[:, columns])
            np.multiply(fall_error * (1.0 + 8.0 * UNIT), scale, out=gain_error[:, columns])
        zero_error += SUBNORMAL
        gain_error += SUBNORMAL
        number, places, top = np.arange(knots.size), knots + self.centres[rows, None], self.sizes[rows, None] + 1.0
        inside_window = (number >= window[0][:, None]) & (number <= window[1][:, None])
        known = inside_window & (places >= 0.0) & (places <= top)
        if (known & lost).any():
            raise ArithmeticError("masses of the sum of reports are lost in rounding; use a larger tail.")
        # Elsewhere the least and the greatest ratio that there are, p/(1-p) and (1-p)/p.
        outer = np.where(knots > 0.0, tilt / p, -tilt / (1.0 - p))
        np.copyto(ratio, outer, where=~known)
        np.copyto(ratio_error, 8.0 * UNIT * np.abs(outer), where=~known)
        empty = ~(inside_window[:, :-1] & inside_window[:, 1:] & (places[:, 1:] > 0.0) & (places[:, :-1] <= top))
        bins = [numbers[:, :-1] for numbers in (zero, zero_error, gain, gain_error)]
        for numbers in bins:
            numbers[empty] = 0.0
        # The ratio grows with the place, so that those at the ends of the window bound all.
        least, greatest = ((np.arange(missing.size), ends) for ends in window)
        highest = (ratio[greatest] + ratio_error[greatest]).max()
        lowest = (ratio[least] - ratio_error[least]).min()
        largest_loss = max(math.log1p(highest), -math.log1p(max(lowest, -1.0 + UNIT))) * (1.0 + 8.0 * UNIT)
        return BinnedPairs(bins[0], bins[1], bins[2], bins[3], ratio, ratio_error, missing, largest_loss)
