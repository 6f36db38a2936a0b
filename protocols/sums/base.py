"""What protocols for a sum of integers have in common, and how real numbers are rounded to integers for them.

A user holds an integer or a real number from a to b. What is sent, and hidden, is an integer from 0 to L: how many
steps it is above a, rounded at random so that its mean is right. `randomize`, `sample_view` and `rounded` are
simulations in floating point, from a generator that can be run again; a real client sends `report`, exact, from the
operating system's entropy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
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
_WIDEST = 1e100
"""From one over this to this [a, b] may be wide, so that no square of an error leaves the floats."""


@dataclass(frozen=True)
class SumProtocol(ABC):
    """An n-user protocol that estimates the sum of the users' numbers.

    - users: n, the number of users that the parameters are set for; public. Fewer may take part, never more.
    - largest, smallest: b and a, public: a user holds an integer in [a, b], or a real number where `steps` is given.
    - steps: L, where users hold real numbers: of so many equal parts of [a, b] a number is rounded to an end of its
      own, at random and with the right mean. Of integers L is b - a. n L must be below 2^53.

    Raises TypeError or ValueError for a parameter out of its range.
    """

    divided: ClassVar[tuple[str, ...]]
    """The parameters of which each user's randomizer takes the n-th part."""

    users: int = field(metadata={"within": "[1, inf)", "help": "n, the number of users; public."})
    largest: float = field(metadata={"within": "(-inf, inf)", "help": "b: a user holds an integer from a to b."})
    smallest: float = field(default=0, kw_only=True, metadata={"within": "(-inf, inf)", "help": "a: see largest."})
    steps: int | None = field(
        default=None,
        kw_only=True,
        metadata={"within": "[1, inf)", "help": "L: a user holds a real number instead, rounded at random to L steps."},
    )

    def __post_init__(self) -> None:
        plain_numbers(self)
        check_ranges(self)
        for name in ("smallest", "largest"):
            if float(getattr(self, name)).is_integer():
                object.__setattr__(self, name, int(getattr(self, name)))
        if self.largest <= self.smallest:
            raise ValueError(f"largest={self.largest} must be above smallest={self.smallest}.")
        if self.steps is None and not isinstance(self.largest - self.smallest, int):
            raise ValueError(
                f"smallest={self.smallest} and largest={self.largest} must be integers, or users hold real numbers, in "
                "steps."
            )
        if not 1.0 / _WIDEST <= Fraction(self.largest) - Fraction(self.smallest) <= _WIDEST:
            raise ValueError(
                f"smallest={float(self.smallest)} and largest={float(self.largest)} must differ by a number in "
                f"[{1.0 / _WIDEST:g}, {_WIDEST:g}]."
            )
        if self.users * self.levels >= _EXACT:
            raise ValueError(f"users={self.users} times {self.levels} steps must be below 2^53.")

    @property
    def levels(self) -> int:
        """L: what is sent, and hidden, is an integer in [0, L]."""
        return int(self.largest - self.smallest) if self.steps is None else self.steps

    @property
    def step(self) -> Fraction:
        """What one of these is worth, exactly."""
        return (Fraction(self.largest) - Fraction(self.smallest)) / self.levels

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
    def _total(self, view: ArrayLike, present: float) -> NDArray[np.float64]:
        """Return the estimate of the sum of what a share of the users sends; ValueError for what cannot be read."""

    def analyze(self, view: ArrayLike, *, participants: int | None = None) -> NDArray[np.float64]:
        """Return the estimate of the sum, of the shape of what was read; ValueError for what cannot be read.

        - view: What `view` or `sample_view` returned.
        - participants: How many users took part, at most n; `users` when omitted.
        """
        present = self._present(participants)
        return np.asarray(self._total(view, present / self.users) * float(self.step) + present * self.smallest)

    def _present(self, participants: int | None) -> int:
        return check_integer(
            "participants", self.users if participants is None else participants, low=0, high=self.users
        )

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> Self:
        """Return the protocol of another number of users with the same randomizer: see `BitsumProtocol.with_users`."""
        ratio = Fraction(check_integer("users", users, low=1), self.users)
        changed: dict[str, Any] = {name: rounded(Fraction(getattr(self, name)) * ratio) for name in self.divided}
        return replace(self, **changed, users=users)

    def randomize(self, values: ArrayLike, rng: np.random.Generator) -> UserMessages:
        """Return every user's messages, as each would compute them from her own number: a simulation.

        The values have shape (participants,), at most n of them: ValueError else, or for one outside [a, b].
        """
        if self.steps is None:
            sent = check_indices("values", values, int(self.largest) + 1, low=int(self.smallest)) - int(self.smallest)
        else:
            held = np.asarray(values, dtype=np.float64)
            if np.asarray(values).dtype == np.bool_:
                raise TypeError("values has dtype bool, but must hold numbers.")
            outside = ~((held >= self.smallest) & (held <= self.largest))
            if held.ndim != 1 or outside.any():
                wrong = f"{held[outside].flat[0]}" if outside.any() else f"shape {held.shape}"
                raise ValueError(
                    f"values has {wrong}, but must hold numbers in [{self.smallest}, {self.largest}], one a user."
                )
            position = (held - self.smallest) / float(self.step)
            sent = at_random(np.minimum(position, self.levels), check_generator("rng", rng))
        check_participants("values", sent.size, self.users)
        return self._randomize(sent, check_generator("rng", rng))

    def report(self, value: Any, entropy: Entropy | None = None) -> list[int]:
        """Return the messages of a real client, drawn exactly and in no order that tells anything.

        - value: In [a, b]: an integer, or with `steps` a number or decimal string, taken exactly.
        - entropy: The operating system's when omitted; anything else is for tests.
        """
        drawn_from = self._entropy(entropy)
        if self.steps is None:
            sent = check_integer("value", value, low=int(self.smallest), high=int(self.largest)) - int(self.smallest)
        else:
            try:
                above = Fraction("" if isinstance(value, bool) else value) - Fraction(self.smallest)
            except (ValueError, OverflowError, TypeError):
                above = Fraction(-1)
            if not 0 <= above <= self.step * self.levels:
                raise ValueError(f"value={value!r} must be a number in [{self.smallest}, {self.largest}].")
            sent = exactly_rounded(above, 1 / self.step, drawn_from)
        return self._report(sent, drawn_from)

    def _entropy(self, given: Entropy | None) -> Entropy:
        return system_entropy() if given is None else given

    def shuffled(self, messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return what the shuffler hands on of the users' messages, with its dummies if it adds any: a simulation."""
        return shuffle(messages, rng)

    def dummies(self, entropy: Entropy | None = None) -> list[int]:
        """Return the dummies of a real shuffler, drawn exactly as `report` is: none but of an `AugmentedSum`."""
        return []

    def sample_view(
        self, totals: ArrayLike, rng: np.random.Generator, *, participants: int | None = None
    ) -> NDArray[np.int64]:
        """Draw what the analyzer reads from the sums: equal in law to `view(shuffled(randomize(values)))`.

        - totals (array_like of int, shape (...)): The sum of what the participants send, of integers how much each is
          above a; one entry per independent run.
        - rng: Private randomness.
        - participants: How many users take part, at most n; `users` when omitted.

        Returns: ndarray of int64, shape (...).
        """
        present = self._present(participants)
        sums = np.asarray(totals)
        checked = check_indices("totals", sums.reshape(-1), present * self.levels + 1).reshape(sums.shape)
        return np.asarray(self._noisy(checked, present / self.users, check_generator("rng", rng)), dtype=np.int64)

    def run(self, values: ArrayLike, rng: np.random.Generator, *, participants: int | None = None) -> float:
        """Run randomizer, shuffler and analyzer once, message by message, and return the estimate of the sum.

        The values have shape (users,), or (participants,) where it is said how many take part.
        """
        check_present("values", np.size(values), self.users, participants)
        sent = self.randomize(values, rng)
        return float(self.analyze(self.view(self.shuffled(sent, rng)), participants=np.size(values)))


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
