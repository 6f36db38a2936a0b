"""Do calls depend on each other, or on when they are made? The first ones on one input compared, whatever their law."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.results import POWER
from dpverify.digits import rounded
from dpverify.statistics.family import AuditResult
from dpverify.statistics.order.repeats import alike_runs, repeats, smallest_deviation, smallest_repeated_share
from dpverify.statistics.order.steadiness import smallest_unsteadiness, steady_runs
from dpverify.statistics.order.structure import StructureCheck
from dpverify.statistics.order.successive import smallest_pattern, successive_runs
from dpverify.statistics.outputs.aspects import codes_of, parts_of_noise

__all__ = ["COMPARED", "Calls"]

COMPARED = 500_000
"""Calls on each input that are compared."""
_COLUMNS = 8
"""Columns that are compared, besides whole outputs: the first ones that change in the first block."""

_SAME = 1e-12
"""A correlation of two columns so near to 1 says that they show the same: one run in 10^6 that differs shows more."""


class Calls:
    """The calls on one input, in their order.

    - name: The input's, as in a report.
    - seed: Of the lots that some tests draw.
    - skipped: Columns at the beginning of each row that only whole outputs count: 1 for those of `RowTarget`.
    """

    TESTS = 4
    """How many tests there are."""

    def __init__(self, name: str, seed: int, skipped: int = 1) -> None:
        self._name, self._seed, self._skipped = name, seed, skipped
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
                skipped = self._skipped
                changing = np.flatnonzero((rows[:, skipped:] != rows[:1, skipped:]).any(axis=0)) + skipped
                self._used = (changing if changing.size else np.arange(skipped, rows.shape[1]))[:_COLUMNS]
            left = COMPARED - self._seen
            self._rows.append(rows[:left, self._used])
            self._codes.append(codes[:left])
        self._seen += len(rows)

    def results(self, level: float) -> Iterator[AuditResult]:
        """Yield the tests, each at about this level; none for repeated outputs where outputs are equal anyway."""
        self._rows, self._codes = [np.concatenate(self._rows)], [np.concatenate(self._codes)]
        rows, codes = _distinct(self._rows[0]), self._codes[0]
        runs = len(codes)

        def result(check: StructureCheck, fault: str, method: str) -> AuditResult:
            name, method = f"{check.name}, {self._name}", f"Fisher's exact test {method}"
            return AuditResult(name, check.p_value, runs, method, check.evidence, fault, power=POWER)

        smallest = smallest_repeated_share(codes, level, power=POWER)
        check = repeats(codes, *parts_of_noise(rows))
        pairs = "of near against far pairs, union bound over lags"
        if smallest is not None or check.p_value <= level:
            often = "" if smallest is None else rounded(100 * smallest, 2)
            yield result(check, often and f"{often} % of runs that repeat an earlier one at some lag", pairs)
        off = 100 * smallest_deviation(runs, level, power=POWER)
        yield result(
            alike_runs(rows),
            f"runs at some lag that are alike {rounded(off, 2)} % more or less often than others",
            pairs,
        )
        off = 100 * smallest_pattern(runs, level, power=POWER)
        fault = f"a kind of three calls in a row that is {rounded(off, 2)} % of them more frequent than among others"
        yield result(successive_runs(rows), fault, "on calls that did not choose the kind, union bound over codes")
        off = 100 * smallest_unsteadiness(runs, level, power=POWER)
        fault = f"a median that moves by {rounded(off, 2)} % of the runs in a sixteenth of them"
        by_lot = "on runs that did not choose the times, union bound over these"
        yield result(steady_runs(rows, codes, self._seed), fault, by_lot)


def _distinct(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns but for those that are on a line with an earlier one in every run: they show nothing else."""
    kept: list[int] = []
    standardised: list[NDArray[np.float64]] = []
    for at, column in enumerate(rows.T):
        with np.errstate(over="ignore", invalid="ignore"):
            centred = column / max(1.0, float(np.abs(column).max()))
            centred = centred - centred.mean()
            centred /= max(float(np.sqrt(centred @ centred)), 1e-300)
        if not any(abs(float(centred @ other)) > 1.0 - _SAME for other in standardised):
            kept.append(at)
            standardised.append(centred)
    return rows if len(kept) == rows.shape[1] else rows[:, kept]
