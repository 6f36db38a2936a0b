"""Are runs independent of each other? Near runs against runs far apart, without knowing the law of the outputs.

Independent runs of one law are alike with one probability, however far apart. Near pairs are taken from one part of the
runs, far pairs from another, and no run is in two pairs that are compared: given how many of all are alike, the near
ones among them are hypergeometric (Fisher's exact test). All comparisons share the level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.search import bisected
from dpverify.statistics.bounds.intervals import upper_limit
from dpverify.statistics.order.dependence import compact, lags_up_to, pairs_at
from dpverify.statistics.order.structure import Least, StructureCheck, fisher

__all__ = ["alike_runs", "repeats", "smallest_deviation", "smallest_repeated_share"]

_ROUND = (100, 1000, 1500, 2000, 2500, 3000, 4000, 5000)
"""Lags of counters that wrap around, besides the powers of two."""
_NAMED = 64
"""Lags that are looked at because equal runs are so far apart."""
_COLUMNS = 8
"""Columns whose runs are compared, each with each."""
_EXACT = 2.0**53
_CROSSED = 8
"""Lags up to which two different columns are compared."""


def repeats(*codes: NDArray[np.int64]) -> StructureCheck:
    """Test whether runs that are near to each other are equal more often than runs far apart.

    - codes (ndarray of int64, shape (trials,)): One for each output, in the order of the runs; equal for equal outputs.
      Several: of other things to be equal in.
    """
    least, comparisons = Least("repeated runs", "near runs are equal no more often than others"), 0
    for entry in map(compact, codes):
        near, far = entry[: len(entry) // 2], entry[len(entry) // 2 :]
        pairs = len(far) // 2
        equal_far = int(np.count_nonzero(far[:pairs] == far[pairs : 2 * pairs]))
        compared = [
            (int(np.count_nonzero(first == later)), first.size, lag)
            for lag, offset in _stretches(len(near), _gaps(near))
            for first, later in [pairs_at(near, lag, offset)]
        ]
        comparisons += len(near)  # every lag that the gaps might have named, with both offsets
        for equal, size, lag in _furthest(compared, equal_far, pairs, more=True):
            p_value = float(fisher(equal, size, equal + equal_far, size + pairs, more=True))
            found = f"of {size} pairs of runs {lag} apart {equal} are equal, of {pairs} far apart {equal_far}"
            least.see(p_value, found)
    return least.of(comparisons)


def _furthest(
    compared: list[tuple[int, int, int]], alike_far: int, pairs: int, more: bool
) -> list[tuple[int, int, int]]:
    """Return the few comparisons that are furthest off, to see whose exact p-values are the least: each is slow.

    To leave out others can only make the least p-value, which is multiplied by the number of all, larger.
    """

    def deviation(one: tuple[int, int, int]) -> float:
        alike, size, _ = one
        share = (alike + alike_far) / (size + pairs)
        off = (alike / size - alike_far / pairs) / math.sqrt(
            share * (1.0 - share) * (1.0 / size + 1.0 / pairs) + 1e-300
        )
        return off if more else abs(off)

    return sorted(compared, key=deviation, reverse=True)[:3]


def alike_runs(columns: NDArray[np.float64]) -> StructureCheck:
    """Test whether near runs are more or less often alike than runs far apart: on the same side of some thresholds.

    A column is above its median or not, near to it or far, and even or odd; the thresholds are those of its first
    tenth, which is not compared. Two different columns are compared as well: the one may show what the other was, a
    few runs before.

    - columns (ndarray, shape (trials, columns)): The outputs, in the order of the runs; the first eight that change are
      looked at.
    """
    tenth = len(columns) // 10
    names, sides = _sides(columns, tenth)
    half = len(sides) // 2
    near, far = np.ascontiguousarray(sides[:half].T), np.ascontiguousarray(sides[half:].T)
    pairs = far.shape[1] // 2
    stretches = list(_stretches(half))
    least, comparisons = Least("dependence of near runs", "near runs are alike as often as others"), 0
    tested = []
    for i, j in _compared(names):
        alike_far = int(np.count_nonzero(far[i, :pairs] == far[j, pairs : 2 * pairs]))
        compared = [
            (int(np.count_nonzero(first == later)), first.size, lag)
            for lag, offset in stretches
            if i == j or lag <= _CROSSED
            for first, later in [(pairs_at(near[i], lag, offset)[0], pairs_at(near[j], lag, offset)[1])]
        ]
        comparisons += len(compared)
        for alike, size, lag in _furthest(compared, alike_far, pairs, more=False):
            other = names[i] if i == j else f"{names[i]}, and {names[j]}"
            found = (
                f"of {size} pairs of runs {lag} apart {alike} are alike in {other}, of {pairs} far apart {alike_far}"
            )
            tested.append((alike, size, alike + alike_far, size + pairs, found))
    least.see_hits(tested)
    return least.of(comparisons)


def _compared(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield what is compared with what: all with themselves, and others of one kind in both orders."""
    kinds = [name.rsplit(" ", 2)[-2:] for name in names]
    yield from ((i, j) for i, j in itertools.product(range(len(names)), repeat=2) if kinds[i] == kinds[j])


def _sides(columns: NDArray[np.float64], tenth: int) -> tuple[list[str], NDArray[np.bool_]]:
    """Return what runs may be alike in, and which have it, shape (trials, sides); the first tenth only sets limits."""
    names, sides = [], []
    for column in np.flatnonzero((columns != columns[:1]).any(axis=0))[:_COLUMNS].tolist():
        values, limits = columns[tenth:, column], columns[:tenth, column]
        middle = np.median(limits) if tenth else 0.0
        far = np.median(np.abs(limits - middle)) if tenth else 0.0
        names += [f"whether column {column} is above its median", f"whether column {column} is far from its median"]
        sides += [values > middle, np.abs(values - middle) > far]
        if np.abs(columns[:, column]).max() < _EXACT:
            names.append(f"whether column {column} is odd")
            sides.append(np.floor(values) % 2 == 1)
    return names, np.stack(sides, axis=1) if sides else np.zeros((len(columns) - tenth, 0), dtype=np.bool_)


def _gaps(codes: NDArray[Any]) -> list[int]:
    """Return the most frequent distances between one run and the next that is equal to it."""
    order = np.argsort(codes, kind="stable")
    same = codes[order[1:]] == codes[order[:-1]]
    gaps, often = np.unique(np.diff(order)[same], return_counts=True)
    return [int(gap) for gap in gaps[np.argsort(-often, kind="stable")[:_NAMED]]]


def _stretches(runs: int, named: Sequence[int] = ()) -> Iterator[tuple[int, int]]:
    """Yield lags and where disjoint pairs begin: every second stretch of `lag` runs with the next, and the others."""
    round_ones = (lag for lag in _ROUND if lag <= runs // 100)
    for lag in sorted({*lags_up_to(runs).tolist(), *round_ones, *named}):
        yield from ((lag, offset) for offset in (0, lag) if runs - offset >= 2 * lag)


def smallest_deviation(trials: int, level: float, *, power: float = 0.95) -> float:
    """Return about the least change of how often runs at a lag are alike, to be seen by `alike_runs` with some power.

    An estimate, for two columns.
    """
    pairs = max(1.0, 0.9 * trials / 4.0)
    comparisons = 4.0 * lags_up_to(trials // 2).size
    wide = float(scipy.stats.norm.isf(level / (2.0 * comparisons)) + scipy.stats.norm.isf(1.0 - power))
    return min(1.0, wide * math.sqrt(0.5 / pairs))


def smallest_repeated_share(codes: NDArray[np.int64], level: float, *, power: float = 0.95) -> float | None:
    """Return about the least share of runs that repeat one shortly before, to be seen with some power.

    An estimate, from how often outputs are equal anyway; None if not even half of all are seen.

    - codes: ndarray of int64, shape (trials,).
    - level: Of the check.
    - power: In (0, 1).
    """
    pairs = len(codes) // 4
    middle = len(codes) // 2
    equal = int(np.count_nonzero(codes[middle : middle + pairs] == codes[middle + pairs : middle + 2 * pairs]))
    collision = float(upper_limit(equal, pairs, 0.1))
    each = level / (2.0 * lags_up_to(middle).size)
    # Twice the variance of a known collision rate: the far pairs are as uncertain.
    needed = pairs * collision + scipy.stats.norm.isf(each) * math.sqrt(2.0 * pairs * collision) - math.log2(each)

    def seen(share: float) -> bool:
        return float(scipy.stats.binom.sf(needed, pairs, collision + share * (1.0 - collision))) >= power

    return bisected(seen, 0.0, 0.5, relative=1e-3, absolute=1e-9)[1] if seen(0.5) else None
