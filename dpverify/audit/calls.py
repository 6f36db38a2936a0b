"""Do the calls of a black box depend on each other, or on when they are made? The first ones on one input, compared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.results import POWER
from dpverify.statistics.aspects import codes_of, parts_of_noise
from dpverify.statistics.family import AuditResult
from dpverify.statistics.repeats import alike_runs, repeats, smallest_deviation, smallest_repeated_share
from dpverify.statistics.steadiness import smallest_unsteadiness, steady_runs

__all__ = ["COMPARED", "Calls"]

COMPARED = 500_000
"""Calls on each input that are compared."""
_COLUMNS = 8
"""Columns that are compared, besides whole outputs: the first ones that change in the first block."""


class Calls:
    """The calls on one input, in their order.

    Parameters
    ----------
    place : int
        The input's number, as in a report.
    seed : int
        Of the lots that some tests draw.
    """

    def __init__(self, place: int, seed: int) -> None:
        self._place, self._seed = place, seed
        self._used: NDArray[np.int64] | None = None
        self._rows: list[NDArray[np.float64]] = []
        self._codes: list[NDArray[np.int64]] = []
        self._seen = 0
        self._first: int | None = None
        self.constant = True
        """Whether all outputs so far are the same."""

    def update(self, rows: NDArray[np.float64]) -> None:
        """Add outputs, shape (runs, columns)."""
        if self.constant or self._seen < COMPARED:
            codes = codes_of(rows)
            self._first = int(codes[0]) if self._first is None else self._first
            self.constant &= bool((codes == self._first).all())
        if self._seen < COMPARED:
            if self._used is None:
                changing = np.flatnonzero((rows[:, 1:] != rows[:1, 1:]).any(axis=0)) + 1
                self._used = (changing if changing.size else np.arange(1, rows.shape[1]))[:_COLUMNS]
            left = COMPARED - self._seen
            self._rows.append(rows[:left, self._used])
            self._codes.append(codes[:left])
        self._seen += len(rows)

    def results(self, level: float) -> Iterator[AuditResult]:
        """Yield the tests, each at about this level; none for repeated outputs where outputs are equal anyway."""
        rows, codes = np.concatenate(self._rows), np.concatenate(self._codes)
        method = "Fisher's exact test of near against far pairs, union bound over lags"
        smallest = smallest_repeated_share(codes, level, power=POWER)
        check = repeats(codes, *parts_of_noise(rows))
        where = f"input {self._place}"
        if smallest is not None or check.p_value <= level:
            fault = "" if smallest is None else f"{100 * smallest:.2g} % of runs that repeat an earlier one at some lag"
            yield AuditResult(
                f"{check.name}, {where}", check.p_value, len(codes), method, check.evidence, fault, power=POWER
            )
        check = alike_runs(rows)
        off = smallest_deviation(len(codes), level, power=POWER)
        fault = f"runs at some lag that are alike {100 * off:.2g} % more or less often than others"
        yield AuditResult(
            f"{check.name}, {where}", check.p_value, len(codes), method, check.evidence, fault, power=POWER
        )
        check = steady_runs(rows, codes, self._seed)
        off = smallest_unsteadiness(len(codes), level, power=POWER)
        fault = f"a median that moves by {100 * off:.2g} % of the runs in a sixteenth of them"
        method = "Fisher's exact test on runs that did not choose the times, union bound over these"
        yield AuditResult(
            f"{check.name}, {where}", check.p_value, len(codes), method, check.evidence, fault, power=POWER
        )
