"""Shuffled reports with noise on the line from above, by the strip of [0, 1] in which each other user's input is.

In a strip S of [0, 1] all inputs report at least w_S(y) = min over x in S of f(y - x), more than all of [0, 1] do, and
f is even and log-concave. docs/amplification.md ("Strips") proves for n - 1 = N others, of which any number is in each
of some strips of one width, and a share rho in (0, 1):

    H_eps <= E[(Z_1 + ... + Z_N)+] / N + (1 - rho W)^N H_eps(one report alone),

where `Z_j (1 - rho) = (a - e^eps b) / w` with probability `(1 - rho) w`, w that of j's strip, else 0, and W is the mass
of what all of [0, 1] reports at least. And which Z is the largest, in the convex order: with L strips, of all pairs of
inputs at a distance of at most D one of which is in the first strip and one in the last, it is as the pair (0, D) where
Z > 0, and as (1 - D, 1) where Z < 0. So all pairs are covered by L strips with D = 1, L / 2 strips with D = 1 - 1 / L,
and so on until one strip with D = 1/2.

**Cells.** In a cell of y the ratios of a to w and of b to w are monotone. Each goes to its values at the ends, with its
mean kept, large values of the one with small ones of the other: in the convex order no other way exceeds this, whatever
the factors of a and of -b. Where D < 1 the positive part of one variable and the negative part of another are put
together so, each a little too large; that with the smaller mean then grows until the mean is what it must be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from functools import cache
from itertools import pairwise

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.formulas.contexts import lower_float, upper_float
from dpverify.guarantee import Interval
from dpverify.privacy_loss.shuffling.excess import Variable
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.privacy_loss.shuffling.mixed_excess import mixed_excess
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass

__all__ = ["LineNoise", "StripedReport", "striped_report"]

Floats = NDArray[np.float64]
Atoms = tuple[Floats, Floats, Floats]
"""Masses under w, a and b, each of shape (atoms,)."""

_LEAST_MASS, _ACCURATE = 1e-300, 53
_ERROR = 8.0 * UNIT
_FINEST = 32
"""At most so many strips: each halving of their width halves what is lost, about."""
_PER_SCALE = 8.0
"""Cells in a unit of the noise's scale, and a quarter of the strips: the width of either costs a per cent or less."""
_MOST_SHARE = 0.25


class LineNoise:
    """Masses and exponents of the noise with the density `f(y) ~ e^(-|y / scale|^power)`, in balls."""

    def __init__(self, scale: float, power: float) -> None:
        self.scale, self.power = arb(scale), arb(power)

    def above(self, y: arb) -> arb:
        """Return the mass right of y."""
        if y < 0:
            return 1 - self.above(-y)
        return self.exponent(y).gamma_upper(1 / self.power, regularized=1) / 2

    def exponent(self, y: arb) -> arb:
        """Return -ln f(y), but for a constant."""
        return (abs(y) / self.scale) ** self.power


class _Lattice:
    """The noise at multiples of `1 / per`, its cells, and what is left of the laws outside of them.

    Laplace noise has constant ratios beyond the inputs: there the first and the last cell have no end.
    """

    def __init__(self, noise: LineNoise, per: int, width: int, reach: float) -> None:
        self.per, self._noise = per, noise
        self.constant = bool(noise.power == 1)
        outside = 0 if self.constant else math.ceil(reach * per / width) * width
        self.edges: list[float] = [*range(-outside, per + outside, width), per + outside]
        self.outside = 0.0
        if self.constant:
            self.edges = [-math.inf, *self.edges, math.inf]
        else:
            self.outside = upper_float(2 * self.above(outside))
        self.exponent = cache(lambda j: self._noise.exponent(arb(int(j)) / self.per))

    @cache  # noqa: B019
    def _above(self, j: int) -> arb:
        return self._noise.above(arb(j) / self.per)

    def above(self, j: float) -> arb:
        """Return the mass right of a multiple."""
        if math.isinf(j):
            return arb(0 if j > 0 else 1)
        return self._above(int(j)) if j >= 0 else 1 - self._above(int(-j))

    def mass(self, low: float, high: float, x: int) -> arb:
        """Return the probability of a report between two multiples, given the input x."""
        # By the nearer tail: no difference of what is next to 1.
        if high <= x:
            return self.above(x - high) - self.above(x - low)
        return self.above(low - x) - self.above(high - x)

    def ratios(self, low: float, high: float, x: int, other: int) -> tuple[arb, arb]:
        """Return the ratio of the density given x to that given another input, at both ends."""
        one, two = (
            (self.exponent(abs(y - other)) - self.exponent(abs(y - x))).exp()
            for y in (low if math.isfinite(low) else high, high if math.isfinite(high) else low)
        )
        return one, two


def _spread(lattice: _Lattice, strip: tuple[int, int], first: int, second: int) -> Iterator[tuple[arb, arb, arb]]:
    """Yield atoms under w, and given the two inputs."""
    middle = sum(strip) // 2
    for low, high in pairwise(sorted({*lattice.edges, middle})):
        far = strip[1] if high <= middle else strip[0]
        mass = lattice.mass(low, high, far)
        ends, shares = [], []
        for x, sign in ((first, 1), (second, -1)):
            # (small, large) of the ratio, and the share of w at the end that makes Z large.
            here = lattice.ratios(low, high, x, far)
            least, most = here if x > far else here[::-1]
            flat = x == far or (lattice.constant and (high <= min(x, far) or low >= max(x, far)))
            share = None if flat else (lattice.mass(low, high, x) / mass - least) / (most - least)
            ends.append((least, most) if sign > 0 else (most, least))
            shares.append(share if share is None or sign > 0 else 1 - share)
        one, two = shares
        one, two = (two if one is None else one), (one if two is None else two)
        if one is None or two is None:
            yield mass, mass * ends[0][0], mass * ends[1][0]
            continue
        both, gap = (one if one < two else two), one - two
        yield mass * both, mass * both * ends[0][1], mass * both * ends[1][1]
        neither = 1 - (two if one < two else one)
        yield mass * neither, mass * neither * ends[0][0], mass * neither * ends[1][0]
        if gap > 0:
            yield mass * gap, mass * gap * ends[0][1], mass * gap * ends[1][0]
        elif gap < 0:
            yield -mass * gap, -mass * gap * ends[0][0], -mass * gap * ends[1][1]


def _listed(atoms: Iterator[tuple[arb, arb, arb]]) -> tuple[Atoms, float]:
    """Return atoms as floats, and what of a and of b is not among them."""
    kept: list[tuple[float, ...]] = []
    left = arb(0)
    for atom in atoms:
        if all(entry > _LEAST_MASS and entry.rel_accuracy_bits() >= _ACCURATE for entry in atom):
            kept.append(tuple(float(entry) for entry in atom))
        else:
            left += abs(atom[1]) + abs(atom[2])
    common, first, second = np.array(kept).T
    return (common, first, second), upper_float(left)


@dataclass(frozen=True)
class _Strip:
    """The atoms of the largest Z of a strip: where it is positive, and, if not the same, where it is negative."""

    positive: Atoms
    negative: Atoms | None
    missing: float

    def variable(self, power: float, share: float) -> Variable:
        """Return Z at e^epsilon = power with (1 - rho) = share."""
        common, first, second = self.positive
        gains = first - power * second
        if self.negative is not None:
            other = self.negative
            losses = other[1] - power * other[2]
            up, down = gains > 0.0, losses < 0.0
            common, first, second = (
                np.concatenate([one[up], two[down]]) for one, two in zip(self.positive, other, strict=True)
            )
            gain, loss = float(gains[up].sum()), -float(losses[down].sum())
            # What the mean lacks, at most: what is not listed may have all of a loss, and sums are rounded.
            lack = 1.0 - power - gain + loss + (self.missing + 1e-14) * (1.0 + power)
            gains = first - power * second
            if lack > 0.0 and gain > 0.0:
                gains = np.where(gains > 0.0, gains * (1.0 + lack / gain), gains)
            elif lack < 0.0:
                gains = np.where(gains < 0.0, gains * (1.0 - lack / loss), gains)
        off = (2.0 * _ERROR + 16.0 * UNIT) * (first + power * second + np.abs(gains))
        weights = share * common
        return Variable(weights, gains / weights, _ERROR + 4.0 * UNIT, off / weights)


@dataclass(frozen=True, eq=False)
class StripedReport(HiddenReport):
    """The bound by strips, as an upper end only; `others`, `first` and `second` are those of the first strip.

    - strips: Those of all classes of pairs.
    - share: 1 - rho.
    - alone: A bound on `(1 - rho W)^(n - 1)`: the probability that none of the others can take her place.
    """

    strips: tuple[_Strip, ...] = field(kw_only=True)
    share: float = field(kw_only=True)
    alone: float = field(kw_only=True)

    def _told(self, power: float) -> Interval:
        return Interval(0.0, super()._told(power).upper)

    def _hidden(self, power: float, known: Interval) -> Interval:
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                found = mixed_excess([strip.variable(power, self.share) for strip in self.strips], self.users - 1)
        except ArithmeticError:
            return Interval(0.0, 1.0)
        return Interval(0.0, found / (self.users - 1) * (1.0 + 4.0 * UNIT) + self.alone * known.upper)


def striped_report(noise: LineNoise, reach: float, users: int, *, tail: float) -> StripedReport | None:
    """Return the bound by strips, or None where too few users hide in which strip a report is.

    - noise: Of each report.
    - reach: How far from the inputs the reports that count are, positive.
    - users: n, at least 1.
    - tail: A bound on the probability that is charged for none to take her place, in (0, 1).
    """
    hidden = lower_float(2 * noise.above(arb(0.5)))
    rho = -math.log(tail) / hidden / max(users - 1, 1)
    if rho > _MOST_SHARE:
        return None
    scale = float(noise.scale)
    count = min(2 ** max(round(math.log2(_PER_SCALE / scale)) + 2, 0), _FINEST)
    finer = max(math.ceil(_PER_SCALE / scale / (2 * count)), 1)
    per = 2 * count * finer
    lattice = _Lattice(noise, per, max(round(scale / _PER_SCALE * per), 1), reach)
    strips: list[_Strip] = []
    while count:
        width, distance = per // count, per if not strips else per - per // (2 * count)
        for start in range(0, per, width):
            strip = (start, start + width)
            positive, missing = _listed(_spread(lattice, strip, 0, distance))
            negative = None
            if distance < per:
                negative, more = _listed(_spread(lattice, strip, per - distance, per))
                missing = max(missing, more)
            strips.append(_Strip(positive, negative, (missing + lattice.outside) * (1.0 + 4.0 * UNIT)))
        count //= 2
    common, first, second = strips[0].positive
    return StripedReport(
        users,
        (1.0 - rho) * common,
        first,
        second,
        missing=2.0 * max(strip.missing for strip in strips),
        error=_ERROR + 4.0 * UNIT,
        strips=tuple(strips),
        share=1.0 - rho,
        alone=tail * (1.0 + 1e-9),
    )
