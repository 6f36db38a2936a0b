"""Sums of vectors of bounded norm by shuffled signed unary messages: many users' integers, few messages each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols import exact_draws
from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial, SingleNoise
from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy, system_entropy
from protocols.lsq.linear import LinearMap
from protocols.shuffler import UserMessages, shuffle
from protocols.sums.base import at_random, exactly_rounded
from protocols.validation import (
    check_generator,
    check_integer,
    check_participants,
    check_present,
    check_ranges,
    check_real,
    check_vectors,
)

__all__ = ["ClientCaps", "UnaryVectorSum"]

_BLOCK_ENTRIES = 2**20
_LONGEST = 1.0 + 1e-3
"""Half-precision embeddings are off by 5e-4; what exceeds 1 is scaled down."""
_SHRUNK = 1.0 - 1e-12
"""So that no rounding leaves a vector longer than it may be."""


class ClientCaps(NamedTuple):
    """What a client keeps to, so that a shuffler may cap her messages: `dpverify.claims.attacks.caps.vector_caps`.

    - noise_per_count, noise: The most messages of noise of one count and in all: it is drawn again until it has no
      more.
    - largest_l1: The largest sum of the sizes of her scaled coordinates: a vector with a larger one is shrunk.
    """

    noise_per_count: int
    noise: int
    largest_l1: float


@dataclass(frozen=True)
class UnaryVectorSum:
    """Each user rotates, clips and scales her vector, rounds it at random to integers, and sends these in unary.

    Her v is s times a public random rotation of her vector, of norm at most 1, with coordinates clipped to
    `+-clip / sqrt(d)`. Each v_j is rounded to one of both integers next to it, at random and with mean v_j, and is sent
    as so many messages (j, sign). To each of the 2d counts all users together add noise. The estimate is the difference
    of both counts of each coordinate, divided by s and rotated back.

    A shuffler sees how many messages a user sends, and so about the norm of her vector; who sees what it hands on does
    not.

    - noise: The noise of each count, and with it n: as the bitsum, of any number instead of a bit.
    - dimension: d, at least 1.
    - scale: s: the larger, the less rounding and the more messages.
    - clip: The largest coordinate in units of `1 / sqrt(d)`, at least 1: those of a rotated unit vector are about
      normal.
    - seed: **Public**: it fixes the rotation, uniform on all of them. It must not be a seed of private randomness.
    - l1: Not to rotate vectors, which then must be even enough by themselves: the most that the sizes of a user's
      coordinates add up to, and none above the clip. Few messages where many coordinates are 0. None rotates.

    Raises TypeError or ValueError for a parameter out of its range.

    >>> import numpy as np
    >>> from protocols.bitsum import Poisson
    >>> protocol = UnaryVectorSum(Poisson(users=1000, mean=500.0), dimension=2, scale=4.0)
    >>> estimate = protocol.run(np.tile([0.6, 0.8], (1000, 1)), np.random.default_rng(7))
    >>> estimate.shape, bool(np.abs(estimate - [600, 800]).max() < 40)
    ((2,), True)
    """

    divided: ClassVar[tuple[str, ...]] = ()

    noise: SingleNoise
    dimension: int = field(metadata={"within": "[1, inf)", "help": "d, the coordinates of a user's vector."})
    scale: float = field(metadata={"within": "(0, inf)", "help": "s, in {}: the larger, the less rounding."})
    clip: float = field(
        default=5.5, metadata={"within": "[1, inf)", "help": "The largest coordinate, rotated, over 1/sqrt(d), in {}."}
    )
    seed: int = field(default=0, metadata={"within": "[0, inf)", "help": "Fixes the rotation; public."})
    l1: float | None = field(
        default=None, metadata={"within": "(0, inf)", "help": "The largest sum of sizes, in {}, not to rotate."}
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if not isinstance(self.noise, SingleNoise) or self.noise.estimate is not Estimate.DEBIASED:
            raise TypeError(f"noise={self.noise!r} must be Poisson or NegativeBinomial, with the estimate debiased.")

    @property
    def users(self) -> int:
        """The number of users, n."""
        return self.noise.users

    @property
    def largest(self) -> float:
        """The largest |v_j|: an integer is at most one more."""
        return self.scale * min(self.clip / math.sqrt(self.dimension), 1.0)

    @property
    def rotation(self) -> NDArray[np.float64]:
        """The orthogonal matrix that a vector is multiplied by, shape (dimension, dimension), read-only.

        ValueError where none is.
        """
        if self.l1 is not None:
            raise ValueError(f"l1={self.l1!r} must be None for a rotation: these vectors are not rotated.")
        return LinearMap(self.dimension, kind="haar", seed=self.seed).matrix

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> Self:
        """Return the protocol of another number of users with the same randomizer; see `BitsumProtocol.with_users`."""
        return replace(self, noise=self.noise.with_users(users, rounded=rounded))

    def scaled(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Return v of every user, shape (users, dimension); ValueError for a vector longer than 1, but for rounding.

        Norms up to 1.001, as of embeddings in half precision, are taken for 1.
        """
        array = check_vectors("vectors", vectors, dimension=self.dimension)
        long = np.linalg.norm(array, axis=1) > _LONGEST
        if long.any():
            row = int(np.argmax(long))
            norm = float(np.linalg.norm(array[row]))
            raise ValueError(f"vectors[{row}] has norm {norm:.6g}, but must have one in [0, 1].")
        limit = self.clip / math.sqrt(self.dimension)
        if self.l1 is not None:
            sizes = np.abs(array)
            for what, found, most in (
                ("a coordinate of size", sizes.max(axis=1), limit),
                ("sizes that add up to", sizes.sum(axis=1), self.l1),
            ):
                if (found > _LONGEST * most).any():
                    row = int(np.argmax(found))
                    raise ValueError(f"vectors[{row}] has {what} {found[row]:.6g}, but must have at most {most:.6g}.")
        turned = array @ self.rotation.T if self.l1 is None else array
        clipped = self.scale * np.clip(turned, -limit, limit)
        norms = np.linalg.norm(clipped, axis=1, keepdims=True)
        return np.asarray(clipped * (_SHRUNK * np.minimum(self.scale / np.maximum(norms, self.scale), 1.0)))

    def randomize(self, vectors: ArrayLike, rng: np.random.Generator) -> UserMessages:
        """Return every user's messages, rows (coordinate, sign), sign 0 for + and 1 for -, as each would make them.

        The vectors have shape (participants, dimension), at most n of them: ValueError else, or for one longer than 1.
        """
        places = self.scaled(vectors)
        check_participants("vectors", len(places), self.users)
        integers = at_random(places, check_generator("rng", rng))
        own = np.stack([np.maximum(integers, 0), np.maximum(-integers, 0)], axis=2)
        counts = own + self.noise.sample_view(np.zeros(own.shape, dtype=np.int64), rng, participants=1)[..., 0]
        senders, coordinates, signs = np.nonzero(counts)
        number = counts[senders, coordinates, signs]
        return UserMessages(
            np.repeat(np.stack([coordinates, signs], axis=1), number, axis=0), np.repeat(senders, number)
        )

    def report(
        self, vector: ArrayLike, entropy: Entropy | None = None, *, caps: ClientCaps | None = None
    ) -> list[tuple[int, int]]:
        """Return the messages of a real client, (coordinate, sign), drawn exactly and in order of their coordinates.

        - vector (array_like, shape (dimension,)): Of norm at most 1. Scaled and rotated in floating point, which may
          change it by its last digits; what comes of it is rounded with exactly the right chances.
        - entropy: The operating system's when omitted; anything else is for tests.
        - caps: What the shuffler caps, where it does.

        Raises ValueError for a vector of another shape, or longer than 1.
        """
        drawn_from = system_entropy() if entropy is None else entropy
        if caps is not None and not isinstance(caps, ClientCaps):
            raise TypeError(f"caps={caps!r} must be a ClientCaps.")
        place = self.scaled(np.asarray(vector)[np.newaxis])[0]
        if caps is not None:
            check_integer("caps.noise_per_count", caps.noise_per_count, low=0)
            check_integer("caps.noise", caps.noise, low=0)
            check_real("caps.largest_l1", caps.largest_l1, low=0.0)
            place = place * min(_SHRUNK * caps.largest_l1 / max(float(np.abs(place).sum()), 1e-300), 1.0)
        counts = self._exact_noise(drawn_from)
        while caps is not None and (max(counts) > caps.noise_per_count or sum(counts) > caps.noise):
            counts = self._exact_noise(drawn_from)
        for j, value in enumerate(map(float, place)):
            counts[2 * j + (value < 0.0)] += exactly_rounded(abs(value), 1, drawn_from)
        return [(k // 2, k % 2) for k, count in enumerate(counts) for _ in range(count)]

    def _exact_noise(self, entropy: Entropy) -> list[int]:
        noise = self.noise
        if isinstance(noise, NegativeBinomial):
            shape, p = Fraction(noise.shape) / self.users, Fraction(noise.p)
            return [exact_draws.negative_binomial(shape, p, entropy) for _ in range(2 * self.dimension)]
        mean = Fraction(noise.noise_mean) / self.users
        return [exact_draws.poisson(mean, entropy) for _ in range(2 * self.dimension)]

    def view(self, symbols: ArrayLike) -> NDArray[np.int64]:
        """Return how often each (coordinate, sign) occurs in the messages, shape (dimension, 2)."""
        rows = np.asarray(symbols).reshape(-1, 2)
        outside = (rows < 0).any(axis=1) | (rows >= [self.dimension, 2]).any(axis=1)
        if outside.any():
            raise ValueError(
                f"symbols contains {rows[outside][0].tolist()}, but must hold rows (coordinate, sign) in "
                f"[0, {self.dimension}) x [0, 2)."
            )
        counts = np.bincount(rows[:, 0] * 2 + rows[:, 1], minlength=2 * self.dimension)
        return counts.reshape(self.dimension, 2)

    def sample_view(self, vectors: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the shuffled view from the users' vectors, in blocks: equal in law to `view(shuffle(randomize(..)))`.

        Shape (dimension, 2): the counts of + and of - of each coordinate.
        """
        array = np.asarray(vectors)
        check_participants("vectors", len(array), self.users)
        check_generator("rng", rng)
        zeros = np.zeros((self.dimension, 2), dtype=np.int64)
        counts = np.array(self.noise.sample_view(zeros, rng, participants=len(array))[..., 0])
        size = max(1, _BLOCK_ENTRIES // self.dimension)
        for start in range(0, len(array), size):
            integers = at_random(self.scaled(array[start : start + size]), rng)
            counts[:, 0] += np.maximum(integers, 0).sum(axis=0)
            counts[:, 1] += np.maximum(-integers, 0).sum(axis=0)
        return counts

    def analyze(self, view: ArrayLike) -> NDArray[np.float64]:
        """Return the estimate of the sum of vectors, shape (..., dimension), from counts, shape (..., dimension, 2).

        Unbiased but for what is clipped. TypeError if the counts are no integers, ValueError for another shape or a
        negative count.
        """
        counts = np.asarray(view)
        if not np.issubdtype(counts.dtype, np.integer):
            raise TypeError(f"view has dtype {counts.dtype}, but must hold integers in [0, inf).")
        if counts.shape[-2:] != (self.dimension, 2) or (counts < 0).any():
            raise ValueError(f"view has shape {counts.shape}, but must hold counts >= 0, (..., {self.dimension}, 2).")
        differences = counts[..., 0] - counts[..., 1]
        return np.asarray((differences if self.l1 is not None else differences @ self.rotation) / self.scale)

    def run(
        self, vectors: ArrayLike, rng: np.random.Generator, *, participants: int | None = None
    ) -> NDArray[np.float64]:
        """Run randomizer, shuffler and analyzer once, message by message; return the estimate of the sum.

        The vectors have shape (users, dimension), or (participants, dimension) where it is said how many take part;
        ValueError for another number.
        """
        check_present("vectors", len(np.asarray(vectors)), self.users, participants)
        return self.analyze(self.view(shuffle(self.randomize(vectors, rng), rng)))
