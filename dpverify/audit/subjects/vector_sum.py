"""Audits of sums of vectors: which vectors users hold, and the exact laws of coordinates' reports and estimates."""

from __future__ import annotations

import functools
import itertools
import math
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target
from dpverify.audit.subject import Dataset, Messages, Neighbours, Subject
from dpverify.audit.subjects.bitsum import Implementation, Shuffler, message_by_message
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.sums.vectors import UnaryVectorClaims
from dpverify.claims.vector_sum.law import nearest
from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.laws.discrete import DiscreteLaw
from protocols.shuffler import shuffle
from protocols.sums.vectors import UnaryVectorSum
from protocols.vector_sum import VectorSum

__all__ = ["own_vector_sum", "unary_vector_subject", "vector_sum_subject"]

Vectors = VectorSum | UnaryVectorSum

_MOST_COORDINATES = 4
"""Of more coordinates, the first and the last are looked at."""
_NEAR = 1e-7
"""How near to an integer the difference of two counts is, relatively, once it was rotated there and back."""
_ENLARGED, _LAST = 2.0**20, 5e-9
"""What last digits are multiplied by, and the most that is left of them: `audit.engine` looks at 1e-8 of an outcome."""
_WATCHED_USERS = 200
"""Up to so many users our own protocol runs message by message, beyond that by the sampler of its views."""


def own_vector_sum(
    protocol: Vectors, *, shuffler: Shuffler = shuffle, aggregated: bool | None = None
) -> Implementation:
    """Return what can be watched of our own protocol, or of a subclass, which may override anything.

    - protocol: The implementation.
    - shuffler: The shuffler of the message-level path.
    - aggregated: Whether to draw views by `sample_view`; by default for more than some hundred users.
    """
    if aggregated is None:
        aggregated = protocol.users > _WATCHED_USERS
    width = protocol.dimension * (1 + _kinds(protocol))
    if aggregated:
        target = Target(functools.partial(_aggregated, protocol), False, (width,))
    else:
        target = message_by_message(protocol, shuffler, _seen, width)
    return Implementation.watching(protocol, target, shuffler, functools.partial(_numbered, protocol))


def _kinds(protocol: Vectors) -> int:
    """Return how many different messages there are for a coordinate."""
    return protocol.levels + 1 if isinstance(protocol, VectorSum) else 2


def _row(protocol: Vectors, view: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(protocol.analyze(view), dtype=np.float64), view.ravel()])


def _aggregated(protocol: Vectors, vectors: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    return _row(protocol, protocol.sample_view(vectors, rng))


def _seen(protocol: Vectors, shuffled: NDArray[np.int64]) -> NDArray[np.float64]:
    return _row(protocol, protocol.view(shuffled))


def _numbered(protocol: Vectors, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one number for each message (coordinate, value)."""
    return np.asarray(symbols[:, 0] * _kinds(protocol) + symbols[:, 1])


def _looked_at(dimension: int) -> list[int]:
    """Return the coordinates that are looked at: the first and the last of many."""
    first = list(range(dimension))
    return first if dimension <= _MOST_COORDINATES else [*first[: _MOST_COORDINATES - 1], first[-1]]


def unary_vector_subject(
    reference: UnaryVectorSum, *, implementation: Implementation | UnaryVectorSum | Runnable | None = None
) -> Subject:
    """Return an implementation as a subject: users at 0 or at vectors of all kinds, each next to one who moves.

    - reference: What is claimed to run.
    - implementation: What does run: `function(vectors, rng)` with vectors of shape (users, dimension) returns the
      estimated sum, shape (dimension,). With `Implementation(counts=True)`, a row of that and of both counts of each
      coordinate; its messages are `2 coordinate + sign`. `reference` itself when omitted.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, UnaryVectorClaims):
        raise TypeError(f"reference={reference!r} must be a UnaryVectorSum.")
    users, d = reference.users, reference.dimension
    given = Implementation.given(implementation, (d,), reference, UnaryVectorSum, own_vector_sum)
    looked_at = _looked_at(d)
    zeros = np.zeros((users, d))
    angles = np.cos(np.outer(np.arange(1, users + 1), np.arange(1, d + 1)))
    single, mixed = zeros.copy(), angles / np.linalg.norm(angles, axis=1, keepdims=True)
    along = reference.rotation[0]  # what the rotation turns into the first coordinate
    single[-1], other = along, mixed.copy()
    other[0] = -along
    names = ("all at 0", "one along a coordinate", "all different", "all but one different")
    datasets = []
    for name, vectors in zip(names, (zeros, single, mixed, other), strict=True):
        places = reference.scaled(vectors)
        columns = {
            j: (f"difference of coordinate {j}", claims.difference_law(reference, places[:, j])) for j in looked_at
        }
        for j, sign in itertools.product(looked_at if given.counts else (), (0, 1)):
            law = claims.count_law(reference, np.maximum(places[:, j] * (1 - 2 * sign), 0.0))
            columns[d + 2 * j + sign] = (f"messages ({j}, {sign})", law)
        datasets.append(Dataset(name, vectors, columns))
    silent = () if given.counts else ("the messages behind the estimate, which are what the adversary sees",)
    if d > 1 or given.counts:
        silent = (*silent, "what several counts tell together")
    if len(looked_at) < d:
        silent = (*silent, f"coordinates other than {', '.join(map(str, looked_at))}")
    messages = None
    if given.sent is not None and given.arrived is not None:
        halves = np.where(np.arange(users)[:, np.newaxis] < users - users // 2, 0.0, along)
        piece = claims.count_law(reference, np.zeros(1), 1.0 / users)
        messages = Messages(given.sent, given.arrived, halves, zeros, 0, piece)
    return Subject(
        given.name,
        ReadTarget.of(given.target, functools.partial(_turned, reference, looked_at), len(looked_at)),
        datasets,
        (Neighbours(0, 1), Neighbours(2, 3)),
        messages,
        silent_on=silent,
        reference=reference,
        digits={math.prod(given.target.shape) + place: at for place, at in enumerate(looked_at)},
    )


def _turned(reference: UnaryVectorSum, looked_at: list[int], outputs: NDArray[Any]) -> NDArray[np.float64]:
    """Return the outputs with estimates as the differences of counts that they are of, and behind them their digits.

    These are what is left of an estimate, less what our analyzer makes of its differences: beside a difference, and
    enlarged so that the last digit of an estimate is seen.
    """
    read = np.array(outputs, dtype=np.float64).reshape(len(outputs), -1)
    estimates = read[:, : reference.dimension].copy()
    raw = reference.scale * estimates @ reference.rotation.T
    whole = np.rint(raw)
    left = np.clip(_ENLARGED * (estimates - whole @ reference.rotation / reference.scale), -_LAST, _LAST)
    read[:, : reference.dimension] = np.where(np.abs(raw - whole) < _NEAR * (1.0 + np.abs(raw)), whole, raw)
    return np.concatenate([read, (whole + left)[:, looked_at]], axis=1)


def vector_sum_subject(
    reference: VectorSum, *, implementation: Implementation | VectorSum | Runnable | None = None
) -> Subject:
    """Return an implementation as a subject: users at 0, at 1 and between levels, each next to one who moves.

    - reference: What is claimed to run.
    - implementation: What does run: `function(vectors, rng)` with vectors of shape (users, dimension) returns the
      estimated sum, shape (dimension,). With `Implementation(counts=True)`, a row of that and of the number of reports
      of each (coordinate, value), in this order; its messages are `coordinate * (levels + 1) + value`. `reference`
      itself when omitted.

    Raises ValueError if estimates have too many values for a law, and only they are seen: audit fewer users.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, VectorSumClaims):
        raise TypeError(f"reference={reference!r} must be a VectorSum.")
    shape = (reference.dimension,)
    implementation = Implementation.given(implementation, shape, reference, VectorSum, own_vector_sum)
    looked_at = _looked_at(reference.dimension)
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
