"""What is true of `protocols.selection`. Its privacy is in `dpverify.claims.buckets`, the proofs in docs/buckets.md.

**Error.** With Y_1 the noise of the bucket of largest count, the error exceeds alpha with probability at most
`Pr[Y_1 - min_v Y_v > alpha]`, over the other `buckets - 1` noises.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dpverify.claims.buckets import noise_of
from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.theorem import Theorem
from dpverify.claims.theorems.histogram import SELECTION
from dpverify.laws import noise as laws
from dpverify.rounding import UNIT
from protocols.histogram import BucketSums
from protocols.selection import Selection

__all__ = ["SelectionClaims"]


class SelectionClaims(HistogramClaims):
    """The twin of `Selection`: the privacy, parameters and search of the histogram, with the error of selection."""

    name: ClassVar[str] = "selection"
    protocol: ClassVar[type[BucketSums]] = Selection
    theorems: ClassVar[tuple[Theorem, ...]] = SELECTION

    def failure_probability(self, protocol: BucketSums, error: int) -> float:
        """Return an upper bound on the probability that the selected count is short of the largest by more.

        `Pr[Y_1 - min_v Y_v > error]`, which bounds every dataset; a dataset with all other counts at the largest minus
        `error + 1`, listed before it, attains it where such counts exist.
        """
        noise = noise_of(protocol)
        if error >= noise.users:
            return 0.0
        law = laws.negative_binomial(noise.shape, noise.p, 1e-30)
        rivals = protocol.buckets - 1
        # sum_y Pr[Y_1 = y] Pr[min_v Y_v <= y - error - 1], with Pr[min <= z] = 1 - Pr[Y > z]^rivals.
        tails = np.append(np.cumsum(law.pmf[::-1])[::-1][1:], law.tail_above)
        reached = -np.expm1(rivals * np.log(np.clip(tails, 1e-300, 1.0)))
        # Below the window, where Pr[min <= z] is tiny, it is charged as at the first atom.
        reached = np.append(np.full(law.start, reached[0]), reached)
        pmf = np.append(np.zeros(law.start), law.pmf)
        probability = float(pmf[error + 1 :] @ reached[: max(pmf.size - error - 1, 0)])
        rounding = rivals * (law.relative_error + 2.0 * law.pmf.size * UNIT + law.tail_above + law.tail_below)
        return min(1.0, probability * (1.0 + 1e-9) + rounding)

    def per_bucket_beta(self, users: int, beta: float) -> float:
        """Return beta: only the noise of the fullest bucket matters."""
        return beta
