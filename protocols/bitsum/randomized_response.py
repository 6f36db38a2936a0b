"""Randomized response (RR): one one-bit message per user (cheu2019; wagner2025, Appendix B.1 and Algorithm 2)."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protocols.bitsum.base import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True)
class RandomizedResponse(BitsumProtocol):
    """Each user flips her bit with probability p and sends it.

    Parameters
    ----------
    users : int
        The number of users n.
    flip_probability : float
        p in [0, 1/2); 0 sends the bits as they are. (In cheu2019, p = lambda / 2n: a bit is replaced by a fair coin
        with probability lambda / n.)

    Notes
    -----
    The view is (zeros, ones) as reported. The estimate `(ones - m p) / (1 - 2p)` with m the number of reports is
    unbiased, with variance `m p (1-p) / (1-2p)^2` for every input. wagner2025 B.1 releases the plain sum of the
    reports, which is biased by `p (m - 2 sum)`.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = RandomizedResponse(users=1000, flip_probability=0.25)
    >>> estimate = protocol.run(np.arange(1000) < 100, np.random.default_rng(7))
    >>> abs(estimate - 100) < 10 * 28  # ten standard deviations
    True
    """

    alphabet: ClassVar[tuple[int, ...]] = (0, 1)
    divided: ClassVar[tuple[str, ...] | None] = ()

    flip_probability: float = field(metadata={"within": "[0, 1/2)", "help": "p, in {}."})

    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        flips = rng.random(bits.size) < self.flip_probability
        return UserMessages(bits ^ flips, np.arange(bits.size))

    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[np.int64]:
        reported = rng.binomial(ones, 1.0 - self.flip_probability) + rng.binomial(
            participants - ones, self.flip_probability
        )
        return np.stack([participants - reported, reported], axis=-1)

    def _analyze(self, view: NDArray[np.int64]) -> NDArray[np.float64]:
        reports = view.sum(axis=-1)
        return np.asarray((view[..., 1] - reports * self.flip_probability) / (1.0 - 2.0 * self.flip_probability))
