"""Exact confidence limits for probabilities (clopper1934)."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from protocols.validation import check_integer, check_real

__all__ = ["clopper_pearson", "lower_limit", "upper_limit"]

_ROUNDING = 1e-11
"""Relative error charged for the inverse of the incomplete beta function."""


def _counts(successes: ArrayLike, trials: int) -> NDArray[np.float64]:
    check_integer("trials", trials, low=1)
    counts = np.asarray(successes)
    if not np.issubdtype(counts.dtype, np.integer):
        raise TypeError(f"successes has dtype {counts.dtype}, but must hold integers in [0, {trials}].")
    outside = (counts < 0) | (counts > trials)
    if outside.any():
        raise ValueError(f"successes={counts[outside].flat[0]} must be in [0, {trials}].")
    return counts.astype(np.float64)


def _level(level: ArrayLike) -> NDArray[np.float64]:
    levels = np.asarray(level, dtype=np.float64)
    for each in levels.ravel().tolist():
        check_real("level", each, low=0.0, high=1.0, low_open=True, high_open=True)
    return levels


def lower_limit(successes: ArrayLike, trials: int, level: ArrayLike) -> NDArray[np.float64]:
    """Return the largest p with `P(Bin(trials, p) >= successes) <= level`: above the truth with probability <= level.

    - successes (array_like of int, shape (...)): In [0, trials].
    - trials: At least 1.
    - level: The error probability, in (0, 1), of each.
    """
    counts, levels = _counts(successes, trials), _level(level)
    limit = scipy.special.betaincinv(np.maximum(counts, 1.0), trials - counts + 1.0, levels)
    return np.where(counts == 0, 0.0, limit * (1.0 - _ROUNDING))


def upper_limit(successes: ArrayLike, trials: int, level: ArrayLike) -> NDArray[np.float64]:
    """Return the smallest p with `P(Bin(trials, p) <= successes) <= level`: below the truth with probability <= level.

    The parameters are those of `lower_limit`.
    """
    counts, levels = _counts(successes, trials), _level(level)
    limit = scipy.special.betainccinv(counts + 1.0, np.maximum(trials - counts, 1.0), levels)
    return np.where(counts == trials, 1.0, np.minimum(1.0, limit * (1.0 + _ROUNDING)))


def clopper_pearson(successes: ArrayLike, trials: int, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two-sided interval (lower, upper) that misses the truth with probability <= level, half at each side.

    The parameters are those of `lower_limit`.
    """
    half = _level(level) / 2.0
    return lower_limit(successes, trials, half), upper_limit(successes, trials, half)
