"""The exponential kernel by a Poisson hyperplane tessellation, hashed to buckets (wagner2025, section 2.3)."""

from __future__ import annotations

import math
from dataclasses import field

import numpy as np
import scipy
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq.base import LENGTHS, TOLERANCE, LSQFeatures, check_ball
from protocols.lsq.hashing import CellHash, HashedPartition, OneHotFeatures
from protocols.validation import check_generator, check_integer

__all__ = ["ExponentialTessellation"]


@dataclass(frozen=True)
class ExponentialTessellation(HashedPartition):
    """`k(x, y) = exp(-||x - y||_2 / bandwidth)` on a ball, by cells between random hyperplanes, hashed to Q buckets.

    The hyperplanes `w . z = t` form a Poisson process: w uniform on the unit sphere and t on the line, at a constant
    rate. The number of them between x and y is Poisson with mean proportional to `E|w . (x - y)|`, hence to
    `||x - y||_2`; the rate makes it `||x - y||_2 / bandwidth`, and x and y share a cell if it is 0.

    Only finitely many hyperplanes meet a ball, on average `2 radius / (E|w_1| bandwidth)`, about `2.5 sqrt(d) radius /
    bandwidth`; so points and queries must lie in one, centred at 0, of a public radius. (They are given a tolerance of
    a relative 1e-3, which the hyperplanes cover: the kernel stays exact.)

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
    radius : float
        In [1e-100, 1e100], in the units of the points; 1 suits unit vectors.
    outside
        See `LSQFamily`.

    Examples
    --------
    >>> import numpy as np
    >>> family = ExponentialTessellation(dimension=2)
    >>> x, y = np.array([[0.6, 0.8]]), np.array([[0.8, 0.6]])
    >>> print(f"{float(family.kernel(x, y).squeeze()):.3f}")
    0.754
    """

    radius: float = field(default=1.0, kw_only=True, metadata={"within": LENGTHS})

    @property
    def reach(self) -> float:
        """The radius of the ball that is tessellated."""
        return self.radius * (1.0 + TOLERANCE)

    @property
    def mean_hyperplanes(self) -> float:
        """The expected number of hyperplanes of an instance."""
        # E|w_1| for w uniform on the sphere.
        log_mean = math.lgamma(self.dimension / 2) - math.lgamma((self.dimension + 1) / 2) - 0.5 * math.log(math.pi)
        return 2.0 * self.reach / (math.exp(log_mean) * self.bandwidth)

    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(-scipy.spatial.distance.cdist(x, y) / self.bandwidth))

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:  # noqa: D102
        count = check_integer("instances", instances, low=1)
        check_generator("rng", rng)
        planes = rng.poisson(self.mean_hyperplanes, count)
        normals = rng.standard_normal((int(planes.sum()), self.dimension))
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        thresholds = rng.uniform(-self.reach, self.reach, len(normals))
        hash_ = CellHash.sample(len(normals), count, rng)
        return _Tessellations(self, count, hash_, normals, thresholds, np.cumsum(planes))


@dataclass(frozen=True, eq=False)
class _Tessellations(OneHotFeatures):
    family: ExponentialTessellation
    normals: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    ends: NDArray[np.int64]

    @property
    def bytes_per_point(self) -> int:
        return super().bytes_per_point + 24 * len(self.normals)

    def _sums(self, x: NDArray[np.float64], name: str) -> NDArray[np.uint64]:
        check_ball(name, x, self.family.radius)
        sides = x @ self.normals.T > self.thresholds
        # Running sums, modulo 2^64: the difference at two ends is the sum of the instance's own hyperplanes.
        running = np.zeros((len(x), len(self.normals) + 1), dtype=np.uint64)
        np.cumsum(np.where(sides, self.hash.multipliers, np.uint64(0)), axis=1, out=running[:, 1:])
        at_ends = running[:, self.ends]
        return np.diff(at_ends, axis=1, prepend=np.zeros((len(x), 1), dtype=np.uint64)) + self.hash.offsets
