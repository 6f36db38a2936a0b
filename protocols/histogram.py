"""Histogram, bucket by bucket, from a bitsum that never over-estimates (ghazi2021, Lemma 37)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.bitsum.negative_binomial import Estimate, SingleNoise
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages, tagged
from protocols.validation import check_generator, check_indices, check_integer

__all__ = ["BucketSums", "Histogram"]


@dataclass(frozen=True)
class BucketSums(ABC):
    """Each user takes part in one bitsum per bucket, with the bit "my value is this bucket", all shuffled together.

    The bitsum, for instance `NegativeBinomial`, has `estimate="under"`: users count the buckets that they are **not**
    in, and n minus the count is never above the true count. There are 2 buckets or more: TypeError or ValueError else.
    The view is the number of messages of each. All n users must take part: the analyzer subtracts from n.
    """

    bitsum: SingleNoise
    buckets: int

    def __post_init__(self) -> None:
        if not isinstance(self.bitsum, SingleNoise) or self.bitsum.estimate is not Estimate.UNDER:
            raise ValueError(f"bitsum={self.bitsum!r} must be a SingleNoise protocol with estimate='under'.")
        check_integer("buckets", self.buckets, low=2)

    @property
    def users(self) -> int:
        """n, the number of users."""
        return self.bitsum.users

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> Self:
        """Return the protocol of another number of users with the same randomizer; see `BitsumProtocol.with_users`."""
        return replace(self, bitsum=self.bitsum.with_users(users, rounded=rounded))

    @abstractmethod
    def analyze(self, view: ArrayLike) -> NDArray[np.generic]:
        """Return what the protocol is for, from a view of shape (..., buckets)."""

    def randomize(self, values: ArrayLike, rng: np.random.Generator) -> UserMessages:
        """Return every user's messages, each a row (symbol, bucket), for `protocols.shuffler.shuffle`.

        The values have shape (users,), each user's bucket in [0, buckets): ValueError else, TypeError if they are no
        integers.
        """
        array = check_indices("values", values, self.buckets, users=self.bitsum.users)
        return tagged([self.bitsum.randomize(array == bucket, rng) for bucket in range(self.buckets)])

    def view(self, symbols: ArrayLike) -> NDArray[np.int64]:
        """Return the number of messages of each bucket, shape (buckets,); ValueError if one is no row (1, bucket)."""
        rows = np.asarray(symbols).reshape(-1, 2)
        strange = (rows[:, 0] != 1) | (rows[:, 1] < 0) | (rows[:, 1] >= self.buckets)
        if strange.any():
            raise ValueError(
                f"symbols contains {rows[strange][0].tolist()}, but must hold rows (1, bucket) with the bucket in "
                f"[0, {self.buckets})."
            )
        return np.bincount(rows[:, 1], minlength=self.buckets)

    def sample_view(self, counts: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the shuffled view from the true histogram: equal in law to `view(shuffle(randomize(values)))`.

        The counts have shape (..., buckets), as the result: how many users hold each value, one histogram per
        independent run, each summing to `bitsum.users`.
        """
        array = np.asarray(counts)
        if array.ndim == 0 or array.shape[-1] != self.buckets:
            raise ValueError(f"counts has shape {array.shape}, but must have shape (..., {self.buckets}).")
        if (array.sum(axis=-1) != self.bitsum.users).any():
            raise ValueError(f"counts sums to {array.sum(axis=-1)}, but must sum to bitsum.users={self.bitsum.users}.")
        return self.bitsum.sample_view(array, check_generator("rng", rng))[..., 0]

    def estimates(self, view: ArrayLike) -> NDArray[np.float64]:
        """Return n minus the number of messages, per bucket: never above the true counts; may be negative."""
        array = np.asarray(view)
        if array.ndim == 0 or array.shape[-1] != self.buckets:
            raise ValueError(f"view has shape {array.shape}, but must have shape (..., {self.buckets}).")
        return self.bitsum.analyze(array[..., np.newaxis])

    def run(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.generic]:
        """Run randomizer, shuffler and analyzer once, message by message; `sample_view` is equal in law, and quick.

        Messages are made and counted bucket by bucket, so that those of a single bucket are held in memory: the view is
        their numbers, which shuffling all together leaves as they are.
        """
        array = check_indices("values", values, self.buckets, users=self.bitsum.users)
        sent = (self.bitsum.randomize(array == bucket, rng) for bucket in range(self.buckets))
        return self.analyze(np.concatenate([self.bitsum.view(messages.symbols) for messages in sent]))


@dataclass(frozen=True)
class Histogram(BucketSums):
    """Estimates of all counts, each at least 0 and never above the true count.

    Parameters
    ----------
    bitsum : SingleNoise
        The protocol of every bucket, with `estimate="under"`.
    buckets : int
        The size of the universe, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> from protocols.bitsum import NegativeBinomial
    >>> protocol = Histogram(NegativeBinomial(users=1000, shape=40.0, p=0.5, estimate="under"), buckets=3)
    >>> estimates = protocol.run(np.arange(1000) % 3, np.random.default_rng(7))
    >>> bool((estimates <= [334, 333, 333]).all())  # never above the counts
    True
    """

    def analyze(self, view: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated counts, shape (..., buckets), with zero in the place of a negative estimate."""
        return np.maximum(self.estimates(view), 0.0)
