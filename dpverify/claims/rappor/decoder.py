"""What is true of `protocols.rappor.decoder`: the exact error of debiased bits, and what it leaves of a string.

**Bits.** Of n users of a cohort, t hold a bit. The reports of the others are ones with probability p*, theirs with q*,
independently, so the debiased count `(ones - p* n) / (q* - p*)` has mean t and variance
`(t q* (1-q*) + (n-t) p* (1-p*)) / (q*-p*)^2`.

**Strings.** A string's h bits in each of m cohorts see N/m users each, so the least squares estimate of how many of N
users hold a rare string has a variance of about `N p* (1-p*) / (h (1 - h/k) (q*-p*)^2)` where its bits are its own: the
share h/k is what the mean of all bits, which strings that are not listed raise, takes away.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import rappor as formulas
from protocols.rappor.response import Rappor
from protocols.validation import check_integer, check_real

__all__ = ["bit_variance", "deviation", "least_holders"]


def bit_variance(mechanism: Rappor, users: int, holders: ArrayLike) -> NDArray[np.float64]:
    """Return the exact variance of a debiased bit count.

    - mechanism: What the users run.
    - users: Users of the cohort.
    - holders: How many of them hold the bit, in [0, users].
    """
    zero, one = mechanism.report_probabilities
    true = np.asarray(holders, dtype=np.float64)
    if not ((true >= 0) & (true <= check_integer("users", users, low=1))).all():
        raise ValueError(f"holders={holders!r} must be in [0, users={users!r}].")
    return np.asarray((true * one * (1.0 - one) + (users - true) * zero * (1.0 - zero)) / (one - zero) ** 2)


def deviation(mechanism: Rappor, users: int) -> float:
    """Return about the standard deviation of a rare string's estimated count among so many users.

    Exact for the least squares of a string whose bits no other one shares, but for the users' split over the cohorts;
    collisions add to it.
    """
    check_integer("users", users, low=1)
    own = mechanism.hashes * (1.0 - mechanism.hashes / mechanism.bits)
    if own == 0.0:
        return math.inf
    return math.sqrt(users * formulas.variance_factor(FLOATS, *mechanism.report_probabilities) / own)


def least_holders(mechanism: Rappor, users: int, candidates: int, *, level: float = 0.05, power: float = 0.5) -> float:
    """Return about how many users must hold a string for the decoder to name it, with a given probability.

    - mechanism: What the users run.
    - users, candidates: How many users report, and how many strings are tried, each at least 1.
    - level: Of `Decoded.found`, in (0, 1).
    - power: The probability, in (0, 1).
    """
    check_integer("candidates", candidates, low=1)
    for name, value in (("level", level), ("power", power)):
        check_real(name, value, low=0.0, high=1.0, low_open=True, high_open=True)
    return deviation(mechanism, users) * float(scipy.stats.norm.isf(level / candidates) + scipy.stats.norm.ppf(power))
