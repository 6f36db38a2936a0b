"""Numbers in a rehearsal: many users at few numbers, and how many messages, or which shares, they send."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.collection.client import Refused, stepped, weighted
from dpverify.collection.tables import probabilities
from protocols.classes.frozen import dataclass
from protocols.sums.base import SumProtocol

__all__ = ["HeldNumbers", "sent_messages", "sent_shares"]

_NUMBERS = 24
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldNumbers:
    """Numbers in whole steps and what is left, shape (instances, numbers), and how many users hold each: `number`."""

    protocol: SumProtocol
    whole: Counts
    rest: NDArray[np.float64]
    number: Counts

    @classmethod
    def of(cls, query: Mapping[str, Any], protocol: SumProtocol, given: ArrayLike | None, users: int) -> HeldNumbers:
        """Return as many users at each of the rows given: a number of each instance, or with weights [bucket, number].

        When omitted numbers are spread evenly over the range, and of weights over the buckets in turns.
        """
        instances, weights = int(query["instances"]), query.get("asks") == "weights"
        if given is None:
            even = np.linspace(protocol.smallest, protocol.largest, _NUMBERS + 1)
            even = even if query["real"] else np.floor(even)
            buckets = np.arange(even.size) % instances
            given = np.column_stack([buckets, even]) if weights else np.repeat(even[:, np.newaxis], instances, axis=1)
        rows = np.asarray(given, dtype=np.float64)
        rows = rows.reshape(-1, 1) if rows.ndim == 1 and instances == 1 else rows
        if rows.ndim != 2 or rows.shape[1] != (2 if weights else instances) or not len(rows):
            what = "[bucket, number]" if weights else f"{instances} numbers"
            raise ValueError(f"held of {query['name']!r} must be rows of {what}, at least one.")
        try:
            steps = [
                weighted(query, [int(row[0]) if row[0].is_integer() else row[0], row[1]])
                if weights
                else [stepped(query, one) for one in row]
                for row in rows.tolist()
            ]
        except Refused as error:
            raise ValueError(f"held of {query['name']!r} is out of range: {error}") from error
        both = np.array([[(whole, rest / 2**128) for whole, rest in row] for row in steps]).transpose(2, 1, 0)
        number = np.full(len(rows), users // len(rows), dtype=np.int64)
        number[: users % len(rows)] += 1
        return cls(protocol, both[0].astype(np.int64), both[1], number)

    @property
    def bits(self) -> list[Any]:
        """Of each instance a row for each number: how many users hold it, its whole steps, and what is left of one."""
        return [np.column_stack([self.number, *each]) for each in zip(self.whole, self.rest, strict=True)]

    def exact(self, users: int) -> list[float]:
        """Return the sums of all that is held, where other users hold the smallest number."""
        steps = ((self.whole + self.rest) @ self.number).tolist()
        begin = users * Fraction(self.protocol.smallest)
        return [float(begin + self.protocol.step * Fraction(each)) for each in steps]


def sent_messages(query: Mapping[str, Any], held: NDArray[np.float64], cheats: int, rng: np.random.Generator) -> Counts:
    """Return how many messages there are: of cheats as many as can be."""
    number = held[:, 0].astype(np.int64)
    own = int((number * held[:, 1]).sum() + rng.binomial(number, held[:, 2]).sum())
    pmf = np.array(probabilities(query["tables"]["noise"]))
    noise = int(rng.multinomial(int(number.sum()), pmf / pmf.sum()) @ np.arange(pmf.size))
    return np.array([own + noise + cheats * (int(query["levels"]) + len(query["tables"]["noise"]))])


def sent_shares(query: Mapping[str, Any], held: NDArray[np.float64], cheats: int, rng: np.random.Generator) -> Counts:
    """Return the shares of all users, in a uniformly random order: of cheats as many, which move the sum farthest."""
    number, modulus = held[:, 0].astype(np.int64), int(query["modulus"])
    users = int(number.sum())
    pmf = np.array(probabilities(query["tables"]["noise"]))
    up, down = rng.choice(pmf.size, size=(2, users), p=pmf / pmf.sum())
    rounded = rng.random(users) < np.repeat(held[:, 2], number)
    own = np.zeros(users + cheats, dtype=np.int64)
    own[:users] = np.repeat(held[:, 1].astype(np.int64), number) + rounded + up - down
    own[users : users + 1] = modulus // 2
    shares = rng.integers(0, modulus, (own.size, int(query["shares"])))
    shares[:, -1] = (own - shares[:, :-1].sum(axis=1)) % modulus
    found: Counts = rng.permutation(shares.ravel())
    return found
