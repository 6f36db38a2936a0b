"""Laws with a density on the real line, as reports with continuous noise have them."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["Cells", "ContinuousLaw", "Gaussian", "Laplace"]

_STEPS = 2.0**26
"""Steps of a cell whose low digits are looked at: far above the last bits of a float, far below what a law may show."""


class ContinuousLaw(Protocol):
    """A probability law with a density."""

    def log_density(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the natural logarithm of the density at each y."""

    def cdf(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of what is at most y, for each y."""

    def survival(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of what is above y, for each y, without the cancellation of 1 - cdf."""


@dataclass(frozen=True)
class Laplace:
    """The Laplace law, of density `e^(-|y - location| / scale) / (2 scale)` and variance `2 scale^2`."""

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

    def survival(self, y: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        return self.cdf(2.0 * self.location - np.asarray(y, dtype=np.float64))

    def _reduced(self, y: ArrayLike) -> NDArray[np.float64]:
        return np.asarray((np.asarray(y, dtype=np.float64) - self.location) / self.scale)


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian law, of density `e^(-(y - mean)^2 / (2 sigma^2)) / (sigma sqrt(2 pi))`."""

    mean: float
    sigma: float

    def __post_init__(self) -> None:
        check_real("mean", self.mean)
        check_real("sigma", self.sigma, low=0.0, low_open=True)

    def log_density(self, y: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        return -0.5 * self._reduced(y) ** 2 - math.log(self.sigma * math.sqrt(2.0 * math.pi))

    def cdf(self, y: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        return np.asarray(scipy.special.ndtr(self._reduced(y)))

    def survival(self, y: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        return np.asarray(scipy.special.ndtr(-self._reduced(y)))

    def _reduced(self, y: ArrayLike) -> NDArray[np.float64]:
        return np.asarray((np.asarray(y, dtype=np.float64) - self.mean) / self.sigma)


@dataclass(frozen=True)
class Cells:
    """The real line cut into numbered cells of one width, beyond an outermost one on each side.

    - centre, width: A cell's lower edge, of number 0, and the width.
    - reach: How many cells there are on either side of the centre, the outermost included.
    - residues: Into how many classes a cell is divided by its low digits, in steps of 2^-26 of its width: floats that
      are coarser than their law shows, as those of half precision are, crowd into some of them.
    """

    centre: float
    width: float
    reach: int
    residues: int = 1

    def number(self, y: ArrayLike) -> NDArray[np.int64]:
        """Return the number, in residues * [-reach, reach), of the class of the cell that each y is in."""
        place = (np.asarray(y, dtype=np.float64) - self.centre) / self.width
        at = np.clip(np.floor(place), -self.reach, self.reach - 1).astype(np.int64)
        return np.asarray(at * self.residues + np.floor(place * _STEPS).astype(np.int64) % self.residues)

    def law(self, of: ContinuousLaw) -> DiscreteLaw:
        """Return the law of the number.

        A density that changes by a factor of at most e^s over a cell gives its classes chances that are equal up to a
        factor of e^(s residues 2^-26), and the grid of the floats moves them by some 1e-7 of their size.
        """
        edges = self.centre + self.width * np.arange(1 - self.reach, self.reach)
        below, above = np.append(of.cdf(edges), 1.0), np.append(1.0, of.survival(edges))
        masses = np.where(below < 0.5, np.diff(below, prepend=0.0), above - np.append(above[1:], 0.0))
        numbers = np.arange(-self.reach * self.residues, self.reach * self.residues)
        return DiscreteLaw.of(numbers, np.repeat(masses / self.residues, self.residues))
