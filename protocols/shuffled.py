"""Any local mechanism behind a shuffler: every user's report, without who sent it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_generator, check_integer

__all__ = ["ShuffledReports"]


@dataclass(frozen=True)
class ShuffledReports:
    """The reports of n users who run one local mechanism, in random order.

    The mechanism is any object whose `randomize(inputs, rng)` returns one report per user, shape (users,).
    """

    divided: ClassVar[tuple[str, ...]] = ()

    local: Any
    users: int

    def __post_init__(self) -> None:
        check_integer("users", self.users, low=1)
        if not callable(getattr(self.local, "randomize", None)):
            raise TypeError(f"local={self.local!r} must be a mechanism with a method randomize(inputs, rng).")

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> ShuffledReports:
        """Return the protocol of another number of users with the same mechanism; there is nothing to round."""
        return replace(self, users=check_integer("users", users, low=1))

    def run(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray[Any]:
        """Return the shuffled reports, shape (users,); ValueError unless there are n inputs, none of them refused."""
        values = np.asarray(inputs)
        if values.shape[:1] != (self.users,):
            raise ValueError(f"inputs of shape {values.shape} must have one entry for each of users={self.users}.")
        reports = np.asarray(self.local.randomize(values, check_generator("rng", rng)))
        return np.asarray(rng.permutation(reports))
