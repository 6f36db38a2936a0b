"""Dask arrays and DataFrames: each partition's sums are made where it is, and only they travel."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.learning.files.counters import BitCounter, VectorCounter, plain, private_generator
from dpverify.learning.files.sums import PartialSums
from dpverify.learning.labels import indexed
from protocols.classes.frozen import dataclass

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


@dataclass(frozen=True, eq=False)
class _Task:
    """What counts a partition: plain numbers, as long as it is what scikit-learn's checks would leave as it is.

    - counter: None where only the estimator knows what to do with the points.
    - classes: The public labels, none for a density.
    - seed: Of all partitions.
    - estimator: Pickled, for other partitions: to unpickle it takes seconds of imports.
    - settings: Of its `partial_sums`.
    """

    counter: BitCounter | VectorCounter | None
    classes: NDArray[Any]
    seed: int | None
    estimator: bytes
    settings: dict[str, Any]

    def __call__(self, points: Any, labels: Any, part: int) -> PartialSums | None:
        """Return the sums of a partition, of a counter's features; None if nobody is there."""
        if not len(points):
            return None
        counter, taken = self.counter, plain(points, labels)
        if counter is None or taken is None or taken[0].shape[1] != counter.dimension:
            arguments = (points,) if labels is None else (points, labels)
            found: PartialSums = pickle.loads(self.estimator).partial_sums(*arguments, part=part, **self.settings)
            fits = counter is not None and found.public.dimension == counter.dimension
            return replace(found, public=counter) if fits else found
        points, labels, names = taken
        indices = None if labels is None else indexed(labels, self.classes)[1]
        counts, parts = counter(points, indices, private_generator(self.seed, part)), frozenset({part})
        epsilon, seeded = counter.label_epsilon, self.seed is not None
        return PartialSums(counter, counter.scale, self.classes, epsilon, counts, parts, seeded, names)


def merged_partitions(
    estimator: Any, made: Callable[[int, int, int | None], Any], X: Any, y: Any = None, users: int | None = None
) -> PartialSums:
    """Return the sums of all partitions, added up on the workers.

    - estimator: It is copied to the workers with its parameters, for points that are no plain floats.
    - made: Of the dimension, the number of classes and of users, what is public of features, and what counts them.
    - X: The points; an array's columns may be in several chunks.
    - y: The labels, in the same partitions.
    - users: Of `partial_sums`, for each, if the estimator asks for it.

    Raises TypeError if only one of both is of Dask, or the random state is a generator, which workers cannot share.
    Raises ValueError if they are partitioned differently.
    """
    from cloudpickle import dumps  # type: ignore[import-untyped]  # Dask's
    from dask.delayed import delayed
    from sklearn.base import clone

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
    if labels is not None and estimator.classes is None:
        raise ValueError("classes=None must be the public labels where users are counted part by part.")
    classes = np.empty(0) if labels is None else indexed(np.asarray(estimator.classes), estimator.classes)[0]
    columns = X.shape[1] if len(X.shape) == 2 else None
    public, counter = made(columns, len(classes), users) if isinstance(columns, int) else (None, None)
    settings = {} if users is None else {"users": users}
    task = _Task(counter, classes, estimator.random_state, dumps(clone(estimator)), settings)
    sums = delayed(task, pure=False)
    level = [sums(points, None if labels is None else labels[number], number) for number, points in enumerate(parts)]
    add = delayed(_added, pure=False)
    while len(level) > 1:
        level = [add(level[start : start + _FAN_IN]) for start in range(0, len(level), _FAN_IN)]
    found: PartialSums = level[0].compute()
    return found if found is None or found.public != counter else replace(found, public=public)


def _partitions(value: Any) -> Iterator[Any]:
    if hasattr(value, "rechunk"):  # an array: rows in chunks, columns together
        value = value.rechunk(dict.fromkeys(range(1, value.ndim), -1)) if value.ndim > 1 else value
    yield from np.asarray(value.to_delayed(), dtype=object).ravel()


def _added(sums: list[PartialSums | None]) -> PartialSums | None:
    total = None
    for one in sums:
        if one is not None:
            total = one if total is None else total + one
    return total
