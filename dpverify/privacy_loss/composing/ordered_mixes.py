"""Every mix of pairs over the instances, bounded by one recursion on a lattice of losses.

Let `P_1, ..., P_R` be the pairs that an instance may present, in any order, and `(P * V)(x) = E[V(x - L)]`, L the loss
of P, its infinite mass counted as V = 1. Let F_{r,j} be sets of functions, `F_{r,0} = {(1 - e^x)+}`, nothing beyond R:

    F_{r,j} = F_{r+1,j}  and  P_r * V for each V in F_{r,j-1}.

**The divergence of every mix of j instances of P_r, ..., P_R is at most some V in F_{r,j}.** If P_r is not in it, it is
one of those that F_{r+1,j} bounds. If it is, take one instance of P_r first: a product's divergence does not depend on
the order of its factors, so it is P_r * that of the j - 1 others, which some V of F_{r,j-1} bounds, and P_r * is
monotone. Some functions of a set may be replaced by their maximum at each x, which bounds what each of them does. So
the largest of F_{1,I} bounds all mixes of I instances. Families of which each is met so often come one after another:
what is found of one stands in the place of `(1 - e^x)+` for the next.

Without any replacement that lists all mixes. With one function for each set it is the *ordered recursion*
`V_{r,j} = max(V_{r+1,j}, P_r * V_{r,j-1})`: it bounds whoever takes the next dataset by what was lost so far, but in
that order. (Without an order it would bound adaptive adversaries.) So the worst comes last, and those are put together
whose third moments are next to each other: of mixes of randomized response these differ, and hardly anything else.

Not every dataset need be among the P_r: if the profile of each is below that of some, or below an average of some (a
chord), a product of them is below an average of products of the P_r (zhu2022, Theorem 27).

**On a lattice** of step h all are exact. Connect-the-dots moves a pair's losses to multiples of h and dominates it;
then V at multiples of h is made of V at multiples of h. In between each mix is convex in e^eps, hence below the chord.

**A window.** Left of it V counts as 1, which no divergence exceeds, and right of it as its last value, which none
further on exceeds, as divergences fall. (Counting it as 0 there would be no bound.)

**Rounding.** What is computed is `W(x) = e^(t x - K) V(x)`, K the sum over the instances of the largest logarithms of a
moment generating function at the tilt t. The tilted masses add up to 1 at most; so W is at most `t^t / (1+t)^(1+t)`,
the largest value of `e^(t x) (1 - e^x)+`, and e^(t x - K) times what mass is infinite. Rounding is relative to that,
and V at the epsilon that is asked for is next to it. Every step adds a bound on its error, and stays an upper bound: of
the transforms in the 2-norm, and relative ones of masses and exponentials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.saddle import total_loss
from dpverify.privacy_loss.windows.step import least_step, rarest
from dpverify.rounding import SUBNORMAL, UNIT, fft_error, summation_error
from dpverify.search import bisected
from protocols.classes.frozen import dataclass

__all__ = ["Alternatives", "OrderedMixes", "on_lattice", "ordered_mixes"]

Floats = NDArray[np.float64]
Alternatives = tuple[Sequence[GridPrivacyLoss], int]
"""Grids of one step, one of which dominates whatever an instance presents, and in how many instances."""

_WIDTH = 4e-4
"""What the step costs of epsilon, relatively, is some 5 % of this: a quarter of it doubles the points."""
_MOST_EXPONENT = 600.0
"""Of what is tilted, and of its scale: with more W leaves the floats, and bounds nothing."""
_LEAST_EPSILON = 0.3
"""In standard deviations of the total loss: a smaller epsilon asks for no smaller step."""
_APART = 1e-6
"""The share of delta below which infinite losses are charged once for all."""
_AROUND, _BELOW, _FARTHEST = 8.0, 5.0, 15.0
"""The window: so many deviations on either side, this and no more than that in nats further below 0."""
_LEAST_TILT, _STEEPEST = 0.3, 20.0
"""The least tilt, in units of one per deviation; and the largest exponent right of epsilon beside infinite losses."""
_MOST_WORK = 6.0e8
"""Of a recursion, in cells times levels of transforms: 2 ns each."""
_MOST_BOUNDS = 128
"""Functions in a set."""
_COARSENED = (1.0, 1.6, 2.5, 4.0)
"""How much larger the step may be where the work is too much."""
_LEAST = 2.3e-308
"""Where W is less it is taken for this: below it floats lose their relative precision, and 0 would say that V is 0."""
_FEW = 32
_WORSE = 0.03
"""So many pairs whose supremum is less than the worst by this share of its exponent are one pair."""


@dataclass(frozen=True)
class OrderedMixes:
    """What bounds the divergence of every mix, at consecutive multiples of a step.

    - step: In nats.
    - first: The first multiple.
    - log_deltas (ndarray, shape (points,)): Upper bounds on the logarithm of the divergence at each.
    - loss_error: What the total loss is off by, at most.
    - unbounded: The mass of infinite or unknown losses that is no part of them.
    """

    step: float
    first: int
    log_deltas: Floats
    loss_error: float
    unbounded: float

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the divergence of every mix at a real epsilon."""
        off = 8.0 * UNIT * (abs(epsilon) / self.step + abs(self.first) + 1.0)
        at = (epsilon - self.loss_error) / self.step - self.first - off
        place = math.floor(at)
        if place < 0:
            return 1.0
        low, high = self._deltas(place), self._deltas(place + 1)
        if high < low:
            # The chord in e^eps; its share of the way is less by `off` than it is by more than it is rounded.
            low -= math.expm1((at - place) * self.step) / math.expm1(self.step) * (low - high)
        return min((low + self.unbounded) * (1.0 + 64.0 * UNIT) + SUBNORMAL, 1.0)

    def _deltas(self, place: int) -> float:
        return math.exp(min(self.log_deltas[min(place, self.log_deltas.size - 1)], 0.0))  # no divergence exceeds 1

    def epsilon(self, delta: float) -> float:
        """Return an epsilon >= 0 at which every mix's divergence is at most delta; inf where none is known."""
        if self.delta(0.0) <= delta:
            return 0.0
        for place in np.flatnonzero(self.log_deltas <= math.log(delta))[:2]:
            high = max((self.first + int(place)) * self.step * (1.0 + 16.0 * UNIT) + 2.0 * self.loss_error, 0.0)
            if self.delta(high) <= delta:
                return bisected(lambda epsilon: self.delta(epsilon) <= delta, 0.0, high, steps=60)[1]
        return math.inf


@dataclass(frozen=True)
class _Lattice:
    """A window of multiples of a step from the first on, and the tilt."""

    step: float
    tilt: float
    first: int
    points: int

    @classmethod
    def between(cls, low: float, high: float, step: float, tilt: float) -> _Lattice:
        first = math.floor(low / step) - 1
        return cls(step, tilt, first, math.ceil(high / step) + 1 - first)

    @property
    def exponents(self) -> Floats:
        """The products t x in the window."""
        return self._at(self.first, self.points)

    def _at(self, start: int, number: int) -> Floats:
        return self.tilt * self.step * np.arange(start, start + number, dtype=np.float64)

    def ones(self, start: int, number: int, log_scale: float) -> Floats:
        """Return W where V = 1, rounded up."""
        exponents = self._at(start, number)
        rounding = UNIT * (8.0 * (np.abs(exponents) + abs(log_scale)) + 16.0)
        return np.maximum(np.exp(np.minimum(exponents - log_scale, 700.0)) * (1.0 + rounding), _LEAST)

    @property
    def payoff(self) -> Floats:
        """W for V = (1 - e^x)+, rounded up: V = 1 is, by more than a product costs."""
        losses = np.minimum(self.step * np.arange(self.first, self.first + self.points, dtype=np.float64), 0.0)
        return self.ones(self.first, self.points, 0.0) * -np.expm1(losses)

    @property
    def largest(self) -> float:
        """What W is at most where no loss is infinite: see the module."""
        t = self.tilt
        return math.exp((t * math.log(t) if t else 0.0) - (1.0 + t) * math.log1p(t)) * (1.0 + 1e-9)


@dataclass(frozen=True)
class _Bounds:
    """W of a set of functions, shape (functions, points), a label of each, and K."""

    scaled: Floats
    labels: Floats
    log_scale: float

    def joined(self, other: _Bounds, most: int) -> _Bounds:
        """Return both sets, or so many functions: the maxima of those whose labels are next to each other."""
        scaled, labels = np.concatenate([self.scaled, other.scaled]), np.append(self.labels, other.labels)
        if labels.size > most:
            order = np.argsort(labels, kind="stable")
            labels = labels[order]
            # Sums of the same few labels lie equally far apart, but for rounding, which is not to choose between them.
            gaps = np.diff(labels)
            rounded = np.round(gaps / (gaps.max() or 1.0), 9)[::-1]
            widest = gaps.size - np.argsort(-rounded, kind="stable")[: most - 1]
            starts = np.append(0, np.sort(widest))
            scaled = np.maximum.reduceat(scaled[order], starts)
            labels = np.add.reduceat(labels, starts) / np.diff(starts, append=labels.size)
        return _Bounds(scaled, labels, other.log_scale)


class _Family:
    """The pairs of one family on a lattice, as transforms of their tilted masses."""

    def __init__(self, lattice: _Lattice, grids: Sequence[GridPrivacyLoss], *, apart: bool) -> None:
        self._lattice, self._apart = lattice, apart
        self._left, self._right = _reach(grids)
        self._length = _length(lattice.points, grids)
        logs = [np.log(grid.masses * (1.0 + 2.0 * grid.relative_error)) for grid in grids]
        tilted = [log + lattice.tilt * grid.losses for grid, log in zip(grids, logs, strict=True)]
        shifts = [float(log.max()) for log in tilted]
        sums = [float(np.exp(log - shift).sum()) for log, shift in zip(tilted, shifts, strict=True)]
        largest = max(shift + math.log(total) for shift, total in zip(shifts, sums, strict=True))
        size = max(float(np.abs(log).max() + np.abs(both).max()) for log, both in zip(logs, tilted, strict=True))
        rounding = UNIT * (16.0 * (size + abs(largest)) + 64.0) + summation_error(self._length)
        # So that no rounding makes a sum of tilted masses more than 1; nor is what is left of the window.
        self._log_scale = max(largest, 0.0) + 4.0 * rounding
        kernels = np.zeros((len(grids), self._length))
        for kernel, grid, both in zip(kernels, grids, tilted, strict=True):
            kernel[grid.indices + self._right] = np.exp(both - self._log_scale) * (1.0 + rounding)
        self._transforms = np.fft.rfft(kernels, axis=1)
        error = fft_error(self._length)
        # Of what is transformed, in the 2-norm: its transform, that of the kernel, their product, and the way back.
        kernel_norms = np.sqrt(np.sum(kernels * kernels, axis=1))
        self._errors = (error * (2.0 + math.sqrt(self._length) * kernel_norms) + 8.0 * UNIT) * (1.0 + 1e-6)
        self._unbounded = [0.0 if apart else grid.unbounded_mass for grid in grids]
        self._labels = [_third_moment(grid) for grid in grids]
        steep = lattice.tilt * lattice.step * np.arange(1, 1 + self._right) > 700.0
        self._beyond = np.where(steep, math.inf, lattice.ones(1, self._right, 0.0))

    def composed(self, before: _Bounds, count: int, most: int) -> _Bounds:
        """Return what bounds every mix of so many instances beside what came before."""
        nothing = _Bounds(np.zeros((0, self._lattice.points)), np.zeros(0), 0.0)
        found = [before, *(nothing for _ in range(count))]
        for row in range(len(self._transforms) - 1, -1, -1):
            for number in range(1, count + 1):
                found[number] = found[number].joined(self._one_more(found[number - 1], row), most)
        return found[-1]

    def _one_more(self, bounds: _Bounds, row: int) -> _Bounds:
        """Return P_r * V for each V."""
        lattice, stop = self._lattice, self._left + self._lattice.points
        padded = np.zeros((len(bounds.scaled), self._length))
        padded[:, : self._left] = lattice.ones(lattice.first - self._left, self._left, bounds.log_scale)
        padded[:, self._left : stop] = bounds.scaled
        most: Floats | float = lattice.largest
        if not self._apart:  # of this family, or of those before
            most = most + lattice.ones(lattice.first + lattice.points, self._right, bounds.log_scale)
        np.minimum(
            most, np.maximum(bounds.scaled[:, -1:], _LEAST) * self._beyond, out=padded[:, stop : stop + self._right]
        )
        norms = np.sqrt(np.sum(padded * padded, axis=1, keepdims=True))
        transforms = np.fft.rfft(padded, axis=1)
        transforms *= self._transforms[row]
        offset = self._left + self._right
        values = np.fft.irfft(transforms, self._length, axis=1)[:, offset : offset + lattice.points]
        values += self._errors[row] * norms
        log_scale = bounds.log_scale + self._log_scale
        ones = lattice.ones(lattice.first, lattice.points, log_scale)
        np.clip(values + self._unbounded[row] * ones, 0.0, ones, out=values)
        return _Bounds(values, bounds.labels + self._labels[row], log_scale)


def on_lattice(
    parts: Sequence[Alternatives], tilt: float, low: float, high: float, *, most: int = 1, apart: bool = True
) -> OrderedMixes:
    """Return a bound on every mix, by the recursion: an upper bound whatever the tilt, the window and the order.

    - parts: For each family its grids, the worst last, and how many instances it is met in. One step for all.
    - tilt: t >= 0.
    - low, high: The window, in nats, low <= 0 < high.
    - most: How many functions a set may have.
    - apart: Whether infinite losses, and those left out, are charged once for all, where they are far below delta; else
      V counts as 1 for them.
    """
    step = parts[0][0][0].step
    lattice = _Lattice.between(low, high, step, tilt)
    bounds = _Bounds(lattice.payoff[None], np.zeros(1), 0.0)
    for grids, count in parts:
        bounds = _Family(lattice, grids, apart=apart).composed(bounds, count, most)
    with np.errstate(divide="ignore"):
        logs = np.log(bounds.scaled.max(axis=0))
    size = np.abs(lattice.exponents) + abs(bounds.log_scale)
    unbounded = sum(count * max(grid.unbounded_mass for grid in grids) for grids, count in parts)
    return OrderedMixes(
        step,
        lattice.first,
        logs - lattice.exponents + bounds.log_scale + UNIT * (16.0 * size + 64.0),
        sum(count * max(grid.loss_error for grid in grids) for grids, count in parts) * (1.0 + 1e-9),
        unbounded * (1.0 + 1e-9) if apart else 0.0,
    )


def ordered_mixes(
    families: Sequence[tuple[Sequence[PrivacyLossDistribution], int]], epsilon: float, delta: float, *, quick: bool
) -> OrderedMixes | None:
    """Return a bound on every mix that is sharp next to an epsilon; None where it would take too long.

    - families: Of each the pairs one of which, or an average of which, dominates whatever an instance presents; and in
      how many instances it is met.
    - epsilon, delta: Where the bound shall be sharp, about.
    - quick: Whether each set has one function only.
    """
    total = sum(count for _, count in families)
    trimmed = [([pair.trimmed(rarest(delta, total)) for pair in pairs], count) for pairs, count in families]
    if any(pair.losses.size == 0 for pairs, _ in trimmed for pair in pairs):
        return None
    unbounded = sum(count * max(pair.unbounded_mass for pair in pairs) for pairs, count in trimmed)
    worst = [pairs[0] for pairs, _ in trimmed]
    for _ in range(2):
        law = total_loss([(pair, count) for pair, (_, count) in zip(worst, trimmed, strict=True)])
        spread = math.sqrt(law.moments(0.0)[2])
        if not spread > 0.0:
            return None
        tilt = max(law.tilt_at(epsilon), _LEAST_TILT / spread)
        worst = [max(pairs, key=lambda pair: _exponent(pair, tilt)) for pairs, _ in trimmed]
    # Those that lose most first: sharper, and whatever order they are given in.
    largest = [count * _exponent(pair, tilt) for pair, (_, count) in zip(worst, trimmed, strict=True)]
    trimmed = [trimmed[place] for place in sorted(range(len(trimmed)), key=lambda place: -largest[place])]
    deviation = max(spread, math.sqrt(law.moments(tilt)[2]))
    above = sum(count * max(pair.losses[-1] for pair in pairs) for pairs, count in trimmed)
    # Of trimmed losses none need be negative.
    back = max(sum(count * max(-pair.losses[0] for pair in pairs) for pairs, count in trimmed), 0.0)
    high = epsilon + 0.1 * deviation + min(back, _AROUND * deviation)
    low = -min(max(above - epsilon, 0.0), _FARTHEST, _BELOW + _AROUND * deviation)
    if not high > epsilon:
        return None  # all losses are so small that the window has no width
    apart = unbounded <= _APART * delta
    tilt = tilt if apart else min(tilt, _STEEPEST / (high - epsilon))
    if tilt * max(-low, high) + sum(max(each, 0.0) for each in largest) > _MOST_EXPONENT:
        return None
    finest = math.sqrt(_WIDTH * max(epsilon, _LEAST_EPSILON * deviation) / (0.6 * total * max(tilt, 1.0)))
    if finest < least_step((pair for pairs, _ in trimmed for pair in pairs), 2**30):
        return None
    for coarsened in _COARSENED:
        parts = [(_ranked(pairs, coarsened * finest, tilt), count) for pairs, count in trimmed]
        points = _Lattice.between(low, high, coarsened * finest, tilt).points
        work = sum(_work(points, grids, count) for grids, count in parts)
        if work <= _MOST_WORK:
            most = 1 if quick else min(max(int(_MOST_WORK / work), 1), _MOST_BOUNDS)
            return on_lattice(parts, tilt, low, high, most=most, apart=apart)
    return None


def _ranked(pairs: Sequence[PrivacyLossDistribution], step: float, tilt: float) -> list[GridPrivacyLoss]:
    """Return grids that dominate them, the worst last; those that are far from it are put together."""

    def exponent(grid: GridPrivacyLoss) -> float:
        return grid.moments.at(tilt)[0]

    grids = sorted((connect_the_dots(pair, step) for pair in pairs), key=_third_moment)
    enough = (1.0 - _WORSE) * max(map(exponent, grids)) if len(grids) > _FEW else -math.inf
    return sorted(_together(grids, step, tilt, enough), key=exponent)


def _together(grids: Sequence[GridPrivacyLoss], step: float, tilt: float, enough: float) -> Iterator[GridPrivacyLoss]:
    """Yield the supremum of all, if its exponent is no more than enough, or of one half and the other."""
    supremum = grids[0] if len(grids) == 1 else dominating_grid(grids, step)
    if len(grids) == 1 or supremum.moments.at(tilt)[0] <= enough:
        yield supremum
        return
    middle = len(grids) // 2
    yield from _together(grids[:middle], step, tilt, enough)
    yield from _together(grids[middle:], step, tilt, enough)


def _exponent(pair: PrivacyLossDistribution, tilt: float) -> float:
    exponents = tilt * pair.losses + np.log(pair.masses)
    return float(np.logaddexp.reduce(exponents))


def _third_moment(grid: GridPrivacyLoss) -> float:
    mean = float(np.sum(grid.masses * grid.losses))
    return float(np.sum(grid.masses * (grid.losses - mean) ** 3))


def _reach(grids: Sequence[GridPrivacyLoss]) -> tuple[int, int]:
    """Return how many cells losses reach below and above x."""
    return max(0, *(int(grid.indices[-1]) for grid in grids)), max(0, *(-int(grid.indices[0]) for grid in grids))


def _length(points: int, grids: Sequence[GridPrivacyLoss]) -> int:
    return int(2 ** max(6, math.ceil(math.log2(points + sum(_reach(grids))))))


def _work(points: int, grids: Sequence[GridPrivacyLoss], count: int) -> float:
    length = _length(points, grids)
    return float(len(grids) * count * length * math.log2(length))
