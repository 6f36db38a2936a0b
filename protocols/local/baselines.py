"""What local means are compared with: a trusted curator who adds noise to the mean (wang_lecture9, section 9.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from protocols.classes.frozen import dataclass
from protocols.local.means import check_values
from protocols.validation import check_generator, check_integer, check_ranges

__all__ = ["CentralLaplaceMean"]


@dataclass(frozen=True)
class CentralLaplaceMean:
    """A trusted curator publishes the mean of values in [0, m] plus Laplace noise of scale m / (n eps).

    A simulation: in floating point the last bits leak (mironov2012). A curator of bits has `CentralDiscreteLaplace`.

    Parameters
    ----------
    users : int
        n, public, at least 1.
    epsilon : float
        In [1e-100, 600], in nats.
    largest : float
        m, in [1e-100, 1e100]; public.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = CentralLaplaceMean(users=1000, epsilon=1.0)
    >>> values = np.full(1000, 0.3)
    >>> estimate = mechanism.run(values, np.random.default_rng(7))
    >>> abs(estimate - 0.3) < 0.03  # twenty times the scale of the noise
    True
    """

    divided: ClassVar[tuple[str, ...]] = ()

    users: int = field(metadata={"within": "[1, inf)", "help": "n, the number of users, in {}."})
    epsilon: float = field(metadata={"within": "[1e-100, 600]", "help": "epsilon of the mean, in {}, in nats."})
    largest: float = field(
        default=1.0, metadata={"within": "[1e-100, 1e100]", "help": "m, the largest value of a user, in {}; public."}
    )

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def scale(self) -> float:
        """The scale m / (n eps) of the noise: also its expected absolute value."""
        return self.largest / self.epsilon / self.users

    def with_users(self, users: int, *, rounded: Callable[[Fraction], float] = float) -> CentralLaplaceMean:
        """Return the curator of another number of users at the same epsilon; there is nothing to round."""
        return replace(self, users=check_integer("users", users, low=1))

    def run(self, values: ArrayLike, rng: np.random.Generator) -> float:
        """Return the noisy mean of all users' values, shape (users,); ValueError unless they are n, in [0, largest]."""
        checked = check_values("values", values, self.largest)
        if checked.size != self.users:
            raise ValueError(f"values has {checked.size} entries, but must have one for each of users={self.users}.")
        return float(checked.mean() + check_generator("rng", rng).laplace(0.0, self.scale))
