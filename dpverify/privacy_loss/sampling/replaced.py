"""A record that is replaced in steps in which it is by chance: through nothing in its place, and what is attained.

For any `d > 0`, `H_a(P || Q) <= H_d(P || P0) + d H_(a/d)(P0 || Q)` with `a` and `d` the powers of e: of an event the
first bounds `P - d P0` and the second `P0 - (a/d) Q`. With U = P/P0 and V = Q/P0 that is the mean of `(U - d)_+` and of
`(d - a V)_+` under P0. At the best d their sum is the mean of `(U - a V)_+` where the laws of U and V are joined so
that V falls while U rises: one pair for all `a`, which composes. docs/sampling.md has the proofs.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.formulas.contexts import arb_context
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.several import attained_by_several
from dpverify.privacy_loss.sampling.triples import NoiseTriple
from dpverify.rounding import UNIT

__all__ = ["normal_cells", "replaced_above", "replaced_below"]

_CELLS, _FAR = 1600, 12.0
"""At most so many cells of normal noise; so many deviations beyond both places the last ones begin."""
_LEAST = 1e-140
"""What is less is left out of a list."""
_WIDTH = 1.0 / 24.0
"""Of a cell, in deviations, if so many are enough."""


def replaced_above(pair: Directions) -> PrivacyLossDistribution:
    """Return a list that dominates replacing a record, in both directions, from those of removing and adding one.

    What either list lacks counts as if it told all.
    """
    up, down = pair
    above, below = np.argsort(-up.losses), np.argsort(-down.losses)  # U falls, V rises
    tops, bottoms = np.cumsum(up.reference_masses[above]), np.cumsum(down.masses[below]) + down.unbounded_mass
    ends = np.unique(np.concatenate([tops, bottoms, [down.unbounded_mass]]))
    masses = np.diff(ends, prepend=0.0)
    u_at, v_at = np.searchsorted(tops, ends), np.searchsorted(bottoms, ends)
    known = (u_at < tops.size) & (v_at < bottoms.size)
    masses, u_at, v_at = masses[known], u_at[known], v_at[known]
    first, second = up.losses[above][u_at], down.losses[below][v_at]  # ln U and -ln V
    told = ends[known] <= down.unbounded_mass  # V may be 0
    missing = up.unbounded_mass + float((masses[told] * np.exp(first[told])).sum())
    kept = ~told & (first + second > 0.0)
    masses, first, second = masses[kept], first[kept], second[kept]
    losses = np.concatenate([first + second, -(first + second)])
    found = np.concatenate([masses * np.exp(first), masses * np.exp(-second)])
    # Sums of many terms, a difference, a product and exp; a loss that errs makes the ratios err as much.
    most = float(np.abs(losses).max(initial=0.0))
    loss_error = up.loss_error + down.loss_error
    error = up.reference_error + down.relative_error / (1.0 - down.relative_error) + 2.0 * loss_error
    error = 1.01 * (error + (2.0 * ends.size + 32.0 + 4.0 * most) * UNIT)
    missing *= 1.0 + 2.0 * error
    # What is in neither half has no loss above 0 and none below; for a < 1 it has to be there.
    rest = max(1.0 - float(found.sum()) - missing, 0.0)
    return PrivacyLossDistribution.from_atoms(
        np.append(losses, 0.0),
        np.append(found, rest),
        0.0,
        missing,
        relative_error=error,
        loss_error=loss_error + 4.0 * UNIT * (1.0 + most),
    )


def replaced_below(cells: NoiseTriple, steps: int, chosen: int) -> PrivacyLossDistribution:
    """Return a list that is attained where a record that adds 1 is replaced by one that adds -1, in one direction.

    - cells: What one step tells: the masses of P0, P1 and P2.
    - steps, chosen: How many steps there are, and in how many of them the record is.
    """
    laws = np.array([cells.base, cells.one, cells.other])
    laws = laws[:, laws.min(axis=0) >= _LEAST]
    base, one, other = laws[:, np.argsort(laws[1] / laws[2], kind="stable")]
    error = 3.0 * cells.relative_error + 4.0 * UNIT
    return attained_by_several(one / base, base, error, steps, chosen, other / base).up


def normal_cells(deviation: float) -> NoiseTriple:
    """Return normal noise around 0, 1 and -1, rounded to cells: the masses of all of them."""
    with arb_context():
        shift = 1 / arb(deviation)
        end = _FAR + 1.0 / deviation
        count = min(math.ceil(2.0 * end / _WIDTH), _CELLS)
        # Cells of the upper half, and those below by symmetry.
        edges = [arb(end * at * 2.0 / count) for at in range((count + 1) // 2)]
        root = arb(2).sqrt()

        def masses(place: arb) -> NDArray[np.float64]:
            above = [((edge - place) / root).erfc() / 2 for edge in edges] + [arb(0)]
            return np.array([float((first - second).mid()) for first, second in itertools.pairwise(above)])

        base, one, other = masses(arb(0)), masses(shift), masses(-shift)
    return NoiseTriple(
        np.concatenate([base[::-1], base]),
        np.concatenate([other[::-1], one]),
        np.concatenate([one[::-1], other]),
        0.0,
        4.0 * UNIT,
    )
