"""Sums with geometrically decaying weights, the one recurrence of the engine: `y_i = x_i + e^-rate y_{i-1}`.

Solved by halving instead of term by term: the sums at odd places obey the same recurrence with twice the rate, and give
those at even places. That takes numpy alone, vectorised, and a term passes through a few roundings per level instead of
one or two per place: the error grows with the logarithm of the length.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.rounding import UNIT

__all__ = ["decayed_sums", "decayed_sums_error"]

_LEVELS = 16
_BLOCK = 1 << _LEVELS
"""Solved at a time, so that the strided passes stay in the processor's cache."""


def decayed_sums(terms: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return `y_i = sum_{j <= i} e^(-rate (i - j)) x_j`, shape (terms,).

    - terms (ndarray of float64, shape (terms,)): The x_j, of any sign.
    - rate: At least 0; inf leaves the terms as they are. Given rather than `e^-rate`, whose rounding would count once
      for each place.

    `|computed - y_i| <= decayed_sums_error(terms) sum_j e^(-rate (i - j)) |x_j|`, and for weights and products below
    the normal range of floats at most `terms 2^-1021 (1 + sum_j |x_j|)` more. `rate` is taken as exact: where it is
    rounded itself, by a share d, a weight `e^(-rate k)` errs by `rate k d`.
    """
    sums = np.array(terms, dtype=np.float64)
    for start in range(0, sums.size, _BLOCK):
        if start:
            sums[start] += math.exp(-rate) * sums[start - 1]
        _solve(sums[start : start + _BLOCK], rate)
    return sums


def _solve(sums: NDArray[np.float64], rate: float) -> None:
    decay = math.exp(-rate)
    if sums.size < 2 or decay == 0.0:
        return
    even, odd = sums[::2], sums[1::2]
    odd += decay * even[: odd.size]
    _solve(odd, 2.0 * rate)
    even[1:] += decay * odd[: even.size - 1]


def decayed_sums_error(terms: int) -> float:
    """Bound the error of `decayed_sums`, relative to the same sums of the terms' absolute values.

    On its way to a sum a term is at each level weighted at most once towards an odd place and once back to an even one.
    Each time its weight is off by two units at most (`math.exp`, within one unit in the last place, of an exactly
    doubled rate), the product and the sum by one each: eight per level, and four from block to block. k units in turn
    make at most k u / (1 - k u) (higham2002, Lemma 3.1).
    """
    last = max(terms - 1, 0)
    roundings = 8.0 * min(_LEVELS, math.frexp(last)[1]) + (8.0 * _LEVELS + 4.0) * (last // _BLOCK)
    return roundings * UNIT / (1.0 - roundings * UNIT)
