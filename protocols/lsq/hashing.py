"""Partitions of space hashed to buckets: what the families for the Laplacian and the exponential kernel share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq.base import LSQFamily, LSQFeatures
from protocols.validation import check_flag, check_integer

__all__ = ["HASH_ERROR", "CellHash", "HashedPartition", "OneHotFeatures"]

_PRIME = 2**31 - 1
_MOST_BUCKETS = 2**20

HASH_ERROR = 2.0**-29
"""Bound on how far any probability of an event about three cells' buckets and signs is from that of ideal hashing."""


@dataclass(frozen=True, eq=False)
class CellHash:
    """I public hash functions from integer vectors (cells) to a bucket and a sign.

    A cell c is first reduced to the leading 31 bits of `a . c + b` modulo 2^64 (two cells whose coordinates differ by
    less than 2^32 meet there with probability 2^-31), then a random quadratic polynomial over the field of 2^31 - 1
    elements, its coefficients in shape (3, instances), makes the symbols of any three cells independent and uniform, up
    to `HASH_ERROR` in all. The multipliers hold the entries of every a; the features say which instance uses which.
    """

    multipliers: NDArray[np.uint64]
    offsets: NDArray[np.uint64]
    polynomials: NDArray[np.uint64]

    @classmethod
    def sample(cls, multipliers: int | tuple[int, ...], instances: int, rng: np.random.Generator) -> CellHash:
        """Draw the hash functions; `multipliers` is the shape of that array."""
        return cls(
            rng.integers(0, 2**64, multipliers, dtype=np.uint64),
            rng.integers(0, 2**64, instances, dtype=np.uint64),
            rng.integers(0, _PRIME, (3, instances), dtype=np.uint64),
        )

    def symbols(self, sums: NDArray[np.uint64], alphabet: int) -> NDArray[np.int64]:
        """Return symbols in [0, alphabet) from the sums `a . c + b`, shape (points, instances)."""
        prime, values = np.uint64(_PRIME), sums >> np.uint64(33)
        square, linear, constant = self.polynomials
        mixed = ((square * values + linear) % prime * values + constant) % prime
        return np.asarray(mixed * np.uint64(alphabet) // prime).astype(np.int64)


@dataclass(frozen=True)
class HashedPartition(LSQFamily):
    """A kernel that is the probability that x and y share a cell of a random partition: beta-approximately (Q, 1, 1).

    A pair is `f(x) = g(x) = e_h(cell of x)`, the unit vector of one of Q buckets, by a random hash h of the cells.
    Points in one cell collide, others with probability 1/Q: `E[f(x) . g(y)] = k + (1 - k) / Q`, a bias of at most 1/Q.

    With `signed`, the unit vector has a random sign, also hashed from the cell. Points of different cells then
    contribute 0 on average and the family is unbiased for every Q, down to Q = 1 (a sign alone, exactly (1, 1, 1)).
    """

    bandwidth: float = field(default=1.0, metadata={"within": "(0, inf)"})
    buckets: int = 64
    signed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("signed", self.signed)
        check_integer("buckets", self.buckets, low=1 if self.signed else 2, high=_MOST_BUCKETS)

    @property
    def beta(self) -> float:
        """The largest bias: 1/Q without signs and 0 with them, and what the hash functions may add."""
        return HASH_ERROR if self.signed else 1.0 / self.buckets + HASH_ERROR

    @property
    def may_be_negative(self) -> bool:
        """Whether there are signs."""
        return self.signed

    @property
    def Q(self) -> int:  # noqa: D102
        return self.buckets

    @property
    def R(self) -> float:  # noqa: D102
        return 1.0

    @property
    def S(self) -> int:  # noqa: D102
        return 1


@dataclass(frozen=True, eq=False)
class OneHotFeatures(LSQFeatures):
    """Features with one non-zero coordinate per point and instance, kept as its index and value.

    The dense array of `f` has Q entries where this has one, so everything that streams over points uses `nonzero`.
    """

    family: HashedPartition
    hash: CellHash

    sparse = True

    @abstractmethod
    def _sums(self, x: NDArray[np.float64], name: str) -> NDArray[np.uint64]:
        """Return `a . c + b` modulo 2^64 for the cell c of every point, shape (points, instances)."""

    @property
    def bytes_per_point(self) -> int:  # noqa: D102
        return 96 * self.instances

    def _nonzero(self, x: NDArray[np.float64], name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        symbols = self.hash.symbols(self._sums(x, name), 2 * self.family.buckets)
        values = (1 - 2 * (symbols & 1)).astype(np.float64) if self.family.signed else np.ones(symbols.shape)
        return np.arange(self.instances) * self.family.Q + (symbols >> 1), values

    def _f(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        coordinates, values = self._nonzero(x, name)
        dense = np.zeros((len(x), self.coordinates))
        np.put_along_axis(dense, coordinates, values, axis=1)
        return dense

    def _g(self, y: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return self._f(y, name)
