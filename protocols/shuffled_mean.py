"""The mean of bits by shuffled randomized response (wang_lecture9, Theorem 9.6, after cheu2019)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages, shuffle
from protocols.validation import check_generator, check_integer, check_ranges

__all__ = ["ShuffledMean"]


@dataclass(frozen=True)
class ShuffledMean:
    """Each user reports her bit with probability 1 - p, else a fair coin; the shuffled reports estimate the mean.

    The bitsum `RandomizedResponse` with a flip probability of p / 2, and its sum divided by n. Equation 9.5 subtracts
    p / 2 once from the sum of all reports, where unbiased it must be n p / 2, as here.

    Parameters
    ----------
    users : int
        n, public, at least 1.
    coin_probability : float
        p, in (0, 1).

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = ShuffledMean(users=10_000, coin_probability=0.2)
    >>> estimate = protocol.run(np.arange(10_000) < 3_000, np.random.default_rng(7))
    >>> print(f"{estimate:.1f}")
    0.3
    """

    divided: ClassVar[tuple[str, ...]] = ()

    users: int = field(metadata={"within": "[1, inf)", "help": "n, the number of users, in {}."})
    coin_probability: float = field(
        metadata={"within": "(0, 1)", "help": "p, the probability of a report that is a fair coin, in {}."}
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if not 0.0 < 0.5 * self.coin_probability < 0.5:
            raise ValueError(f"coin_probability={self.coin_probability!r} must be at least 1e-323, twice a float.")

    @property
    def bitsum(self) -> RandomizedResponse:
        """The protocol of the sum."""
        return RandomizedResponse(self.users, 0.5 * self.coin_probability)

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> ShuffledMean:
        """Return the protocol of another number of users with the same randomizer; there is nothing to round."""
        return replace(self, users=check_integer("users", users, low=1))

    def randomize(self, bits: ArrayLike, rng: np.random.Generator) -> UserMessages:
        """Return every user's report, shape (users,) bits; see `BitsumProtocol.randomize`."""
        return self.bitsum.randomize(bits, rng)

    def sample_view(self, ones: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the shuffled view, (reports of 0, reports of 1), from the number of ones; shape (..., 2)."""
        return np.asarray(self.bitsum.sample_view(ones, rng))

    def analyze(self, view: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased estimate of the mean from views, shape (..., 2)."""
        return self.bitsum.analyze(view) / self.users

    def run(self, bits: ArrayLike, rng: np.random.Generator) -> float:
        """Return the estimate from all n users' bits, message by message; ValueError for another number or entry."""
        sent = self.randomize(bits, check_generator("rng", rng))
        if sent.symbols.size != self.users:
            raise ValueError(f"bits has {sent.symbols.size} entries, but must have one for each of users={self.users}.")
        return float(self.analyze(self.bitsum.view(shuffle(sent, rng))))
