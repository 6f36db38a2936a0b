"""A claim against the product of an event's two tail probabilities: few hits against none need fewer trials."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.statistics.bounds.claims import most_likely

__all__ = ["product_p_value"]

_ROUNDING = 1e-9
"""Charged for logs of incomplete beta functions."""
_LEAST_LOG = -600.0
"""Logs of p-values are told down to here."""
Floats = NDArray[np.float64]


def product_p_value(
    in_likely: ArrayLike, in_other: ArrayLike, trials: int, points: Sequence[tuple[float, float]]
) -> NDArray[np.float64]:
    """Return the p-value of a claim by the product of the tail probabilities of an event's two counts.

    If the event has the probabilities p and q, `s = P(X >= x) P(Y <= y)` of fresh counts is at most c with probability
    at most `c (1 - ln c)`, as of two independent uniform numbers. The p-value is that of the largest s that the claim
    allows. Limits that hold both take the worst of each count; where both vary alike this needs fewer trials. An event
    with one count that hardly varies is better told by its limits.

    Both tails are log-concave in p and q, and what a claim allows of p is concave in q: so s has a single maximum,
    and a step on each side that does not go up proves between which it is.

    - in_likely, in_other, trials, points: See `dpverify.statistics.bounds.claim_test.curve_p_value`.
    """
    every = np.broadcast_arrays(np.asarray(in_likely, dtype=np.float64), np.asarray(in_other, dtype=np.float64))
    found, seems = np.ones(every[0].shape), every[0] > trials * most_likely(points, every[1] / trials)
    if seems.any():
        found[seems] = _product_p_value(every[0][seems], every[1][seems], trials, points)
    return found


def _product_p_value(x: Floats, y: Floats, trials: int, points: Sequence[tuple[float, float]]) -> Floats:
    """Return `product_p_value` of counts that break the claim as they are."""

    def tails(q: Floats) -> tuple[Floats, Floats]:
        most = most_likely(points, q)
        likely = scipy.special.betainc(x, trials - x + 1.0, most)
        return np.log(likely), np.log(scipy.special.betaincc(y + 1.0, trials - y, q))

    def product(q: Floats) -> Floats:
        return np.add(*tails(q))

    with np.errstate(divide="ignore"):
        # In the square root counts have the deviation 1/2 everywhere; the maximum is above what y shows.
        low = np.sqrt(y / trials)
        high = np.minimum(low + 8.0 / math.sqrt(trials), 1.0)
        for _ in range(24):
            third = (high - low) / 3.0
            up = product((low + third) ** 2) < product((high - third) ** 2)
            low, high = np.where(up, low + third, low), np.where(up, high, high - third)
        step = 1e-3 / math.sqrt(trials)
        below, above = np.maximum(low - step, 0.0), np.minimum(high + step, 1.0)
        ends = product(low**2), product(high**2)
        proved = (below == 0.0) | (product(below**2) <= ends[0])
        proved &= ((above == 1.0) | (product(above**2) <= ends[1])) & np.isfinite(ends[0]) & np.isfinite(ends[1])
        largest = np.clip(tails(above**2)[0] + tails(below**2)[1] + _ROUNDING, _LEAST_LOG, 0.0)
    return np.where(proved, np.exp(largest) * (1.0 - largest), 1.0)
