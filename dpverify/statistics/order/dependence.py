"""Are the runs of an implementation independent of each other? At every lag up to thousands, with exact p-values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.order.structure import StructureCheck
from dpverify.statistics.power import least_share

__all__ = ["compact", "lags_up_to", "pairs_at", "serial_dependence", "share_equal", "smallest_replay"]

_EVERY = 1024
"""Up to here every lag is looked at, beyond it a few per octave."""
_FEWEST = 50
"""Pairs that a lag must give to be looked at."""


def lags_up_to(trials: int) -> NDArray[np.int64]:
    """Return the lags that `trials` runs are compared at: each up to 1,024, then four per octave."""
    most = max(1, trials // (2 * _FEWEST))
    octaves = np.rint(_EVERY * 2.0 ** (np.arange(1, 4 * 14) / 4)).astype(np.int64)
    lags = np.unique(np.concatenate([np.arange(1, _EVERY + 1), octaves]))
    return lags[lags <= most]


def compact(codes: NDArray[Any]) -> NDArray[Any]:
    """Return codes that are equal where these are, of the shortest type that holds them: quick to compare at all lags.

    - codes: ndarray of int, shape (trials,).
    """
    found, places = np.unique(codes, return_inverse=True)
    return np.asarray(places.astype(np.min_scalar_type(max(0, found.size - 1))))


def pairs_at(values: NDArray[Any], lag: int, offset: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return values and those `lag` later, in disjoint pairs: of every second stretch of `lag` from `offset` on."""
    stretches = (len(values) - offset) // (2 * lag)
    pairs = values[offset : offset + 2 * lag * stretches].reshape(stretches, 2, lag, *values.shape[1:])
    return pairs[:, 0], pairs[:, 1]


def serial_dependence(outputs: ArrayLike, law: DiscreteLaw, *, refuted: bool = False) -> StructureCheck:
    """Test whether outputs of one dataset are independent: replayed, cached, alternating or cancelling randomness.

    Runs `t` and `t + lag` are compared for `t` in every second stretch of `lag` runs, and for `t` in the others. Either
    way no run is in two pairs, so the number of pairs that are equal, and of those on the same side of the median,
    are binomial with probabilities that the law gives.

    - outputs (array_like, shape (trials,) or (trials, coordinates)): In the order of the runs.
    - law: Of one output.
    - refuted: Whether single outputs are known not to follow it. A count of pairs then speaks only as far as the
      outputs' own frequencies do not explain it either: noise off its mean, or too narrow, is no dependence. That can
      only raise the p-value, which so stays valid. Runs that are all the same are repeats still.

    Returns: The p-value is the least one, times the number of comparisons.
    """
    places = law.index(outputs)
    weights = law.pmf / law.pmf.sum()
    collision = law.collision
    cumulative = np.cumsum(weights)
    middle = int(np.argmin(np.abs(cumulative - 0.5)))
    share = float(1.0 - cumulative[middle])
    same_side = share**2 + (1.0 - share) ** 2
    within = law.outside * len(places) < 1e-6
    above, codes, listed = places > middle, compact(places), places >= 0
    every = bool(listed.all())
    compared = [
        (lag, pairs[0].size, *_alike(pairs, pairs_at(above, lag, offset), kept))
        for lag in lags_up_to(len(places)).tolist()
        for offset in (0, lag)
        for pairs in [pairs_at(codes, lag, offset)]
        for kept in [None if every else pairs_at(listed, lag, offset)[0]]
        if pairs[0].size >= _FEWEST
    ]
    if not compared:
        return StructureCheck("dependence of runs", 1.0, "there are too few runs to compare")
    lags, sizes, equal, alike = np.array(compared).T
    own = refuted and bool(np.any(codes != codes[0]))
    p_values = [scipy.stats.binom.sf(equal - 1, sizes, max(collision, share_equal(codes)) if own else collision)]
    if within and every:  # an outcome off the law's points, by rounding perhaps, has no side
        sides = _two_sided(alike, sizes, same_side)
        p_values.append(np.maximum(sides, _two_sided(alike, sizes, share_equal(above))) if own else sides)
    kind, at = np.unravel_index(int(np.argmin(p_values)), (len(p_values), lags.size))
    found = (
        f"{equal[at]} of {sizes[at]} are equal; {collision * sizes[at]:.4g} expected",
        f"{alike[at]} of {sizes[at]} are on the same side of the median; {same_side * sizes[at]:.4g} expected",
    )[kind]
    p_value = float(p_values[kind][at]) * len(p_values) * lags.size
    return StructureCheck("dependence of runs", min(1.0, p_value), f"of runs {lags[at]} apart {found}")


def share_equal(kinds: NDArray[Any]) -> float:
    """Return the share of all pairs of runs, however far apart, that are equal: what their frequencies explain.

    - kinds (ndarray, shape (trials,)): Two or more.
    """
    counts = np.unique(kinds, return_counts=True)[1].astype(np.float64)
    return float(np.sum(counts * (counts - 1.0)) / (kinds.size * (kinds.size - 1.0)))


def _two_sided(counts: NDArray[Any], sizes: NDArray[Any], share: float) -> NDArray[np.float64]:
    tails = scipy.stats.binom.cdf(counts, sizes, share), scipy.stats.binom.sf(counts - 1, sizes, share)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(*tails)))


def _alike(
    codes: tuple[NDArray[Any], NDArray[Any]],
    above: tuple[NDArray[Any], NDArray[Any]],
    listed: NDArray[np.bool_] | None,
) -> tuple[int, int]:
    """Return how many pairs are equal and listed in the law, and how many on one side of the median."""
    equal = codes[0] == codes[1]
    hits = np.count_nonzero(equal if listed is None else equal & listed)
    return int(hits), int(np.count_nonzero(above[0] == above[1]))


def smallest_replay(law: DiscreteLaw, trials: int, level: float, *, power: float = 0.95) -> float | None:
    """Return the least share of runs that repeat the run before, or one at another lag, to be seen with some power.

    None if not even all of them are seen.

    - law: Of one output.
    - trials: How many runs there are.
    - level: Of the whole check.
    - power: In (0, 1).
    """
    return least_share(trials // 2, law.collision, level / (4 * lags_up_to(trials).size), power)
