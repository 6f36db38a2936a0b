"""What every binary-sum protocol has in common: randomizer, shuffler, analyzer (cheu2019); a sampler of the view."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages, shuffle
from protocols.validation import (
    check_bits,
    check_counts,
    check_generator,
    check_integer,
    check_participants,
    check_present,
    check_ranges,
    plain_numbers,
)

__all__ = ["BitsumProtocol"]


@dataclass(frozen=True)
class BitsumProtocol(ABC):
    """An n-user protocol that estimates the sum of the users' bits.

    After shuffling, only the multiset of messages is left. Over the finite `alphabet` that is a vector of counts, the
    *view*: all that the analyzer, or an adversary in the communication-threat model, ever sees.

    Parameters
    ----------
    users : int
        The number of users n that the parameters are set for; public, at least 1. Fewer users may take part (dropouts),
        never more.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Attributes
    ----------
    alphabet : tuple of int
        The symbols a message can carry, in the order of the view's entries.
    divided : tuple of str or None
        The parameters of which each user's randomizer takes the n-th part; None where the class does not say.

    Notes
    -----
    A parameter's range is its field's metadata, which is checked here and shown by the options of the command line.

    docs/add_a_protocol.md works a protocol of another package through.
    """

    alphabet: ClassVar[tuple[int, ...]]
    divided: ClassVar[tuple[str, ...] | None] = None

    users: int = field(metadata={"within": "[1, inf)", "help": "n, the number of users; public."})

    def __post_init__(self) -> None:
        plain_numbers(self)
        check_ranges(self)

    @abstractmethod
    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages: ...

    @abstractmethod
    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[Any]: ...

    @abstractmethod
    def _analyze(self, view: NDArray[Any]) -> NDArray[np.float64]: ...

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> Self:
        """Return the protocol of another number of users, m, with the same randomizer; more than n are allowed.

        What all n users divide among them is m/n times as much where m of them are there, as the float that `rounded`
        makes of the exact share: `sample_view` with m participants draws from the views of `with_users(m)`. ValueError
        if the class does not say what is `divided`, m is below 1, or a share is out of its parameter's range.
        """
        if self.divided is None:
            raise ValueError(
                f"{type(self).__name__}.divided must name the parameters that are divided among the users."
            )
        ratio = Fraction(check_integer("users", users, low=1), self.users)
        shares = {name: rounded(Fraction(getattr(self, name)) * ratio) for name in self.divided}
        return replace(self, users=users, **shares)

    def randomize(self, bits: ArrayLike, rng: np.random.Generator) -> UserMessages:
        """Return every user's messages, as each would compute them from her own bit.

        A simulation: real users do not share a generator. The bits have shape (participants,), at most n of them:
        ValueError else, or if one is neither 0 nor 1.
        """
        return self._randomize(self._check_bits(bits), check_generator("rng", rng))

    def _check_bits(self, bits: ArrayLike) -> NDArray[np.int64]:
        checked = check_bits("bits", bits)
        check_participants("bits", checked.size, self.users)
        return checked

    def analyze(self, view: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased estimate of the sum, shape (...), from counts per symbol, shape (..., len(alphabet)).

        TypeError if the counts are no integers, ValueError for another number of symbols or a negative count.
        """
        return self._analyze(self._check_view(view))

    def _check_view(self, view: ArrayLike) -> NDArray[Any]:
        counts = check_counts("view", view)
        if counts.ndim == 0 or counts.shape[-1] != len(self.alphabet):
            raise ValueError(f"view has shape {counts.shape}, but must have shape (..., {len(self.alphabet)}).")
        return counts.astype(np.int64)

    def sample_view(
        self, ones: ArrayLike, rng: np.random.Generator, *, participants: int | None = None
    ) -> NDArray[Any]:
        """Draw the shuffled view from aggregated inputs: equal in law to `view(shuffle(randomize(bits)))`.

        Parameters
        ----------
        ones : array_like of int, shape (...)
            The number of ones among the participants, one entry per independent run.
        rng : numpy.random.Generator
            Private randomness.
        participants : int, optional
            How many users take part, at most n; `users` when omitted.

        Returns
        -------
        ndarray of int64, shape (..., len(alphabet))

        Raises
        ------
        ValueError
            If a count of ones is outside [0, participants], or that is above n.
        """
        taking_part = check_integer(
            "participants", self.users if participants is None else participants, low=0, high=self.users
        )
        counts = np.asarray(ones)
        if not np.issubdtype(counts.dtype, np.integer):
            raise TypeError(f"ones has dtype {counts.dtype}, but must hold integers in [0, {taking_part}].")
        outside = (counts < 0) | (counts > taking_part)
        if outside.any():
            raise ValueError(f"ones={counts[outside].flat[0]} must be in [0, {taking_part}].")
        view = self._sample_view(counts.astype(np.int64), taking_part, check_generator("rng", rng))
        if self.alphabet and view.shape != (shape := (*counts.shape, len(self.alphabet))):
            raise ValueError(f"{type(self).__name__}._sample_view returns shape {view.shape}, but must return {shape}.")
        return view

    def view(self, symbols: ArrayLike) -> NDArray[np.int64]:
        """Return the counts per symbol of messages, shape (len(alphabet),); ValueError for one outside the alphabet."""
        array = np.asarray(symbols)
        counts = np.array([np.count_nonzero(array == symbol) for symbol in self.alphabet], dtype=np.int64)
        if counts.sum() != array.size:
            strange = array[~np.isin(array, self.alphabet)][0]
            raise ValueError(f"symbols contains {strange}, but must only hold the symbols {self.alphabet}.")
        return counts

    def run(self, bits: ArrayLike, rng: np.random.Generator, *, participants: int | None = None) -> float:
        """Run randomizer, shuffler and analyzer once, message by message, and return the estimate.

        The bits have shape (users,), or (participants,) where it is said how many take part; ValueError for another
        number.
        """
        check_present("bits", np.size(bits), self.users, participants)
        return float(self.analyze(self.view(shuffle(self.randomize(bits, rng), rng))))


def messages_by_symbol(counts: dict[int, NDArray[np.int64]]) -> UserMessages:
    """Return the messages of users who each send `counts[symbol][user]` copies of every symbol."""
    senders = [np.repeat(np.arange(per_user.size), per_user) for per_user in counts.values()]
    symbols = [np.full(sender.size, symbol, dtype=np.int64) for symbol, sender in zip(counts, senders, strict=True)]
    return UserMessages(np.concatenate(symbols), np.concatenate(senders))
