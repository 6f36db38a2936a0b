"""Concept classes on small domains, and probabilistic representations of them (ghazi2021, section 2).

A representation draws, from public randomness, a finite set of hypotheses that for every target concept and every law
of the examples is likely to hold one of small error. For a finite class the class itself is one; points on a line have
one whose size does not depend on the line.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_generator, check_integer

__all__ = ["DecisionLists", "FiniteClass", "HashedPoints", "OfBits", "Repeated", "Representation", "Thresholds"]

Table = NDArray[np.uint8]
"""Labels 0 or 1, shape (hypotheses, domain): one row per hypothesis, one column per point of the domain."""

_MOST_VARIABLES = 5


class Representation(ABC):
    """What draws hypotheses for a concept class on the points 0, 1, ..., domain - 1."""

    @property
    @abstractmethod
    def concepts(self) -> Table:
        """The class that is represented."""

    @property
    @abstractmethod
    def hypotheses(self) -> int:
        """How many hypotheses are drawn; 2^d in the papers' notation."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Table:
        """Draw a set of hypotheses from the public generator."""

    @property
    def domain(self) -> int:
        """The number of points."""
        return int(self.concepts.shape[1])

    @property
    def features(self) -> int:
        """The number of columns of `encode`'s argument: one, unless a point is a vector."""
        return 1

    def encode(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the points of the domain that rows of features stand for, from integers of shape (samples, features).

        ValueError for another shape, or a value that is no point of the domain.
        """
        return _integers("X", X, self.features, self.domain)[:, 0]


def _integers(name: str, value: ArrayLike, columns: int, below: int) -> NDArray[np.int64]:
    array = np.asarray(value)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} has shape {array.shape}, but must have shape (samples, {columns}).")
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool):
        raise ValueError(f"{name} has dtype {array.dtype}, but must hold integers in [0, {below}).")
    outside = ~((array >= 0) & (array < below) & (array == np.floor(array)))  # a nan is outside too
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(f"{name}[{row}, {column}]={array[row, column]} must be an integer in [0, {below}).")
    return array.astype(np.int64)


@dataclass(frozen=True, eq=False)
class FiniteClass(Representation):
    """Any finite class, which represents itself without error.

    - table (array_like of 0 and 1, shape (concepts, domain)): One concept per row, no two equal.

    Raises ValueError for an empty class or domain, a label that is not 0 or 1, or a concept that occurs twice.
    """

    table: ArrayLike

    def __post_init__(self) -> None:
        array = np.asarray(self.table)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(
                f"table has shape {array.shape}, but must have shape (concepts, domain) with one or more of both."
            )
        bad = (array != 0) & (array != 1)
        if bad.any():
            raise ValueError(f"table contains {array[bad][0]}, but must hold labels 0 and 1.")
        made = array.astype(np.uint8)
        if len(np.unique(made, axis=0)) != len(made):
            raise ValueError(f"table has {len(made)} rows, but no two of them may be equal.")
        object.__setattr__(self, "table", made)

    @property
    def concepts(self) -> Table:  # noqa: D102
        return np.asarray(self.table)

    @property
    def hypotheses(self) -> int:  # noqa: D102
        return len(self.concepts)

    def draw(self, rng: np.random.Generator) -> Table:
        """Return the class."""
        check_generator("rng", rng)
        return self.concepts


@dataclass(frozen=True)
class _Whole(Representation):
    """A class that represents itself."""

    @property
    def hypotheses(self) -> int:
        """The size of the class."""
        return len(self.concepts)

    def draw(self, rng: np.random.Generator) -> Table:
        """Return the class."""
        check_generator("rng", rng)
        return self.concepts


@dataclass(frozen=True)
class Thresholds(_Whole):
    """The functions "x is at least a" on a line of `size` points, a = 0, ..., size."""

    size: int

    def __post_init__(self) -> None:
        check_integer("size", self.size, low=1)

    @functools.cached_property
    def concepts(self) -> Table:  # noqa: D102
        return (np.arange(self.size) >= np.arange(self.size + 1)[:, np.newaxis]).astype(np.uint8)


@dataclass(frozen=True)
class OfBits(_Whole):
    """A class on the vectors of 1 to 5 bits, as they are; bit i of a point has weight 2^i."""

    variables: int

    def __post_init__(self) -> None:
        check_integer("variables", self.variables, low=1, high=_MOST_VARIABLES)

    @property
    def features(self) -> int:
        """The bits of a point."""
        return self.variables

    def encode(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the points that rows of bits stand for; see `Representation.encode`."""
        return np.asarray(_integers("X", X, self.variables, 2) @ (1 << np.arange(self.variables)))


@dataclass(frozen=True)
class DecisionLists(OfBits):
    """The functions of decision lists with one literal per rule, on the vectors of few bits.

    A list asks, for one literal after the other, "is bit i equal to v?", and gives a label at the first yes; a last
    label is for all others. Lists that are the same function are one concept: 4, 14, 96, 1050, 15036 of them.
    """

    @functools.cached_property
    def concepts(self) -> Table:  # noqa: D102
        every = (1 << (1 << self.variables)) - 1  # a set of points as the bits of an integer
        where = [
            sum(1 << point for point in range(1 << self.variables) if point >> i & 1) for i in range(self.variables)
        ]

        def lists(free: frozenset[int], left: int) -> set[int]:
            # What is positive among the points that are left, on which all bits but the free ones are known.
            found = {0, left}
            for i in free:
                for asked in (where[i], every & ~where[i]):
                    rest = lists(free - {i}, left & ~asked)
                    found |= rest | {positive | (left & asked) for positive in rest}
            return found

        masks = sorted(lists(frozenset(range(self.variables)), every))
        return np.array([[mask >> point & 1 for point in range(1 << self.variables)] for mask in masks], dtype=np.uint8)


@dataclass(frozen=True)
class HashedPoints(Representation):
    """The functions "x is a", represented by "x falls into the bucket b" of a random hash function.

    Its size is the number of buckets, at least 2, however many points there are: `1 / (alpha beta)` of them hold a
    hypothesis of error alpha with probability 1 - beta.
    """

    size: int
    buckets: int

    def __post_init__(self) -> None:
        check_integer("size", self.size, low=1)
        check_integer("buckets", self.buckets, low=2)

    @property
    def concepts(self) -> Table:
        """The points, as functions."""
        return np.eye(self.size, dtype=np.uint8)

    @property
    def domain(self) -> int:  # noqa: D102
        return self.size

    @property
    def hypotheses(self) -> int:  # noqa: D102
        return self.buckets

    def draw(self, rng: np.random.Generator) -> Table:
        """Draw the bucket of every point, independent and uniform."""
        hashed = check_generator("rng", rng).integers(0, self.buckets, self.size)
        return np.asarray(hashed == np.arange(self.buckets)[:, np.newaxis], dtype=np.uint8)


@dataclass(frozen=True)
class Repeated(Representation):
    """Several independent draws together: the probability that all miss is a power, the size grows by log2(copies)."""

    representation: Representation
    copies: int

    def __post_init__(self) -> None:
        if not isinstance(self.representation, Representation):
            raise TypeError(f"representation={self.representation!r} must be a Representation.")
        check_integer("copies", self.copies, low=1)

    @property
    def concepts(self) -> Table:  # noqa: D102
        return self.representation.concepts

    @property
    def domain(self) -> int:  # noqa: D102
        return self.representation.domain

    @property
    def features(self) -> int:  # noqa: D102
        return self.representation.features

    @property
    def hypotheses(self) -> int:  # noqa: D102
        return self.copies * self.representation.hypotheses

    def encode(self, X: ArrayLike) -> NDArray[np.int64]:  # noqa: D102
        return self.representation.encode(X)

    def draw(self, rng: np.random.Generator) -> Table:
        """Draw all copies, one after the other."""
        return np.concatenate([self.representation.draw(rng) for _ in range(self.copies)])
