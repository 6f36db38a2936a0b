"""The search that calibrations share."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["smallest"]


def smallest(holds: Callable[[float], bool], start: float, ceiling: float, tolerance: float) -> float | None:
    """Return the least positive argument, within a relative tolerance, at which a predicate holds, or None.

    Gallops from `start`, because the predicate costs more the larger its argument. Every argument that is returned was
    tried and held; below 1e-12 no smaller one is looked for.
    """
    high = min(start, ceiling)
    low = None
    while not holds(high):
        if high >= ceiling:
            return None
        low, high = high, min(2.0 * high, ceiling)
    while low is None and high > 1e-12:
        if holds(high / 2.0):
            high /= 2.0
        else:
            low = high / 2.0
    while low is not None and high > low * (1.0 + tolerance):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
