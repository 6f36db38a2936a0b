"""The Gaussian kernel by random Fourier features (wagner2025, section 2.3 and Algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from protocols.lsq.base import LSQFamily, LSQFeatures
from protocols.validation import check_generator, check_integer, check_real

__all__ = ["GaussianFeatures"]


@dataclass(frozen=True)
class GaussianFeatures(LSQFamily):
    """`k(x, y) = exp(-||x - y||^2 / bandwidth^2)` is exactly (1, sqrt 2, 1)-LSQable.

    A pair is `f(x) = g(x) = sqrt(2) cos(sqrt(2) w . x / bandwidth + b)` with w ~ N(0, I_d) and b ~ U[0, 2 pi): the
    phases' difference is N(0, 2 ||x - y||^2 / bandwidth^2) and the phases' sum is uniform, so `E[f(x) g(y)] = k(x, y)`.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    bandwidth : float
        In (0, inf), in the units of the points; wagner2025 has bandwidth 1.
    """

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("bandwidth", self.bandwidth, low=0.0, low_open=True)

    @property
    def Q(self) -> int:  # noqa: D102
        return 1

    @property
    def R(self) -> float:  # noqa: D102
        return math.sqrt(2.0)

    @property
    def S(self) -> int:  # noqa: D102
        return 1

    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(-np.square(scipy.spatial.distance.cdist(x, y) / self.bandwidth)))

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:  # noqa: D102
        count = check_integer("instances", instances, low=1)
        check_generator("rng", rng)
        frequencies = rng.standard_normal((count, self.dimension)) * (math.sqrt(2.0) / self.bandwidth)
        return _Cosines(self, count, frequencies, rng.uniform(0.0, 2.0 * math.pi, count))


@dataclass(frozen=True, eq=False)
class _Cosines(LSQFeatures):
    frequencies: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses features that are not finite
            values = x @ self.frequencies.T
            values += self.offsets
            np.cos(values, out=values)
        values *= self.family.R
        return values

    def _g(self, y: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return self._f(y, name)
