"""The losses of one instance and of moves, rounded, and the sums of their moduli: what lines are chosen by."""

from __future__ import annotations

import functools
import math
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass

__all__ = ["Floats", "Loss", "Sum", "short"]

Floats = NDArray[np.float64]

_PERIOD, _POLE = 8.0, 0.4
"""What the spacing is at most: by standard deviations of the total loss, and by the tilt."""
_LOG_TAIL = -16.0
"""Beyond the last height all has fallen to this, as a logarithm."""
_NEAR = 14.0
"""Beyond so many standard deviations' heights nothing is left of a sum that matters for choosing."""


@dataclass(frozen=True)
class Loss:
    """The losses of a pair and their probabilities, rounded: what lines are chosen by."""

    losses: Floats
    masses: Floats

    @classmethod
    def of(cls, after: Floats, before: Floats) -> Loss:
        """Return the loss of one law against another, of masses by outcome."""
        kept = (after > 1e-280) & (before > 1e-280)
        return cls(np.log(after[kept]) - np.log(before[kept]), after[kept])

    def below(self, top: float) -> Loss:
        """Return what is not above a loss."""
        return Loss(self.losses[self.losses <= top], self.masses[self.losses <= top])

    def moved(self, kind: int, size: float) -> Loss:
        """Return the losses of a bit that is 1 with some probability instead of 0, or surely instead of less so."""
        if kind:
            return Loss(-np.log1p(size * np.expm1(-self.losses)), self.masses)
        other = self.masses * np.exp(-self.losses)
        return Loss(np.log1p(size * np.expm1(self.losses)), (1.0 - size) * other + size * self.masses)

    def tilted(self, tilt: float) -> tuple[float, float]:
        """Return ln E e^(tilt loss), and the variance of the loss under that."""
        exponents = tilt * self.losses + np.log(np.maximum(self.masses, 1e-300))
        top = float(exponents.max())
        weights = np.exp(exponents - top)
        total = float(weights.sum())
        mean = float(weights @ self.losses) / total
        return top + math.log(total), float(weights @ (self.losses - mean) ** 2) / total

    def moduli(self, tilt: float, heights: Floats) -> Floats:
        """Return the logarithms of the moduli at some heights."""
        top = self.tilted(tilt)[0]
        weights = np.exp(tilt * self.losses + np.log(np.maximum(self.masses, 1e-300)) - top)
        found = np.abs(np.exp(1j * np.multiply.outer(heights, self.losses)) @ weights)
        return np.asarray(top + np.log(np.maximum(found, 1e-300)))

    def end(self, sign: float, left_out: float) -> float:
        """Return beyond which loss, below or above, so little is left."""
        order = np.argsort(-sign * self.losses)
        place = int(np.searchsorted(np.cumsum(self.masses[order]), left_out))
        return float(self.losses[order][min(place, order.size - 1)])


@dataclass(frozen=True)
class Sum:
    """A line of heights, as far as they matter for choosing."""

    tilt: float
    deviation: float

    @property
    def spacing(self) -> float:
        """How far heights are apart."""
        return min(2.0 * math.pi / (_PERIOD * self.deviation), _POLE * self.tilt)

    @functools.cached_property
    def heights(self) -> Floats:
        """Those that matter."""
        return np.asarray(self.spacing * np.arange(math.ceil(_NEAR / self.deviation / self.spacing) + 1))

    def of(self, exponents: Floats) -> float:
        """Return about the logarithm of the sum, given logarithms of moduli."""
        kernel = np.sqrt((self.tilt**2 + self.heights**2) * ((1.0 + self.tilt) ** 2 + self.heights**2))
        weights = self.spacing / math.pi / kernel
        weights[0] /= 2.0
        return float(exponents[0] + np.log(weights @ np.exp(exponents - exponents[0])))

    def typed(self, smoothing: float) -> dict[str, Any]:
        """Return the line's fields, given what is added to the variance, of it."""
        added = smoothing * self.deviation**2
        heights = math.ceil(math.sqrt(-2.0 * _LOG_TAIL / added) / self.spacing) + 1
        return {
            "tilt": short(self.tilt, 7),
            "spacing": short(self.spacing, 7),
            "heights": min(heights, 4096),
            "smoothing": short(added, 3),
        }


def short(number: float, digits: int) -> str:
    """Return a number as the checker reads short ones, rounded up."""
    given = Decimal(number)
    places = Decimal(1).scaleb(max(given.adjusted() - digits + 1, -12))
    return format(given.quantize(places, ROUND_CEILING).normalize(), "f")
