"""What protocols for a sum of integers have in common, and how real numbers are rounded to integers for them.

A user holds an integer from 0 to L. A real number is scaled by a public factor and rounded at random, so that its mean
is right. `randomize`, `sample_view` and `rounded` are simulations in floating point, from a generator that can be run
again; a real client sends `report` of what `exactly_rounded` makes, both exact, from the operating system's entropy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.exact_draws import Entropy, bernoulli, system_entropy
from protocols.shuffler import UserMessages, shuffle
from protocols.validation import (
    check_generator,
    check_indices,
    check_integer,
    check_participants,
    check_present,
    check_ranges,
    check_real,
    plain_numbers,
)

__all__ = ["SumProtocol", "at_random", "exactly_rounded", "rounded"]

_EXACT = 2**53


@dataclass(frozen=True)
class SumProtocol(ABC):
    """An n-user protocol that estimates the sum of the users' integers.

    - users: n, the number of users that the parameters are set for; public. Fewer may take part, never more.
    - largest: L, at least 1: a user holds an integer in [0, L]; public, and n L must be below 2^53.

    Raises TypeError or ValueError for a parameter out of its range.
    """

    divided: ClassVar[tuple[str, ...]]
    """The parameters of which each user's randomizer takes the n-th part."""

    users: int = field(metadata={"within": "[1, inf)", "help": "n, the number of users; public."})
    largest: int = field(metadata={"within": "[1, inf)", "help": "L: a user holds an integer from 0 to L."})

    def __post_init__(self) -> None:
        plain_numbers(self)
        check_ranges(self)
        if self.users * self.largest >= _EXACT:
            raise ValueError(f"largest={self.largest} times users={self.users} must be below 2^53.")

    @abstractmethod
    def _randomize(self, values: NDArray[np.int64], rng: np.random.Generator) -> UserMessages: ...

    @abstractmethod
    def _noisy(self, totals: NDArray[np.int64], present: float, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw what the analyzer reads, given the sums and the share of the users that take part."""

    @abstractmethod
    def _report(self, value: int, entropy: Entropy) -> list[int]: ...

    @abstractmethod
    def view(self, symbols: ArrayLike) -> int:
        """Return what the analyzer reads in the messages; ValueError for one that nobody sends."""

    @abstractmethod
    def analyze(self, view: ArrayLike) -> NDArray[np.float64]:
        """Return the estimate of the sum, of the shape of what was read; ValueError for what cannot be read."""

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> Self:
        """Return the protocol of another number of users with the same randomizer: see `BitsumProtocol.with_users`."""
        ratio = Fraction(check_integer("users", users, low=1), self.users)
        changed: dict[str, Any] = {name: rounded(Fraction(getattr(self, name)) * ratio) for name in self.divided}
        return replace(self, **changed, users=users)

    def randomize(self, values: ArrayLike, rng: np.random.Generator) -> UserMessages:
        """Return every user's messages, as each would compute them from her own integer: a simulation.

        The values have shape (participants,), at most n of them: ValueError else, or for one outside [0, L].
        """
        checked = check_indices("values", values, self.largest + 1)
        check_participants("values", checked.size, self.users)
        return self._randomize(checked, check_generator("rng", rng))

    def report(self, value: int, entropy: Entropy | None = None) -> list[int]:
        """Return the messages of a real client, drawn exactly and in no order that tells anything.

        - value: In [0, L].
        - entropy: The operating system's when omitted; anything else is for tests.
        """
        check_integer("value", value, low=0, high=self.largest)
        return self._report(int(value), system_entropy() if entropy is None else entropy)

    def sample_view(
        self, totals: ArrayLike, rng: np.random.Generator, *, participants: int | None = None
    ) -> NDArray[np.int64]:
        """Draw what the analyzer reads from the sums: equal in law to `view(shuffle(randomize(values)))`.

        - totals (array_like of int, shape (...)): The sum of the participants' integers, one entry per independent run.
        - rng: Private randomness.
        - participants: How many users take part, at most n; `users` when omitted.

        Returns: ndarray of int64, shape (...).
        """
        present = check_integer(
            "participants", self.users if participants is None else participants, low=0, high=self.users
        )
        sums = np.asarray(totals)
        checked = check_indices("totals", sums.reshape(-1), present * self.largest + 1).reshape(sums.shape)
        return np.asarray(self._noisy(checked, present / self.users, check_generator("rng", rng)), dtype=np.int64)

    def run(self, values: ArrayLike, rng: np.random.Generator, *, participants: int | None = None) -> float:
        """Run randomizer, shuffler and analyzer once, message by message, and return the estimate of the sum.

        The values have shape (users,), or (participants,) where it is said how many take part.
        """
        check_present("values", np.size(values), self.users, participants)
        return float(self.analyze(self.view(shuffle(self.randomize(values, rng), rng))))


def rounded(values: ArrayLike, scale: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return real numbers times a public scale, each rounded at random to an integer next to it: a simulation.

    - values (array_like, shape (...)): Finite and at least 0.
    - scale: Steps per unit, positive. The mean of the result is `values * scale`, and its variance at most 1/4.
    - rng: Private randomness.

    Raises ValueError if a number is negative, not finite, or 2^53 steps or more.

    >>> import numpy as np
    >>> sorted(set(rounded(np.full(100, 0.25), 10.0, np.random.default_rng(7)).tolist()))
    [2, 3]
    """
    check_real("scale", scale, low=0.0, low_open=True)
    position = np.asarray(values, dtype=np.float64) * scale
    outside = ~((position >= 0.0) & (position < _EXACT))
    if outside.any():
        raise ValueError(f"values contains {np.asarray(values)[outside].flat[0]}, but must be in [0, 2^53 / scale).")
    return at_random(position, check_generator("rng", rng))


def at_random(position: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return integers next to numbers of any sign, drawn so that their means are right: a simulation."""
    below = np.floor(position)
    return np.asarray(below + (rng.random(position.shape) < position - below), dtype=np.int64)


def exactly_rounded(value: Any, scale: Any, entropy: Entropy | None = None) -> int:
    """Return the same for one number of a real client, with exactly the right chances.

    - value, scale (int, float, Fraction or decimal string): Taken exactly; the value at least 0, the scale positive.
    - entropy: The operating system's when omitted; anything else is for tests.

    Raises ValueError if the value is negative, the scale not positive, or either is no finite number.
    """
    try:
        position, steps = Fraction(value) * Fraction(scale), Fraction(scale)
    except (ValueError, OverflowError):
        raise ValueError(f"value={value!r} and scale={scale!r} must be finite numbers.") from None
    if position < 0 or steps <= 0:
        raise ValueError(f"value={value!r} must be in [0, inf) and scale={scale!r} in (0, inf).")
    below = math.floor(position)
    return below + bernoulli(position - below, system_entropy() if entropy is None else entropy)
