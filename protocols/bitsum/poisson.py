"""One Poisson noise on one symbol (ghazi2020; wagner2025, Appendix B.1)."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protocols.bitsum.negative_binomial import SingleNoise
from protocols.classes.frozen import dataclass

__all__ = ["Poisson"]


@dataclass(frozen=True)
class Poisson(SingleNoise):
    """`SingleNoise` with Poisson Z: user i sends `x_i + Poisson(mean / n)` identical messages.

    Parameters
    ----------
    users : int
        The number of users n that the noise is divided by.
    mean : float
        The mean, and the variance, of the noise of all users together; at least 0.
    estimate : Estimate
        The analyzer.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = Poisson(users=1000, mean=100.0)
    >>> estimate = protocol.run(np.arange(1000) < 100, np.random.default_rng(7))
    >>> abs(estimate - 100) < 10 * 10  # ten standard deviations
    True
    """

    divided: ClassVar[tuple[str, ...] | None] = ("mean",)

    mean: float = field(metadata={"within": "[0, inf)", "help": "The mean of the noise, in {}."})

    @property
    def noise_mean(self) -> float:
        """The mean of the noise of all users together."""
        return self.mean

    def _noise(self, share: float, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[np.int64]:
        return rng.poisson(self.mean * share, size)
