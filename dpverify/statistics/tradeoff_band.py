"""The trade-off between the two errors of telling two inputs apart, with a band that holds everywhere at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.statistics.chosen import EventLimits, event_limits
from dpverify.statistics.lower_bound import LowerCurve

__all__ = ["TradeoffBand", "counted_above", "tradeoff_band", "tradeoff_thresholds"]

_POINTS = 24


@dataclass(frozen=True)
class TradeoffBand:
    """Limits of both errors of the tests {score > t}.

    The band is that of one score. The trade-off function of the mechanism, which is that of the best of all tests, may
    lie below it, and never lies above its upper side but for the stated error probability.

    Parameters
    ----------
    limits : EventLimits
        Of the events {score > t}, on the first input (p) and on the second (q).
    """

    limits: EventLimits

    @property
    def lower(self) -> LowerCurve:
        """A curve below the true privacy curve: of the events and of their complements."""
        found = self.limits
        return LowerCurve(
            np.concatenate([found.p_lower, 1.0 - found.q_upper]),
            np.concatenate([found.q_upper, 1.0 - found.p_lower]),
            found.level,
        )

    def rows(self) -> tuple[Mapping[str, float], ...]:
        """Return for each test its errors' limits, for a plot.

        `false_positive_*` is the probability of the event on the second input, `false_negative_*` that of its
        complement on the first: the trade-off function at `false_positive_upper` is at most `false_negative_upper`.
        """
        found = self.limits
        columns = found.q_lower, found.q_upper, 1.0 - found.p_upper, 1.0 - found.p_lower
        names = "false_positive_lower", "false_positive_upper", "false_negative_lower", "false_negative_upper"
        return tuple(dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True))


def tradeoff_thresholds(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where the band has its points: quantiles of held-out scores of both inputs, closer towards the tails."""
    share = np.concatenate([np.geomspace(1e-3, 0.5, _POINTS // 4), 1.0 - np.geomspace(1e-3, 0.5, _POINTS // 4)])
    return np.unique(np.concatenate([np.quantile(scores, share, method="lower") for scores in (first, second)]))


def counted_above(thresholds: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of some scores are above each threshold, shape (thresholds,): of more of them these add up."""
    return np.asarray(scores.size - np.searchsorted(np.sort(scores), thresholds, side="right"), dtype=np.int64)


def tradeoff_band(
    above_first: NDArray[np.int64], above_second: NDArray[np.int64], trials: int, level: float
) -> TradeoffBand:
    """Return the band from fresh outputs, by Clopper-Pearson limits at all thresholds at once.

    Parameters
    ----------
    above_first, above_second : ndarray of int, shape (thresholds,)
        How many scores on each input are above thresholds that were fixed, as the score was, without looking at them.
    trials : int
        Scores on each input.
    level : float
        The probability that some limit is wrong.
    """
    return TradeoffBand(event_limits(above_first, above_second, trials, level))
