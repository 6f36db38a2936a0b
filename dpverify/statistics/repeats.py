"""Do runs repeat earlier ones more often than by chance? Without knowing the law of the outputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpverify.search import bisected
from dpverify.statistics.intervals import upper_limit
from dpverify.statistics.structure import StructureCheck

__all__ = ["repeats", "smallest_repeated_share"]

_LAGS = (*range(1, 9), 10, *(2**k for k in range(4, 13)), 100, 1000)
"""Near ones, and those of counters that wrap around."""


def repeats(codes: NDArray[np.int64]) -> StructureCheck:
    """Test whether runs that are near to each other are equal more often than runs far apart.

    Independent runs of one law are equal with one probability, however far apart. Near pairs are taken from the first
    half, `lag` apart, far pairs from the second, and no run is in two pairs that are compared: given how many of all
    are equal, the near ones among them are hypergeometric (Fisher's exact test). The lags share the level.

    Parameters
    ----------
    codes : ndarray of int64, shape (trials,)
        One for each output, in the order of the runs; equal for equal outputs.
    """
    near, far = codes[: len(codes) // 2], codes[len(codes) // 2 :]
    pairs = len(far) // 2
    equal_far = int(np.count_nonzero(far[:pairs] == far[pairs : 2 * pairs]))
    best, found = 1.0, "near runs are equal no more often than others"
    for lag in _LAGS:
        start = np.arange(len(near) - lag)
        start = start[(start // lag) % 2 == 0]
        if not start.size:
            continue
        equal = int(np.count_nonzero(near[start] == near[start + lag]))
        p_value = len(_LAGS) * float(stats.hypergeom.sf(equal - 1, start.size + pairs, equal + equal_far, start.size))
        if p_value < best:
            best = p_value
            found = f"of {start.size} pairs of runs {lag} apart {equal} are equal, of {pairs} far apart {equal_far}"
    return StructureCheck("repeated runs", best, found)


def smallest_repeated_share(codes: NDArray[np.int64], level: float, *, power: float = 0.95) -> float | None:
    """Return about the least share of runs that repeat one of those shortly before, to be seen with some power.

    An estimate, from how often outputs are equal anyway; None if not even half of all are seen.

    Parameters
    ----------
    codes : ndarray of int64, shape (trials,)
    level : float
        Of the check.
    power : float
        In (0, 1).
    """
    pairs = len(codes) // 4
    middle = len(codes) // 2
    equal = int(np.count_nonzero(codes[middle : middle + pairs] == codes[middle + pairs : middle + 2 * pairs]))
    collision = float(upper_limit(equal, pairs, 0.1))
    # Twice the variance of a known collision rate: the far pairs are as uncertain.
    needed = pairs * collision + stats.norm.isf(level / len(_LAGS)) * np.sqrt(2.0 * pairs * collision)
    needed += float(-np.log(level / len(_LAGS))) / np.log(2.0)

    def seen(share: float) -> bool:
        return float(stats.binom.sf(needed, pairs, collision + share * (1.0 - collision))) >= power

    return bisected(seen, 0.0, 0.5, relative=1e-3, absolute=1e-9)[1] if seen(0.5) else None
