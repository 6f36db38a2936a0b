"""A user's label, point and second moment as one vector of norm at most 1, and the moments of a sum of such vectors.

With y the label, e_y its unit vector, and x the point, turned by a public rotation, it is

    v = (e_y (x) x, b e_y, a x x^T) / sqrt(1 + b^2 + a^2),

the symmetric matrix by its diagonal and sqrt(2) times what is above it, so that its norm is |x|^2. |v| is at most 1
where |x| is. Whatever a user holds, replacing her replaces one such vector: one account covers label and point.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq.linear import LinearMap

__all__ = ["COUNT_WEIGHT", "SECOND_WEIGHT", "ClassMoments", "Moments"]

COUNT_WEIGHT, SECOND_WEIGHT = 0.3, 1.0 / math.sqrt(2.0)
"""b and a. At this a the squared sum of both changes, of mean and second moment, is no more than that of the mean."""
_CLIP = 5.5
"""The largest coordinate of a turned point, in units of 1 / sqrt(d): those of a unit vector are about normal."""


class Moments(NamedTuple):
    """What a sum of vectors says, over the number of users.

    - shares: Of every class, shape (classes,).
    - sums: Of the points of each class, shape (classes, dimension): its share times its mean.
    - second: Of all points together, shape (dimension, dimension), symmetric; None where nobody sent it.
    """

    shares: NDArray[np.float64]
    sums: NDArray[np.float64]
    second: NDArray[np.float64] | None


@dataclass(frozen=True)
class ClassMoments:
    """The map from users to vectors, public.

    - classes, dimension: How many labels, and d.
    - second: Whether second moments are part of it.
    - seed: Of the rotation of points.
    """

    classes: int
    dimension: int
    second: bool
    seed: int = 0

    @property
    def weight(self) -> float:
        """The root of 1 + b^2 + a^2: what vectors are divided by."""
        return math.sqrt(1.0 + COUNT_WEIGHT**2 + self.second * SECOND_WEIGHT**2)

    @property
    def coordinates(self) -> int:
        """How many a vector has."""
        d = self.dimension
        return self.classes * (d + 1) + self.second * (d * (d + 1) // 2)

    @property
    def clip(self) -> float:
        """The largest coordinate of a vector, in units of one over the root of its coordinates."""
        largest = max(self._limit, COUNT_WEIGHT)  # a sqrt(2) x_i x_j is at most x_i
        return largest / self.weight * math.sqrt(self.coordinates)

    @property
    def l1(self) -> float:
        """The most that the sizes of a vector's coordinates add up to: of a point it is the root of d, at most."""
        second = SECOND_WEIGHT * (1.0 + (self.dimension - 1) / math.sqrt(2.0)) if self.second else 0.0
        return (math.sqrt(self.dimension) + COUNT_WEIGHT + second) / self.weight

    @property
    def _limit(self) -> float:
        return min(1.0, _CLIP / math.sqrt(self.dimension))

    @functools.cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        rows, columns = np.triu_indices(self.dimension)
        return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0))

    def turned(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points after the public rotation, shape (n, dimension)."""
        return np.asarray(points @ LinearMap(self.dimension, kind="haar", seed=self.seed).matrix.T)

    def vectors(self, points: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return each user's vector, shape (n, coordinates).

        - points: Of norm at most 1, shape (n, dimension); what of their turned coordinates is too large is cut.
        - labels: In [0, classes), shape (n,).
        """
        x = np.clip(self.turned(points), -self._limit, self._limit)
        n, users, width = len(x), np.arange(len(x)), self.classes * self.dimension
        made = np.zeros((n, self.coordinates))
        made[:, :width].reshape(n, self.classes, -1)[users, labels] = x
        made[users, width + labels] = COUNT_WEIGHT
        if self.second:
            rows, columns, scales = self._pairs
            made[:, width + self.classes :] = SECOND_WEIGHT * scales * x[:, rows] * x[:, columns]
        return np.asarray(made / self.weight)

    def moments(self, total: NDArray[np.float64], users: int) -> Moments:
        """Return what an estimate of the sum of so many vectors says, shape (coordinates,)."""
        mean, width = total * (self.weight / users), self.classes * self.dimension
        shares = mean[width : width + self.classes] / COUNT_WEIGHT
        second = None
        if self.second:
            rows, columns, scales = self._pairs
            second = np.zeros((self.dimension, self.dimension))
            second[rows, columns] = mean[width + self.classes :] / (SECOND_WEIGHT * scales)
            second[columns, rows] = second[rows, columns]
        return Moments(shares, mean[:width].reshape(self.classes, -1), second)
