"""Cells of outcomes, of which the masses and two ends of all losses are known, as a pair from above and one from below.

- *upper*: each cell's P1 and P0 are moved, both masses kept, to two losses of a grid, one on either side of all losses
  in the cell: the true view is post-processing of that.
- *lower*: a cell is reported only by its step of the same grid, which is post-processing of the view.

What separates them is of second order in the size of the cells.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.rounding import UNIT

__all__ = ["Cells", "Enclosure", "enclosed"]

Floats = NDArray[np.float64]

_STEPS_PER_CELL = 4.0
_MOST_STEPS = 2.0**16
_EVEN = 4.0
"""For about how many standard deviations of the loss the grid is even."""
_LEAST = 2.0**-40
_TOLD_APART = 2.0**-36
"""How far apart grid points are at least, as a share of the farthest."""


class Enclosure(NamedTuple):
    """Two pairs, of which the first dominates the true one and the second is dominated by it."""

    upper: Directions
    lower: Directions


class Cells(NamedTuple):
    """What is known of the cells that are kept, shape (cells,), and of the rest.

    - one, zero: P1 and P0 of each cell, of relative error `error`.
    - low, high: Between which all losses in a cell lie, each up to twice that error.
    - infinite: P0 of where P1 is 0, of the same relative error.
    - missing: Upper bounds on what P1 and P0 have elsewhere.
    """

    one: Floats
    zero: Floats
    low: Floats
    high: Floats
    infinite: float
    missing: tuple[float, float]
    error: float


def enclosed(cells: Cells, resolution: float) -> Enclosure:
    """Put cells on a grid of losses, from above and from below.

    - cells: What is known of them.
    - resolution: In how many cells the loss changes by about one of its standard deviations.
    """
    one, zero = cells.one, cells.zero
    if not one.size:
        nothing = np.zeros(0)
        none = _directions(nothing, nothing, nothing, cells, 0.0)
        return Enclosure(none, none)
    losses = np.log(one / zero)
    low, high = np.minimum(cells.low, losses), np.maximum(cells.high, losses)
    largest = float(max(-low.min(), high.max(), 0.0))
    mean = float(np.sum(one * losses))
    deviation = math.sqrt(float(np.sum(one * (losses - mean) ** 2)))
    scale = max(_EVEN * deviation, abs(mean), _LEAST)
    # A cell's loss, and each end, is off by two errors of a mass and a few units.
    loss_error = 2.0 * cells.error + 16.0 * UNIT * (1.0 + largest + scale)
    # So far off that the true losses are within, also where the grid's are moved by the error.
    low, high = low - 3.0 * loss_error, high + 3.0 * loss_error
    first, last = math.asinh(float(low.min()) / scale), math.asinh(float(high.max()) / scale)
    # Nor so fine that places, and losses next to equal, could not be told apart.
    finest = _TOLD_APART * max(abs(first), abs(last))
    pitch = max(deviation / (_STEPS_PER_CELL * resolution * scale), (last - first) / _MOST_STEPS, finest)
    # Even up to a few deviations, and from there on, where there is less, in proportion to the loss.
    places = np.arange(math.floor(first / pitch) - 1, math.ceil(last / pitch) + 2, dtype=np.float64)
    grid = scale * np.sinh(pitch * places)
    below, above = np.searchsorted(grid, low, side="right") - 1, np.searchsorted(grid, high)
    gone, left, span = losses - grid[below], grid[above] - losses, grid[above] - grid[below]
    upwards, downwards = np.expm1(-gone) / np.expm1(-span), np.expm1(-left) / np.expm1(-span)

    def moved(up: Floats, down: Floats) -> Floats:
        return np.asarray(np.bincount(above, up, grid.size) + np.bincount(below, down, grid.size), dtype=np.float64)

    upper = _directions(
        grid,
        moved(one * upwards, one * downwards * np.exp(-gone)),
        moved(zero * upwards * np.exp(-left), zero * downwards),
        cells,
        loss_error,
    )
    at = np.rint(np.arcsinh(losses / scale) / pitch).astype(np.int64)
    at -= at.min()
    one, zero = (np.asarray(np.bincount(at, mass), dtype=np.float64) for mass in (one, zero))
    one, zero = one[one > 0.0], zero[one > 0.0]
    # Sums of all cells at most, each term of which has the error of a mass.
    summed = 2.0 * losses.size * UNIT
    return Enclosure(upper, _directions(np.log(one / zero), one, zero, cells, loss_error + summed))


def _directions(losses: Floats, one: Floats, zero: Floats, cells: Cells, loss_error: float) -> Directions:
    """Return both directions of a pair with these outcomes, and the infinite and missing masses of the cells."""
    relative_error = cells.error + (cells.one.size + 64.0) * UNIT
    return Directions(
        PrivacyLossDistribution.from_atoms(
            losses, one, 0.0, cells.missing[0], relative_error=relative_error, loss_error=loss_error
        ),
        PrivacyLossDistribution.from_atoms(
            -losses, zero, cells.infinite, cells.missing[1], relative_error=relative_error, loss_error=loss_error
        ),
    )
