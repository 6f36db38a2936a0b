"""Points in chunks that fit in memory: their features rounded to bits and counted, or evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.lsq import LSQFeatures
from protocols.validation import check_generator, check_groups, check_integer

__all__ = [
    "BitCounts",
    "chunked",
    "count_bits",
    "default_chunk_size",
    "evaluate",
    "memory_needed",
    "rounded_bits",
]

_CHUNK_MEMORY = 64 * 2**20


def memory_needed(features: LSQFeatures, chunk_size: int) -> int:
    """Return an upper estimate, in bytes, of the working memory of a streaming pass over points in chunks.

    It grows with `chunk_size * (I Q + d)`, or `chunk_size * (I + d)` for sparse features, plus I Q, and not with the
    number of points. The features' own public arrays and the result are not included.
    """
    _check_features(features)
    points = check_integer("chunk_size", chunk_size, low=1)
    # Per entry of a point: a float64 copy, the two temporaries of a norm and masks. Per bitsum: counts, views and
    # estimates. The constant is the interpreter's.
    return points * (features.bytes_per_point + 34 * features.family.dimension) + 256 * features.coordinates + 2**17


def _check_features(features: LSQFeatures) -> None:
    if not isinstance(features, LSQFeatures):
        raise TypeError(f"features={features!r} must be LSQFeatures, as LSQFamily.sample returns them.")


def default_chunk_size(features: LSQFeatures) -> int:
    """Return the largest chunk that needs at most 64 MiB of working memory, and at least one point."""
    fixed = memory_needed(features, 1)
    per_point = memory_needed(features, 2) - fixed
    return 1 + max(0, (_CHUNK_MEMORY - fixed) // per_point)


def chunked(name: str, points: NDArray[Any] | Iterable[NDArray[Any]], size: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the points in chunks of at most `size`, each with a name for error messages that says where it starts."""
    seen = 0
    blocks = (points,) if isinstance(points, np.ndarray) else check_groups(name, points, "arrays of points")
    for block in blocks:
        array = np.asarray(block)
        if array.ndim != 2:
            raise ValueError(f"{name} has a part of shape {array.shape}, but must have shape (points, dimension).")
        for start in range(0, len(array), size):
            chunk = array[start : start + size]
            yield (f"{name}[{seen}:]" if seen else name), chunk
            seen += len(chunk)


def evaluate(
    features: LSQFeatures, weights: NDArray[np.float64], queries: ArrayLike, *, chunk_size: int | None = None
) -> NDArray[np.float64]:
    """Return `g(y) . weights` for every query y and column of weights, shape (queries, functions), in chunks.

    The public queries have shape (queries, dimension), the weights shape (I Q, functions);
    `default_chunk_size(features)` queries are in a chunk when that is omitted.
    """
    size = default_chunk_size(features) if chunk_size is None else check_integer("chunk_size", chunk_size, low=1)
    if np.ndim(weights) != 2 or len(weights) != features.coordinates:
        raise ValueError(
            f"weights has shape {np.shape(weights)}, but must have shape ({features.coordinates}, functions)."
        )
    blocks = [
        features.project(chunk, weights, name=name) for name, chunk in chunked("queries", np.asarray(queries), size)
    ]
    return np.concatenate([np.empty((0, weights.shape[1])), *blocks])


@dataclass(frozen=True, eq=False)
class BitCounts:
    """How many of some users' rounded features are 1: what groups of users add up to.

    These are sums of bits as they are, without any noise: **not private**, and seen by nobody in the protocol. They let
    a simulation count group by group, wherever the groups' points are, and draw the noise of all users once.

    Parameters
    ----------
    ones : ndarray of int64, shape (I Q,)
        Per bitsum, how many bits are 1.
    coins : ndarray of int64, shape (I Q,)
        How many further bits are fair coins that are not drawn yet.
    users : int
        How many users were counted.
    clipped : int
        How many of their features were clipped.
    """

    ones: NDArray[np.int64]
    coins: NDArray[np.int64]
    users: int = 0
    clipped: int = 0

    @classmethod
    def none(cls, features: LSQFeatures) -> Self:
        """Return the counts of nobody."""
        return cls(np.zeros(features.coordinates, np.int64), np.zeros(features.coordinates, np.int64))

    def __add__(self, other: BitCounts) -> BitCounts:
        if not isinstance(other, BitCounts) or other.ones.shape != self.ones.shape:
            what = f"{other.ones.size} bitsums" if isinstance(other, BitCounts) else f"a {type(other).__name__}"
            raise TypeError(f"counts of {self.ones.size} bitsums must be added to counts of as many, not {what}.")
        return BitCounts(
            self.ones + other.ones,
            self.coins + other.coins,
            self.users + other.users,
            self.clipped + other.clipped,
        )


def count_bits(
    features: LSQFeatures,
    points: NDArray[Any] | Iterable[NDArray[Any]],
    rng: np.random.Generator,
    *,
    chunk_size: int | None = None,
    name: str = "points",
) -> BitCounts:
    """Round the features of some users, each to one bit, and count; see `KernelDensityProtocol.simulate`.

    An error message calls the points by `name`: ValueError if one is none that the features accept.
    """
    _check_features(features)
    check_generator("rng", rng)
    size = default_chunk_size(features) if chunk_size is None else check_integer("chunk_size", chunk_size, low=1)
    total = BitCounts.none(features)
    for where, chunk in chunked(name, points, size):
        ones, coins = _counted(features, chunk, rng, where)
        total += BitCounts(ones, coins, len(chunk), features.clipped_coordinates(chunk))
    return total


def rounded_bits(
    features: LSQFeatures, points: NDArray[Any], rng: np.random.Generator, name: str = "points"
) -> NDArray[np.bool_]:
    """Return every user's bits, shape (users, I Q): a feature f in [-R, R] gives 1 with probability (1 + f/R)/2."""
    check_generator("rng", rng)
    probability = features.f(points, name=name).reshape(len(points), features.coordinates)
    probability /= 2.0 * features.family.R
    probability += 0.5
    return np.asarray(rng.random(probability.shape) < probability)


def _counted(
    features: LSQFeatures, points: NDArray[Any], rng: np.random.Generator, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, per bitsum, how many bits are 1 and how many are still to be drawn as fair coins."""
    if not features.sparse:
        ones = np.count_nonzero(rounded_bits(features, points, rng, name), axis=0).astype(np.int64)
        return ones, np.zeros_like(ones)
    coordinates, values = features.nonzero(points, name=name)
    values /= 2.0 * features.family.R
    values += 0.5
    chosen = coordinates[rng.random(values.shape) < values]
    touched = np.bincount(coordinates.ravel(), minlength=features.coordinates)
    return np.bincount(chosen, minlength=features.coordinates), len(points) - touched
