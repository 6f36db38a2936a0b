"""How many outputs on one input are in each event that is tried."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.statistics.bounds.claim_test import EventLimits
from dpverify.statistics.bounds.tradeoff_band import counted_above
from dpverify.statistics.outputs.chosen import ChosenEvents
from dpverify.statistics.outputs.learned import NamedScore

__all__ = ["Members"]

Rows = NDArray[np.float64]


class Members:
    """How many outputs on one input are in each event, above each threshold of one event's score, and of the scan.

    Parameters
    ----------
    events : ChosenEvents
    best : int
        The event whose score has the thresholds of a band.
    thresholds : ndarray, shape (points,)
        Of the band.
    scan : sequence of (NamedScore, ndarray)
        Further scores and thresholds of theirs.

    Attributes
    ----------
    members, above, scanned : ndarray of int64
        The counts, of the events, of the band and of the scan.
    """

    def __init__(
        self,
        events: ChosenEvents,
        best: int,
        thresholds: NDArray[np.float64],
        scan: Sequence[tuple[NamedScore, NDArray[np.float64]]],
    ) -> None:
        self._events, self._best, self._thresholds, self._scan = events, best, thresholds, scan
        self.members = np.zeros(len(events), dtype=np.int64)
        self.above = np.zeros(thresholds.size, dtype=np.int64)
        self.scanned = np.zeros(sum(points.size for _, points in scan), dtype=np.int64)
        self._ends = np.cumsum([0, *(points.size for _, points in scan)])

    def update(self, rows: Rows) -> None:
        """Count more outputs, shape (runs, columns)."""
        events, scores = self._events, [score(rows) for score in self._events.scores]
        pairs = zip(events.places, events.thresholds, strict=True)
        above = np.array([np.count_nonzero(scores[place] > threshold) for place, threshold in pairs])
        self.members += np.where(events.upward, above, len(rows) - above)
        self.above += counted_above(self._thresholds, scores[events.places[self._best]])
        if self._scan:
            self.scanned += np.concatenate([counted_above(points, score.of(rows)) for score, points in self._scan])

    def beyond(self, limits: EventLimits) -> float:
        """Return the most that the outputs beyond the ends of a scanned score may be on either input.

        Where nothing is scanned all held-out outputs were alike, and what is not like them is an event by itself.
        """
        if not self._scan:
            return 0.0
        both = self._ends[-1] * np.arange(2)[:, np.newaxis]
        above = limits.p_upper[both + self._ends[1:] - 1]
        below = 1.0 - limits.p_lower[both + self._ends[:-1]]
        return float(max(above.max(), below.max()))
