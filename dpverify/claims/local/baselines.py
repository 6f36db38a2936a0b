"""What is true of `protocols.local.baselines`.

Replacing a user moves the mean by m / n at most: as many epsilon of the noise as one report of `LaplaceMean` has, so
that the privacy curve is the same. The error is the noise.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.changes import Change
from dpverify.claims.base import Families, MoreUsers
from dpverify.claims.local.laplace import laplace_cells, laplace_families
from dpverify.claims.means import MeanClaims
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.laws.continuous import Cells, Laplace
from dpverify.laws.discrete import DiscreteLaw
from dpverify.papers.entries import stated
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve
from dpverify.privacy_loss.composing.family import FamilyComposition
from protocols.local.baselines import CentralLaplaceMean

__all__ = ["CentralLaplaceMeanClaims"]


class CentralLaplaceMeanClaims(MeanClaims[CentralLaplaceMean]):
    """The twin of `CentralLaplaceMean`: of its law in real numbers."""

    name = "central-laplace-mean"
    protocol = CentralLaplaceMean
    threat_models = (ThreatModel.CENTRAL,)
    more_users = MoreUsers.SAME
    pure = True
    theorems = stated("wang_lecture9/local_means", "central")

    def pure_epsilon(self, protocol: CentralLaplaceMean, threat_model: ThreatModel) -> Interval:
        return Interval(protocol.epsilon, protocol.epsilon)

    def families(
        self, protocol: CentralLaplaceMean, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        return (laplace_families(protocol.epsilon),)

    def curve(
        self, protocol: CentralLaplaceMean, changes: Change, threat_model: ThreatModel, **accuracy: float
    ) -> PrivacyCurve:
        """Return the privacy curve of so many published means of the same users' values."""
        every, attained = laplace_families(protocol.epsilon)
        return BestCurve(
            LargestLossCurve(self.pure_epsilon(protocol, threat_model), changes),
            functools.partial(FamilyComposition, every, self.in_full(changes), attained=attained, **accuracy),
        )

    def note(self, protocol: CentralLaplaceMean, threat_model: ThreatModel) -> str:
        return "attained by a user whose value goes from one end to the other"

    def rmse(self, protocol: CentralLaplaceMean) -> float:
        """Return the exact root mean squared error, whatever the values."""
        return math.sqrt(2.0) * protocol.scale

    def mean_absolute_error(self, protocol: CentralLaplaceMean) -> float:
        """Return the exact expected absolute error, m / (n eps), whatever the values."""
        return protocol.scale

    def exceeds(self, protocol: CentralLaplaceMean, error: float) -> float:
        """Return the exact probability that the error is larger than this one in absolute value."""
        return math.exp(-error / protocol.scale)

    def estimate_density(self, protocol: CentralLaplaceMean, values: ArrayLike) -> Laplace:
        """Return the law of the published mean of these values, shape (users,)."""
        return Laplace(float(np.mean(np.asarray(values, dtype=np.float64))), protocol.scale)

    def most(self, protocol: CentralLaplaceMean) -> float:
        return protocol.largest

    def estimate_law(self, protocol: CentralLaplaceMean, values: ArrayLike) -> DiscreteLaw:
        return self._cells(protocol).law(self.estimate_density(protocol, values))

    def readable_estimate(self, protocol: CentralLaplaceMean, estimates: NDArray[Any]) -> NDArray[Any]:
        return self._cells(protocol).number(estimates)

    def _cells(self, protocol: CentralLaplaceMean) -> Cells:
        return laplace_cells(Laplace(0.5 * protocol.largest / protocol.users, protocol.scale))
