"""Steps of which a record takes part in exactly one, chosen at random: both directions, as lists.

With the loss line of one step, `E = P1/P0`, the likelihood ratio of t such steps is the mean of t independent `E` under
P0. So two groups of steps, of a and b, have the ratio `(a r + b s) / (a + b)` together, r and s independent: the law of
t steps takes about `log2 t` such merges. After each merge the law is brought back to few ratios: spread to a grid at
the same mean, which makes no divergence of either direction smaller, or taken together at their means, which makes none
larger. docs/sampling.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.rounding import UNIT, summation_error

__all__ = ["allocated"]

Floats = NDArray[np.float64]

_DIGITS, _MOST = 8, 6000
"""Of the ratios that are kept, in base 2, and about how many there are at most, but for those of the next ones."""
_PER_DEVIATION, _DEVIATIONS = 96, 8.0
"""How many more there are in a standard deviation of the ratio, and how far from its mean; beyond, fewer."""
_LONGEST = 2**22
"""Of the table in which they are looked up."""
_LARGEST_LOSS = 300.0
"""Ratios and masses that go with it are floats, and so are their products."""
_BLOCK = 2**15
"""Pairs that are merged at once."""


class _Missing(NamedTuple):
    """What was left out: bounds on its mass with the record, and without."""

    there: float
    gone: float


@dataclass(frozen=True)
class _Group:
    """The likelihood ratio of some steps: its law without the record.

    Each mass errs relatively by at most `mass_error`, and each ratio by a factor of at most `e^ratio_error`.
    """

    steps: int
    ratios: Floats
    masses: Floats
    mass_error: float
    ratio_error: float
    missing: _Missing

    @property
    def weights(self) -> Floats:
        """About the masses with the record and without, together."""
        return self.masses * (1.0 + self.ratios)

    def trimmed(self, spare: float) -> _Group:
        """Return the law without outcomes at both ends, of about so much mass at most."""
        weights = self.weights
        low, high = (int(np.searchsorted(np.cumsum(each), 0.5 * spare)) for each in (weights, weights[::-1]))
        kept = slice(low, weights.size - high)
        ends = np.r_[0:low, weights.size - high : weights.size]
        more = 1.0 + self.mass_error + 2.0 * self.ratio_error + summation_error(weights.size) + 8.0 * UNIT
        there, gone = (float(each[ends].sum()) * more for each in (self.masses * self.ratios, self.masses))
        missing = _Missing(self.missing.there + there, self.missing.gone + gone)
        return replace(self, ratios=self.ratios[kept], masses=self.masses[kept], missing=missing)


class _Grid(NamedTuple):
    """Increasing ratios that are floats of few digits, so that the digits of another tell which it lies between."""

    points: Floats
    places: NDArray[np.intp]
    first: int
    shift: int

    @classmethod
    def over(cls, lowest: float, highest: float, deviation: float) -> _Grid:
        """Return ratios around all from the lowest to the highest, closer around 1, where most of the mass is."""
        octaves = max(math.log2(highest) - math.log2(lowest), 1e-9)
        far = min(_DIGITS, max(int(math.log2(_MOST / (octaves + 1.0))), 0))
        near = min(math.ceil(math.log2(_PER_DEVIATION / deviation)), 52, int(math.log2(_LONGEST / octaves)))
        near = max(near, far)
        shift = 52 - near
        first, last = (int(key) for key in np.array([lowest, highest]).view(np.int64) >> shift)
        keys = np.arange(first, last + 2)
        values = (keys << shift).view(np.float64)
        away = np.maximum(np.abs(np.log(values)) / (_DEVIATIONS * deviation), 1.0)
        fewer = np.minimum(2.0 * np.log2(away), near - far).astype(np.int64)
        kept = keys & ((1 << fewer) - 1) == 0
        kept[[0, -1]] = True
        return cls(values[kept], np.cumsum(kept) - 1, first, shift)

    def below(self, ratios: Floats) -> NDArray[np.intp]:
        """Return the index of the last point that is no larger than each ratio."""
        found: NDArray[np.intp] = self.places[(ratios.view(np.int64) >> self.shift) - self.first]
        return found


Pairs = Iterable[tuple[Floats, Floats]]
Gathered = Callable[[_Grid, Pairs], tuple[Floats, Floats, float, float]]
"""Brings ratios and masses to a grid; returns them, and by what that errs: the masses, and the logarithms of ratios."""


def _spread(grid: _Grid, blocks: Pairs) -> tuple[Floats, Floats, float, float]:
    """Split each mass between its neighbours on the grid, at the same mean."""
    points, size = grid.points, grid.points.size
    widths = np.diff(points)
    found, terms = np.zeros(size), np.zeros(size + 1, dtype=np.int64)
    for ratios, masses in blocks:
        at = grid.below(ratios)
        shares = masses / widths[at]
        found[:-1] += np.bincount(at, shares * (points[at + 1] - ratios), size - 1)
        found[1:] += np.bincount(at, shares * (ratios - points[at]), size - 1)
        terms[1:-1] += np.bincount(at, minlength=size - 1)
    # A term is of two differences of floats, a quotient and a product, and one of those of two cells.
    occupied = found > 0.0
    return points[occupied], found[occupied], (float((terms[1:] + terms[:-1]).max()) + 8.0) * UNIT, 0.0


def _together(grid: _Grid, blocks: Pairs) -> tuple[Floats, Floats, float, float]:
    """Make one outcome, of their mean, of all masses between two neighbours on the grid."""
    size = grid.points.size
    found, there, terms = np.zeros(size), np.zeros(size), np.zeros(size, dtype=np.int64)
    for ratios, masses in blocks:
        at = grid.below(ratios)
        found += np.bincount(at, masses, size)
        there += np.bincount(at, masses * ratios, size)
        terms += np.bincount(at, minlength=size)
    occupied = found > 0.0
    error = (float(terms.max()) + 4.0) * UNIT
    return there[occupied] / found[occupied], found[occupied], error, 2.0 * error + 4.0 * UNIT


def _pairs(one: _Group, other: _Group, share: float, rest: float, least: float) -> Iterator[tuple[Floats, Floats]]:
    """Yield what both groups give together, but for pairs of weights whose product is less than `least`."""
    weights = other.weights
    from_left, from_right = (np.maximum.accumulate(each) for each in (weights, weights[::-1]))
    rows = max(_BLOCK // weights.size, 1)
    for start in range(0, one.ratios.size, rows):
        part = slice(start, start + rows)
        enough = least / float(one.weights[part].max())
        first = int(np.searchsorted(from_left, enough))
        last = weights.size - int(np.searchsorted(from_right, enough))
        twice = None
        if one is other:  # each pair of two is found in both orders: only those above the diagonal, twice
            first = max(first, start)
            twice = 1.0 + np.sign(np.subtract.outer(-np.arange(start, start + rows), -np.arange(first, last)))
        ratios = np.add.outer(share * one.ratios[part], rest * other.ratios[first:last])
        masses = np.multiply.outer(one.masses[part], other.masses[first:last])
        if twice is not None:
            masses *= twice[: masses.shape[0]]
        yield ratios.ravel(), masses.ravel()


def _merged(one: _Group, other: _Group, spare: float, gathered: Gathered) -> _Group:
    """Return the law of two groups of steps together, without outcomes of three times the spare mass at most."""
    steps = one.steps + other.steps
    share, rest = one.steps / steps, other.steps / steps
    variance = sum(
        part * part * float((group.masses * (np.minimum(group.ratios, 8.0) - 1.0) ** 2).sum())
        for part, group in ((share, one), (rest, other))
    )
    lowest, highest = (float(share * one.ratios[at] + rest * other.ratios[at]) for at in (0, -1))
    grid = _Grid.over(lowest, highest, min(math.sqrt(variance), 1.0))
    least = spare / (one.ratios.size * other.ratios.size)
    ratios, masses, mass_error, ratio_error = gathered(grid, _pairs(one, other, share, rest, least))
    # The record is in the first group with probability `share`, and then in none of the other's steps.
    there = share * (one.missing.there + other.missing.gone) + rest * (one.missing.gone + other.missing.there)
    gone = one.missing.gone + other.missing.gone
    more = 1.0 + 8.0 * UNIT
    error = one.mass_error + other.mass_error
    found = _Group(
        steps,
        ratios,
        masses,
        (error + mass_error + UNIT) * (1.0 + error + mass_error),
        max(one.ratio_error, other.ratio_error) + ratio_error + 4.0 * UNIT,
        _Missing((there + 2.0 * spare) * more, (gone + 2.0 * spare) * more),
    )
    return found.trimmed(spare)


def _of_one(pair: Directions, gathered: Gathered) -> _Group:
    """Return the law of one step, from its list of the direction of adding."""
    add = pair.down
    largest = float(np.abs(add.losses).max())
    if largest > _LARGEST_LOSS:
        raise CapacityError(
            f"one step has losses of {largest:.4g}, and random allocation takes up to {_LARGEST_LOSS:g}; more noise "
            "has less."
        )
    error = add.loss_error + 2.0 * UNIT * (1.0 + largest)
    missing = _Missing(pair.up.missing_mass, add.missing_mass)
    ratios, masses = np.exp(-add.losses[::-1]), add.masses[::-1]
    if ratios.size <= _MOST:
        return _Group(1, ratios, masses, add.relative_error, error, missing)
    grid = _Grid.over(float(ratios[0]), float(ratios[-1]), 1.0)
    ratios, masses, mass_error, ratio_error = gathered(grid, [(ratios, masses)])
    return _Group(1, ratios, masses, add.relative_error + 2.0 * mass_error, error + ratio_error, missing)


def _of_all(one: _Group, steps: int, tail: float, gathered: Gathered) -> Directions:
    """Return both directions of so many steps, by doubling."""
    spare = tail / (8.0 * steps * steps.bit_length())  # for each step of each of twice so many merges at most
    found, power, left = one, one, steps - 1
    while left:
        if left & 1:
            found = _merged(found, power, spare * (found.steps + power.steps), gathered)
        left >>= 1
        if left:
            power = _merged(power, power, 2.0 * spare * power.steps, gathered)
    losses = np.log(found.ratios)
    error = found.ratio_error + 4.0 * UNIT * (1.0 + float(np.abs(losses).max()))
    return Directions(
        PrivacyLossDistribution.from_atoms(
            losses,
            found.masses * found.ratios,
            0.0,
            found.missing.there,
            relative_error=(found.mass_error + math.expm1(error)) * (1.0 + found.mass_error) + 4.0 * UNIT,
            loss_error=error,
        ),
        PrivacyLossDistribution.from_atoms(
            -losses, found.masses, 0.0, found.missing.gone, relative_error=found.mass_error, loss_error=error
        ),
    )


def allocated(line: NoiseLine, steps: int, tail: float) -> tuple[Directions, Directions]:
    """Return both directions of steps with a record in exactly one: lists that dominate, and that are attained.

    - line: the noise of one step; what it leaves out is left out so many times.
    - steps: how many, at least 1.
    - tail: what may be left out besides, of either law.

    Raises
    ------
    CapacityError
        If the losses of one step are beyond 300 nats.
    """
    above, below = line.listed(1.0)
    dominating = _of_all(_of_one(above, _spread), steps, tail, _spread)
    return dominating, _of_all(_of_one(below, _together), steps, tail, _together)
