"""3NB, correlated noise from three negative binomials (ghazi2020; wagner2025, Algorithm 2 and Appendix A.2)."""

from __future__ import annotations

import math
from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protocols.bitsum.base import BitsumProtocol, messages_by_symbol
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages

__all__ = ["ThreeNB", "negative_binomial", "negative_binomial_pieces"]


def negative_binomial(
    rng: np.random.Generator, shape: float, p: float, size: int | tuple[int, ...]
) -> NDArray[np.int64]:
    """Draw NB(shape, p) as the seeds write it: mean `shape p / (1-p)`, pmf `C(z+shape-1, z) (1-p)^shape p^z`.

    numpy and scipy call 1-p what the seeds call p.
    """
    if shape == 0.0:
        return np.zeros(size, dtype=np.int64)
    return rng.negative_binomial(shape, 1.0 - p, size)


def negative_binomial_pieces(
    rng: np.random.Generator, shape: float, p: float, users: int, present: int
) -> NDArray[np.int64]:
    """Draw NB(shape / users, p) for each of so many users who are present, shape (present,).

    NB(shape, p) is a Poisson number, of mean -shape log(1-p), of clusters whose sizes have the logarithmic law
    p^k / (-k log(1-p)). So the clusters of all are drawn, and each falls on a uniform user: the Poisson number splits
    into independent ones. There are few where users are many.
    """
    clusters = -shape * (present / users) * math.log1p(-p)
    if clusters > present or not clusters:
        return negative_binomial(rng, shape / users, p, present)
    found = np.zeros(present, np.int64)
    sizes = rng.logseries(p, rng.poisson(clusters))
    np.add.at(found, rng.integers(present, size=sizes.size), sizes)
    return found


@dataclass(frozen=True)
class ThreeNB(BitsumProtocol):
    """User i sends `x_i + Z1 + Z3` messages +1 and `Z2 + Z3` messages -1, pieces of divisible noise.

    Summed over the n users, Z1 and Z2 are NB(r, p) each and Z3 is NB(r', p'). Z1 - Z2 protects the sum (for r = 1 it is
    discrete Laplace noise); Z3, sent in cancelling pairs, hides how Z1 and Z2 split and costs communication only.

    Parameters
    ----------
    users : int
        The number of users n that the noise pieces are divided by.
    p : float
        In [0, 1): success parameter of Z1 and Z2, with the seeds' meaning (mean `r p / (1-p)`).
    flood_shape : float
        r' > 0, the shape of Z3 over all users.
    flood_p : float
        p' in [0, 1), the parameter of Z3.
    shape : float
        r > 0, the shape of Z1 and of Z2 over all users; 1 in the seeds.

    Notes
    -----
    The view is (number of +1, number of -1); the estimate, their difference, is unbiased with variance
    `2 r p / (1-p)^2`, or a fraction m/n of that if only m of the n users take part.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = ThreeNB(users=1000, p=0.8, flood_shape=9, flood_p=0.99)
    >>> estimate = protocol.run(np.arange(1000) < 100, np.random.default_rng(7))
    >>> abs(estimate - 100) < 10 * 7  # ten standard deviations
    True
    """

    alphabet: ClassVar[tuple[int, ...]] = (1, -1)
    divided: ClassVar[tuple[str, ...] | None] = ("shape", "flood_shape")

    p: float = field(metadata={"within": "[0, 1)", "help": "p of the noise, in {}: the larger, the more noise."})
    flood_shape: float = field(metadata={"within": "(0, inf)", "help": "r', in {}."})
    flood_p: float = field(metadata={"within": "[0, 1)", "help": "p', in {}."})
    shape: float = field(
        default=1.0,
        metadata={
            "within": "(0, inf)",
            "help": "r of the noise, in {}: 1 is geometric, as in the source, and large normal.",
        },
    )

    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        up, down, flood = (
            negative_binomial_pieces(rng, shape, p, self.users, bits.size)
            for shape, p in ((self.shape, self.p), (self.shape, self.p), (self.flood_shape, self.flood_p))
        )
        return messages_by_symbol({1: bits + up + flood, -1: down + flood})

    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[np.int64]:
        present = participants / self.users
        up, down, flood = (
            negative_binomial(rng, shape * present, p, ones.shape)
            for shape, p in ((self.shape, self.p), (self.shape, self.p), (self.flood_shape, self.flood_p))
        )
        return np.stack([ones + up + flood, down + flood], axis=-1)

    def _analyze(self, view: NDArray[np.int64]) -> NDArray[np.float64]:
        return (view[..., 0] - view[..., 1]).astype(np.float64)
