"""Do a few runs in a row look like a few runs far apart? Learned on some, tested on others.

Independent runs of one law do. What runs in a row have that others have not may be an order, a plane that three numbers
of a poor generator lie on, or a cell that no two of a hundred share. So codes of a few runs at a time are counted, in a
row and far apart, and what is more frequent in a row among the first half is counted anew in the second: given how
often it occurs at all, its number among runs in a row is hypergeometric (Fisher's exact test).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.statistics.order.structure import Least, StructureCheck
from dpverify.statistics.outputs.aspects import Aspect
from dpverify.statistics.outputs.learned import table_score
from protocols.classes.frozen import dataclass

__all__ = ["smallest_pattern", "successive_runs"]

_COLUMNS = 4
"""Columns that are looked at, the first ones that change."""
_LENGTHS = (2, 3, 5, 8)
"""How many runs are taken at a time."""
_CELLS = {2: (8, 64), 3: (8, 16), 5: (4,), 8: (2,)}
"""Into how many parts of equal mass a column is cut, by that number: some thousand cells at most."""
_CROSSED = (4, 16)
"""The same for two runs of two columns."""
_SCALES = (1, 32, 1024)
"""Fractions of so many times a column are compared."""
_LONG = 100
"""Runs that are taken at a time for what only many show: how many are above the median, and how they are spread."""
_LEAST = 50
"""Fewer windows of a kind are not compared."""

Windows = NDArray[np.float64]
"""Runs of a column a few at a time, shape (windows, length)."""


@dataclass(frozen=True)
class _Sight:
    """One thing to look at: a name, how many runs at a time, of which columns, and the code of each window."""

    name: str
    length: int
    columns: tuple[int, ...]
    code: Callable[[NDArray[np.float64]], NDArray[np.int64]]


def successive_runs(rows: NDArray[np.float64]) -> StructureCheck:
    """Test whether a few runs in a row show what as many runs far apart do not.

    - rows (ndarray, shape (trials, columns)): The outputs, in the order of the runs; the first four columns that change
      are looked at.

    Returns: The p-value is the least one, times the number of codes.
    """
    least, looked_at = Least("dependence of runs in a row", "runs in a row are like runs far apart"), 0
    tested = []

    @functools.lru_cache(maxsize=len(_LENGTHS) + 1)  # sights of one column come one after another
    def windows_of(columns: tuple[int, ...], length: int) -> tuple[Windows, Windows]:
        return _windows(rows[:, columns], length)

    for sight in _sights(rows):
        half = len(rows) // (4 * sight.length)
        if half < _LEAST:
            continue
        near, far = windows_of(sight.columns, sight.length)
        looked_at += 1
        coded = Aspect(sight.name, sight.code)
        table = table_score(coded, near[:half], far[:half])
        if table is None:
            continue
        hits, others = (int(np.count_nonzero(table(windows[half:]) > 0)) for windows in (near, far))
        size = len(near) - half
        shown = f"{sight.name} is of a kind that {hits} of {size} times {sight.length} runs in a row have"
        tested.append((hits, size, hits + others, 2 * size, f"{shown}, and {others} of as many far apart"))
    least.see_hits(tested)
    return least.of(looked_at)


def smallest_pattern(trials: int, level: float, *, power: float = 0.95) -> float:
    """Return about by how much oftener three runs in a row must show a half of all codes to be seen with some power.

    An estimate, for one column, where the codes are known well from the first half.
    """
    windows = max(1.0, trials / 2.0 / 3.0 / 2.0)
    wide = float(scipy.stats.norm.isf(level / 20.0) + scipy.stats.norm.isf(1.0 - power))
    return min(1.0, wide * math.sqrt(0.5 / windows))


def _windows(rows: NDArray[np.float64], length: int) -> tuple[Windows, Windows]:
    """Return runs in a row, of the first half, and runs far apart, of the second: each run once, in as many windows."""
    half = len(rows) // 2
    count = half // length
    near = rows[: count * length].reshape(count, -1)
    # Run k of window i is number i + k count of the second half.
    far = rows[half : half + count * length].reshape(length, count, -1).transpose(1, 0, 2).reshape(count, -1)
    # In random order, so that what is learned and what is tested are of all times.
    order = np.random.default_rng(0).permutation(count)
    return near[order], far[order]


def _sights(rows: NDArray[np.float64]) -> Iterator[_Sight]:
    """Yield what is looked at. Limits of cells are quantiles of all runs: a function of the runs without their order.

    Given the outputs without their order every order is as likely, so that they may set limits.
    """
    changing = np.flatnonzero((rows != rows[:1]).any(axis=0))[:_COLUMNS].tolist()
    for column in changing:
        name, values = f"column {column}", np.sort(rows[:, column])
        for length in _LENGTHS:
            for cells in _CELLS[length]:
                limits = [_limits(values, cells)]
                yield _Sight(f"where {name} lies, of {cells} parts,", length, (column,), _placed(limits))
        yield _Sight(f"the order of {name}", 5, (column,), _ordered)
        yield _Sight(f"the parity of {name}", 8, (column,), lambda w: _digits(np.floor(w) % 2 == 1, 2))
        middle = float(values[len(values) // 2])
        far = float(np.median(np.abs(values - middle)))
        yield _Sight(
            f"how often {name} is above its median",
            _LONG,
            (column,),
            lambda w, m=middle: _several(w > m),  # type: ignore[misc]
        )
        yield _Sight(
            f"how often {name} is far from its median",
            _LONG,
            (column,),
            lambda w, m=middle, f=far: _several(np.abs(w - m) > f),  # type: ignore[misc]
        )
        for scale in _SCALES if (values != np.rint(values)).any() else ():
            part = f"the fraction of {scale:,} times {name}"
            yield _Sight(part, 2, (column,), lambda w, s=scale: _digits(np.floor((w * s % 1.0) * 32.0), 32))  # type: ignore[misc]
    for first in changing:
        for second in changing:
            if first != second:
                for cells in _CROSSED:
                    limits = [_limits(np.sort(rows[:, column]), cells) for column in (first, second)]
                    where = f"where columns {first} and {second} lie, of {cells} parts each,"
                    yield _Sight(where, 2, (first, second), _placed(limits))


def _limits(ordered: NDArray[np.float64], cells: int) -> NDArray[np.float64]:
    return np.unique(ordered[(np.arange(1, cells) * len(ordered)) // cells])


def _placed(limits: list[NDArray[np.float64]]) -> Callable[[NDArray[np.float64]], NDArray[np.int64]]:
    """Return the code of where all numbers of a window lie, or the first of one run and the second of the next."""

    def code(windows: NDArray[np.float64]) -> NDArray[np.int64]:
        if len(limits) == 1:
            return _digits(np.searchsorted(limits[0], windows, side="right"), limits[0].size + 1)
        first, second = (np.searchsorted(limits[k], windows[:, 3 * k], side="right") for k in range(2))
        return np.asarray(first * (limits[1].size + 1) + second)

    return code


def _ordered(windows: NDArray[np.float64]) -> NDArray[np.int64]:
    return _digits(np.argsort(windows, axis=1, kind="stable"), windows.shape[1])


def _several(happened: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.asarray(happened.sum(axis=1) // 2)


def _digits(digits: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.bool_], base: int) -> NDArray[np.int64]:
    return np.asarray(digits.astype(np.int64) @ base ** np.arange(digits.shape[1]))
