"""The exact sum: no noise and no privacy, the reference that private protocols are compared with."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protocols.bitsum.base import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.shuffler import UserMessages

__all__ = ["ExactSum"]


@dataclass(frozen=True)
class ExactSum(BitsumProtocol):
    """Each user sends her bit as it is. **Not private**: epsilon is infinite.

    Parameters
    ----------
    users : int
        The number of users n.

    Examples
    --------
    >>> import numpy as np
    >>> ExactSum(users=4).run([0, 1, 1, 0], np.random.default_rng(7))
    2.0
    """

    alphabet: ClassVar[tuple[int, ...]] = (0, 1)
    divided: ClassVar[tuple[str, ...] | None] = ()

    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        return UserMessages(bits, np.arange(bits.size))

    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.stack([participants - ones, ones], axis=-1)

    def _analyze(self, view: NDArray[np.int64]) -> NDArray[np.float64]:
        return view[..., 1].astype(np.float64)
