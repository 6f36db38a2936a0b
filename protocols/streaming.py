"""Points in chunks that fit in memory: their features rounded to bits and counted, or evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.lsq import LSQFeatures
from protocols.validation import check_generator, check_groups, check_integer

__all__ = [
    "BitCounts",
    "chunked",
    "count_bits",
    "count_groups",
    "default_chunk_size",
    "evaluate",
    "memory_needed",
    "rounded_bits",
]

_CHUNK_MEMORY = 64 * 2**20
_BLOCK = 2**18
"""So many features are made at a time: some 1 MB."""


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

    - ones (ndarray of int64, shape (I Q,)): Per bitsum, how many bits are 1.
    - coins (ndarray of int64, shape (I Q,)): How many further bits are fair coins that are not drawn yet.
    - users: How many users were counted.
    - clipped: How many of their features were clipped; None where that was not counted.
    """

    ones: NDArray[np.int64]
    coins: NDArray[np.int64]
    users: int = 0
    clipped: int | None = 0

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
            None if self.clipped is None or other.clipped is None else self.clipped + other.clipped,
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
        if features.sparse:
            ones, coins = _sparse_counts(features, chunk, rng, where)
            total += BitCounts(ones, coins, len(chunk), features.clipped_coordinates(chunk))
        else:
            total += _dense_counts(features, chunk, rng, where)
    return total


def count_groups(
    features: LSQFeatures, points: NDArray[Any], groups: NDArray[np.int64], rng: np.random.Generator, *, name: str
) -> dict[int, BitCounts]:
    """Return what `count_bits` does for each group of users, `groups` having each user's, shape (users,).

    One product makes the features of all of them. It does not count what is clipped. An error message calls the points
    by `name`: ValueError if one is none that the features accept.
    """
    order = np.argsort(groups, kind="stable")
    points, (found, starts) = points[order], np.unique(groups[order], return_index=True)
    ends = [*starts[1:].tolist(), len(points)]
    parts = {int(group): slice(start, end) for group, start, end in zip(found, starts.tolist(), ends, strict=True)}
    if features.sparse:
        counted = {group: _sparse_counts(features, points[part], rng, name) for group, part in parts.items()}
        return {
            group: BitCounts(*found, users=parts[group].stop - parts[group].start, clipped=None)
            for group, found in counted.items()
        }
    ones = {group: np.zeros(features.coordinates, np.int64) for group in parts}
    for here, chances in _chances(features, points, name):
        bits = _drawn(chances, rng)
        for group, part in parts.items():
            ones[group] += _columns(bits[max(part.start - here, 0) : max(part.stop - here, 0)])
    coins = np.zeros(features.coordinates, np.int64)
    return {group: BitCounts(ones[group], coins, part.stop - part.start, None) for group, part in parts.items()}


def rounded_bits(
    features: LSQFeatures, points: NDArray[Any], rng: np.random.Generator, name: str = "points"
) -> NDArray[np.bool_]:
    """Return every user's bits, shape (users, I Q): a feature f in [-R, R] gives 1 with probability (1 + f/R)/2."""
    check_generator("rng", rng)
    return _drawn(features.chances(points, name=name), rng)


def _drawn(chances: NDArray[Any], rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.asarray(rng.random(chances.shape, dtype=chances.dtype) < chances)


def _chances(features: LSQFeatures, points: NDArray[Any], name: str) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the bits' chances, so many users at a time that what is made of them stays in the processor's cache."""
    size = max(1, _BLOCK // features.coordinates)
    for start in range(0, len(points), size):
        yield start, features.chances(points[start : start + size], name=f"{name}[{start}:]" if start else name)


def _columns(bits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many bits of each column are 1: in bytes, which hold 255 of them."""
    parts = (bits[start : start + 255].view(np.uint8) for start in range(0, len(bits), 255))
    total = np.zeros(bits.shape[1], np.int64)
    for part in parts:
        total += np.add.reduce(part, axis=0, dtype=np.uint8)
    return total


def _dense_counts(features: LSQFeatures, points: NDArray[Any], rng: np.random.Generator, name: str) -> BitCounts:
    ones, clipped = np.zeros(features.coordinates, np.int64), 0
    for start, chances in _chances(features, points, name):
        clipped += features.clipped_among(chances, points[start : start + len(chances)])
        ones += _columns(_drawn(chances, rng))
    return BitCounts(ones, np.zeros_like(ones), len(points), clipped)


def _sparse_counts(
    features: LSQFeatures, points: NDArray[Any], rng: np.random.Generator, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, per bitsum, how many bits are 1 and how many are still to be drawn as fair coins."""
    coordinates, values = features.nonzero(points, name=name)
    values /= 2.0 * features.family.R
    values += 0.5
    chosen = coordinates[rng.random(values.shape) < values]
    touched = np.bincount(coordinates.ravel(), minlength=features.coordinates)
    return np.bincount(chosen, minlength=features.coordinates), len(points) - touched
