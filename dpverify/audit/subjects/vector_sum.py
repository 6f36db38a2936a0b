"""Audits of vector sums: which vectors users hold, and the exact laws of coordinates' reports and estimates."""

from __future__ import annotations

import functools
import math
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target
from dpverify.audit.subject import Dataset, Messages, Neighbours, Subject
from dpverify.audit.subjects.bitsum import Implementation, Shuffler, message_by_message
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.vector_sum.law import nearest
from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.laws.discrete import DiscreteLaw
from protocols.shuffler import shuffle
from protocols.vector_sum import VectorSum

__all__ = ["own_vector_sum", "vector_sum_subject"]

_MOST_COORDINATES = 4
"""Of more coordinates, the first and the last are looked at."""
_WATCHED_USERS = 200
"""Up to so many users our own protocol runs message by message, beyond that by the sampler of its views."""


def own_vector_sum(
    protocol: VectorSum, *, shuffler: Shuffler = shuffle, aggregated: bool | None = None
) -> Implementation:
    """Return what can be watched of our own protocol, or of a subclass, which may override anything.

    Parameters
    ----------
    protocol : VectorSum
        The implementation.
    shuffler : callable
        The shuffler of the message-level path.
    aggregated : bool, optional
        Whether to draw views by `sample_view`; by default for more than some hundred users.
    """
    if aggregated is None:
        aggregated = protocol.users > _WATCHED_USERS
    width = protocol.dimension * (protocol.levels + 2)
    if aggregated:
        target = Target(functools.partial(_aggregated, protocol), False, (width,))
    else:
        target = message_by_message(protocol, shuffler, _seen, width)
    return Implementation.watching(protocol, target, shuffler, functools.partial(_numbered, protocol))


def _row(protocol: VectorSum, view: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(protocol.analyze(view), dtype=np.float64), view.ravel()])


def _aggregated(protocol: VectorSum, vectors: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    return _row(protocol, protocol.sample_view(vectors, rng))


def _seen(protocol: VectorSum, shuffled: NDArray[np.int64]) -> NDArray[np.float64]:
    return _row(protocol, protocol.view(shuffled))


def _numbered(protocol: VectorSum, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one number for each message (coordinate, value)."""
    return np.asarray(symbols[:, 0] * (protocol.levels + 1) + symbols[:, 1])


def vector_sum_subject(
    reference: VectorSum, *, implementation: Implementation | VectorSum | Runnable | None = None
) -> Subject:
    """Return an implementation as a subject: users at 0, at 1 and between levels, each next to one who moves.

    Parameters
    ----------
    reference : VectorSum
        What is claimed to run.
    implementation : Implementation, VectorSum, Target, callable or str, optional
        What does run: `function(vectors, rng)` with vectors of shape (users, dimension) returns the estimated sum,
        shape (dimension,). With `Implementation(counts=True)`, a row of that and of the number of reports of each
        (coordinate, value), in this order; its messages are `coordinate * (levels + 1) + value`. `reference` itself
        when omitted.

    Raises
    ------
    ValueError
        If estimates have too many values for a law, and only they are seen: audit fewer users.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, VectorSumClaims):
        raise TypeError(f"reference={reference!r} must be a VectorSum.")
    shape = (reference.dimension,)
    implementation = Implementation.given(implementation, shape, reference, VectorSum, own_vector_sum)
    looked_at = list(range(reference.dimension))
    if reference.dimension > _MOST_COORDINATES:
        looked_at = [*looked_at[: _MOST_COORDINATES - 1], looked_at[-1]]
    inputs = _inputs(reference)
    datasets = [
        _dataset(claims, reference, name, vectors, looked_at, implementation.counts) for name, vectors in inputs
    ]
    if not any(dataset.laws for dataset in datasets):
        raise ValueError(f"users={reference.users} make too many sums for a law of the estimate; audit fewer users.")
    silent: tuple[str, ...] = ()
    if not implementation.counts:
        silent = ("the messages behind the estimate, which are what the adversary sees",)
    elif reference.dimension > 1:
        silent = ("what the reports of several coordinates tell together",)
    if len(looked_at) < reference.dimension:
        silent = (*silent, f"coordinates other than {', '.join(map(str, looked_at))}")
    lattices = [claims.estimates(reference, coordinate) for coordinate in looked_at]
    return Subject(
        implementation.name,
        ReadTarget.of(implementation.target, functools.partial(_read, looked_at, lattices), len(looked_at)),
        datasets,
        (Neighbours(0, 1), Neighbours(2, 3)),
        _messages(claims, reference, implementation),
        silent_on=silent,
        reference=reference,
        digits={math.prod(implementation.target.shape) + place: at for place, at in enumerate(looked_at)},
    )


def _read(looked_at: list[int], lattices: list[NDArray[np.float64]], outputs: NDArray[Any]) -> NDArray[np.float64]:
    """Return the outputs with the estimates as the laws list them, less their rounding, and behind them as they are."""
    outputs = np.asarray(outputs, dtype=np.float64)
    read = np.concatenate([outputs, outputs[:, looked_at]], axis=1)
    for coordinate, lattice in zip(looked_at, lattices, strict=True):
        read[:, coordinate] = nearest(lattice, read[:, coordinate])
    return read


def _inputs(reference: VectorSum) -> list[tuple[str, NDArray[np.float64]]]:
    """Return both extremes, and users between levels whose coordinates all differ, next to one who moves."""
    shape = reference.users, reference.dimension
    zeros, ones = np.zeros(shape), np.ones(shape)
    between = np.tile((np.arange(1, shape[1] + 1) * 0.618034) % 1.0, (shape[0], 1))
    one, moved = zeros.copy(), between.copy()
    one[-1], moved[0] = 1.0, 1.0
    return [
        ("all at 0", zeros),
        ("one at 1", one),
        ("all between levels", between),
        ("all but one between levels", moved),
        ("all at 1", ones),
    ]


def _dataset(
    claims: VectorSumClaims,
    reference: VectorSum,
    name: str,
    vectors: NDArray[np.float64],
    looked_at: list[int],
    counts: bool,
) -> Dataset:
    columns: dict[int, tuple[str, DiscreteLaw]] = {}
    view = None
    for coordinate in looked_at:
        with suppress(ValueError):  # too many sums: the reports are tested one by one
            law = claims.estimate_law(reference, vectors, coordinate)
            columns[coordinate] = (f"estimate of coordinate {coordinate}", law)
        begin = reference.dimension + coordinate * (reference.levels + 1)
        for value in range(reference.levels + 1) if counts else ():
            law = claims.count_law(reference, vectors, coordinate, value)
            columns[begin + value] = (f"reports ({coordinate}, {value})", law)
    if counts:
        with suppress(ValueError):
            begin, law = reference.dimension, claims.coordinate_law(reference, vectors, 0)
            view = (slice(begin, begin + reference.levels + 1), law)
    return Dataset(name, vectors, columns, view)


def _messages(claims: VectorSumClaims, reference: VectorSum, implementation: Implementation) -> Messages | None:
    if implementation.sent is None or implementation.arrived is None:
        return None
    quiet = np.zeros((reference.users, reference.dimension))
    larger = (np.arange(reference.users) >= reference.users - reference.users // 2).astype(np.float64)
    return Messages(
        implementation.sent,
        implementation.arrived,
        np.tile(larger[:, np.newaxis], (1, reference.dimension)),
        quiet,
        reference.levels,
        claims.count_law(reference, quiet[:1], 0, reference.levels),
        reference.sampled,
        reference.sampled,
    )
