"""What is true of `protocols.selection`.

Its privacy is in `dpverify.claims.shared.buckets`, the proofs in docs/buckets.md.

**Error.** With Y_1 the noise of the bucket of largest count, the error exceeds alpha with probability at most
`Pr[Y_1 - min_v Y_v > alpha]`, over the other `buckets - 1` noises.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpverify.claims.histogram import HistogramClaims
from dpverify.laws.discrete import DiscreteLaw
from dpverify.papers.entries import stated
from dpverify.rounding import UNIT
from protocols.histogram import BucketSums
from protocols.selection import Selection
from protocols.validation import check_integer, check_probability

__all__ = ["SelectionClaims"]

_ROUNDED = 1e-13
"""More than what sums of tails lose, relative to 1."""
_NEXT_TO_NOTHING = 1e-12
"""A probability that is charged, and not looked into."""


class SelectionClaims(HistogramClaims):
    """The twin of `Selection`: the privacy, parameters and search of the histogram, with the error of selection."""

    name = "selection"
    protocol = Selection
    theorems = stated("ghazi2021/histogram", "selection")

    def published_laws(self, protocol: BucketSums, held: ArrayLike) -> Sequence[DiscreteLaw]:
        """Return the law of the selected bucket alone, given how many users hold each value.

        It has the fewest messages, and the smallest index among equals: those before it have more, and the others no
        fewer.
        """
        counts = self.count_laws(protocol, held)
        low, high = (int(end([end(law.points) for law in counts])) for end in (np.min, np.max))
        chances = np.zeros((len(counts), high - low + 2))
        for row, law in zip(chances, counts, strict=True):
            row[law.points - low] = law.pmf
        no_fewer = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
        more, ends = np.roll(no_fewer, -1, axis=1), np.ones((1, no_fewer.shape[1]))
        before = np.cumprod(np.concatenate([ends, more[:-1]]), axis=0)
        behind = np.cumprod(np.concatenate([ends, no_fewer[:0:-1]]), axis=0)[::-1]
        selected = (chances * before * behind).sum(axis=1)
        return [
            DiscreteLaw.of(np.arange(len(counts)), selected, min(1.0, sum(law.outside for law in counts) + _ROUNDED))
        ]

    def output_law(self, protocol: BucketSums, inputs: ArrayLike) -> DiscreteLaw:
        """Return the exact law of the selected bucket from the users' own ones, shape (users,)."""
        (law,) = self.published_laws(protocol, np.bincount(np.asarray(inputs), minlength=protocol.buckets))
        return law

    def failure_probability(self, protocol: BucketSums, error: int) -> float:
        """Return an upper bound on the probability that the selected count is short of the largest by more.

        `Pr[Y_1 - min_v Y_v > error]`, which bounds every dataset; a dataset with all other counts at the largest minus
        `error + 1`, listed before it, attains it where such counts exist.
        """
        if check_integer("error", error, low=0) >= protocol.users:
            return 0.0
        claims = self._noise(protocol)
        law = claims.noise_law(protocol.bitsum, 1.0, 1e-30)
        rivals = protocol.buckets - 1
        # sum_y Pr[Y_1 = y] Pr[min_v Y_v <= y - error - 1], with Pr[min <= z] = 1 - Pr[Y > z]^rivals.
        tails = np.append(np.cumsum(law.pmf[::-1])[::-1][1:], law.tail_above)
        reached = -np.expm1(rivals * np.log(np.clip(tails, 1e-300, 1.0)))
        # Below the window, where Pr[min <= z] is tiny, it is charged as at the first atom.
        large = law.support > error
        places = np.maximum(law.support[large] - (error + 1 + law.start), 0)
        probability = float(law.pmf[large] @ reached[places])
        rounding = rivals * (law.relative_error + 2.0 * law.pmf.size * UNIT + law.tail_above + law.tail_below)
        # However many rivals there are, the noise of the fullest bucket must be that large.
        return min(probability * (1.0 + 1e-9) + rounding, claims.noise_above(protocol.bitsum, error))

    def plurality_failure(self, protocol: BucketSums, users: int, share: float) -> float:
        """Return what `dpverify.claims.user_level.classifier.plurality_failure` does, for all its users.

        Where k users are in a bucket, the others hold n - k at most: it is selected if what is selected is short of
        the largest count by no more than `2 k - n - 1`.
        """
        check_integer("users", users, low=protocol.users, high=protocol.users)
        chances = scipy.stats.binom.pmf(np.arange(users + 1), users, check_probability("share", share))
        majority = users // 2 + 1  # below it nothing is proved, and what is next to impossible is not computed
        likely = [k for k in range(majority, users + 1) if chances[k] > _NEXT_TO_NOTHING]
        found = [float(chances[k]) * self.failure_probability(protocol, 2 * k - users - 1) for k in likely]
        left_out = max(0.0, 1.0 - float(chances[likely].sum())) + 1e-13
        return min(1.0, (sum(found) + left_out) * (1.0 + 1e-9))

    def per_bucket_beta(self, users: int, beta: float) -> float:
        """Return beta: only the noise of the fullest bucket matters."""
        return beta
