"""Trade-off functions: the least type II error of telling P from Q at a given type I error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.validation import check_real

__all__ = ["TradeOff"]


@dataclass(frozen=True)
class TradeOff:
    """The trade-off function f of a pair (P, Q): a convex polygon (dong2022, Definition 2.1).

    `f(a)` is the least probability, under Q, of accepting P, over the tests that reject P with probability at most a
    under P.

    Parameters
    ----------
    type_one, type_two : ndarray of float64, shape (corners,)
        The corners of the polygon: type I errors from 0 to 1, increasing, and the least type II errors, decreasing.
    error : float
        Bound on the absolute error of every corner.
    """

    type_one: NDArray[np.float64]
    type_two: NDArray[np.float64]
    error: float

    @classmethod
    def of(cls, pair: PrivacyLossDistribution) -> TradeOff:
        """Return the trade-off function of a pair: the likelihood-ratio tests, by increasing loss (Neyman-Pearson)."""
        # Reject P where P/Q is small: the outcomes that P lacks altogether first, then by increasing loss.
        q_mass = pair.reference_masses
        without_p = max(1.0 - float(q_mass.sum()), 0.0)
        type_one = np.concatenate([[0.0], np.cumsum(pair.masses)])
        type_two = 1.0 - without_p - np.concatenate([[0.0], np.cumsum(q_mass)])
        # Where Q has no mass, rejecting P only costs: f stays 0.
        type_one = np.append(type_one, 1.0)
        type_two = np.append(type_two, 0.0)
        # The most that a test gains under Q is concave in its cost under P: with costs and gains off by a factor each,
        # it is off by both, however steep. What P lacks is off by the error of Q's sum.
        error = pair.missing_mass + 3.0 * pair.reference_error + 4.0 * UNIT * (pair.losses.size + 4.0)
        if pair.missing_mass > 0.0:
            # Some or all of what P seems to lack may lie on the outcomes that are not listed.
            error += without_p
        return cls(np.minimum(type_one, 1.0), np.clip(type_two, 0.0, 1.0), error)

    def __call__(self, type_one: float) -> float:
        """Return f at one type I error in [0, 1], within `error`."""
        level = check_real("type_one", type_one, low=0.0, high=1.0)
        return float(np.interp(level, self.type_one, self.type_two))
