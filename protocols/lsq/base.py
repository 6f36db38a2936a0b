"""Locality-sensitive quantization (LSQ, wagner2025): kernels written as expected products of bounded features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, check_integer, check_ranges, check_real, check_vectors

__all__ = [
    "LENGTHS",
    "TOLERANCE",
    "LSQFamily",
    "LSQFeatures",
    "Seed",
    "check_ball",
    "check_features",
    "check_length",
    "public_generator",
]

Outside = Literal["refuse", "scale"]
Seed = int | np.random.Generator | None
TOLERANCE = 1e-3
"""By what share of the radius stored points may be outside the ball: half-precision embeddings are off by 5e-4."""
LENGTHS = "[1e-100, 1e100]"
"""Norms are compared with nothing else: outside, squares leave the floats, and a long vector may have norm 0."""


def public_generator(seed: Seed) -> np.random.Generator:
    """Return the generator of public features: of the same seed, another stream than that of private noise."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is not None:
        check_integer("public_random_state", seed, low=0)
    # A child seed: with the same integer for both, public features and private noise must not be one stream.
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])


def check_length(name: str, value: Any) -> float:
    """Return what norms are compared with, after checking that squares of such lengths are floats of full precision."""
    return check_real(name, value, low=1e-100, high=1e100)


def check_ball(name: str, points: NDArray[Any], radius: float | None) -> NDArray[Any]:
    """Return the norms of points after checking that they are in a ball, up to the tolerance, or finite at least."""
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(points, axis=1)
    if points.dtype == np.float32 and not np.isfinite(norms).all():  # squares that only larger floats hold
        norms = np.linalg.norm(points.astype(np.float64), axis=1)
    refused = norms > (np.finfo(np.float64).max if radius is None else radius * (1.0 + TOLERANCE))
    if refused.any():
        row = int(np.argmax(refused))
        allowed = "finite" if radius is None else f"in the ball of radius={radius:g} (within {TOLERANCE:g})"
        raise ValueError(f"{name}[{row}] has Euclidean norm {norms[row]:.6g}, but must be {allowed}.")
    return np.asarray(norms)


def check_features(name: str, values: NDArray[Any]) -> None:
    """Raise ValueError for points whose features, a row each, are not finite."""
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite.all(axis=1)))
        raise ValueError(f"{name}[{row}] is so large that its features overflow; every feature must be finite.")


@dataclass(frozen=True)
class LSQFamily(ABC):
    """A distribution over pairs of functions f, g: R^d -> [-R, R]^Q (wagner2025, Definition 2.1).

    It represents a kernel k if `|k(x, y) - E[f(x) . g(y)]| <= beta` for all x and y, where f(x) and g(y) have at most S
    non-zero coordinates. Privacy depends on f alone, which the users evaluate: its range and its sparsity must hold for
    every input. g is evaluated on public queries, and its range only enters the error.

    Parameters
    ----------
    dimension : int
        d, the number of coordinates of a point; at least 1.
    radius : float or None
        rho: users' points lie in the public ball of this radius around 0, which bounds what replacing one can change
        (`dpverify.claims.lsq`), in [1e-100, 1e100]. None promises nothing.
    outside : {"refuse", "scale"}
        What each user does with a point outside the ball: refuse it, or scale it to norm rho. Norms that exceed rho by
        a relative 1e-3, as stored points may, are scaled in either case.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Attributes
    ----------
    requires_unit_vectors : bool
        Whether f accepts only vectors of Euclidean norm 1; it refuses others.
    deterministic : bool
        Whether all instances are the same, so that a second one would add cost and no accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from protocols.lsq import Identity
    >>> features = Identity(dimension=3).sample(1, np.random.default_rng(7))  # Identity is a family
    >>> features.family.Q, features.instances
    (3, 1)
    """

    requires_unit_vectors: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False

    dimension: int = field(metadata={"within": "[1, inf)"})
    radius: float | None = field(default=None, kw_only=True, metadata={"within": LENGTHS})
    outside: Outside = field(default="refuse", kw_only=True)

    def __post_init__(self) -> None:
        check_ranges(self)
        check_choice("outside", self.outside, ("refuse", "scale"))

    @property
    def beta(self) -> float:
        """A bound on the approximation error of the kernel."""
        return 0.0

    @property
    @abstractmethod
    def Q(self) -> int:
        """The number of coordinates of f(x) and g(y)."""

    @property
    @abstractmethod
    def R(self) -> float:
        """The range: every coordinate of f(x) is in [-R, R]."""

    @property
    def S(self) -> int:
        """The largest number of non-zero coordinates of f(x): Q, unless a family has fewer."""
        return self.Q

    @property
    def may_be_negative(self) -> bool:
        """Whether a coordinate of f(x) can be -R, as well as R."""
        return True

    @abstractmethod
    def sample(self, instances: int, rng: np.random.Generator) -> LSQFeatures:
        """Draw (f, g) of as many independent instances: at least 1, and exactly 1 of a deterministic family.

        The generator is **public** randomness: every user, the analyzer and the adversary know the result. It must not
        share a seed with the users' private randomness.
        """

    @abstractmethod
    def _kernel(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]: ...

    def kernel(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Return the kernel that the family represents, shape (points, queries), of users' points and queries.

        ValueError for other shapes than (points, dimension) and (queries, dimension), a nan or an infinity, or points
        off the unit sphere where the family needs them on it.
        """
        return self._kernel(self.accepted(x), check_vectors("y", y, dimension=self.dimension))

    def accepted(self, x: ArrayLike, *, name: str = "x", single: bool = False) -> NDArray[Any]:
        """Return the points as users take part with them: of norm 1 where that is needed, and in the ball of `radius`.

        They are float64, or with `single`, which is for simulations, float32 where they are given so and the radius is
        one that float32 can hold points against.

        The density that is estimated is that of these points, of shape (points, dimension). An error message calls them
        by `name`: ValueError for another shape, a nan or an infinity, points off the unit sphere where the family needs
        them on it, or outside the ball where they are refused.
        """
        single = single and self.radius is not None and 1e-15 <= self.radius <= 1e15
        points = check_vectors(name, x, dimension=self.dimension, unit=self.requires_unit_vectors, single=single)
        if self.requires_unit_vectors:  # what storage adds to a norm is removed
            points = points / np.linalg.norm(points, axis=1, keepdims=True)
        return points if self.radius is None else _within(points, self.radius, self.outside, name)


def _within(points: NDArray[Any], radius: float, outside: Outside, name: str) -> NDArray[Any]:
    norms = check_ball(name, points, radius if outside == "refuse" else None)
    far = norms > radius
    if not far.any():
        return points
    shrunk = np.where(far, radius / np.where(far, norms, 1.0), 1.0).astype(points.dtype)
    return np.asarray(points * shrunk[:, np.newaxis])


@dataclass(frozen=True, eq=False)
class LSQFeatures(ABC):
    """The public (f, g) of I instances, drawn by `LSQFamily.sample`.

    Parameters
    ----------
    family : LSQFamily
        Where they were drawn from.
    instances : int
        I, their number.

    Raises
    ------
    TypeError, ValueError
        For fewer instances than one, or more than one of a deterministic family.

    Attributes
    ----------
    sparse : bool
        Whether `nonzero` is available: S = 1, and f and g are stored without their zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from protocols.lsq import GaussianFeatures
    >>> features = GaussianFeatures(dimension=2).sample(5, np.random.default_rng(7))
    >>> features.f(np.zeros((10, 2))).shape  # points, instances, Q
    (10, 5, 1)
    """

    sparse: ClassVar[bool] = False

    family: LSQFamily
    instances: int

    def __post_init__(self) -> None:
        check_integer("instances", self.instances, low=1, high=1 if self.family.deterministic else None)

    @abstractmethod
    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]: ...

    @abstractmethod
    def _g(self, y: NDArray[np.float64], name: str) -> NDArray[np.float64]: ...

    def _nonzero(self, x: NDArray[np.float64], name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        raise TypeError(f"{type(self).__name__} is not sparse: every coordinate may be non-zero.")

    @property
    def coordinates(self) -> int:
        """I Q, the number of bitsums that the features take."""
        return self.instances * self.family.Q

    @property
    def bytes_per_point(self) -> int:
        """The working memory that a point's features and their randomized rounding take."""
        # Features, uniform numbers and a mask.
        return 18 * self.coordinates

    def f(self, x: ArrayLike, *, name: str = "x") -> NDArray[np.float64]:
        """Return the users' side of every instance, a new array of shape (points, instances, Q).

        Its entries are in [-R, R], whatever the points are. An error message calls these by `name`: ValueError for
        those that `LSQFamily.accepted` refuses, or points so large that the features overflow.
        """
        return self._shaped(name, self._f(self.family.accepted(x, name=name), name))

    def chances(self, x: ArrayLike, *, name: str = "x") -> NDArray[Any]:
        """Return how likely each feature f rounds to 1, (1 + f/R) / 2, a new array of shape (points, I Q).

        What is below 0 or above 1, as features may be that are yet to be clipped, stands for these. Points in float32
        may have features in float32.
        """
        values = self.f(x, name=name).reshape(-1, self.coordinates)
        values /= 2.0 * self.family.R
        values += 0.5
        return values

    def clipped_among(self, chances: NDArray[Any], x: ArrayLike) -> int:
        """Return `clipped_coordinates` of the points with these chances."""
        return self.clipped_coordinates(x)

    def g(self, y: ArrayLike, *, name: str = "y") -> NDArray[np.float64]:
        """Return the query side of every instance, shape (queries, instances, Q); as `f`, but with any norm allowed."""
        return self._shaped(name, self._g(check_vectors(name, y, dimension=self.family.dimension), name))

    def nonzero(self, x: ArrayLike, *, name: str = "x") -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the users' side of every instance without its zeros; for sparse features only.

        Coordinates i Q + j of the non-zero entry of instance i, and the entries, in [-R, R], both of shape (points,
        instances).
        """
        return self._nonzero(self.family.accepted(x, name=name), name)

    def project(self, y: ArrayLike, weights: NDArray[np.float64], *, name: str = "y") -> NDArray[np.float64]:
        """Return `g(y) . w` for every query y and column w of the weights, shape (queries, functions).

        The weights have shape (I Q, functions).
        """
        if not self.sparse:
            values = self.g(y, name=name)
            return np.asarray(values.reshape(len(values), self.coordinates) @ weights)
        coordinates, entries = self._nonzero(check_vectors(name, y, dimension=self.family.dimension), name)
        return np.stack([(column[coordinates] * entries).sum(axis=1) for column in weights.T], axis=1)

    def total(self, y: ArrayLike, *, name: str = "y") -> NDArray[np.float64]:
        """Return the sum of g over queries, shape (I Q,)."""
        if not self.sparse:
            return np.asarray(self.g(y, name=name).sum(axis=0).ravel())
        coordinates, entries = self._nonzero(check_vectors(name, y, dimension=self.family.dimension), name)
        counted = np.bincount(coordinates.ravel(), weights=entries.ravel(), minlength=self.coordinates)
        return np.asarray(counted, dtype=np.float64)

    def squared_norms(self, y: ArrayLike, *, name: str = "y") -> NDArray[np.float64]:
        """Return |g(y)|^2 over all instances for every query, shape (queries,)."""
        if not self.sparse:
            return np.asarray(np.square(self.g(y, name=name)).sum(axis=(1, 2)))
        return np.asarray(
            np.square(self._nonzero(check_vectors(name, y, dimension=self.family.dimension), name)[1]).sum(axis=1)
        )

    def clipped_coordinates(self, x: ArrayLike) -> int:
        """Return how many of the coordinates of the points are beyond the range and so are clipped by `f`."""
        self.family.accepted(x)
        return 0

    def _shaped(self, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        check_features(name, values)
        return values.reshape(-1, self.instances, self.family.Q)
