"""Do all runs have one law, whenever they are drawn? Counters, warm-ups and drift, without knowing the law.

Of independent runs of one law any subset is as good as any other. So half of the runs, drawn by lot, may say at which
times which outputs seem to be more frequent, and on the other half, given how many there are, their number at these
times is hypergeometric (Fisher's exact test).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.statistics.order.structure import Least, StructureCheck, grid_exponents
from protocols.classes.frozen import dataclass

__all__ = ["smallest_unsteadiness", "steady_runs"]

_CYCLES = (4096, 5040, 10_000, 365, 11)
"""Runs are counted by their number in these cycles, and in all cycles that divide them."""
_STRETCHES = 16
_COLUMNS = 4
_FREQUENT = 4
"""The most frequent outputs, and the most frequent lowest bits, are looked at one by one."""
_TESTED = 6
"""Times and outputs that are tested, those that look most odd first."""
_WAVES = 3
"""Frequencies and outputs that are tested besides."""
_SEGMENTS = (1000, 100)
"""Stretches whose waves may begin anew."""
_FEWEST_SEGMENTS = 8
_ARCS = (2, 4, 8)
"""Parts of a cycle that are looked at as wholes."""
_LEAST = 8
"""Outputs that are rarer in the half that chooses are not looked at."""


def steady_runs(rows: NDArray[np.float64], codes: NDArray[np.int64], seed: int) -> StructureCheck:
    """Test whether outputs are as frequent at some times as at others: every so many runs, early, late, or in a part.

    - rows (ndarray, shape (trials, columns)): The outputs, in the order of the runs; the first four columns that change
      are looked at.
    - codes (ndarray of int64, shape (trials,)): One for each output, equal for equal outputs.
    - seed: Of the lots.
    """
    least = Least("steadiness of runs", "outputs are as frequent at any time")
    lots = np.random.default_rng(seed).random(len(rows)) < 0.5
    partitions = list(_times(len(rows)))
    sizes = [np.bincount(times[lots], minlength=cells) for _, times, cells in partitions]
    chosen: list[_Odd] = []
    waves: list[_Odd] = []
    drawn, outcomes = int(lots.sum()), list[tuple[str, NDArray[np.bool_], NDArray[np.intp]]]()
    for what, happened in _outcomes(rows, codes, lots):
        (hits,) = np.nonzero(happened & lots)
        if _LEAST <= hits.size <= drawn - _LEAST:
            outcomes.append((what, happened, hits))
    shares = np.array([hits.size / max(1, drawn) for _, _, hits in outcomes])
    found = []  # for each period of each partition: how much the oddest cells are off, one row for each outcome
    for (when, times, cells), size in zip(partitions, sizes, strict=True):
        seen = np.array([np.bincount(times[hits], minlength=cells) for _, _, hits in outcomes]).reshape(-1, cells)
        for period in _divisors(cells, len(rows)) if when.startswith("number") else (cells,):
            within, counted = (x.reshape(len(x), cells // period, period).sum(axis=1) for x in (size[np.newaxis], seen))
            oddest = _oddest(within, counted, shares, arcs=period < cells or when.startswith("number"))
            found.append((when, times, period, oddest))
    for row, (what, happened, _) in enumerate(outcomes):
        for when, times, period, oddest in found:
            off, cell, long = oddest[row]
            if len(chosen) < _TESTED or off > chosen[-1].off:
                at = np.arange(cell, cell + long) % period
                named = when.format(cell if long == 1 else f"{cell} to {at[-1]}", period)
                one = _Odd(off, named, functools.partial(_within, times, period, at), what, happened)
                chosen = sorted([*chosen, one], key=lambda one: -one.off)[:_TESTED]
        waves = sorted([*waves, *_waves(happened, lots, shares[row], what)], key=lambda one: -one.off)[:_WAVES]
    chosen += waves
    others, tested = ~lots, []
    runs = int(np.count_nonzero(others))
    for odd in chosen:
        then, having = odd.at() & others, odd.happened & others
        inside, all_hits, both = (int(np.count_nonzero(x)) for x in (then, having, then & having))
        expected = inside * all_hits / max(1, runs)
        shown = f"of {inside} runs {odd.when} {both} have {odd.what}; {expected:.4g} expected"
        tested.append((both, inside, all_hits, runs, shown))
    least.see_hits(tested)
    return least.of(len(chosen))


def _within(times: NDArray[np.int32], period: int, at: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray(np.isin(np.arange(period), at)[times % period])


@dataclass(frozen=True, eq=False)
class _Odd:
    """An outcome that seems to be more or less frequent at some times, and by how many standard deviations."""

    off: float
    when: str
    at: Callable[[], NDArray[np.bool_]]
    what: str
    happened: NDArray[np.bool_]


def _oddest(
    within: NDArray[np.int64], counted: NDArray[np.int64], shares: NDArray[np.float64], *, arcs: bool
) -> list[tuple[float, int, int]]:
    """Return by how much the oddest cell is off, or the oddest stretch around a cycle, its start and its length.

    One for each outcome: a row of `counted`, and its share.
    """
    found = []
    period, share = within.shape[1], shares[:, np.newaxis]
    for parts in (1, *(_ARCS if arcs else ())):
        long = 1 if parts == 1 else period // parts
        if parts > 1 and long < 2:
            continue
        runs, hits = within, counted
        if long > 1:
            runs, hits = (
                np.cumsum(np.concatenate([np.zeros_like(x[:, :1]), x, x[:, : long - 1]], axis=1), axis=1)
                for x in (within, counted)
            )
            runs, hits = runs[:, long:] - runs[:, :-long], hits[:, long:] - hits[:, :-long]
        # As if one more were expected: a single run is no evidence.
        off = np.abs(hits - runs * share) / np.sqrt(runs * share * (1.0 - share) + 1.0)
        cells = np.argmax(off, axis=1)
        most = np.take_along_axis(off, cells[:, np.newaxis], axis=1)[:, 0]
        found.append(list(zip(most.tolist(), cells.tolist(), [long] * len(cells), strict=True)))
    return [max(each) for each in zip(*found, strict=True)]


def _waves(happened: NDArray[np.bool_], lots: NDArray[np.bool_], share: float, what: str) -> Iterator[_Odd]:
    """Yield the frequency at which an outcome seems to come and go most, of all runs and of stretches by themselves.

    What each stretch has at that frequency among the runs with the lot says when the other runs should have it.
    """
    # In single precision: it only says what the other runs test.
    signal = np.where(lots, happened - share, 0.0).astype(np.float32)
    for length in (len(signal), *_SEGMENTS):
        count = len(signal) // length
        if length != len(signal) and count < _FEWEST_SEGMENTS:
            continue
        parts = scipy.fft.rfft(signal[: count * length].reshape(count, length), axis=1)[:, 1:]
        power = (np.square(parts.real) + np.square(parts.imag)).mean(axis=0) / (length * 0.5 * share * (1.0 - share))
        best = int(np.argmax(power)) + 1
        # The power has mean 1, and over stretches about a gamma law: in standard deviations of a normal one.
        off = float(
            scipy.stats.norm.isf(max(1e-300, float(scipy.stats.gamma.sf(power[best - 1], count, scale=1.0 / count))))
        )
        where = "" if length == len(signal) else f", in each {length:,} runs by themselves"
        crest = functools.partial(_crest, len(signal), length, best, parts[:, best - 1].copy())
        yield _Odd(off, f"at the crest of a wave of {length / best:.4g} runs{where},", crest, what, happened)


def _crest(runs: int, length: int, frequency: int, phases: NDArray[np.complex128]) -> NDArray[np.bool_]:
    """Return the three tenths of the runs where waves of one frequency are highest, one in each stretch of a length."""
    turned = np.exp(2j * np.pi * frequency / length * np.arange(length))
    expected = (phases[:, np.newaxis] * turned).real
    at = np.zeros(runs, dtype=np.bool_)
    at[: expected.size] = (expected > np.quantile(expected, 0.7)).ravel()
    return at


def _times(runs: int) -> Iterator[tuple[str, NDArray[np.int32], int]]:
    """Yield partitions of the runs by time: what a part is called, the part of every run, and how many there are."""
    at = np.arange(runs, dtype=np.int32)
    for cycle in _CYCLES:
        yield "number {} of every {}", at % cycle, cycle
    yield f"in part {{}} of {_STRETCHES}", (np.arange(runs) * _STRETCHES // runs).astype(np.int32), _STRETCHES
    # Part k begins at run 2^k - 1, or ends so many before the last.
    for name, distance in (("from the first", at), ("before the last", runs - 1 - at)):
        place = np.log2(distance + 1.0).astype(np.int32)
        yield f"2^{{}} {name}", place, int(place.max()) + 1


@functools.cache
def _divisors(cycle: int, runs: int) -> tuple[int, ...]:
    return tuple(period for period in range(2, min(cycle, runs // 20) + 1) if cycle % period == 0)


def _outcomes(
    rows: NDArray[np.float64], codes: NDArray[np.int64], lots: NDArray[np.bool_]
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield what an output may have, and which runs have it; chosen by the runs with the lot alone."""
    for code in _frequent(codes[lots]):
        yield f"the output of run {int(np.argmax(codes == code))}", codes == code
    changing = np.flatnonzero((rows[lots] != rows[:1]).any(axis=0))[:_COLUMNS]
    for column in changing.tolist():
        values = rows[:, column]
        low, middle, high = np.quantile(values[lots], [0.02, 0.5, 0.98])
        wide = float(np.quantile(np.abs(values[lots] - middle), 0.9))
        yield f"column {column} above its median", values > middle
        yield f"column {column} in its upper tail", values > high
        yield f"column {column} in its lower tail", values < low
        yield f"column {column} far from its median", np.abs(values - middle) > wide
        lowest = grid_exponents(values)
        for exponent in _frequent(lowest[lots]):
            yield f"the lowest bit 2^{exponent} in column {column}", lowest == exponent


def _frequent(codes: NDArray[np.int64]) -> list[int]:
    found, often = np.unique(codes, return_counts=True)
    return [int(found[k]) for k in np.argsort(-often, kind="stable")[:_FREQUENT] if _LEAST <= often[k] < codes.size]


def smallest_unsteadiness(trials: int, level: float, *, power: float = 0.95) -> float:
    """Return about the least change of a median in a sixteenth of the runs that `steady_runs` shows with some power."""
    wide = float(scipy.stats.norm.isf(level / (2.0 * (_TESTED + _WAVES))) + scipy.stats.norm.isf(1.0 - power))
    return min(1.0, wide * math.sqrt(0.25 * 2.0 * _STRETCHES / max(trials, 1)))
