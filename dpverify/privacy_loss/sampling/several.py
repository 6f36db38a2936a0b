"""Steps of which a record takes part in several, chosen at random: what is attained, told by a statistic of the steps.

What a group of steps released is told by one of a few cells. Of each the probabilities are kept where the record is in
0, 1, ..., k of the group's steps, all sets of so many as likely. If it is in j steps of two groups, of a and b, i of
them are in the first with the probability `C(a, i) C(b, j - i) / C(a + b, j)`, and given that both groups are
independent. So the cell of two groups, any function of theirs, has known probabilities again, of positive terms. The
function is the product of `1 - q + q P1/P0` over the steps, rounded: what would tell all if the record were in each
step with the probability q = k/t, independently, and tells all if k = t; a smaller q tells a little more where k < t.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.ratios import RatioGrid
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass

__all__ = ["attained_by_several"]

Floats = NDArray[np.float64]

_LEAST = 1e-140
"""Products of two probabilities of so little are still floats; what is less is left out."""
_TILT = 0.6
"""Of the rate in what cells are told by: where a record shows, its ratios are larger than they mostly are."""
_BLOCK = 2**17
"""Products of cells, times numbers of chosen steps, at once."""


@dataclass(frozen=True)
class _Cells:
    """What a group of steps tells: laws (shape (sides, chosen + 1, cells)), each within a relative error.

    Sorted by the ratios that cells are told by. A row is 0 where so many are more than all steps.
    """

    steps: int
    ratios: Floats
    laws: Floats
    error: float

    def fewer(self, coarser: int) -> _Cells:
        """Return the same in no more cells than a grid has."""
        grid = RatioGrid.over(float(self.ratios[0]), float(self.ratios[-1]), 1.0, coarser)
        at = grid.below(self.ratios)
        laws = np.array([[np.bincount(at, law, grid.points.size) for law in side] for side in self.laws])
        found = laws[0, 0] > 0.0
        error = self.error + float(np.bincount(at).max()) * UNIT
        return _Cells(self.steps, grid.points[found], laws[:, :, found], error)

    def kept(self) -> _Cells:
        """Return the cells of which no probability is next to nothing."""
        enough = (self.laws[:, : self.steps + 1] >= _LEAST).all(axis=(0, 1))
        return _Cells(self.steps, self.ratios[enough], self.laws[:, :, enough], self.error)


def _shares(first: int, second: int, chosen: int) -> Floats:
    """Return how likely i of j chosen steps are in the first group, at [j, j - i], all 0 for j that are too many."""
    found = np.zeros((chosen + 1, chosen + 1))
    for total in range(min(chosen, first + second) + 1):
        for inside in range(max(total - second, 0), min(total, first) + 1):
            ways = math.comb(first, inside) * math.comb(second, total - inside)
            found[total, total - inside] = ways / math.comb(first + second, total)
    return found


def _merged(one: _Cells, other: _Cells, coarser: int) -> _Cells:
    """Return what two groups tell together."""
    chosen, steps = one.laws.shape[1] - 1, one.steps + other.steps
    lowest, highest = (float(one.ratios[at]) * float(other.ratios[at]) for at in (0, -1))
    squared = sum(float((part.laws[0, 0] * (np.minimum(part.ratios, 8.0) - 1.0) ** 2).sum()) for part in (one, other))
    grid = RatioGrid.over(lowest, highest, min(math.sqrt(squared), 1.0), coarser)
    shares = _shares(one.steps, other.steps, chosen)
    inside = np.subtract.outer(np.arange(chosen + 1), np.arange(chosen + 1))  # i at [j, j - i]
    found, terms = np.zeros((one.laws.shape[0], chosen + 1, grid.points.size)), np.zeros(grid.points.size)
    rows = max(_BLOCK // (other.ratios.size * (chosen + 1)), 1)
    for start in range(0, one.ratios.size, rows):
        part = slice(start, start + rows)
        at = grid.below(np.multiply.outer(one.ratios[part], other.ratios).ravel())
        terms += np.bincount(at, minlength=grid.points.size)
        for law, ours, theirs in zip(found, one.laws, other.laws, strict=True):
            weights = np.where(inside >= 0, shares, 0.0) * ours[:, part].T[:, np.maximum(inside, 0)]
            masses = weights @ theirs  # (rows, chosen + 1, cells)
            for number in range(chosen + 1):
                law[number] += np.bincount(at, masses[:, number].ravel(), grid.points.size)
    error = one.error + other.error
    # A share, two products and a sum of at most chosen + 1 of them, and all those of a cell one after the other.
    error += (chosen + 8.0 + float(terms.max())) * UNIT
    occupied = found[0, 0] > 0.0
    return _Cells(steps, grid.points[occupied], found[:, :, occupied], error * (1.0 + error)).kept()


def attained_by_several(
    ratios: Floats, masses: Floats, error: float, steps: int, chosen: int, others: Floats | None = None
) -> Directions:
    """Return lists of both directions that are attained by steps with a record in several of them.

    - ratios, masses: P1/P0 and the probability under P0 of each outcome of a step, or a function of it, ratios rising.
    - error: bound on the relative error of masses, with the record and without.
    - steps, chosen: how many there are, and in how many of them the record is.
    - others: P2/P0, falling, of what takes the place of the record; where omitted nothing does.
    """
    coarser = math.ceil(0.5 * math.log2(chosen))
    sides = [ratios] if others is None else [ratios, others]
    laws = np.zeros((len(sides), chosen + 1, ratios.size))
    laws[:, 0] = masses
    for law, side in zip(laws, sides, strict=True):
        law[1] = masses * side
    rate = chosen / steps
    rate *= _TILT + (1.0 - _TILT) * rate
    told = 1.0 - rate + rate * ratios
    if others is not None:
        told /= 1.0 - rate + rate * others
    one = _Cells(1, told, laws, error + 2.0 * UNIT).kept().fewer(coarser)
    found: _Cells | None = None
    power, left = one, steps
    while left:
        if left & 1:
            found = power if found is None else _merged(found, power, coarser)
        left >>= 1
        if left:
            power = _merged(power, power, coarser)
    assert found is not None
    there, gone = found.laws[0, chosen], found.laws[0, 0] if others is None else found.laws[1, chosen]
    error = found.error

    def direction(first: Floats, second: Floats) -> PrivacyLossDistribution:
        missing = max(1.0 - float(first.sum()) * (1.0 - error), 0.0) + error
        return PrivacyLossDistribution.from_pmfs(first, second, missing_mass=missing, relative_error=error)

    return Directions(direction(there, gone), direction(gone, there))
