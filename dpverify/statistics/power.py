"""How many trials show a fault of a given size, before any trial runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.search import bisected, galloped, least_integer
from dpverify.statistics.bounds.intervals import lower_limit
from protocols.validation import check_integer, check_probability, check_real

__all__ = [
    "event_power",
    "faulty_event",
    "g_test_power",
    "least_other",
    "least_share",
    "smallest_detectable_epsilon",
    "trials_for",
]

_MOST_TRIALS = 10**9
_PART = 256
"""Counts whose limits are computed together and kept."""


def trials_for(power_at: Callable[[int], float], power: float = 0.95, *, most: int = _MOST_TRIALS) -> int | None:
    """Return a number of trials at which `power_at` reaches `power`, None if not even `most` do.

    Found by doubling and bisection, to 1 %: the power of a test on counts is a saw-tooth, so a few smaller numbers may
    do as well.
    """
    check_real("power", power, low=0.0, high=1.0, low_open=True, high_open=True)

    def enough(trials: int) -> bool:
        return power_at(trials) >= power

    bracket = galloped(enough, 0, 16, ceiling=most + 1)
    return None if bracket is None else least_integer(enough, *bracket, tolerance=0.01)


def faulty_event(p: float, q: float, epsilon: float, delta: float) -> tuple[float, float]:
    """Return an event's two probabilities under a fault: on the line `p = e^epsilon q + delta`, with the same p + q."""
    total = p + q
    other = (total - delta) / (1.0 + math.exp(epsilon))
    if not (other >= 0.0 and total - other <= 1.0):
        raise ValueError(f"epsilon={epsilon!r} is beyond what an event with probabilities {p!r}, {q!r} can show.")
    return total - other, other


@lru_cache(maxsize=4096)
def event_power(
    p: float, q: float, epsilon: float, delta: float, trials: int, level: float, *, share: float = 0.5
) -> float:
    """Return the probability that the Clopper-Pearson test of one event refutes (epsilon, delta); exact up to 1e-12.

    - p, q: The event's true probabilities on the two datasets.
    - epsilon, delta: The claim that is tested.
    - trials: Samples per dataset.
    - level: Of this one event.
    - share: The part of the level that is spent on p; the rest is spent on q.
    """
    check_integer("trials", trials, low=1)
    for name, value in (("p", p), ("q", q), ("delta", delta)):
        check_probability(name, value)
    check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
    reach = 8.0 * math.sqrt(trials * p * (1.0 - p)) + 32.0
    start, end = max(0, math.floor(trials * p - reach)), min(trials, math.ceil(trials * p + reach)) + 1
    parts = [
        _refuted_up_to(part, epsilon, delta, trials, level, share) for part in range(start // _PART, -(-end // _PART))
    ]
    first = start // _PART * _PART
    most = np.concatenate(parts)[start - first : end - first]
    refuted = np.where(most >= 0, scipy.special.bdtr(np.maximum(most, 0.0), trials, q), 0.0)
    return float(min(1.0, np.dot(scipy.stats.binom.pmf(np.arange(start, end), trials, p), refuted)))


@lru_cache(maxsize=512)
def _refuted_up_to(
    part: int, epsilon: float, delta: float, trials: int, level: float, share: float
) -> NDArray[np.float64]:
    """Return up to which count on the other dataset the claim is refuted, by the count on the likelier; -1 if by none.

    For the counts in `[part, part + 1) _PART`, whatever the event's probabilities are: searches for these come back to
    the same counts.
    """
    x = np.arange(part * _PART, min((part + 1) * _PART, trials + 1))
    needed = (lower_limit(x, trials, share * level) - delta) * math.exp(-epsilon)
    most = np.full(x.size, -1.0)
    able = needed > 0
    # Refuted iff P(Bin(trials, needed) <= y) < (1 - share) level: y at most this.
    most[able] = scipy.stats.binom.ppf((1.0 - share) * level, trials, np.minimum(needed[able], 1.0)) - 1.0
    most.flags.writeable = False
    return most


@lru_cache(maxsize=256)
def smallest_detectable_epsilon(
    p: float, q: float, epsilon: float, delta: float, trials: int, level: float, *, power: float = 0.95
) -> float:
    """Return the smallest true epsilon at delta that an event shows with the wanted power; inf if it shows none.

    The fault keeps `p + q` (see `faulty_event`). To 1e-4 relative.
    """
    check_probability("power", power)

    def shown(true: float) -> bool:
        return event_power(*faulty_event(p, q, true, delta), epsilon, delta, trials, level) >= power

    total = p + q
    if total <= delta:
        return math.inf
    # Beyond `end` the other dataset would have p' > 1.
    end = epsilon + 20.0 if total <= 1.0 else math.log((1.0 - delta) / (total - 1.0)) * (1.0 - 1e-12)
    if end <= epsilon or not shown(end):
        return math.inf
    return bisected(shown, epsilon, end, relative=1e-4, absolute=1e-7)[1]


def least_share(trials: int, chance: float, level: float, power: float) -> float | None:
    """Return the least share of trials that always have an event of some chance in the others, to be seen with a power.

    By a binomial test of this level; None if not even all of them are seen.
    """
    needed = float(scipy.stats.binom.isf(level, trials, chance))

    def seen(share: float) -> bool:
        return float(scipy.stats.binom.sf(needed, trials, chance + share * (1.0 - chance))) >= power

    if needed >= trials or not seen(1.0):
        return None
    return bisected(seen, 0.0, 1.0, relative=1e-3, absolute=1e-9)[1]


def least_other(null: ArrayLike, trials: int, level: float, power: float) -> float | None:
    """Return the least share of trials that are in other cells than the likeliest instead, to be seen with a power.

    By the G-test; None if not even all of them are seen. Where few are expected `g_test_power` is too high, of .95 by
    .05: a fifth of the risk is asked of it.

    - null (array_like, shape (cells,)): The cells' probabilities.
    """
    power = 1.0 - (1.0 - power) / 5.0
    p: NDArray[np.float64] = np.asarray(null, dtype=np.float64)
    others = np.where(np.arange(p.size) == np.argmax(p), 0.0, p)

    def seen(share: float) -> bool:
        return g_test_power(p, (1.0 - share) * p + share * others / others.sum(), trials, level) >= power

    if others.sum() == 0.0 or not seen(1.0):
        return None
    return bisected(seen, 0.0, 1.0, relative=1e-3, absolute=1e-9)[1]


def g_test_power(null: ArrayLike, alternative: ArrayLike, trials: int, level: float) -> float:
    """Return the power of the G-test: an estimate, by the noncentral chi-square law.

    - null, alternative (array_like, shape (cells,)): The cells' probabilities under either law.
    """
    check_integer("trials", trials, low=1)
    check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
    p0: NDArray[np.float64] = np.asarray(null, dtype=np.float64)
    p1: NDArray[np.float64] = np.asarray(alternative, dtype=np.float64)
    if p0.shape != p1.shape or p0.ndim != 1:
        raise ValueError(f"null and alternative have shapes {p0.shape} and {p1.shape}, but must both be (cells,).")
    noncentrality = 2.0 * trials * float(scipy.special.rel_entr(p1, p0).sum())
    freedom = p0.size - 1
    if freedom == 0:
        return level
    if math.isinf(noncentrality):
        return float(1.0 - (1.0 - p1[p0 == 0].sum()) ** trials)
    critical = float(scipy.special.chdtri(freedom, level))
    return float(scipy.stats.ncx2.sf(critical, freedom, noncentrality)) if noncentrality > 0 else level
