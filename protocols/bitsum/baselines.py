"""What protocols are compared with: a curator who adds noise (dwork2014), local randomized response (warner1965)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.bitsum.three_nb import negative_binomial
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages
from protocols.validation import check_present

__all__ = [
    "CentralDiscreteGaussian",
    "CentralDiscreteLaplace",
    "CentralGaussian",
    "CentralSum",
    "LocalRandomizedResponse",
]


@dataclass(frozen=True)
class CentralSum(BitsumProtocol):
    """A trusted curator sees all bits and publishes their sum with noise. There are no messages.

    Its view, of shape (..., 1), is the noisy sum itself: `sample_view` and `analyze` are all that a protocol built on
    bitsums needs, and what would make or count messages is refused.

    Parameters
    ----------
    users : int
        The number of users n.

    Examples
    --------
    >>> issubclass(CentralGaussian, CentralSum)
    True
    """

    alphabet: ClassVar[tuple[int, ...]] = ()
    divided: ClassVar[tuple[str, ...] | None] = ()

    @abstractmethod
    def _noise(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        """Draw the curator's noise: unbiased, and the same however many users take part."""

    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        raise TypeError(f"{type(self).__name__} has no messages: a trusted curator holds the bits; use sample_view.")

    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[Any]:
        return np.asarray(ones + self._noise(rng, ones.shape))[..., np.newaxis]

    def _analyze(self, view: NDArray[Any]) -> NDArray[np.float64]:
        return view[..., 0].astype(np.float64)

    def _check_view(self, view: ArrayLike) -> NDArray[Any]:
        sums = np.asarray(view)
        if sums.ndim == 0 or sums.shape[-1] != 1:
            raise ValueError(f"view has shape {sums.shape}, but must have shape (..., 1).")
        if not np.isfinite(sums).all():
            raise ValueError(f"view contains {sums[~np.isfinite(sums)][0]}, but noisy sums must be in (-inf, inf).")
        return sums

    def view(self, symbols: ArrayLike) -> NDArray[np.int64]:
        """Raise TypeError: there are no messages to count, and the curator's view is drawn by `sample_view`."""
        raise TypeError(f"{type(self).__name__} has no messages: a trusted curator holds the bits; use sample_view.")

    def run(self, bits: ArrayLike, rng: np.random.Generator, *, participants: int | None = None) -> float:
        """Return the noisy sum of the bits."""
        check_present("bits", np.size(bits), self.users, participants)
        checked = self._check_bits(bits)
        return float(self.analyze(self.sample_view(checked.sum(), rng, participants=checked.size)))


@dataclass(frozen=True)
class CentralGaussian(CentralSum):
    """The Gaussian mechanism: `sum + N(0, sigma^2)`.

    Parameters
    ----------
    users : int
        The number of users n.
    sigma : float
        The noise's standard deviation, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = CentralGaussian(users=1000, sigma=5.0)
    >>> estimate = protocol.run(np.arange(1000) < 100, np.random.default_rng(7))
    >>> abs(estimate - 100) < 10 * 5  # ten standard deviations
    True
    """

    sigma: float = field(metadata={"within": "[0, inf)", "help": "The noise's standard deviation, in {}."})

    def _noise(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        return rng.normal(0.0, self.sigma, size)


@dataclass(frozen=True)
class CentralDiscreteLaplace(CentralSum):
    """The geometric mechanism: `sum + Z`, with `P(Z = z)` proportional to p^|z| (ghosh2012).

    Parameters
    ----------
    users : int
        The number of users n.
    p : float
        In [0, 1): `e^(-epsilon)`. The noise has variance `2 p / (1-p)^2`.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = CentralDiscreteLaplace(users=1000, p=0.8)
    >>> estimate = protocol.run(np.arange(1000) < 100, np.random.default_rng(7))
    >>> abs(estimate - 100) < 10 * 7  # ten standard deviations
    True
    """

    p: float = field(metadata={"within": "[0, 1)", "help": "p, in {}: the noise's pmf is proportional to p^|z|."})

    def _noise(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        return negative_binomial(rng, 1.0, self.p, size) - negative_binomial(rng, 1.0, self.p, size)


@dataclass(frozen=True)
class CentralDiscreteGaussian(CentralSum):
    """The discrete Gaussian mechanism: `sum + Z`, `P(Z = z)` proportional to `e^(-z^2 / (2 sigma^2))` (canonne2020).

    Parameters
    ----------
    users : int
        The number of users n.
    sigma : float
        In (0, 2^26]; nearly the standard deviation, from which it differs by less than 1e-7 for sigma >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = CentralDiscreteGaussian(users=1000, sigma=5.0)
    >>> estimate = protocol.run(np.arange(1000) < 100, np.random.default_rng(7))
    >>> abs(estimate - 100) < 10 * 5  # ten standard deviations
    True
    """

    sigma: float = field(
        metadata={"within": "(0, 67108864]", "help": "The noise's parameter, about its standard deviation, in {}."}
    )

    def _noise(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
        # Rejection from discrete Laplace noise of scale t (canonne2020, Algorithm 3); accepts about 3 draws in 4.
        t = math.floor(self.sigma) + 1
        noise = np.empty(math.prod(size), dtype=np.int64)
        missing = np.arange(noise.size)
        while missing.size:
            draws = CentralDiscreteLaplace(1, math.exp(-1.0 / t))._noise(rng, (missing.size,))
            log_accept = -((np.abs(draws) - self.sigma**2 / t) ** 2) / (2.0 * self.sigma**2)
            accepted = rng.random(missing.size) < np.exp(log_accept)
            noise[missing[accepted]] = draws[accepted]
            missing = missing[~accepted]
        return noise.reshape(size)


@dataclass(frozen=True)
class LocalRandomizedResponse(RandomizedResponse):
    """Randomized response whose users trust no shuffler: each report counts as seen with its sender's name.

    The same protocol as `RandomizedResponse`; only the threat that its parameter is set for differs.

    Parameters
    ----------
    users : int
        The number of users n.
    flip_probability : float
        p in [0, 1/2), as in `RandomizedResponse`.

    Examples
    --------
    >>> from dpverify import account
    >>> protocol = LocalRandomizedResponse(users=1000, flip_probability=0.25)
    >>> print(f"{account(protocol, delta=0).epsilon.upper:.4f} nats, ln 3")
    1.0986 nats, ln 3
    """
