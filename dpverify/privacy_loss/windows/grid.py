"""Privacy loss distributions on an even grid: connect-the-dots, and the pointwise supremum of several profiles."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from enum import Flag, auto
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.recurrence import decayed_sums, decayed_sums_error
from dpverify.privacy_loss.windows.characteristic import LossAtoms
from dpverify.privacy_loss.windows.saddle import LossMoments
from dpverify.privacy_loss.windows.tilting import FactorTransforms
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["Bounds", "GridPrivacyLoss", "cell_count", "connect_the_dots", "dominating_grid"]

_MOST_CELLS = 2**27
_MOST_INDEX = 2.0**51
"""Losses of more steps than this, and sums of two, would not be told apart by floats."""
_TIE = 1e-12


class Bounds(Flag):
    """Which of the bounds that are computed from a grid hold for what it stands for; `&` is what a product keeps."""

    NEITHER = 0
    """An estimate."""
    UPPER = auto()
    """It dominates: the supremum of several pairs, or what another library made on the pessimistic side."""
    LOWER = auto()
    """It is dominated."""
    BOTH = UPPER | LOWER


@dataclass(frozen=True, eq=False)
class GridPrivacyLoss:
    """A privacy loss distribution whose losses are multiples of `step`.

    - step: The grid spacing in nats.
    - indices (ndarray of int64, shape (atoms,)): The losses in units of `step`, strictly increasing.
    - masses (ndarray of float64, shape (atoms,)): P-mass of each.
    - infinite_mass: P-mass whose loss is infinite: counts in both bounds.
    - missing_mass: Upper bound on P-mass of unknown loss: counts in upper bounds only.
    - relative_error: Bound on the relative error of every mass.
    - loss_error: Bound on the error of every loss, in nats.
    - split_width: Each loss of the pair that this grid dominates was split between two grid points at most
      `split_width` apart, keeping both P-mass and Q-mass; 0 if the grid distribution is exact. Lower bounds are
      computed from this.
    - bounds: Which bounds may be drawn from it.
    """

    step: float
    indices: NDArray[np.int64]
    masses: NDArray[np.float64]
    infinite_mass: float
    missing_mass: float
    relative_error: float
    loss_error: float
    split_width: float
    bounds: Bounds = Bounds.BOTH

    @property
    def unbounded_mass(self) -> float:
        """Upper bound on the P-mass whose loss is infinite or unknown."""
        return self.infinite_mass * (1.0 + self.relative_error) + self.missing_mass

    @property
    def losses(self) -> NDArray[np.float64]:
        """The losses in nats, shape (atoms,)."""
        return np.asarray(self.indices * self.step, dtype=np.float64)

    @cached_property
    def moments(self) -> LossMoments:
        """The moment generating function of the loss."""
        return LossMoments(self.losses, np.log(self.masses))

    @cached_property
    def atoms(self) -> LossAtoms:
        """The finite losses, for moments at complex arguments."""
        return LossAtoms.of(self.losses, self.masses)

    @cached_property
    def transforms(self) -> FactorTransforms:
        """The tilted Fourier transforms of the loss."""
        return FactorTransforms(self.indices, self.moments)

    def capped(self) -> GridPrivacyLoss:
        """Return a grid that dominates this one and, instead of a relative error, has finite masses of 1 at most.

        Masses that are as large as they may be give a profile that is never below. Where they add up to more than 1,
        the smallest losses go until 1 is left. Above the least loss that stays that changes nothing; from there to
        e^eps = 0 the profile is a line up to 1, and the true one is convex and ends at 1 or less. So many copies count
        what the error moves, and not the error once each. For upper bounds only.
        """
        if not self.relative_error < 1.0:
            return replace(self, bounds=self.bounds & Bounds.UPPER)
        masses, indices = self.masses * ((1.0 + 4.0 * UNIT) / (1.0 - self.relative_error)), self.indices
        # A running sum of n terms is off by n roundings: far less than this margin.
        excess = (math.fsum(masses) - 1.0) * (1.0 - 1e-9) - 4.0 * UNIT
        if excess > 0.0:
            above = np.cumsum(masses) - excess
            first = int(np.searchsorted(above, 0.0, side="right"))
            masses, indices = np.append(above[first], masses[first + 1 :]), indices[first:]
        return replace(
            self,
            indices=indices,
            masses=masses,
            infinite_mass=0.0,
            missing_mass=self.unbounded_mass,
            relative_error=0.0,
            bounds=self.bounds & Bounds.UPPER,
        )

    def profile(self, first: int, last: int) -> NDArray[np.float64]:
        """Return `H_eps(P||Q)`, without infinite mass, at eps = first*step, ..., last*step, shape (last - first + 1,).

        Sums of non-negative terms throughout, so the error is relative: `_profile_error`.
        """
        if not self.indices.size:
            return np.zeros(last - first + 1)
        low, high = min(first, int(self.indices[0])), max(last + 1, int(self.indices[-1]))
        cells = np.zeros(cell_count("profile", high - low + 1))
        cells[self.indices - low] = self.masses
        return _profile(cells, self.step)[first - low : last - low + 1]


def _profile(cells: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Return the divergence at each of consecutive grid points, from their masses; nothing lies above the last."""
    # slopes[i] = sum_{j >= i} m_j e^{-(j-i) h};  delta_i = (1 - e^{-h}) sum_{j > i} slopes[j].
    slopes = decayed_sums(cells[::-1], step)
    above = -np.expm1(-step) * decayed_sums(slopes, 0.0)[::-1]
    return np.append(above[1:], 0.0)


def _profile_error(cells: int) -> float:
    """Bound the relative error of `_profile`: two sums, the constant before them, and its product with them."""
    return 2.0 * decayed_sums_error(cells) + 8.0 * UNIT


def cell_count(what: str, count: float) -> int:
    """Return a number of cells that is about to be allocated, as an int, after checking that they fit."""
    if count > _MOST_CELLS:
        raise CapacityError(
            f"{count:.3g} grid cells are needed, but at most {_MOST_CELLS} fit; {what} needs a larger step."
        )
    return int(count)


def _collect(
    cells: NDArray[np.int64], masses: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Add up the masses of equal cells; return the occupied cells, their masses, and the most terms in one sum."""
    # A loss on a grid point has no share at its neighbour, and the rarest of two shares may underflow.
    cells, masses = cells[masses > 0], masses[masses > 0]
    if cells.size == 0:
        return cells, masses, 0
    low = int(cells.min())
    span = int(cells.max()) - low + 1
    if span > max(8 * cells.size, 2**20):
        distinct, inverse, terms = np.unique(cells, return_inverse=True, return_counts=True)
        return distinct, np.bincount(inverse, weights=masses).astype(np.float64), int(terms.max())
    dense = np.bincount(cells - low, weights=masses)
    occupied = np.flatnonzero(dense)
    terms = np.bincount(cells - low)
    return occupied + low, dense[occupied].astype(np.float64), int(terms.max())


def connect_the_dots(pair: PrivacyLossDistribution, step: float) -> GridPrivacyLoss:
    """Return the tightest dominating distribution of a pair on the grid of multiples of `step`.

    Every loss is split between its two grid neighbours so that P-mass and Q-mass are both kept; the profile is then
    exact at the grid points and linear in e^eps between them (doroshenko2022, connect-the-dots).

    - step: The grid spacing in nats, positive.
    """
    check_real("step", step, low=0.0, low_open=True)
    if not pair.largest_loss / step < _MOST_INDEX:
        raise ValueError(
            f"step={step!r} must be above {pair.largest_loss / _MOST_INDEX:.3g}: floats do not tell more multiples "
            f"of it apart, up to the largest loss of {pair.largest_loss:.6g}."
        )
    nearest = np.rint(pair.losses / step)
    rounding = 6.0 * UNIT * (pair.largest_loss + step)
    if (np.abs(pair.losses - nearest * step) <= rounding).all():
        # A lattice law on its own grid: nothing to split.
        indices, masses, width = nearest.astype(np.int64), pair.masses, 0.0
    else:
        below = np.floor(pair.losses / step)
        # One number for both shares: they must add up to 1 whatever the rounding of the loss.
        to_lower = np.clip(pair.losses - below * step, 0.0, step)
        share_up = np.expm1(-to_lower) / np.expm1(-step)
        share_down = np.exp(-to_lower) * np.expm1(to_lower - step) / np.expm1(-step)
        indices = np.concatenate([below, below + 1.0]).astype(np.int64)
        masses, width = np.concatenate([pair.masses * share_down, pair.masses * share_up]), step
    distinct, summed, crowd = _collect(indices, masses)
    return GridPrivacyLoss(
        step=step,
        indices=distinct,
        masses=summed,
        infinite_mass=pair.infinite_mass,
        missing_mass=pair.missing_mass,
        relative_error=pair.relative_error + (12.0 + crowd) * UNIT,
        loss_error=pair.loss_error + rounding,
        split_width=width,
    )


def dominating_grid(pairs: Sequence[PrivacyLossDistribution | GridPrivacyLoss], step: float) -> GridPrivacyLoss:
    """Return a grid distribution whose profile is at least that of every given pair, at every real epsilon.

    A mechanism used on the same user in several instances may meet each pair in any instance (a bit may go up in one
    and down in the next; each instance has its own number of ones). The pointwise supremum of the profiles is a valid
    profile (a maximum of convex functions), hence a dominating pair for every such mix. It is taken at the grid points
    of connect-the-dots, where each profile is exact, and connected again.

    The finite parts are compared as functions of e^eps, and infinite and missing masses apart from them: the largest is
    charged. All are 0 right of the last point and linear between two points, so what is at least as large at all points
    from the first, one left of every atom, is so everywhere right of it. From there to e^eps = 0 each pair is a line up
    to its finite mass. The supremum of two pairs may be flatter than one of them (whose infinite mass is smaller), and
    end below it: it gets what it lacks to the largest finite mass at the first point, and is a line above both ends.

    - pairs: At least one; grids must have this step.
    - step: The grid spacing in nats.

    Returns: For upper bounds only: no single pair need attain the supremum.
    """
    if not pairs:
        raise ValueError("pairs is empty, but must hold at least one distribution.")
    grids = [pair if isinstance(pair, GridPrivacyLoss) else connect_the_dots(pair, step) for pair in pairs]
    infinite = max(grid.unbounded_mass for grid in grids)
    error = max(grid.relative_error for grid in grids)
    bounds = functools.reduce(operator.and_, (grid.bounds for grid in grids), Bounds.UPPER)
    grids = [grid for grid in grids if grid.indices.size] or grids[:1]
    loss_error = max(grid.loss_error for grid in grids)
    if len(grids) == 1:
        only = grids[0]
        return GridPrivacyLoss(step, only.indices, only.masses, 0.0, infinite, error, loss_error, 0.0, bounds)
    first = min(int(grid.indices[0]) for grid in grids) - 1
    last = max(int(grid.indices[-1]) for grid in grids)
    size = cell_count("dominating_grid", last - first + 1)
    best = np.full(size, -1.0)
    owner = np.zeros(size, dtype=np.int64)
    cells = np.zeros(size)
    for number, grid in enumerate(grids):
        # The mass that this pair lacks and another has at infinity is no part of the comparison: it is charged to all.
        profile = grid.profile(first, last)
        # Rounding must not make the owner flicker where two profiles agree.
        better = profile > best * (1.0 + _TIE)
        best[better] = profile[better]
        owner[better] = number
        own = np.zeros(size)
        own[grid.indices - first] = grid.masses
        cells[better] = own[better]
    masses = _masses_of_supremum(best, owner, cells, step)
    most = max(float(grid.masses.sum()) for grid in grids)
    lacking = most - float(masses.sum())
    if lacking > _TIE * most:
        masses[0] = lacking
    indices = np.flatnonzero(masses) + first
    return GridPrivacyLoss(
        step,
        indices,
        masses[masses > 0],
        0.0,
        infinite,
        error + 2.0 * _TIE + _shortfall(best, masses, step),
        loss_error,
        0.0,
        bounds,
    )


def _masses_of_supremum(
    best: NDArray[np.float64], owner: NDArray[np.int64], cells: NDArray[np.float64], step: float
) -> NDArray[np.float64]:
    """Return the masses whose profile is `best` (at consecutive grid points).

    Where one pair is the maximum at a point and at both neighbours, the mass is that pair's own: no differences. Only
    where the maximum changes hands is the mass computed from second differences. The first point lies below every atom
    and gets none here: up to the second, each profile is a line in e^eps.
    """
    shrink = -np.expm1(-step)
    # delta_{i-1} - delta_i = (1 - e^{-h}) slope_i, and slope_i = m_i + e^{-h} slope_{i+1}.
    slopes = np.append((best[:-1] - best[1:]) / shrink, 0.0)
    from_differences = np.maximum(slopes[:-1] - np.exp(-step) * slopes[1:], 0.0)
    masses = cells.copy()
    changes = np.zeros(best.size, dtype=bool)
    changes[1:] |= owner[1:] != owner[:-1]
    changes[:-1] |= owner[:-1] != owner[1:]
    inner = np.flatnonzero(changes[1:]) + 1
    masses[inner] = from_differences[inner - 1]
    return masses


def _shortfall(best: NDArray[np.float64], masses: NDArray[np.float64], step: float) -> float:
    """Return by how much the masses must grow, relatively, for their profile to reach `best` at every grid point."""
    reached = _profile(masses, step)
    needed = best > 0
    # Of both, and of their quotient.
    rounding = 2.0 * _profile_error(best.size) + 4.0 * UNIT
    if (needed & (reached <= 0)).any():
        raise CapacityError("the worst of several pairs does not fit on a grid; use a smaller step.")
    return float(max(np.max(best[needed] / reached[needed], initial=1.0) - 1.0, 0.0)) + rounding
