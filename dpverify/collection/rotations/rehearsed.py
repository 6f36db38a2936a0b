"""Vectors in a rehearsal: many users at few vectors, and how often each message is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.collection.client import TURNED
from dpverify.collection.rotations.turned import Turned
from dpverify.collection.tables import probabilities
from protocols.classes.frozen import dataclass

__all__ = ["HeldVectors", "sent_counts"]

_VECTORS = 24
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldVectors:
    """Vectors, shape (vectors, d), and how many users hold each: `number`."""

    turned: Turned
    vectors: NDArray[np.float64]
    number: Counts

    @classmethod
    def of(cls, name: str, turned: Turned, given: ArrayLike | None, users: int) -> HeldVectors:
        """Return as many users at each of the rows given; when omitted, at random ones of norm 1."""
        if given is None:
            normal = np.random.default_rng(0).standard_normal((_VECTORS, turned.dimension))
            given = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        rows = np.asarray(given, dtype=np.float64)
        if not rows.size:
            raise ValueError(f"held of {name!r} must have rows of {turned.dimension} numbers, at least one.")
        turned.steps(rows, f"held of {name!r}")
        number = np.full(len(rows), users // len(rows), dtype=np.int64)
        number[: users % len(rows)] += 1
        return cls(turned, rows, number)

    @property
    def bits(self) -> list[Counts]:
        """Of the one instance, a row for each vector: how many hold it, and its rotated coordinates."""
        return [np.column_stack([self.number, self.turned.places(self.vectors)])]

    def exact(self, users: int) -> list[float]:
        """Return the sum of all their vectors."""
        return [float(each) for each in self.number @ self.vectors]


def sent_counts(query: Mapping[str, Any], held: Counts, cheats: int, rng: np.random.Generator) -> Counts:
    """Return how many messages there are of + and of - of each rotated coordinate.

    Noise is that of tables: what is drawn again once in 10^15 users is not. Cheats move the first coordinate upwards.
    """
    size, number = int(query["coordinates"]), held[:, 0]
    products = held[:, 1:].astype(object) * int(query["factor"])
    levels = (products // 2**TURNED).astype(np.int64)
    ups = rng.binomial(number[:, np.newaxis], (products % 2**TURNED).astype(np.float64) / 2.0**TURNED)
    both = ((levels, number[:, np.newaxis] - ups), (levels + 1, ups))
    pmf = np.array(probabilities(query["tables"]["noise"]))
    drawn = rng.multinomial(int(number.sum()), pmf / pmf.sum(), size=(size, 2))
    found: Counts = drawn @ np.arange(pmf.size)
    for level, users in both:
        found[:, 0] += (np.maximum(level, 0) * users).sum(axis=0)
        found[:, 1] += (np.maximum(-level, 0) * users).sum(axis=0)
    each = int(query["most"]) + len(query["tables"]["noise"])
    most = np.clip(int(query["messages"]) - each * np.arange(size), 0, each)
    # The first coordinate is the sum of all, with the sign of its own.
    found[np.arange(size), int(query["signs"][0])] += cheats * most
    return found.ravel()
