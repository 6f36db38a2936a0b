"""Audits of histograms and selections: which datasets to run, and the exact laws of what is published and sent."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import Runnable, Target
from dpverify.audit.subject import Dataset, Messages, Neighbours, Subject, distinct
from dpverify.audit.subjects.bitsum import Implementation, Shuffler, message_by_message
from dpverify.claims.bitsum import claims_of
from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.laws.discrete import DiscreteLaw
from protocols.histogram import BucketSums
from protocols.shuffler import shuffle

__all__ = ["bucket_subject", "own_buckets"]

_WATCHED_MESSAGES = 1_000
"""Up to so many messages a run is made message by message, beyond that by the sampler of views."""
_MOST_BUCKETS = 4
"""Of more, the first and the last are tested one by one, and all others by the medians and spread of their messages."""
_MOST_CELLS = 2**18
_MIXED = 20
"""The seed of the order in which users with different values come."""


def own_buckets(
    protocol: BucketSums, *, shuffler: Shuffler = shuffle, aggregated: bool | None = None
) -> Implementation:
    """Return what can be watched of one of our own protocols, or of a subclass, which may override anything.

    - protocol: The implementation.
    - shuffler: The shuffler of the message-level path.
    - aggregated: Whether to draw views by `sample_view`, which is fast; by default where there are thousands of
      messages.
    """
    if aggregated is None:
        aggregated = protocol.users * protocol.buckets > _WATCHED_MESSAGES
    width = int(np.size(protocol.analyze(np.zeros(protocol.buckets, dtype=np.int64)))) + protocol.buckets
    if aggregated:
        target = Target(functools.partial(_aggregated, protocol), True, (width,))
    else:
        target = message_by_message(protocol, shuffler, _seen, width)
    return Implementation.watching(protocol, target, shuffler, _bucket)


def _rows(protocol: BucketSums, views: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what is published, and then the number of messages of each bucket."""
    published = np.asarray(protocol.analyze(views), dtype=np.float64)
    return np.concatenate([published.reshape(*views.shape[:-1], -1), views], axis=-1)


def _aggregated(
    protocol: BucketSums, values: NDArray[Any], rng: np.random.Generator, trials: int
) -> NDArray[np.float64]:
    held = np.bincount(values, minlength=protocol.buckets)
    return _rows(protocol, protocol.sample_view(np.tile(held, (trials, 1)), rng))


def _seen(protocol: BucketSums, shuffled: NDArray[np.int64]) -> NDArray[np.float64]:
    return _rows(protocol, protocol.view(shuffled))


def _bucket(symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    return symbols[:, 1]


def bucket_subject(
    reference: BucketSums, *, implementation: Implementation | BucketSums | Runnable | None = None
) -> Subject:
    """Return an implementation as a subject: all users in one bucket or spread, each next to a user who moves.

    What is published and each bucket's number of messages are held against their laws, and buckets against each other.
    A claim is tested on the two buckets that a user moves between: what others send does not depend on her.

    - reference: What is claimed to run.
    - implementation: What does run: `function(values, rng)` with a bucket for each user returns the estimated counts,
      shape (buckets,), or the selected bucket. With `Implementation(counts=True)`, a row of these and of the number of
      messages of each bucket; its messages are the buckets. `reference` itself when omitted.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, HistogramClaims):
        raise TypeError(f"reference={reference!r} must be a Histogram or a Selection.")
    inputs = _inputs(reference)
    held = {name: np.bincount(values, minlength=reference.buckets) for name, values in inputs.items()}
    published = {name: claims.published_laws(reference, counts) for name, counts in held.items()}
    width = len(next(iter(published.values())))
    shape = () if width == 1 else (width,)
    implementation = Implementation.given(implementation, shape, reference, BucketSums, own_buckets)
    counted = implementation.counts
    datasets = [
        _dataset(name, values, published[name], claims.count_laws(reference, held[name]) if counted else ())
        for name, values in inputs.items()
    ]
    at = {name: place for place, name in enumerate(inputs)}
    silent: tuple[str, ...] = ()
    if not counted:
        silent = ("the messages behind what is published, which are what the adversary sees",)
    if reference.buckets > _MOST_BUCKETS:
        silent = (*silent, "single buckets but a few, other than by the medians and spread of their columns")
    return Subject(
        implementation.name,
        implementation.target,
        datasets,
        tuple(Neighbours(at[one], at[other]) for one, other in _NEIGHBOURS if one in at and other in at),
        _messages(reference, implementation),
        silent_on=silent,
        reference=reference,
    )


_NEIGHBOURS = (
    ("all in the first bucket", "one in the second bucket"),
    ("spread evenly", "spread evenly, but one moved up"),
)


def _inputs(reference: BucketSums) -> dict[str, NDArray[np.int64]]:
    users, last = reference.users, reference.buckets - 1
    first, spread = np.zeros(users, dtype=np.int64), np.arange(users) % reference.buckets
    spread = np.random.default_rng(_MIXED).permutation(spread)
    one, moved = first.copy(), spread.copy()
    one[-1] = 1
    moved[np.flatnonzero(spread == 0)[0]] = 1
    return distinct(
        {
            "all in the first bucket": first,
            "one in the second bucket": one,
            "spread evenly": spread,
            "spread evenly, but one moved up": moved,
            "all in the last bucket": np.full(users, last),
        }
    )


def _dataset(
    name: str, values: NDArray[np.int64], published: Sequence[DiscreteLaw], counts: Sequence[DiscreteLaw]
) -> Dataset:
    """Return a dataset with the laws of what is published, and behind it of the counts, if these are seen."""
    begin = len(published)
    named = [f"estimate of bucket {at}" for at in range(begin)] if begin > 1 else ["selected bucket"]
    columns = {at: (named[at], law) for at, law in _looked_at(published)}
    columns |= {begin + at: (f"messages of bucket {at}", law) for at, law in _looked_at(counts)}
    start, separate = (begin, counts) if counts else (0, published)
    if len(separate) == 1:
        return Dataset(name, values, columns)
    law = _both(*separate[:2])
    view = None if law is None else (slice(start, start + 2), law)
    return Dataset(name, values, columns, view, (slice(start, start + len(separate)), separate))


def _looked_at(laws: Sequence[DiscreteLaw]) -> list[tuple[int, DiscreteLaw]]:
    listed = list(enumerate(laws))
    return listed if len(listed) <= _MOST_BUCKETS else [*listed[: _MOST_BUCKETS - 1], listed[-1]]


def _both(first: DiscreteLaw, second: DiscreteLaw) -> DiscreteLaw | None:
    """Return the joint law of two independent numbers; None where it has too many outcomes to list."""
    if first.atoms * second.atoms > _MOST_CELLS:
        return None
    points = np.stack(np.meshgrid(first.points, second.points, indexing="ij"), axis=-1).reshape(-1, 2)
    masses = np.multiply.outer(first.pmf, second.pmf).ravel()
    return DiscreteLaw.of(points.astype(np.int64), masses, min(1.0, first.outside + second.outside))


def _messages(reference: BucketSums, implementation: Implementation) -> Messages | None:
    if implementation.sent is None or implementation.arrived is None:
        return None
    users, bitsum = reference.users, reference.bitsum
    return Messages(
        implementation.sent,
        implementation.arrived,
        (np.arange(users) >= users - users // 2).astype(np.int64),
        np.zeros(users, dtype=np.int64),
        0,
        claims_of(bitsum).view_law(bitsum, 1, 1).image(lambda rows: rows[:, 0]),
        reference.buckets - 1,
    )
