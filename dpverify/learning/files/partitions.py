"""Dask arrays and DataFrames: each partition's sums are made where it is, and only they travel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpverify.learning.files.sums import PartialSums

__all__ = ["is_lazy", "merged_partitions", "rows_in"]

_FAN_IN = 16


def is_lazy(value: Any) -> bool:
    """Return whether a value is a collection of Dask, without importing it."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def rows_in(value: Any) -> int:
    """Return how many rows a collection has: of data frames, every partition is made for it."""
    from dask.delayed import delayed

    if hasattr(value, "chunks") and not np.isnan(value.chunks[0]).any():
        return int(sum(value.chunks[0]))
    return int(delayed(sum)([delayed(len)(part) for part in _partitions(value)]).compute())


def merged_partitions(estimator: Any, X: Any, y: Any = None, **settings: Any) -> PartialSums:
    """Return the sums of all partitions, added up on the workers.

    - estimator: It is copied to the workers with its parameters.
    - X: The points; an array's columns may be in several chunks.
    - y: The labels, in the same partitions.
    - settings: Of `partial_sums`, for each.

    Raises TypeError if only one of both is of Dask, or the random state is a generator, which workers cannot share.
    Raises ValueError if they are partitioned differently.
    """
    from dask.delayed import delayed

    if isinstance(estimator.random_state, np.random.Generator):
        raise TypeError(
            f"random_state={estimator.random_state!r} must be None or an integer for partitions, which would all "
            "copy a generator."
        )
    if not is_lazy(X) or (y is not None and not is_lazy(y)):
        raise TypeError("X and y must both be collections of Dask, or neither.")
    parts, labels = list(_partitions(X)), None if y is None else list(_partitions(y))
    if labels is not None and len(parts) != len(labels):
        raise ValueError(
            f"X has {len(parts)} partitions and y has {len(labels)}, but they must have the same rows in the same "
            "partitions."
        )
    sums = delayed(_partial_sums, pure=False)
    level = [
        sums(estimator, points, None if labels is None else labels[number], number, settings)
        for number, points in enumerate(parts)
    ]
    add = delayed(_added, pure=False)
    while len(level) > 1:
        level = [add(level[start : start + _FAN_IN]) for start in range(0, len(level), _FAN_IN)]
    found: PartialSums = level[0].compute()
    return found


def _partitions(value: Any) -> Iterator[Any]:
    if hasattr(value, "rechunk"):  # an array: rows in chunks, columns together
        value = value.rechunk(dict.fromkeys(range(1, value.ndim), -1)) if value.ndim > 1 else value
    yield from np.asarray(value.to_delayed(), dtype=object).ravel()


def _partial_sums(estimator: Any, points: Any, labels: Any, part: int, settings: dict[str, Any]) -> PartialSums | None:
    if not len(points):
        return None
    arguments = (points,) if labels is None else (points, labels)
    found: PartialSums = estimator.partial_sums(*arguments, part=part, **settings)
    return found


def _added(sums: list[PartialSums | None]) -> PartialSums | None:
    total = None
    for one in sums:
        if one is not None:
            total = one if total is None else total + one
    return total
