"""The Gaussian kernel by random Fourier features (wagner2025, section 2.3 and Algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import field

import numpy as np
import scipy
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq.base import LSQFamily, LSQFeatures
from protocols.validation import check_generator, check_integer

__all__ = ["FourierPairs", "GaussianFeatures", "GaussianKernel"]


@dataclass(frozen=True)
class GaussianKernel(LSQFamily):
    """The kernel `exp(-||x - y||^2 / bandwidth^2)` and its random phases."""

    bandwidth: float = field(default=1.0, metadata={"within": "(0, inf)"})

    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):  # the kernel is 0 there
            return np.asarray(np.exp(-np.square(scipy.spatial.distance.cdist(x, y) / self.bandwidth)))

    def _phases(self, instances: int, rng: np.random.Generator) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        """Return the checked I, the frequencies and the offsets."""
        count = check_integer("instances", instances, low=1)
        check_generator("rng", rng)
        frequencies = rng.standard_normal((count, self.dimension)) * (math.sqrt(2.0) / self.bandwidth)
        return count, frequencies, rng.uniform(0.0, 2.0 * math.pi, count)


@dataclass(frozen=True)
class GaussianFeatures(GaussianKernel):
    """`k(x, y) = exp(-||x - y||^2 / bandwidth^2)` is exactly (1, sqrt 2, 1)-LSQable.

    A pair is `f(x) = g(x) = sqrt(2) cos(sqrt(2) w . x / bandwidth + b)` with w ~ N(0, I_d) and b ~ U[0, 2 pi): the
    phases' difference is N(0, 2 ||x - y||^2 / bandwidth^2) and the phases' sum is uniform, so `E[f(x) g(y)] = k(x, y)`.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    bandwidth : float
        In (0, inf), in the units of the points; wagner2025 has bandwidth 1.
    radius, outside
        See `LSQFamily`.

    Examples
    --------
    >>> import numpy as np
    >>> family = GaussianFeatures(dimension=2)
    >>> x, y = np.array([[0.6, 0.8]]), np.array([[0.8, 0.6]])
    >>> print(f"{float(family.kernel(x, y).squeeze()):.3f}")
    0.923
    """

    @property
    def Q(self) -> int:  # noqa: D102
        return 1

    @property
    def R(self) -> float:  # noqa: D102
        return math.sqrt(2.0)

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:  # noqa: D102
        return Cosines(self, *self._phases(instances, rng))


@dataclass(frozen=True)
class FourierPairs(GaussianKernel):
    """`k(x, y) = exp(-||x - y||^2 / bandwidth^2)` is exactly (2, 1, 2)-LSQable, by features of one norm.

    A pair is `f(x) = g(x) = (cos, sin)(sqrt(2) w . x / bandwidth + b)` with w ~ N(0, I_d) and b ~ U[0, 2 pi), so that
    `f(x) . g(y)` is the cosine of the phases' difference, whose mean is k(x, y). The offset b changes nothing but the
    error of randomized rounding, which it makes the same wherever the points are.

    As `|f(x)|^2 = 1` for all x, replacing a point changes the 2 I bits by I full changes at most, in the sense of
    `dpverify.changes.L2Bounded`: half of what as many bits of `GaussianFeatures` may change by. The error is smaller,
    too.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    bandwidth : float
        In (0, inf), in the units of the points.
    radius, outside
        See `LSQFamily`.

    Examples
    --------
    >>> import numpy as np
    >>> family = FourierPairs(dimension=2)
    >>> x, y = np.array([[0.6, 0.8]]), np.array([[0.8, 0.6]])
    >>> print(f"{float(family.kernel(x, y).squeeze()):.3f}")
    0.923
    """

    @property
    def Q(self) -> int:  # noqa: D102
        return 2

    @property
    def R(self) -> float:  # noqa: D102
        return 1.0

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:  # noqa: D102
        return Pairs(self, *self._phases(instances, rng))


@dataclass(frozen=True, eq=False)
class Cosines(LSQFeatures):
    """The features of `GaussianFeatures`: `sqrt(2) w / bandwidth`, shape (instances, dimension), and the offsets b."""

    family: GaussianKernel
    frequencies: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def _angles(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        values = x @ self.frequencies.T
        values += self.offsets
        return np.asarray(values)

    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses features that are not finite
            values = self._angles(x)
            np.cos(values, out=values)
        values *= self.family.R
        return values

    def _g(self, y: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return self._f(y, name)


class Pairs(Cosines):
    """The features of `FourierPairs`."""

    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._angles(x)
            return np.stack([np.cos(values), np.sin(values)], axis=2)
