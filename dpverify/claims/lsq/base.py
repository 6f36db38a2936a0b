"""What a family's twin states: the exact moments of its features, the worst query, and how much a point can change."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.base import Claims
from dpverify.claims.shared.distant import turned_bits
from dpverify.rounding import UNIT, norm, spectral_norm
from protocols.lsq import LSQFamily, LSQFeatures

__all__ = ["FEWEST_BITS", "Array", "LSQClaims", "LinearPairClaims", "SinglePairClaims", "pair_mean"]

Array = NDArray[np.float64]
F = TypeVar("F", bound=LSQFamily)
FEWEST_BITS = 32
"""Of a density estimator, unless there are fewer dimensions."""
_CHUNK = 512
_EIGENVALUE_ERROR = 1e-12
"""Relative to the norm: far above d units, which bounds the error of a symmetric eigenvalue."""


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
    kernel: ClassVar[str] = ""
    """What `--kernel` calls the kernel that density estimators are planned for with these features; empty for none."""

    def rungs(self, dimension: int) -> Sequence[int]:
        """Return the numbers of bits that plans choose from, the fewest first."""
        return [FEWEST_BITS * 2**place for place in range(7)]

    def offered(self, dimension: int, bandwidth: float, bits: int) -> Sequence[tuple[LSQFamily, int]]:
        """Return the features of so many bits that plans choose from, each with I: the first is taken unasked."""
        family = self.protocol(dimension, bandwidth)
        return [(family, bits // family.Q)]

    def accuracy(self, family: F, x: Array, y: Array | None = None) -> tuple[float, float]:
        """Return M and r: how large the moments are, and how far rounding takes them; over all of `domain` without y.

        `expected` and the kernel are at most M and off by at most r M, `product` is at most 5 M^2 and off by at most
        5 r M^2, `rounded_square` is off by at most r times itself and M^2, and `query_square` by r times itself.

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

        - x (ndarray, shape (points, d)): The users' points.
        - instances: I.
        - noise: `4 R^2 E^2 / n^2`, what the bitsums add per unit of `query_square`.
        """

    @abstractmethod
    def bad_queries(self, family: F, x: Array, instances: int, noise: float) -> Array:
        """Return queries of `domain` at which the error is large, shape (queries, d)."""

    def squared_change(self, features: LSQFeatures) -> float:
        """Return T^2: `sum_j t_j^2 <= T^2` for the change t_j of bit j's probability, over all I Q bits and points.

        It holds for the features as they were drawn and are computed, rounding included: see docs/features.md.

        - features: Drawn from a family that this is the twin of.

        Here I S, by Definition 2.1 alone: a bit whose features are 0 before or after moves by at most 1/2, and with s
        bits of an instance that are neither, `s + 2 (S - s) / 4 <= S`.
        """
        return float(features.instances * features.family.S)

    def in_ball(self, features: LSQFeatures) -> bool:
        """Return whether `sum_j (2 b_j - 1)^2 <= T^2`, too, for the probabilities b_j of every single point.

        So it is for features of norm at most T R; see `dpverify.changes.L2Ball`.
        """
        return False

    def bits_in_full(self, features: LSQFeatures) -> int:
        """Return how many bits two points that the features take change fully: 0 where none were worked out.

        All in the same direction, which is the worst. For the features as they were drawn; where all I Q bits change
        fully, it may be for some draw of the family.
        """
        return max((turned_bits(features, points) for points in self.distant_points(features)), default=0)

    def distant_points(self, features: LSQFeatures) -> Iterable[Array]:
        """Return pairs of points, shape (2, d), that may change many bits, or all by much: guesses, for lower ends."""
        return ()

    def query_norm(self, features: LSQFeatures) -> float:
        """Return an upper bound on `|g(y)|`, over all I Q coordinates and all queries of `domain`."""
        return features.family.R * math.sqrt(features.instances * features.family.S) * (1.0 + 4.0 * UNIT)


class SinglePairClaims(LSQClaims[F]):
    """The twin of a deterministic family: its moments are those of the randomized rounding of its one pair."""

    @staticmethod
    def pair(family: F) -> LSQFeatures:
        """Return the pair, for which no randomness is needed."""
        return family.sample(1, np.random.default_rng(0))

    def sides(self, family: F, x: Array, y: Array) -> tuple[Array, Array]:
        """Return f(x) and g(y), shapes (points, Q) and (Q,)."""
        pair = self.pair(family)
        return pair.f(x)[:, 0], pair.g(y[np.newaxis])[0, 0]

    def expected(self, family: F, x: Array, y: Array) -> Array:
        f, g = self.sides(family, x, y)
        return np.asarray(f @ g)

    def product(self, family: F, x: Array, z: Array, y: Array) -> Array:
        return np.multiply.outer(self.expected(family, x, y), self.expected(family, z, y))

    def rounded_square(self, family: F, x: Array, y: Array) -> Array:
        f, g = self.sides(family, x, y)
        return np.asarray((f @ g) ** 2 + (family.R**2 - f**2) @ g**2)

    def query_square(self, family: F, y: Array) -> float:
        g = self.pair(family).g(y[np.newaxis])[0, 0]
        return float(g @ g)


class LinearPairClaims(SinglePairClaims[F]):
    """The same where g is linear: the error is a quadratic form in the query, and largest on the unit sphere."""

    domain: ClassVar[str] = "the unit ball"

    def in_ball(self, features: LSQFeatures) -> bool:
        """Return True: opposite points have opposite features, and half of what these differ by is their norm."""
        return True

    def _form(self, family: F, x: Array, noise: float) -> Array:
        pair = self.pair(family)
        f, g = pair.f(x)[:, 0], pair.g(np.eye(family.dimension))[:, 0]
        bias = g @ f.mean(axis=0) - x.mean(axis=0)
        rounding = (family.R**2 - f**2).sum(axis=0) / len(x) ** 2
        return np.asarray(np.outer(bias, bias) + (g * (rounding + noise)) @ g.T)

    def largest_mse(self, family: F, x: Array, instances: int, noise: float) -> float:
        """Return the largest eigenvalue of the quadratic form, which is attained."""
        return largest_eigenvalue(self._form(family, x, noise))[0]

    def bad_queries(self, family: F, x: Array, instances: int, noise: float) -> Array:
        return largest_eigenvalue(self._form(family, x, noise))[1]


def largest_eigenvalue(form: Array) -> tuple[float, Array]:
    """Return an upper bound on the largest eigenvalue of a positive form, and its eigenvector, shape (1, d)."""
    values, vectors = np.linalg.eigh(form)
    return float(values[-1]) + _EIGENVALUE_ERROR * float(np.linalg.norm(form)), vectors[:, -1:].T


def ball_radius(features: LSQFeatures) -> float:
    """Return an upper bound on the norms of the points that the features take, as computed: inf without a ball.

    Norms, of d squares, and what they divide by, are off by less than d + 8 units.
    """
    family = features.family
    bounds = [family.radius, 1.0 if family.requires_unit_vectors else None]
    radius: float = min((bound for bound in bounds if bound is not None), default=math.inf)
    return radius * (1.0 + (family.dimension + 8.0) * UNIT)


def linear_spread(matrix: Array, radius: float, offset: float = 0.0, stretch: float | None = None) -> float:
    """Return an upper bound on `|a(x) - a(x')|` for a(x) = G x + b as computed, over points of norm at most `radius`.

    - matrix (ndarray, shape (rows, d)): G.
    - radius: It may be infinite: so is then the bound.
    - offset: Upper bound on the 2-norm of b; 0 for none.
    - stretch: `spectral_norm(matrix)`, where it is known.
    """
    if radius == math.inf:
        return math.inf
    # Each entry of G x + b is off by (d + 1) u of the sum of its terms' sizes, which Cauchy's inequality bounds.
    error = 1.01 * (matrix.shape[1] + 1.0) * UNIT * (norm(matrix) * radius + offset)
    largest = spectral_norm(matrix) if stretch is None else stretch
    spread: float = 2.0 * (largest * radius + error) * (1.0 + 8.0 * UNIT)
    return spread


def squared_change_of(features: LSQFeatures, spread: float) -> float:
    """Return T^2 where the computed features of any two points differ by at most `spread` in the 2-norm.

    The probability (1 + f/R)/2 is computed within u, and that of a uniform float below it is within u of it: 4 u for
    the change of each bit. No change exceeds 1.
    """
    bits = features.coordinates
    if spread == math.inf:
        return float(bits)
    change = spread / (2.0 * features.family.R) * (1.0 + 4.0 * UNIT) + 5.0 * UNIT * math.sqrt(bits)
    return min(float(bits), change * change * (1.0 + 4.0 * UNIT))


def far_query(x: Array, distance: float) -> Array:
    """Return one query whose every coordinate is farther than `distance` from those of all points, shape (1, d)."""
    return np.asarray(np.abs(x).max(axis=0, keepdims=True) + distance)
