"""Selection: the bucket with the largest estimated count (ghazi2021, Lemma 36)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.histogram import BucketSums

__all__ = ["Selection"]


@dataclass(frozen=True)
class Selection(BucketSums):
    """The bucket whose estimate is largest; the smallest index among equals.

    Estimates never exceed the counts, so the count of the selected bucket falls short of the largest count by no more
    than the noise of one bucket, the one with the largest count, whatever the size of the universe.

    Parameters
    ----------
    bitsum : SingleNoise
        The protocol of every bucket, with `estimate="under"`.
    buckets : int
        The size of the universe, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> from protocols.bitsum import NegativeBinomial
    >>> protocol = Selection(NegativeBinomial(users=1000, shape=40.0, p=0.5, estimate="under"), buckets=3)
    >>> int(protocol.run(np.minimum(np.arange(1000) // 300, 2), np.random.default_rng(7)))  # 300, 300 and 400 users
    2
    """

    def analyze(self, view: ArrayLike) -> NDArray[np.int64]:
        """Return the selected bucket, shape (...)."""
        return np.asarray(np.argmax(self.estimates(view), axis=-1))
