"""What is true of `protocols.user_level.correlated_sampling`, for real numbers in the place of floats.

The clocks E_w are independent and exponential, so that E_w / P(w) is exponential of rate P(w), and w comes first with
probability P(w).

**Agreement, exactly.** P and Q both give w at E_w = t if `E_x > t max(P(x)/P(w), Q(x)/Q(w))` for all other x: that has
probability `exp(-t (sum over x != w of max(..)))`. With the density e^-t of E_w, whose own maximum is 1, the integral
is

    Pr[both give w] = 1 / sum over x of max(P(x)/P(w), Q(x)/Q(w)),

and 0 where P(w) or Q(w) is 0.

**The bound.** The sum is at most `sum max(P, Q) / min(P(w), Q(w)) = (1 + d) / min(P(w), Q(w))`, so that the outcomes
agree with probability at least `sum_w min(P(w), Q(w)) / (1 + d) = (1 - d) / (1 + d)`, d the total variation distance:
they differ with at most `2 d / (1 + d)`, which is below the 2 d of ghazi2021, Theorem 8. On two outcomes they differ
with probability d, the least that is possible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.validation import check_probability

__all__ = ["disagreement", "disagreement_bound", "total_variation"]


def _laws(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}, but must have shape (..., outcomes), with one or more.")
    if not (array >= 0.0).all() or not np.allclose(array.sum(axis=-1), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(f"{name} must hold probabilities in [0, 1] that sum to 1.")
    return array


def total_variation(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return the total variation distance of laws on the same outcomes, shape (..., outcomes) each."""
    return np.asarray(0.5 * np.abs(_laws("first", first) - _laws("second", second)).sum(axis=-1))


def disagreement(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return the exact probability, over the public clocks, that two laws give different outcomes.

    - first, second (array_like, shape (..., outcomes)): Probabilities on the same outcomes; quadratic in their number.

    Raises ValueError if a row is no law.
    """
    p, q = np.broadcast_arrays(_laws("first", first), _laws("second", second))
    common = (p > 0.0) & (q > 0.0)
    own = [np.where(common, law, 1.0)[..., :, np.newaxis] for law in (p, q)]
    most = np.maximum(p[..., np.newaxis, :] / own[0], q[..., np.newaxis, :] / own[1]).sum(axis=-1)
    return np.asarray(np.maximum(1.0 - np.where(common, 1.0 / most, 0.0).sum(axis=-1), 0.0))


def disagreement_bound(distance: float) -> float:
    """Return `2 d / (1 + d)`, which bounds the disagreement of all laws at total variation distance d."""
    d = check_probability("distance", distance)
    return 2.0 * d / (1.0 + d)
