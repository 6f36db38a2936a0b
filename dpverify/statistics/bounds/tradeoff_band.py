"""The trade-off between the two errors of telling two inputs apart, with a band that holds everywhere at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.statistics.bounds.claim_test import EventLimits, LowerCurve
from dpverify.statistics.outputs.learned import NamedScore
from protocols.classes.frozen import dataclass

__all__ = ["TradeoffBand", "counted_above", "scanned_scores", "tradeoff_thresholds"]

_POINTS = 24
_SCANNED = 4
"""Plain scores that are scanned."""


@dataclass(frozen=True)
class TradeoffBand:
    """Limits of both errors of the tests {score > t}.

    The band is that of one score. The trade-off function of the mechanism, which is that of the best of all tests, may
    lie below it, and never lies above its upper side but for the stated error probability.

    - limits: Of the events {score > t} on the first input (p) and on the second (q), of thresholds t and a score that
      were fixed without looking at the outputs that are counted.
    """

    limits: EventLimits

    @property
    def lower(self) -> LowerCurve:
        """A curve below the true privacy curve: of the events and of their complements."""
        return (self.limits + self.limits.complements).lower

    def rows(self) -> tuple[Mapping[str, float], ...]:
        """Return for each test its errors' limits, for a plot.

        `false_positive_*` is the probability of the event on the second input, `false_negative_*` that of its
        complement on the first: the trade-off function at `false_positive_upper` is at most `false_negative_upper`.
        """
        found = self.limits
        columns = found.q_lower, found.q_upper, 1.0 - found.p_upper, 1.0 - found.p_lower
        names = "false_positive_lower", "false_positive_upper", "false_negative_lower", "false_negative_upper"
        return tuple(dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True))


def tradeoff_thresholds(
    first: NDArray[np.float64], second: NDArray[np.float64], delta: float = 0.0
) -> NDArray[np.float64]:
    """Return where the band has its points: quantiles of held-out scores of both inputs, closer towards the tails.

    Where delta > 0 they begin below the least held-out score and end at the largest, and lie as close as it takes for
    one of them to show about as much at delta as any between: that event may be nearly as rare as delta.
    """
    scores = first, second
    if delta == 0.0:
        return _quantiles(scores, np.geomspace(1e-3, 0.5, _POINTS // 4))
    least = max(0.25 * delta, 1.0 / min(x.size for x in scores))
    inside = _quantiles(scores, np.geomspace(min(least, 0.25), 0.5, _POINTS))
    ends = [math.nextafter(min(float(x.min()) for x in scores), -math.inf), max(float(x.max()) for x in scores)]
    return np.union1d(inside, ends)


def scanned_scores(
    scores: Sequence[NamedScore], first: NDArray[np.float64], second: NDArray[np.float64]
) -> list[NamedScore]:
    """Return the few plain scores whose distribution functions on two held-out samples are farthest apart."""

    def distance(score: NamedScore) -> float:
        a, b = (np.sort(score.of(rows)) for rows in (first, second))
        at = np.concatenate([a, b])
        below = (np.searchsorted(x, at, side="right") / x.size for x in (a, b))
        return float(np.abs(next(below) - next(below)).max())

    return sorted((score for score in scores if score.plain), key=distance, reverse=True)[:_SCANNED]


def _quantiles(scores: tuple[NDArray[np.float64], ...], tails: NDArray[np.float64]) -> NDArray[np.float64]:
    share = np.concatenate([tails, 1.0 - tails])
    return np.unique(np.concatenate([np.quantile(each, share, method="lower") for each in scores]))


def counted_above(thresholds: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of some scores are above each threshold, shape (thresholds,): of more of them these add up."""
    return np.asarray(scores.size - np.searchsorted(np.sort(scores), thresholds, side="right"), dtype=np.int64)
