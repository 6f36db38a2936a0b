"""Kernel density estimation from bitsums (wagner2025, Algorithm 1; Algorithm 2 is its Gaussian instance)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.bitsum import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.lsq import LSQFeatures
from protocols.shuffler import UserMessages, tagged
from protocols.streaming import BitCounts, count_bits, evaluate, memory_needed, rounded_bits
from protocols.validation import check_generator

__all__ = ["KernelDensity", "KernelDensityProtocol"]


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """The published density estimate, which can be queried without further loss of privacy.

    - published (ndarray of float64, shape (instances, Q)): The analyzer's output F~ = (2 B~ - n) R, an estimate of the
      sum of the users' features.
    - users: n.
    - features: The public features.
    - clipped_fraction: A diagnostic of a simulation: the fraction of the users' features that were clipped. It is **no
      part of the protocol's output and not private**; None where only the messages are known.
    """

    published: NDArray[np.float64]
    users: int
    features: LSQFeatures
    clipped_fraction: float | None = None

    @property
    def weights(self) -> NDArray[np.float64]:
        """F~ / (n I), shape (I Q,): the density at y is its inner product with g(y)."""
        return self.published.ravel() / (self.users * self.features.instances)

    def __call__(self, queries: ArrayLike, *, chunk_size: int | None = None) -> NDArray[np.float64]:
        """Return the density estimate `1/(n I) sum_ij F~_ij g_i(y)_j` at every query, shape (queries,).

        It is unbiased up to the family's beta (and up to clipping), so it may be negative or exceed the kernel's
        maximum. The queries, of shape (queries, dimension), are evaluated in chunks, `default_chunk_size(features)`
        when omitted.
        """
        return evaluate(self.features, self.weights[:, np.newaxis], queries, chunk_size=chunk_size)[:, 0]


@dataclass(frozen=True, eq=False)
class KernelDensityProtocol:
    """Algorithm 1 of wagner2025: I Q bitsums over users' randomly rounded features.

    Each user rounds each feature f in [-R, R] to a bit that is 1 with probability (1 + f/R)/2, and takes part with it
    in an independent instance of the bitsum protocol. A feature that is 0, as most are where S < Q, gives a fair coin.
    With `GaussianFeatures`, and `RandomizedResponse` or `ThreeNB`, this is Algorithm 2.

    Parameters
    ----------
    bitsum : BitsumProtocol
        The bitsum protocol, one for all I Q instances; its `users` is n.
    features : LSQFeatures
        The public features.

    Raises
    ------
    TypeError
        If one of them is something else.

    Examples
    --------
    >>> import numpy as np
    >>> from protocols.bitsum import RandomizedResponse
    >>> from protocols.lsq import GaussianFeatures
    >>> rng = np.random.default_rng(7)
    >>> features = GaussianFeatures(dimension=2).sample(4096, rng)
    >>> protocol = KernelDensityProtocol(RandomizedResponse(users=1000, flip_probability=0.1), features)
    >>> density = protocol.simulate(np.zeros((1000, 2)), rng)
    >>> [f"{value:.1f}" for value in density(np.array([[0.0, 0.0], [1.0, 0.0]]))]
    ['1.0', '0.4']
    """

    bitsum: BitsumProtocol
    features: LSQFeatures

    def __post_init__(self) -> None:
        if not isinstance(self.bitsum, BitsumProtocol):
            raise TypeError(f"bitsum={self.bitsum!r} must be a BitsumProtocol.")
        if not isinstance(self.features, LSQFeatures):
            raise TypeError(f"features={self.features!r} must be LSQFeatures, as LSQFamily.sample returns them.")

    @property
    def users(self) -> int:
        """n, the number of users."""
        return self.bitsum.users

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> Self:
        """Return the protocol of another number of users with the same randomizer; see `BitsumProtocol.with_users`."""
        return replace(self, bitsum=self.bitsum.with_users(users, rounded=rounded))

    def _check_participants(self, participants: int) -> None:
        if participants != self.bitsum.users:
            raise ValueError(
                f"points holds {participants} users, but must hold exactly bitsum.users={self.bitsum.users}: the noise "
                "and the estimate are set for that number."
            )

    def _publish(self, views: NDArray[np.int64], clipped_fraction: float | None = None) -> KernelDensity:
        estimates = self.bitsum.analyze(views).reshape(self.features.instances, self.features.family.Q)
        published = (2.0 * estimates - self.bitsum.users) * self.features.family.R
        return KernelDensity(published, self.bitsum.users, self.features, clipped_fraction)

    def randomize(self, points: ArrayLike, rng: np.random.Generator) -> UserMessages:
        """Return every user's messages, each a row (symbol, i Q + j) for coordinate j of instance i, from 0.

        Message by message, this is for small runs; `simulate` is equal in law. The points have shape (users,
        dimension): ValueError if they are not `bitsum.users`, or one is none that the features accept.
        """
        array = np.asarray(points)
        bits = rounded_bits(self.features, array, check_generator("rng", rng))
        self._check_participants(len(array))
        return tagged([self.bitsum.randomize(column, rng) for column in bits.T])

    def analyze(self, shuffled: ArrayLike) -> KernelDensity:
        """Return the density estimate from shuffled messages: rows (symbol, tag) as of `randomize`, in any order.

        TypeError if they hold no integers, ValueError for another shape, a tag outside [0, I Q), or a strange symbol.
        """
        rows = np.asarray(shuffled)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(f"shuffled has shape {rows.shape}, but must have shape (messages, 2).")
        if not np.issubdtype(rows.dtype, np.integer):
            raise TypeError(f"shuffled has dtype {rows.dtype}, but must hold integers.")
        symbols, tags = rows.T
        outside = (tags < 0) | (tags >= self.features.coordinates)
        if outside.any():
            raise ValueError(
                f"shuffled has the tag {tags[outside][0]}, which must be in [0, {self.features.coordinates})."
            )
        order = np.argsort(tags, kind="stable")
        starts = np.searchsorted(tags[order], np.arange(1, self.features.coordinates))
        return self._publish(np.stack([self.bitsum.view(part) for part in np.split(symbols[order], starts)]))

    def simulate(
        self,
        points: NDArray[Any] | Iterable[NDArray[Any]],
        rng: np.random.Generator,
        *,
        chunk_size: int | None = None,
    ) -> KernelDensity:
        """Run the protocol on aggregated bits: equal in law to `analyze(shuffle(randomize(points)))`.

        Parameters
        ----------
        points : ndarray of shape (users, dimension), or iterable of ndarrays of shape (some users, dimension)
            One private point per user, all at once or in blocks (a generator, to read from disk).
        rng : numpy.random.Generator
            The private randomness of users and shuffler.
        chunk_size : int, optional
            Users handled at a time, by default `default_chunk_size(features)`. The call needs about
            `memory_needed(chunk_size)` bytes besides the points. The law does not depend on it, though the draws may.

        Raises
        ------
        ValueError
            If the number of points is not `bitsum.users`, or a point is none that the features accept.
        """
        return self.publish(count_bits(self.features, points, rng, chunk_size=chunk_size), rng)

    def publish(self, counts: BitCounts, rng: np.random.Generator) -> KernelDensity:
        """Add the noise of all users to their counted bits, and analyze: the second half of `simulate`.

        ValueError unless the counts are those of exactly `bitsum.users` users, with these features.
        """
        if not isinstance(counts, BitCounts):
            raise TypeError(f"counts={counts!r} must be BitCounts, as count_bits returns them.")
        self._check_participants(counts.users)
        if counts.ones.shape != (self.features.coordinates,):
            raise ValueError(
                f"counts has {counts.ones.size} bitsums, but must have the {self.features.coordinates} of the features."
            )
        ones = counts.ones + check_generator("rng", rng).binomial(counts.coins, 0.5)
        clipped, features = counts.clipped, counts.users * self.features.coordinates
        return self._publish(self.bitsum.sample_view(ones, rng), None if clipped is None else clipped / features)

    def memory_needed(self, chunk_size: int) -> int:
        """Return an upper estimate, in bytes, of the working memory of `simulate` with this chunk size."""
        return memory_needed(self.features, chunk_size)
