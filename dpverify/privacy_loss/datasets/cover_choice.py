"""Which cover of a family bounds joint changes most closely: a guess, as each of them covers every pair by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.datasets.covers import Covers, Entry, members
from dpverify.privacy_loss.joint.bit_change import FullChange
from dpverify.privacy_loss.joint.change_rates import ChangeGrid, looseness
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.characteristic import LossAtoms, all_faded
from dpverify.privacy_loss.windows.contour import Contour
from dpverify.privacy_loss.windows.grid import dominating_grid
from dpverify.privacy_loss.windows.saddle import total_loss
from dpverify.rounding import SUBNORMAL

__all__ = ["SMOOTHING", "loss_grid", "sharpest"]

Floats = NDArray[np.float64]
Pairs = Sequence[PrivacyLossDistribution]

SMOOTHING = 1.2e-3
"""The extra variance of the total loss, relatively: half of that is what it costs of epsilon."""
_CELLS_PER_DEVIATION = 20.0
_MOST_CELLS = 4000.0
_SMALLEST_STEP = 1e-12
_TILTS = np.linspace(0.7, 1.3, 13)
"""Where covers are compared, as shares of the tilt of full changes."""
_SIZES = 6
"""Of moves by which they are compared: twice as many chose the same cover in twelve of twelve accounts."""
_FADED = 3e-3
"""The share of delta that may fade."""
_WORTH = 2e-4
"""How much of epsilon another pair must gain, relatively, as each takes its time."""


def loss_grid(pairs: Pairs) -> tuple[float, float, float]:
    """Return the largest standard deviation, the largest loss, and the step of a grid of losses, in nats.

    - pairs: At least one.
    """
    spread, largest = max(map(_standard_deviation, pairs)), max(pair.largest_loss for pair in pairs)
    return spread, largest, max(spread / _CELLS_PER_DEVIATION, 2.0 * largest / _MOST_CELLS, _SMALLEST_STEP)


def sharpest(covers: Covers, grid: ChangeGrid, delta: float, cut: float) -> Sequence[Entry]:
    """Return the choice of a family's covers whose bound on joint changes is likely the least.

    - covers: The choices are itself, its `others`, and its `pieces` where T^2 allows for so many moves that no single
      one counts.
    - grid: Of the changes.
    - delta: Where accuracy is wanted.
    - cut: The mass that every pair may lose on each side.
    """
    many = looseness(grid.change) <= 1.0
    covering: list[Sequence[Entry]] = [covers, *covers.others, *(covers.pieces if many else ())]
    if len(covering) == 1:
        return covers
    choices = [[pair.trimmed(cut) for entry in entries for pair in members(entry)] for entries in covering]
    square = grid.change.squared_change
    totals = [total_loss([(pair, max(round(square), 1))]) for pair in choices[0]]
    _, tilt, deviation = max(total.saddle_point(delta) for total in totals)
    if many:
        guesses = [_of_like_moves(pairs, grid, delta, _TILTS * tilt) * (1.0 + _WORTH * len(pairs)) for pairs in choices]
    else:
        # Next to all of the mass may lie at one loss.
        deviation = max(deviation, _SMALLEST_STEP)
        contour = Contour.at(tilt, deviation, SMOOTHING * deviation**2)
        guesses = [_of_full_changes(pairs, square, contour) for pairs in choices]
    return covering[int(np.argmin(guesses))]


def _of_full_changes(pairs: Pairs, square: float, contour: Contour) -> float:
    """Return the exponent of T^2 full changes, the worst pair counting at every node."""
    lines = [LossAtoms.of(pair.losses, pair.masses).along(contour.nodes).log_moduli for pair in pairs]
    return float(contour.log_integral(square * np.max(lines, axis=0)))


def _of_like_moves(pairs: Pairs, grid: ChangeGrid, delta: float, tilts: Floats) -> float:
    """Return the largest epsilon at delta, about, of changes all moves of which are alike, at the best of the tilts."""
    places = np.unique(np.linspace(0, grid.sizes.size - 1, _SIZES).astype(int))
    levels = [grid.moves(int(index)) for index in places]
    moves = [row[len(row) // 2][1] for row in levels]
    shares = np.minimum(grid.change.squared_change / grid.sizes[places] ** 2, grid.change.coordinates)
    shares = np.repeat(shares, [len(each) for each in moves])
    every, none = [move for each in moves for move in each], [False] * shares.size
    found = []
    for pair in pairs:
        atoms, _ = FullChange(dominating_grid([pair], loss_grid([pair])[-1])).all_moved(every, none)
        faded = all_faded(atoms, _FADED * delta / shares)
        found += [share * each.log_moments(tilts) for share, each in zip(shares, faded, strict=True)]
    exponents = np.array(found)
    variances = np.gradient(np.gradient(exponents, tilts, axis=1), tilts, axis=1)
    # The integral of a Gaussian along the line.
    logs = exponents - 0.5 * np.log(2.0 * math.pi * np.maximum(variances, SUBNORMAL)) - np.log(tilts * (1.0 + tilts))
    return float(np.min(np.max((logs - math.log(delta)) / tilts, axis=0)))


def _standard_deviation(pair: PrivacyLossDistribution) -> float:
    """Return that of the finite losses."""
    share = pair.masses / max(float(np.sum(pair.masses)), SUBNORMAL)
    mean = float(np.sum(share * pair.losses))
    return math.sqrt(float(np.sum(share * (pair.losses - mean) ** 2)))
