"""One pair of laws for a family that runs from one pair to its mirror image: the family below the chord of its ends.

A family of profiles h_s, 0 <= s <= 1 (s the share of ones among the other users), is used on fixed inputs: each
instance has its own s. The divergence of a product is linear and increasing in the profile of each factor, as
`H_eps(P x P' || Q x Q') = E over P' of H_(eps - loss')(P || Q)`. So if two profiles a and b satisfy

    h_s <= (1 - s) a + s b   for every s and eps,

then replacing one factor after the other bounds a product by an average over products of a and b alone: by the worst
number of instances with a. Compared with the supremum of the profiles over s, which composes gains of different s at
different eps that no dataset has at once, the chord loses only what is of second order in the skewness.

In `chord` b is the mirror image of a: with `g = h - max(1 - e^eps, 0)`, the pair with its directions exchanged has
`e^eps g(-eps)`, and exchanging zeros and ones maps h_s to that of h_(1-s).

A lift that makes a chord from s = 0 to s = 1 is of second order in the skewness; on a short piece next to the end it
is of second order in the piece. `Members.towards_end` lifts the end no more than that, and puts the members that are
further away below their supremum. Where the end is worst by far, as it is for few flips, a supremum that composes to
less than the end does costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.rounding import UNIT
from protocols.validation import check_real

__all__ = ["Members", "chord"]

Floats = NDArray[np.float64]
_NEARBY, _MOST_STEPS = 1024, 100_000
_ROUNDED = 1e-8
_AT_ONCE = 16
"""Rows that are looked at together, so that what is in between stays small."""


def chord(
    step: float,
    end: Floats,
    cells: Floats,
    shares: Floats,
    missing_mass: float,
) -> Directions:
    """Return profiles a (`up`) and b (`down`) of which every member of the family is below the chord.

    - step: Profiles are given at eps = step * (-m, ..., m), in nats.
    - end (ndarray, shape (2m + 1,)): Excess profile g of the member at s = 0, a guess of a: the result is a bound
      whatever it is.
    - cells (ndarray, shape (cells, 2m + 1)): Upper bounds on the excess profiles of the members with s in each cell. At
      the ends of the grid all are 0 but for missing mass.
    - shares (ndarray, shape (cells, 2)): The least and the greatest s of each cell; cells and their mirror images must
      cover [0, 1].
    - missing_mass: What is missing in all the profiles, at most.
    """
    check_real("step", step, low=0.0, low_open=True)
    if end[[0, -1]].any() or cells[:, [0, -1]].any():
        raise ValueError("end and cells must be 0 at the ends of the grid.")
    half = (end.size - 1) // 2
    losses: Floats = step * np.arange(-half, half + 1, dtype=np.float64)
    grown: Floats = np.exp(losses)
    mirrored = grown * end[::-1]
    lift, highest = np.zeros(end.size), np.zeros(end.size)
    # In s the chord is linear, so that its ends decide: the least where it rises with s, the greatest where it falls.
    rising, falling = np.maximum(mirrored - end, 0.0), np.minimum(mirrored - end, 0.0)
    for row in range(0, len(cells), _AT_ONCE):
        some, ends = cells[row : row + _AT_ONCE], shares[row : row + _AT_ONCE]
        below = ends[:, :1] * rising
        below += ends[:, 1:] * falling
        np.subtract(some, below, out=below)
        np.maximum(lift, below.max(axis=0) - end, out=lift)
        np.maximum(highest, some.max(axis=0), out=highest)
    lift = np.maximum(lift, grown * lift[::-1])
    # Sums and products of few numbers, all of the size of the cells' and the end's values.
    lifted = (end + lift) * (1.0 + 32.0 * UNIT) + 32.0 * UNIT * (end + mirrored + highest)
    # The supremum over the cells is a bound too: a for one half of the family, b for the other. It is convex.
    candidates = [_masses(step, losses, excess) for excess in (lifted, highest)]
    spreads = [
        float(np.sum(masses * np.expm1(losses) ** 2)) if float(np.sum(masses)) <= 1.0 + _ROUNDED else np.inf
        for masses in candidates
    ]
    return _listed(losses, candidates[int(np.argmin(spreads))], missing_mass)


class Members:
    """All other members of a family, by their distance from its end.

    - step: Profiles are given at eps = step * (-m, ..., m), in nats.
    - end (ndarray, shape (2m + 1,)): Upper bound on the excess profile of the member at the end.
    - rows (ndarray, shape (rows, 2m + 1)): Upper bounds on the excess profiles of all others, each of one or of
      several. At the ends of the grid all are 0 but for missing mass.
    - distances (ndarray, shape (rows,)): From the end, in (0, 1], increasing. (They choose the bounds: what they are is
      part of no proof.)
    - missing_mass: What is missing in all the profiles, at most.
    """

    def __init__(self, step: float, end: Floats, rows: Floats, distances: Floats, missing_mass: float) -> None:
        check_real("step", step, low=0.0, low_open=True)
        if end[[0, -1]].any() or rows[:, [0, -1]].any():
            raise ValueError("end and rows must be 0 at the ends of the grid.")
        if (np.diff(distances) < 0.0).any():
            raise ValueError("distances must increase.")
        half = (end.size - 1) // 2
        self._step, self._end, self._rows, self._distances = step, end, rows, distances
        self._losses: Floats = step * np.arange(-half, half + 1, dtype=np.float64)
        self._missing = missing_mass

    def towards_end(self, reach: float, foot: float) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        """Return profiles (a, b): every member of the family is below a chord of both.

        a is the supremum of the members at least `reach` away from the end, and b the end, lifted so that each member
        nearer than that, at a distance x, is below `(1 - t) a + t b` with `t = 1 - x / foot`. (Any t in (0, 1] would
        prove as much.)

        - reach, foot: reach <= 4/5 foot.
        """
        check_real("foot", foot, low=1.25 * check_real("reach", reach, low=0.0, low_open=True))
        first = int(np.searchsorted(self._distances, reach))
        supremum = self._rows[first:].max(axis=0, initial=0.0)
        lifted = self._end.copy()
        for row in range(0, first, _AT_ONCE):
            rows = slice(row, min(row + _AT_ONCE, first))
            weight = self._distances[rows, None] / foot
            needed = weight * supremum
            np.subtract(self._rows[rows], needed, out=needed)
            needed /= 1.0 - weight
            np.maximum(lifted, needed.max(axis=0), out=lifted)
        # A handful of operations on numbers of this size, as no member exceeds both, and a weight of the end of at
        # least one fifth.
        lifted += 128.0 * UNIT * (lifted + supremum)
        lifted[[0, -1]] = 0.0
        return self._pair(supremum), self._pair(lifted)

    def pieces(self, cuts: Sequence[float]) -> tuple[PrivacyLossDistribution, ...]:
        """Return the suprema of the members at distances between one cut and the next, the nearest with the end.

        Every member is below one of them, and they are closer to it than the supremum of all: for bounds that take each
        pair by itself, as those for joint changes do.

        - cuts: Increasing.
        """
        places = np.searchsorted(cuts, self._distances, side="right")
        # What lies beyond the first cut is there only if a member does.
        highest = [np.maximum(self._end, self._rows[places == 0].max(axis=0, initial=0.0))]
        highest += [self._rows[places == place].max(axis=0) for place in np.unique(places[places > 0])]
        return tuple(map(self._pair, highest))

    def _pair(self, excess: Floats) -> PrivacyLossDistribution:
        return _listed(self._losses, _masses(self._step, self._losses, excess), self._missing).up


def _listed(losses: Floats, smaller: Floats, missing_mass: float) -> Directions:
    """Return the pair with these Q-masses at the losses."""
    larger: Floats = np.asarray(smaller * np.exp(losses) * (1.0 + 8.0 * UNIT), dtype=np.float64)
    # Masses were rounded upwards: their sums may exceed 1 by that much.
    above_one = max(float(np.sum(larger)), float(np.sum(smaller)), 1.0) - 1.0
    common = {"relative_error": 16.0 * UNIT + above_one, "loss_error": 8.0 * UNIT * float(losses[-1])}
    return Directions(
        PrivacyLossDistribution.from_atoms(losses, larger, 0.0, missing_mass, **common),
        PrivacyLossDistribution.from_atoms(-losses, smaller, 0.0, missing_mass, **common),
    )


def _masses(step: float, losses: Floats, excess: Floats) -> Floats:
    """Return Q-masses of the pair whose excess profile is piecewise linear between these values at e^eps = e^loss.

    They are the changes of the slope of h, that of g, less 1 where eps < 0. Rounding every mass upwards only adds to h,
    as does putting none where the slope falls.
    """
    # Not a difference of exponentials: for losses far below 0 nothing would be left of it.
    width = np.exp(losses[:-1]) * np.expm1(step)
    slopes = np.diff(excess) / width
    sizes = (excess[1:] + excess[:-1]) / width
    # The end points take up the first and the last slope: the excess is 0 beyond.
    change = np.diff(slopes, prepend=0.0, append=0.0)
    error = 16.0 * UNIT * (np.append(sizes, 0.0) + np.append(0.0, sizes))
    middle = (losses.size - 1) // 2
    change[middle] += 1.0
    error[middle] += 16.0 * UNIT
    _repair(change, error, step)
    return np.asarray((np.maximum(change, 0.0) + error) * (1.0 + 8.0 * UNIT))


def _repair(masses: Floats, error: Floats, step: float) -> None:
    """Remove negative masses, in place, so that the profile only grows: by spreading positive ones nearby.

    A mass at i is taken apart into a part at j, where some is missing, and the rest at 2i - j on the other side, so
    that its sum and mean (in e^eps) are kept: what such a spread adds to the profile is local. What finds no positive
    mass nearby, within a number of steps, is left negative.
    """
    # Items of the memory are plain floats, which are quicker one by one.
    own: Any = masses.data
    steps = 0
    for j in np.flatnonzero(masses < -error).tolist():
        for distance in range(1, _NEARBY):
            steps += 1
            if steps > _MOST_STEPS:
                return
            for i in (j + distance, j - distance):
                far = 2 * i - j
                if own[j] >= 0.0 or not (0 <= far < len(own) and i >= 0) or own[i] <= 0.0:
                    continue
                # (x_far - x_i) / (x_far - x_j), x being evenly spaced in its logarithm.
                share = 1.0 / (1.0 + math.exp(min((j - i) * step, 700.0)))
                taken = min(own[i], -own[j] / share)
                own[i] -= taken
                own[far] += taken * (1.0 - share)
                own[j] += taken * share
            if own[j] >= 0.0:
                break
