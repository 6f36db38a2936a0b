"""Normal noise on a sum that moves by a random amount: the mixture of several places against none, on cells in Arb.

The likelihood ratio `r(y) = sum_i p_i e^(c_i y - c_i^2/2)`, for moves c_i >= 0 in deviations, rises with y. A cell
whose ends have the ratios r0 and r1 holds a mass m of the noise and n of the mixture. Split between both ends,
`(n - r0 m) / (r1 - r0)` above and the rest below, it keeps both masses and reveals no less; as one outcome it reveals
no more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dpverify.formulas.contexts import arb_context, upper_float
from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.rounding import UNIT

__all__ = ["MixedNoise"]

_BITS = 320
_PER_DEVIATION, _MOST = 96, 2**18
"""Cells in a deviation, and how many there are at most, times the number of places."""
_LARGEST_LOSS = 600.0
"""Beyond it masses leave the floats."""


class MixedNoise:
    """Normal noise around 0, around a random place, and around its opposite, on cells that are symmetric around 0.

    - deviation: Of the noise.
    - places, weights: What the sum moves by, none negative, and how likely each is, relative to all weights.
    - tail: What any of the laws may have outside of all cells.

    Raises CapacityError for so little noise that floats do not hold the masses, and for too many places.
    """

    def __init__(self, deviation: float, places: Sequence[float], weights: Sequence[float], tail: float) -> None:
        moves = [place / deviation for place in places]
        end = math.sqrt(2.0 * math.log(2.0 / tail)) + max(moves)
        self._count = 2 * math.ceil(end * _PER_DEVIATION)
        largest = max(moves) * (end + 0.5 * max(moves))
        if largest > _LARGEST_LOSS:
            raise CapacityError(
                f"moves of {max(moves):.4g} deviations have losses of {largest:.4g}, and floats hold up to "
                f"{_LARGEST_LOSS:g}; more noise has less."
            )
        if self._count * len(places) > _MOST:
            raise CapacityError(f"{len(places)} places on {self._count:,} cells are more than {_MOST:,}.")
        whole = sum(map(Fraction, weights), Fraction(0))
        shares = [Fraction(weight) / whole for weight in weights]
        self._edges = [end * at / (self._count // 2) for at in range(-(self._count // 2), self._count // 2 + 1)]
        with arb_context(_BITS):
            self._shares = [arb(fmpq(share.numerator, share.denominator)) for share in shares]
            self._moves = [arb(place) / arb(deviation) for place in places]
            self._gone, gone_beyond = self._masses(arb(0))
            parts = [self._masses(move) for move in self._moves]
            self._there = [self._mean([part[at] for part, _ in parts]) for at in range(self._count)]
            self._beyond = self._mean([beyond for _, beyond in parts]), gone_beyond

    def _mean(self, values: Sequence[arb]) -> arb:
        return sum((share * value for share, value in zip(self._shares, values, strict=True)), arb(0))

    def _masses(self, place: arb) -> tuple[list[arb], arb]:
        """Return what noise around a place has in each cell, and in none."""
        root = arb(2).sqrt()
        away = [(arb(edge) - place) / root for edge in self._edges]
        # Of whichever side is small, so that differences keep their digits.
        sides = [x.erfc() / 2 if x > 0 else (-x).erfc() / 2 for x in away]
        cells = []
        for (x, first), (y, second) in itertools.pairwise(zip(away, sides, strict=True)):
            cells.append(first - second if x > 0 else second - first if not y > 0 else 1 - first - second)
        return cells, sides[0] + sides[-1]

    def above(self) -> Directions:
        """Return both directions of a sum that moves, as lists that dominate; what is in no cell is missing."""
        with arb_context(_BITS):
            ratios = [
                self._mean([(move * edge - move * move / 2).exp() for move in self._moves])
                for edge in map(arb, self._edges)
            ]
            masses = [arb(0)] * len(ratios)
            for at, (low, high) in enumerate(itertools.pairwise(ratios)):
                gone, there = self._gone[at], self._there[at]
                masses[at] += (high * gone - there) / (high - low)
                masses[at + 1] += (there - low * gone) / (high - low)
            losses = _floats([ratio.log() for ratio in ratios], absolute=True)
            first, second = _floats([r * m for r, m in zip(ratios, masses, strict=True)]), _floats(masses)
            missing = [upper_float(beyond) for beyond in self._beyond]
        error = 4.0 * UNIT * (1.0 + float(np.abs(losses).max()))
        return Directions(
            *(
                PrivacyLossDistribution.from_atoms(
                    sign * losses, law, 0.0, left, relative_error=4.0 * UNIT, loss_error=error
                )
                for sign, law, left in ((1.0, first, missing[0]), (-1.0, second, missing[1]))
            )
        )

    def below(self) -> Directions:
        """Return both directions of a sum that moves, told by cells: attained."""
        there, gone, _ = self._laws()
        return Directions(_listed(there, gone), _listed(gone, there))

    def opposite(self) -> PrivacyLossDistribution:
        """Return a sum that moves against one that moves to the other side, told by cells: attained."""
        there, _, opposite = self._laws()
        return _listed(there, opposite)

    def _laws(self) -> NDArray[np.float64]:
        with arb_context(_BITS):
            there, gone = _floats(self._there), _floats(self._gone)
        return np.array([there, gone, there[::-1]])


def _listed(first: NDArray[np.float64], second: NDArray[np.float64]) -> PrivacyLossDistribution:
    """Return the list of two laws on cells; cells in which floats hold either badly are missing, as are tails."""
    kept = np.minimum(first, second) > 1e-290
    missing = max(1.0 - math.fsum(first[kept]) * (1.0 - 8.0 * UNIT), 0.0) + 8.0 * UNIT
    return PrivacyLossDistribution.from_pmfs(first[kept], second[kept], missing_mass=missing, relative_error=4.0 * UNIT)


def _floats(balls: Sequence[arb], *, absolute: bool = False) -> NDArray[np.float64]:
    """Return balls as floats; raise CapacityError where they are too wide for themselves, or for 1 if that will do."""
    for ball in balls:
        if float(ball.rad()) > 1e-18 * max(abs(float(ball.mid())), 1.0 if absolute else 1e-300):
            raise CapacityError(
                f"{_BITS} bits are not enough for a mass of {float(ball.mid()):.4g}; more noise needs less."
            )
    return np.array([float(ball.mid()) for ball in balls])
