"""Laws with a density on the real line, as reports with continuous noise have them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.validation import check_real

__all__ = ["ContinuousLaw", "Laplace"]


class ContinuousLaw(Protocol):
    """A probability law with a density."""

    def log_density(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the natural logarithm of the density at each y."""

    def cdf(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of what is at most y, for each y."""


@dataclass(frozen=True)
class Laplace:
    """The Laplace law, of density `e^(-|y - location| / scale) / (2 scale)`.

    Parameters
    ----------
    location : float
        Its mean and median.
    scale : float
        b > 0; the variance is 2 b^2.
    """

    location: float
    scale: float

    def __post_init__(self) -> None:
        check_real("location", self.location)
        check_real("scale", self.scale, low=0.0, low_open=True)

    def log_density(self, y: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        return -np.abs(self._reduced(y)) - math.log(2.0 * self.scale)

    def cdf(self, y: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        z = self._reduced(y)
        half = 0.5 * np.exp(-np.abs(z))
        return np.asarray(np.where(z < 0.0, half, 1.0 - half))

    def _reduced(self, y: ArrayLike) -> NDArray[np.float64]:
        return np.asarray((np.asarray(y, dtype=np.float64) - self.location) / self.scale)
