"""Vector sum by coordinate sampling, quantisation and randomized response (scott2022, Algorithms 1-3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages, shuffle
from protocols.validation import (
    check_flag,
    check_generator,
    check_integer,
    check_participants,
    check_present,
    check_ranges,
    check_vectors,
)

__all__ = ["VectorSum"]


@dataclass(frozen=True)
class VectorSum:
    """Each user reports t of her d coordinates, rounded to k levels and replaced by a random level w.p. gamma.

    Parameters
    ----------
    users : int
        The number of users n, public; fewer may take part, never more.
    dimension : int
        d, the number of coordinates of each user's vector in [0, 1]^d.
    levels : int
        k >= 1: a coordinate x is rounded at random, without bias, to one of the k + 1 values {0, ..., k}, of size x k.
    blanket_probability : float
        gamma in [0, 1): the probability that a report is replaced by a uniformly random one of the k + 1 values.
    sampled : int
        t in [1, d], the number of coordinates that a user reports, each in a message of its own.
    stratified : bool
        False samples a uniformly random t-subset, as scott2022 does. True cuts the coordinates into t blocks of equal
        size (up to one) and samples one coordinate from each: the same for t = 1 and t = d, and easier to account.
    centre : float
        The analyzer's guess of a coordinate in [0, 1], which stands in where a coordinate is not sampled. It takes no
        part in privacy. scott2022 has 0; 1/2 makes the largest error least.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Notes
    -----
    scott2022 lets one message carry all t coordinates, but accounts only for the histograms of single coordinates; here
    the t reports are separate messages (coordinate, value), so that the view is those histograms.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = VectorSum(users=10_000, dimension=2, levels=1, blanket_probability=0.1)
    >>> estimate = protocol.run(np.tile([0.2, 0.7], (10_000, 1)), np.random.default_rng(7))
    >>> estimate.shape, bool(np.abs(estimate - [2_000, 7_000]).max() < 1_000)
    ((2,), True)
    """

    users: int = field(metadata={"within": "[1, inf)", "help": "n, the number of users; public."})
    dimension: int = field(metadata={"within": "[1, inf)", "help": "d, the coordinates of a user's vector."})
    levels: int = field(
        metadata={"within": "[1, inf)", "help": "k: coordinates are rounded to one of k + 1 values."},
    )
    blanket_probability: float = field(
        metadata={"within": "[0, 1)", "help": "gamma, in {}: the probability that a report is a random one."}
    )
    sampled: int = field(
        default=1, metadata={"within": "[1, inf)", "help": "t, the coordinates that a user reports, at most d."}
    )
    stratified: bool = field(default=False, metadata={"help": "Sample one coordinate from each of t blocks."})
    centre: float = field(default=0.0, metadata={"within": "[0, 1]", "typed": False})

    def __post_init__(self) -> None:
        check_ranges(self)
        check_integer("sampled", self.sampled, low=1, high=self.dimension)
        check_flag("stratified", self.stratified)

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> Self:
        """Return the protocol of another number of users with the same randomizer, of whom nothing is divided."""
        return replace(self, users=users)

    @cached_property
    def blocks(self) -> list[NDArray[np.int64]]:
        """The blocks of coordinates from each of which a user samples the same number: one, or t if stratified."""
        return np.array_split(np.arange(self.dimension), self.sampled if self.stratified else 1)

    @cached_property
    def inclusion_probability(self) -> NDArray[np.float64]:
        """The probability that a user reports each coordinate, shape (dimension,)."""
        per_block = 1 if self.stratified else self.sampled
        return np.concatenate([np.full(block.size, per_block / block.size) for block in self.blocks])

    def report_law(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Return the law of a user's value for each coordinate, if reported, shape (users, dimension, levels + 1)."""
        scaled = self._check(vectors) * self.levels
        distance = np.abs(scaled[..., np.newaxis] - np.arange(self.levels + 1))
        gamma = self.blanket_probability
        return (1.0 - gamma) * np.maximum(1.0 - distance, 0.0) + gamma / (self.levels + 1)

    def _check(self, vectors: ArrayLike) -> NDArray[np.float64]:
        array = check_vectors("vectors", vectors, dimension=self.dimension)
        outside = (array < 0.0) | (array > 1.0)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise ValueError(f"vectors[{row}, {column}]={array[row, column]!r} must be in [0, 1].")
        return array

    def _sample_coordinates(self, users: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the coordinates that each user reports, shape (users, sampled)."""
        if self.stratified or self.sampled == 1:
            return np.stack([rng.choice(block, users) for block in self.blocks], axis=1)
        if self.sampled == self.dimension:
            return np.tile(np.arange(self.dimension), (users, 1))
        ranks = rng.random((users, self.dimension))
        return np.argpartition(ranks, self.sampled - 1, axis=1)[:, : self.sampled]

    def _count_coordinates(self, users: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return how often each coordinate is sampled by `users` users, shape (dimension,)."""
        if self.stratified or self.sampled in (1, self.dimension):
            if self.sampled == self.dimension:
                return np.full(self.dimension, users)
            return np.concatenate([rng.multinomial(users, np.full(b.size, 1.0 / b.size)) for b in self.blocks])
        return np.bincount(self._sample_coordinates(users, rng).ravel(), minlength=self.dimension)

    def randomize(self, vectors: ArrayLike, rng: np.random.Generator) -> UserMessages:
        """Return every user's messages, each a row (coordinate, value), as she would compute them (Algorithm 2).

        The vectors have shape (participants, dimension): ValueError else, for an entry outside [0, 1], or more than n
        of them.
        """
        array = self._check(vectors)
        check_participants("vectors", len(array), self.users)
        check_generator("rng", rng)
        coordinates = self._sample_coordinates(len(array), rng)
        scaled = np.take_along_axis(array, coordinates, axis=1) * self.levels
        below = np.floor(scaled)
        values = (below + (rng.random(scaled.shape) < scaled - below)).astype(np.int64)
        replaced = rng.random(scaled.shape) < self.blanket_probability
        values = np.where(replaced, rng.integers(0, self.levels + 1, scaled.shape), values)
        symbols = np.stack([coordinates.ravel(), values.ravel()], axis=1)
        return UserMessages(symbols, np.repeat(np.arange(len(array)), self.sampled))

    def view(self, symbols: ArrayLike) -> NDArray[np.int64]:
        """Return how often each (coordinate, value) occurs in the messages, shape (dimension, levels + 1)."""
        rows = np.asarray(symbols).reshape(-1, 2)
        outside = (rows < 0).any(axis=1) | (rows[:, 0] >= self.dimension) | (rows[:, 1] > self.levels)
        if outside.any():
            raise ValueError(
                f"symbols contains {rows[outside][0].tolist()}, but must hold rows (coordinate, value) in "
                f"[0, {self.dimension}) x [0, {self.levels}]."
            )
        width = self.levels + 1
        counts = np.bincount(rows[:, 0] * width + rows[:, 1], minlength=self.dimension * width)
        return counts.reshape(self.dimension, width)

    def sample_view(
        self, vectors: ArrayLike, rng: np.random.Generator, *, holders: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Draw the shuffled view from aggregated inputs: equal in law to `view(shuffle(randomize(..)))`.

        The distinct vectors that users hold have shape (distinct, dimension), and `holders` says how many hold each:
        one when omitted. The view has shape (dimension, levels + 1).
        """
        if holders is None:  # equal vectors are drawn together
            vectors, held = np.unique(self._check(vectors), axis=0, return_counts=True)
        else:
            held = np.asarray(holders)
        laws = self.report_law(vectors)
        check_generator("rng", rng)
        if held.shape != (len(laws),) or not np.issubdtype(held.dtype, np.integer) or (held < 0).any():
            raise ValueError(f"holders={holders!r} must be {len(laws)} integers in [0, inf), one for each vector.")
        check_participants("vectors" if holders is None else "holders", int(held.sum()), self.users)
        counts = np.zeros((self.dimension, self.levels + 1), dtype=np.int64)
        for law, users in zip(laws, held, strict=True):
            counts += rng.multinomial(self._count_coordinates(int(users), rng), law)
        return counts

    def analyze(self, view: ArrayLike, *, participants: int | None = None) -> NDArray[np.float64]:
        """Return the unbiased estimate of the sum of vectors, shape (..., dimension), from a view (Algorithm 3).

        scott2022's DeBias estimates the sum over the users who happened to sample a coordinate. Dividing by the
        probability of sampling it makes that an estimate of the sum over all users. How many took part, all when
        omitted, matters only if `centre` is not 0.
        """
        counts = np.asarray(view)
        shape = (self.dimension, self.levels + 1)
        if counts.shape[-2:] != shape or not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
            raise ValueError(
                f"view has shape {counts.shape} and dtype {counts.dtype}, but must hold counts in [0, inf) of shape "
                f"(..., {shape[0]}, {shape[1]})."
            )
        present = check_integer(
            "participants", self.users if participants is None else participants, low=0, high=self.users
        )
        reports = counts.sum(axis=-1)
        total = counts @ np.arange(self.levels + 1) / self.levels
        gamma = self.blanket_probability
        debiased = (total - gamma / 2.0 * reports) / (1.0 - gamma)
        centred = (debiased - self.centre * reports) / self.inclusion_probability
        return np.asarray(present * self.centre + centred, dtype=np.float64)

    def run(
        self, vectors: ArrayLike, rng: np.random.Generator, *, participants: int | None = None
    ) -> NDArray[np.float64]:
        """Run randomizer, shuffler and analyzer once, message by message; return the estimate of the sum.

        The vectors have shape (users, dimension), or (participants, dimension) where it is said how many take part;
        ValueError for another number.
        """
        array = self._check(vectors)
        check_present("vectors", len(array), self.users, participants)
        return self.analyze(self.view(shuffle(self.randomize(array, rng), rng)), participants=len(array))
