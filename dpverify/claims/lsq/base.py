"""What a family's twin states: the exact moments of its features, and the worst query."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.base import Claims
from dpverify.rounding import UNIT
from protocols.lsq import LSQFamily

__all__ = ["Array", "LSQClaims", "pair_mean"]

Array = NDArray[np.float64]
F = TypeVar("F", bound=LSQFamily)
_CHUNK = 512


def pair_mean(x: Array, value: Callable[[Array, Array], Array]) -> float:
    """Return `1/n^2 sum over u != v of value(x_u, x_v)`, in blocks of rows; `value` maps blocks to their matrix."""
    total = 0.0
    for start in range(0, len(x), _CHUNK):
        block = value(x[start : start + _CHUNK], x)
        rows = np.arange(len(block))
        block[rows, start + rows] = 0.0
        total += float(block.ravel().sum())
    return total / len(x) ** 2


class LSQClaims(Claims[F]):
    """The twin of one family. Points and queries are already checked, shapes (points, d) and (d,)."""

    domain: ClassVar[str]
    """The queries over which `largest_mse` takes the supremum."""
    moment_error: ClassVar[float] = 0.0
    """Bound on the error of each moment below: 0 for exact ones."""

    def accuracy(self, family: F, x: Array, y: Array | None = None) -> tuple[float, float]:
        """Return M and r: how large the moments are, and how far rounding takes them; over all of `domain` without y.

        `expected` and the kernel are at most M and off by at most r M, `product` is at most 5 M^2 and off by at most
        5 r M^2, `rounded_square` is off by at most r times itself and M^2, and `query_square` by r times itself.

        Notes
        -----
        Here M = 1, for kernels that are e^-t of a distance, or of its square, t. In d dimensions t has a relative
        error of at most (d + 7) u: differences and squares of coordinates, their sum, root, quotient and square. As
        t e^-t <= 1/e that moves e^-t by at most 0.4 (d + 7) u, and `exp` adds 2u. The same holds for the root of a
        product of three kernels, whose exponents add up; and `product` adds up less than five such numbers.
        """
        return 1.0, (4.0 * x.shape[1] + 16.0) * UNIT

    @abstractmethod
    def expected(self, family: F, x: Array, y: Array) -> Array:
        """Return `E[f(x) . g(y)]` for every point, shape (points,)."""

    @abstractmethod
    def product(self, family: F, x: Array, z: Array, y: Array) -> Array:
        """Return `E[(f(x) . g(y)) (f(z) . g(y))]` for every two points, shape (points of x, points of z)."""

    @abstractmethod
    def rounded_square(self, family: F, x: Array, y: Array) -> Array:
        """Return `E[(fbar(x) . g(y))^2]`, fbar the features rounded to -R or R, for every point.

        Where g(y) has one non-zero coordinate this is `R^2 E[|g(y)|^2]` whatever x is: as fbar is -R or R there, the
        rounding error cancels against the diagonal of `product`.
        """

    @abstractmethod
    def query_square(self, family: F, y: Array) -> float:
        """Return `E[|g(y)|^2]`."""

    @abstractmethod
    def largest_mse(self, family: F, x: Array, instances: int, noise: float) -> float:
        """Return an upper bound on the mean squared error over all queries of `domain`.

        Parameters
        ----------
        family : LSQFamily
            The family.
        x : ndarray, shape (points, d)
            The users' points.
        instances : int
            I.
        noise : float
            `4 R^2 E^2 / n^2`, what the bitsums add per unit of `query_square`.
        """

    @abstractmethod
    def bad_queries(self, family: F, x: Array, instances: int, noise: float) -> Array:
        """Return queries of `domain` at which the error is large, shape (queries, d)."""


def far_query(x: Array, distance: float) -> Array:
    """Return one query whose every coordinate is farther than `distance` from those of all points, shape (1, d)."""
    return np.asarray(np.abs(x).max(axis=0, keepdims=True) + distance)
