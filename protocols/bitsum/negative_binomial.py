"""One noise on one symbol: users send identical messages and noise in pieces (ghazi2021, Algorithms 7 and 8)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protocols.bitsum.base import BitsumProtocol, messages_by_symbol
from protocols.bitsum.three_nb import negative_binomial, negative_binomial_pieces
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages

__all__ = ["Estimate", "NegativeBinomial", "SingleNoise"]


class Estimate(StrEnum):
    """What the analyzer makes of the number of messages; the privacy is the same."""

    DEBIASED = "debiased"
    """The count minus the mean of the noise (ghazi2020): unbiased."""
    OVER = "over"
    """The count itself (ghazi2021, Algorithm 8): never below the sum."""
    UNDER = "under"
    """Users send 1 - x instead of x, and the estimate is n - count (ghazi2021, Lemma 38): never above the sum."""


@dataclass(frozen=True)
class SingleNoise(BitsumProtocol):
    """User i sends `x_i + Z_i` identical messages, Z_i the i-th piece of an infinitely divisible noise Z >= 0.

    - users: The number of users n that the noise is divided by.
    - estimate: How the analyzer reads the count, and whether users count their ones or (UNDER) their zeros.

    The view is the number of messages. If only m of the n users take part, the noise is m/n of what it should be and no
    analyzer can know: DEBIASED is then off by `(1 - m/n) E Z`, and UNDER may exceed the sum.
    """

    alphabet: ClassVar[tuple[int, ...]] = (1,)

    estimate: Estimate = field(default=Estimate.DEBIASED, kw_only=True, metadata={"typed": False})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimate not in set(Estimate):
            raise ValueError(f"estimate={self.estimate!r} must be one of {', '.join(Estimate)}.")
        object.__setattr__(self, "estimate", Estimate(self.estimate))

    @property
    @abstractmethod
    def noise_mean(self) -> float:
        """E Z, the mean of the noise of all n users together."""

    @abstractmethod
    def _noise(self, share: float, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[np.int64]:
        """Draw the noise of a share of the users, as large as 1/n for a single one."""

    def _pieces(self, rng: np.random.Generator, present: int) -> NDArray[np.int64]:
        """Draw the noise of each user who is present."""
        return self._noise(1.0 / self.users, rng, present)

    def _counted(self, ones: NDArray[np.int64], out_of: int) -> NDArray[np.int64]:
        return out_of - ones if self.estimate is Estimate.UNDER else ones

    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        return messages_by_symbol({1: self._counted(bits, 1) + self._pieces(rng, bits.size)})

    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[np.int64]:
        noise = self._noise(participants / self.users, rng, ones.shape)
        return (self._counted(ones, participants) + noise)[..., np.newaxis]

    def _analyze(self, view: NDArray[np.int64]) -> NDArray[np.float64]:
        count = view[..., 0].astype(np.float64)
        if self.estimate is Estimate.UNDER:
            return np.asarray(self.users - count)
        return count - self.noise_mean if self.estimate is Estimate.DEBIASED else count


@dataclass(frozen=True)
class NegativeBinomial(SingleNoise):
    """`SingleNoise` with Z ~ NB(r, p), of mean `r p / (1-p)` and variance `r p / (1-p)^2`.

    Parameters
    ----------
    users : int
        The number of users n that the noise is divided by.
    shape : float
        r > 0, over all users.
    p : float
        In [0, 1), with the seeds' meaning: pmf `C(z+r-1, z) (1-p)^r p^z` (numpy and scipy call 1-p what is p here).
    estimate : Estimate
        The analyzer.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = NegativeBinomial(users=1000, shape=40.0, p=0.5)
    >>> estimate = protocol.run(np.arange(1000) < 100, np.random.default_rng(7))
    >>> abs(estimate - 100) < 10 * 9  # ten standard deviations
    True
    """

    divided: ClassVar[tuple[str, ...] | None] = ("shape",)

    shape: float = field(metadata={"within": "(0, inf)", "help": "r, in {}."})
    p: float = field(metadata={"within": "[0, 1)", "help": "p, in {}: the larger, the more noise."})

    @property
    def noise_mean(self) -> float:
        """`r p / (1-p)`."""
        return self.shape * self.p / (1.0 - self.p)

    def _noise(self, share: float, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[np.int64]:
        return negative_binomial(rng, self.shape * share, self.p, size)

    def _pieces(self, rng: np.random.Generator, present: int) -> NDArray[np.int64]:
        return negative_binomial_pieces(rng, self.shape, self.p, self.users, present)
