"""Which likelihood ratios are kept where laws of many steps are merged: floats of few digits, most of them around 1."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError

__all__ = ["MOST", "RatioGrid"]

Floats = NDArray[np.float64]

_DIGITS, MOST = 8, 6000
"""Of the ratios that are kept, in base 2, and about how many there are at most, but for those of the next ones."""
_PER_DEVIATION, _DEVIATIONS = 96, 8.0
"""How many more there are in a standard deviation of the ratio, and how far from its mean; beyond, fewer."""
_LONGEST = 2**22
"""Of the table in which they are looked up."""


class RatioGrid(NamedTuple):
    """Increasing ratios that are floats of few digits, so that the digits of another tell which it lies between."""

    points: Floats
    places: NDArray[np.intp]
    first: int
    shift: int

    @classmethod
    def over(cls, lowest: float, highest: float, deviation: float, coarser: int = 0) -> RatioGrid:
        """Return ratios around all from the lowest to the highest, closer around 1, where most of the mass is.

        - coarser: By how many digits, in base 2.

        Raises CapacityError if they are no positive floats.
        """
        if not 0.0 < lowest <= highest < math.inf:
            raise CapacityError("steps together have losses beyond the range of floats; more noise has less.")
        octaves = max(math.log2(highest) - math.log2(lowest), 1e-9)
        far = max(min(_DIGITS, int(math.log2(MOST / (octaves + 1.0)))) - coarser, 0)
        near = min(math.ceil(math.log2(_PER_DEVIATION / deviation)) - coarser, 52, int(math.log2(_LONGEST / octaves)))
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
