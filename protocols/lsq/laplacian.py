"""The Laplacian kernel by random binning (rahimi2007, section 4), hashed to buckets (wagner2025, section 2.3)."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq.base import LSQFeatures
from protocols.lsq.hashing import CellHash, HashedPartition, OneHotFeatures
from protocols.validation import check_generator, check_integer

__all__ = ["LaplacianBinning"]

_REACH = 2.0**20
_SMALLEST_PITCH = 2.0**-30


@dataclass(frozen=True)
class LaplacianBinning(HashedPartition):
    """`k(x, y) = exp(-||x - y||_1 / bandwidth)` by a randomly shifted grid, hashed to Q buckets.

    Every coordinate has its own pitch w ~ Gamma(2), of density `w e^(-w)` in bandwidths, and a uniform shift. Given w,
    two numbers at distance t < w share a cell with probability 1 - t/w, and `integral_t^inf (w - t) e^(-w) dw
    = e^(-t)`. Points share a cell if all their coordinates do, hence with probability k(x, y).

    Points and queries must lie within 2^20 bandwidths of 0 in every coordinate, so that cells are exact integers.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    bandwidth : float
        In (0, inf), in the units of the points.
    buckets : int
        Q, in how many buckets the cells are hashed; at least 2, or 1 with signs.
    signed : bool
        Whether cells have random signs, so that different ones do not add up in a bucket on average.
    radius, outside
        See `LSQFamily`.

    Examples
    --------
    >>> import numpy as np
    >>> family = LaplacianBinning(dimension=2)
    >>> x, y = np.array([[0.6, 0.8]]), np.array([[0.8, 0.6]])
    >>> print(f"{float(family.kernel(x, y).squeeze()):.3f}")
    0.670
    """

    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(-scipy.spatial.distance.cdist(x, y, "cityblock") / self.bandwidth))

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:  # noqa: D102
        count = check_integer("instances", instances, low=1)
        check_generator("rng", rng)
        shape = (self.dimension, count)
        # The cut has probability 2^-61 per pitch.
        rates = 1.0 / (self.bandwidth * np.maximum(rng.gamma(2.0, size=shape), _SMALLEST_PITCH))
        return _Grids(self, count, CellHash.sample(shape, count, rng), rates, rng.random(shape))


@dataclass(frozen=True, eq=False)
class _Grids(OneHotFeatures):
    rates: NDArray[np.float64]
    shifts: NDArray[np.float64]

    def _sums(self, x: NDArray[np.float64], name: str) -> NDArray[np.uint64]:
        far = np.abs(x).max(axis=1, initial=0.0) > _REACH * self.family.bandwidth
        if far.any():
            row = int(np.argmax(far))
            raise ValueError(
                f"{name}[{row}] has an entry of size {np.abs(x[row]).max():g}, but entries must be in [-2^20, 2^20] "
                "bandwidths."
            )
        sums = np.tile(self.hash.offsets, (len(x), 1))
        # One coordinate of all points at a time: the cells of all coordinates at once would take d times the memory.
        for column, rate, shift, multiplier in zip(x.T, self.rates, self.shifts, self.hash.multipliers, strict=True):
            cells = np.multiply.outer(column, rate)
            cells += shift
            np.floor(cells, out=cells)
            sums += cells.astype(np.int64).view(np.uint64) * multiplier
        return sums
