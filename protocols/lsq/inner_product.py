"""The inner product kernel: random signs, and the identity (wagner2025, Appendix A.3)."""

from __future__ import annotations

import math
from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq.base import LSQFamily, LSQFeatures
from protocols.validation import check_generator, check_integer

__all__ = ["Identity", "RandomSigns"]


@dataclass(frozen=True)
class RandomSigns(LSQFamily):
    """`k(x, y) = x . y` for unit vectors x is exactly (1, sqrt d, 1)-LSQable.

    A pair is `f(x) = g(x) = sigma . x` with d independent uniform signs sigma. The range sqrt(d) is attained at
    x = (+-1, ..., +-1) / sqrt(d).

    Users' points must have norm 1 within 1e-3 (stored embeddings are rounded) and are then divided by their norm, so
    that the range holds exactly. Queries may have any norm: the estimate is linear in y, unbiased for every y, and its
    error scales with the norm of y. Definition 2.1's range for g, and so the paper's error bound, needs a norm of at
    most 1.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    radius, outside
        See `LSQFamily`.

    Examples
    --------
    >>> import numpy as np
    >>> family = RandomSigns(dimension=2)
    >>> x, y = np.array([[0.6, 0.8]]), np.array([[0.8, 0.6]])
    >>> print(f"{float(family.kernel(x, y).squeeze()):.3f}")
    0.960
    """

    requires_unit_vectors: ClassVar[bool] = True

    @property
    def Q(self) -> int:  # noqa: D102
        return 1

    @property
    def R(self) -> float:  # noqa: D102
        return math.sqrt(self.dimension)

    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(x @ y.T)

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:  # noqa: D102
        count = check_integer("instances", instances, low=1)
        bits = check_generator("rng", rng).integers(0, 2, (count, self.dimension))
        return Signs(self, count, (2 * bits - 1).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Signs(LSQFeatures):
    """The features of `RandomSigns`: signs, shape (instances, dimension)."""

    family: RandomSigns
    signs: NDArray[np.float64]

    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        values = x @ self.signs.T
        # On the sphere |sigma . x| <= sqrt(d); this removes a floating-point excess of a few ulp and nothing else.
        return np.clip(values, -self.family.R, self.family.R, out=values)

    def _g(self, y: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses features that are not finite
            return np.asarray(y @ self.signs.T)


@dataclass(frozen=True)
class Identity(LSQFamily):
    """`k(x, y) = x . y` by the single pair f(x) = clip(x), g(y) = y, with Q = S = d and a public range R.

    **Each user clips her own coordinates** to [-R, R], which is what makes the sums private: the estimate is then one
    of `clip(x) . y`, biased for points with coordinates beyond R. `LSQFeatures.clipped_coordinates` counts them and
    `KernelDensityProtocol.simulate` reports their fraction. Unit vectors are never clipped at R = 1, which is
    wagner2025's (d, 1, d) family; a smaller R, where the coordinates are known to be small, means less noise.

    Definition 2.1 also wants g(y) = y in [-R, R]. That only enters the error bound, so queries are neither clipped nor
    refused.

    Parameters
    ----------
    dimension : int
        d, at least 1.
    limit : float
        R, in (0, inf): public, and fixed without looking at the users' points.
    radius, outside
        See `LSQFamily`.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> family = Identity(dimension=2)
    >>> x, y = np.array([[0.6, 0.8]]), np.array([[0.8, 0.6]])
    >>> print(f"{float(family.kernel(x, y).squeeze()):.3f}")
    0.960
    """

    deterministic: ClassVar[bool] = True

    limit: float = field(default=1.0, metadata={"within": "(0, inf)"})

    @property
    def Q(self) -> int:  # noqa: D102
        return self.dimension

    @property
    def R(self) -> float:  # noqa: D102
        return float(self.limit)

    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(x @ y.T)

    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:  # noqa: D102
        check_generator("rng", rng)
        return _Coordinates(self, instances)


@dataclass(frozen=True, eq=False)
class _Coordinates(LSQFeatures):
    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return np.clip(x, -self.family.R, self.family.R)

    def _g(self, y: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return y

    def clipped_coordinates(self, x: ArrayLike) -> int:
        return int(np.count_nonzero(np.abs(self.family.accepted(x)) > self.family.R))
