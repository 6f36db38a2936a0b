"""Pure: ones are dropped now and then, and the sum gets discrete Laplace noise (ghazi2023; wagner2025, section 4).

Its noise is divisible, a difference of two negative binomials, and their shape is a parameter here (harrison2025).
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.three_nb import ThreeNB
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages

__all__ = ["Pure"]


@dataclass(frozen=True)
class Pure(BitsumProtocol):
    """User i sets `y_i = 0` with probability q and `y_i = x_i` else, and runs `ThreeNB` on y_i.

    She thus sends `y_i + Z1 + Z3` messages +1 and `Z2 + Z3` messages -1, pieces of divisible noise. Over all users, Z1
    and Z2 are NB(r, p), geometric for r = 1, so that Z1 - Z2 is then discrete Laplace noise; Z3 ~ NB(r', p') floods the
    shuffler with pairs that cancel.

    Parameters
    ----------
    users : int
        The number of users n that the noise pieces are divided by.
    p : float
        In [0, 1): the parameter of Z1 and Z2; for r = 1 `e^(-epsilon)` of the discrete Laplace noise, of pmf
        proportional to p^|z|.
    drop_probability : float
        q in [0, 1): how likely a one is dropped.
    flood_shape : float
        r' > 0, the shape of Z3 over all users.
    flood_p : float
        p' in [0, 1), the parameter of Z3; 0 sends no flood.
    shape : float
        r > 0, the shape of Z1 and of Z2 over all users; 1 in the seeds.

    Notes
    -----
    The view is (number of +1, number of -1). The estimate, their difference divided by 1 - q, is unbiased. Its variance
    `ones q / (1-q) + 2 r p / (1-p)^2 / (1-q)^2` grows with the number of ones.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = Pure(users=1000, p=0.8, drop_probability=0.01, flood_shape=9.0, flood_p=0.99)
    >>> estimate = protocol.run(np.arange(1000) < 100, np.random.default_rng(7))
    >>> abs(estimate - 100) < 10 * 7  # ten standard deviations
    True
    """

    alphabet: ClassVar[tuple[int, ...]] = ThreeNB.alphabet
    divided: ClassVar[tuple[str, ...] | None] = ThreeNB.divided

    p: float = field(metadata={"within": "[0, 1)", "help": "p of the noise, in {}: the larger, the more noise."})
    drop_probability: float = field(default=0.0, metadata={"within": "[0, 1)", "help": "q, in {}."})
    flood_shape: float = field(default=1.0, metadata={"within": "(0, inf)", "help": "r', in {}."})
    flood_p: float = field(default=0.0, metadata={"within": "[0, 1)", "help": "p', in {}."})
    shape: float = field(
        default=1.0,
        metadata={
            "within": "(0, inf)",
            "help": "r of the noise, in {}: 1 is geometric, as in the source, and large normal.",
        },
    )

    @property
    def noise(self) -> ThreeNB:
        """The protocol that the bits which are left go through."""
        return ThreeNB(self.users, self.p, self.flood_shape, self.flood_p, self.shape)

    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        kept = rng.random(bits.size) >= self.drop_probability
        return self.noise.randomize(bits * kept, rng)

    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[np.int64]:
        kept = rng.binomial(ones, 1.0 - self.drop_probability)
        return self.noise.sample_view(kept, rng, participants=participants)

    def _analyze(self, view: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.noise.analyze(view) / (1.0 - self.drop_probability)
