"""Are the runs of an implementation independent of each other? At every lag up to thousands, with exact p-values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpverify.laws.discrete import DiscreteLaw
from dpverify.search import bisected
from dpverify.statistics.structure import StructureCheck

__all__ = ["lags_up_to", "pairs_at", "serial_dependence", "smallest_replay"]

_EVERY = 32
"""Up to here every lag is looked at, beyond it a few per octave."""
_FEWEST = 50
"""Pairs that a lag must give to be looked at."""


def lags_up_to(trials: int) -> NDArray[np.int64]:
    """Return the lags that `trials` runs are compared at: each up to 32, then four per octave."""
    most = max(1, trials // (2 * _FEWEST))
    octaves = np.rint(_EVERY * 2.0 ** (np.arange(1, 4 * 14) / 4)).astype(np.int64)
    lags = np.unique(np.concatenate([np.arange(1, _EVERY + 1), octaves]))
    return lags[lags <= most]


def pairs_at(values: NDArray[Any], lag: int, offset: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return values and those `lag` later, in disjoint pairs: of every second stretch of `lag` from `offset` on."""
    stretches = (len(values) - offset) // (2 * lag)
    pairs = values[offset : offset + 2 * lag * stretches].reshape(stretches, 2, lag, *values.shape[1:])
    return pairs[:, 0], pairs[:, 1]


def serial_dependence(outputs: ArrayLike, law: DiscreteLaw) -> StructureCheck:
    """Test whether outputs of one dataset are independent: replayed, cached, alternating or cancelling randomness.

    Runs `t` and `t + lag` are compared for `t` in every second stretch of `lag` runs, and for `t` in the others. Either
    way no run is in two pairs, so the number of pairs that are equal, and of those on the same side of the median,
    are binomial with probabilities that the law gives.

    Parameters
    ----------
    outputs : array_like, shape (trials,) or (trials, coordinates)
        In the order of the runs.
    law : DiscreteLaw
        Of one output.

    Returns
    -------
    StructureCheck
        The p-value is the least one, times the number of comparisons.
    """
    places = law.index(outputs)
    weights = law.pmf / law.pmf.sum()
    collision = law.collision
    cumulative = np.cumsum(weights)
    middle = int(np.argmin(np.abs(cumulative - 0.5)))
    share = float(1.0 - cumulative[middle])
    same_side = share**2 + (1.0 - share) ** 2
    best, found, comparisons = 1.0, "no two runs are alike more often than chance", 0
    for lag in lags_up_to(len(places)).tolist():
        for offset in (0, lag):
            pairs = pairs_at(places, lag, offset)
            equal = int(np.count_nonzero((pairs[0] == pairs[1]) & (pairs[0] >= 0)))
            alike = int(np.count_nonzero((pairs[0] > middle) == (pairs[1] > middle)))
            size = pairs[0].size
            if size < _FEWEST:
                continue
            p_values = {
                f"{equal} of {size} are equal; {collision * size:.4g} expected": float(
                    stats.binom.sf(equal - 1, size, collision)
                )
            }
            if law.outside * len(places) < 1e-6:
                sides = stats.binom.cdf(alike, size, same_side), stats.binom.sf(alike - 1, size, same_side)
                text = f"{alike} of {size} are on the same side of the median; {same_side * size:.4g} expected"
                p_values[text] = min(1.0, 2.0 * float(min(sides)))
            comparisons += len(p_values)
            text, p_value = min(p_values.items(), key=lambda item: item[1])
            if p_value < best:
                best, found = p_value, f"of runs {lag} apart {text}"
    return StructureCheck("dependence of runs", min(1.0, best * comparisons), found)


def smallest_replay(law: DiscreteLaw, trials: int, level: float, *, power: float = 0.95) -> float | None:
    """Return the least share of runs that repeat the run before, or one at another lag, to be seen with some power.

    None if not even all of them are seen.

    Parameters
    ----------
    law : DiscreteLaw
        Of one output.
    trials : int
        How many runs there are.
    level : float
        Of the whole check.
    power : float
        In (0, 1).
    """
    pairs, comparisons = trials // 2, 4 * lags_up_to(trials).size
    needed = float(stats.binom.isf(level / comparisons, pairs, law.collision))

    def seen(share: float) -> bool:
        return float(stats.binom.sf(needed, pairs, law.collision + share * (1.0 - law.collision))) >= power

    if needed >= pairs or not seen(1.0):
        return None
    return bisected(seen, 0.0, 1.0, relative=1e-3, absolute=1e-9)[1]
