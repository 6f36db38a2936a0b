"""Steps of which a record takes part in exactly one, or so many, chosen at random: both directions, as lists.

With the loss line of one step, `E = P1/P0`, the likelihood ratio of t such steps is the mean of t independent `E` under
P0. So two groups of steps, of a and b, have the ratio `(a r + b s) / (a + b)` together, r and s independent: the law of
t steps takes about `log2 t` such merges. After each merge the law is brought back to few ratios: spread to a grid at
the same mean, which makes no divergence of either direction smaller, or taken together at their means, which makes none
larger. Where a record is in k of t steps, k groups of about t/k of them with the record in one of each dominate, whose
ratios are multiplied. docs/sampling.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.sampling.ratios import MOST, RatioGrid
from dpverify.privacy_loss.sampling.several import attained_by_several
from dpverify.rounding import UNIT, summation_error
from protocols.classes.frozen import dataclass

__all__ = ["allocated"]

Floats = NDArray[np.float64]

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


Pairs = Iterable[tuple[Floats, Floats]]
Gathered = Callable[[RatioGrid, Pairs], tuple[Floats, Floats, float, float]]
"""Brings ratios and masses to a grid; returns them, and by what that errs: the masses, and the logarithms of ratios."""


def _spread(grid: RatioGrid, blocks: Pairs) -> tuple[Floats, Floats, float, float]:
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


def _together(grid: RatioGrid, blocks: Pairs) -> tuple[Floats, Floats, float, float]:
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


def _pairs(
    one: _Group, other: _Group, share: float | None, rest: float, least: float
) -> Iterator[tuple[Floats, Floats]]:
    """Yield what both groups give together, but for pairs of weights whose product is less than `least`.

    The ratios are the mean, of these weights, or the product where `share` is None.
    """
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
        if share is None:
            ratios = np.multiply.outer(one.ratios[part], other.ratios[first:last])
        else:
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
    grid = RatioGrid.over(lowest, highest, min(math.sqrt(variance), 1.0))
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


def _both(one: _Group, other: _Group, spare: float, gathered: Gathered) -> _Group:
    """Return the law of two groups of steps in each of which the record is, as `_merged` does.

    Raises CapacityError for ratios next to which a mass that counts with the record is no float without it.
    """
    squared = [(group.masses * (np.minimum(group.ratios, 8.0) - 1.0) ** 2).sum() for group in (one, other)]
    lowest, highest = (float(one.ratios[at]) * float(other.ratios[at]) for at in (0, -1))
    if not math.exp(-_LARGEST_LOSS) <= lowest <= highest <= math.exp(_LARGEST_LOSS):
        raise CapacityError(
            f"steps together have losses of more than {_LARGEST_LOSS:g}, too large for lists of random allocation; "
            "more noise has less."
        )
    grid = RatioGrid.over(lowest, highest, min(math.sqrt(float(sum(squared))), 1.0))
    least = spare / (one.ratios.size * other.ratios.size)
    ratios, masses, mass_error, ratio_error = gathered(grid, _pairs(one, other, None, 0.0, least))
    there, gone = (first + second + 2.0 * spare for first, second in zip(one.missing, other.missing, strict=True))
    more = 1.0 + 8.0 * UNIT
    error = one.mass_error + other.mass_error
    found = _Group(
        one.steps + other.steps,
        ratios,
        masses,
        (error + mass_error + UNIT) * (1.0 + error + mass_error),
        (one.ratio_error + other.ratio_error + ratio_error + 4.0 * UNIT) * more,
        _Missing(there * more, gone * more),
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
    if ratios.size <= MOST:
        return _Group(1, ratios, masses, add.relative_error, error, missing)
    grid = RatioGrid.over(float(ratios[0]), float(ratios[-1]), 1.0)
    ratios, masses, mass_error, ratio_error = gathered(grid, [(ratios, masses)])
    return _Group(1, ratios, masses, add.relative_error + 2.0 * mass_error, error + ratio_error, missing)


def _repeated(
    one: _Group, count: int, tail: float, gathered: Gathered, merge: Callable[[_Group, _Group, float, Gathered], _Group]
) -> _Group:
    """Merge so many alike, by doubling."""
    spare = tail / (8.0 * count * count.bit_length())  # for each of them in each of twice so many merges at most
    found, power, left, done, size = one, one, count - 1, 1, 1
    while left:
        if left & 1:
            done += size
            found = merge(found, power, spare * done, gathered)
        left >>= 1
        if left:
            size *= 2
            power = merge(power, power, spare * size, gathered)
    return found


def _of_all(one: _Group, steps: int, tail: float, gathered: Gathered, chosen: int = 1) -> Directions:
    """Return both directions of so many steps; of several that are chosen, of groups of steps with one in each."""
    size, longer = divmod(steps, chosen)
    share = tail / (2.0 * chosen)
    groups = [
        _repeated(_repeated(one, each, share, gathered, _merged), times, share * times, gathered, _both)
        for each, times in ((size, chosen - longer), (size + 1, longer))
        if times
    ]
    found = groups[0]
    for other in groups[1:]:
        found = _both(found, other, share, gathered)
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


def allocated(line: NoiseLine, steps: int, tail: float, chosen: int = 1, *, attained: bool = False) -> Directions:
    """Return both directions of steps with a record in some of them, as lists that dominate, or that are attained.

    - line: the noise of one step; what it leaves out is left out so many times.
    - steps: how many, at least 1.
    - chosen: in how many of them the record is, at most all.
    - tail: what may be left out besides, of either law.

    Raises
    ------
    CapacityError
        If the losses of one step are beyond 300 nats.
    """
    above, below = line.listed(1.0)
    if not attained:
        return _of_all(_of_one(above, _spread), steps, tail, _spread, chosen)
    own = _of_one(below, _together)
    if chosen == 1:
        return _of_all(own, steps, tail, _together)
    return attained_by_several(own.ratios, own.masses, own.mass_error + own.ratio_error, steps, chosen)
