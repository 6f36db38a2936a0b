"""Sums by unary messages: a user sends as many messages as her integer says, and her share of the noise besides.

For bits that is what ghazi2020 does, with negative binomial noise.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols import exact_draws
from protocols.bitsum.three_nb import negative_binomial, negative_binomial_pieces
from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy
from protocols.shuffler import UserMessages
from protocols.sums.base import SumProtocol
from protocols.validation import check_counts

__all__ = ["NegativeBinomialSum", "PoissonSum", "UnarySum"]


@dataclass(frozen=True)
class UnarySum(SumProtocol):
    """User i sends `x_i + Z_i` identical messages, Z_i the i-th share of an infinitely divisible noise Z >= 0.

    The view is the number of messages; the analyzer subtracts the mean of the noise. The shuffler sees how many each
    user sends, which tells about her integer: one that is not trusted with that must be sent them one by one.
    """

    @property
    @abstractmethod
    def noise_mean(self) -> float:
        """E Z, the mean of the noise of all n users together."""

    @abstractmethod
    def _noise(self, share: float, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.int64]: ...

    def _pieces(self, rng: np.random.Generator, present: int) -> NDArray[np.int64]:
        return self._noise(1.0 / self.users, rng, (present,))

    @abstractmethod
    def _exact_noise(self, entropy: Entropy) -> int:
        """Draw one user's share of the noise exactly."""

    def _randomize(self, values: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        senders = np.repeat(np.arange(values.size), values + self._pieces(rng, values.size))
        return UserMessages(np.ones(senders.size, dtype=np.int64), senders)

    def _noisy(self, totals: NDArray[np.int64], present: float, rng: np.random.Generator) -> NDArray[np.int64]:
        return totals + self._noise(present, rng, totals.shape)

    def _report(self, value: int, entropy: Entropy) -> list[int]:
        return [1] * (value + self._exact_noise(entropy))

    def view(self, symbols: ArrayLike) -> int:  # noqa: D102
        array = np.asarray(symbols)
        if (array != 1).any():
            raise ValueError(f"symbols contains {array[array != 1].flat[0]}, but must only hold the symbol 1.")
        return array.size

    def _total(self, view: ArrayLike, present: float) -> NDArray[np.float64]:
        return np.asarray(check_counts("view", view) - self.noise_mean * present)


@dataclass(frozen=True)
class PoissonSum(UnarySum):
    """`UnarySum` with Poisson noise.

    Parameters
    ----------
    users, largest
        n and b, as in `SumProtocol`.
    mean : float
        The mean, and the variance, of the noise of all users together; at least 0.
    smallest, steps
        a and L, as in `SumProtocol`.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = PoissonSum(users=1000, largest=4, mean=100.0)
    >>> estimate = protocol.run(np.arange(1000) % 5, np.random.default_rng(7))
    >>> abs(estimate - 2000) < 10 * 10  # ten standard deviations
    True
    """

    divided: ClassVar[tuple[str, ...]] = ("mean",)

    mean: float = field(metadata={"within": "[0, inf)", "help": "The mean of the noise, in {}."})

    @property
    def noise_mean(self) -> float:  # noqa: D102
        return self.mean

    def _noise(self, share: float, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.int64]:
        return rng.poisson(self.mean * share, size)

    def _exact_noise(self, entropy: Entropy) -> int:
        return exact_draws.poisson(Fraction(self.mean) / self.users, entropy)


@dataclass(frozen=True)
class NegativeBinomialSum(UnarySum):
    """`UnarySum` with noise Z ~ NB(r, p), of mean `r p / (1-p)` and variance `r p / (1-p)^2`.

    Parameters
    ----------
    users, largest
        n and b, as in `SumProtocol`.
    shape : float
        r > 0, over all users.
    p : float
        In [0, 1), with the seeds' meaning: pmf `C(z+r-1, z) (1-p)^r p^z`.
    smallest, steps
        a and L, as in `SumProtocol`.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = NegativeBinomialSum(users=1000, largest=4, shape=40.0, p=0.5)
    >>> estimate = protocol.run(np.arange(1000) % 5, np.random.default_rng(7))
    >>> abs(estimate - 2000) < 10 * 9  # ten standard deviations
    True
    """

    divided: ClassVar[tuple[str, ...]] = ("shape",)

    shape: float = field(metadata={"within": "(0, inf)", "help": "r, in {}."})
    p: float = field(metadata={"within": "[0, 1)", "help": "p, in {}: the larger, the more noise."})

    @property
    def noise_mean(self) -> float:  # noqa: D102
        return self.shape * self.p / (1.0 - self.p)

    def _noise(self, share: float, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.int64]:
        return negative_binomial(rng, self.shape * share, self.p, size)

    def _pieces(self, rng: np.random.Generator, present: int) -> NDArray[np.int64]:
        return negative_binomial_pieces(rng, self.shape, self.p, self.users, present)

    def _exact_noise(self, entropy: Entropy) -> int:
        return exact_draws.negative_binomial(Fraction(self.shape) / self.users, Fraction(self.p), entropy)
