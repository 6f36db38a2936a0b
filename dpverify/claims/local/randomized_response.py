"""What is true of `protocols.local.randomized_response`.

**Privacy.** That of labels (`dpverify.claims.local.labels`): every two levels attain eps.

**Error.** See `formulas.local_means.levels_variance`: largest where the level is farthest from the middle, at the ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpverify.claims.local.base import ReportMatrix
from dpverify.claims.local.labels import ROUNDINGS, LabelClaims
from dpverify.claims.local.means import LocalMeanClaims
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import local_means as formulas
from dpverify.laws.window import IntegerLaw
from dpverify.papers.entries import stated
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from protocols.local.randomized_response import RandomizedResponseMean

__all__ = ["RandomizedResponseMeanClaims"]


class RandomizedResponseMeanClaims(LocalMeanClaims[RandomizedResponseMean]):
    """The twin of `RandomizedResponseMean`."""

    name = "rr-mean"
    protocol = RandomizedResponseMean
    theorems = stated("wang_lecture9/local_means", "response")

    def inputs(self, protocol: RandomizedResponseMean) -> Sequence[int]:
        return range(protocol.levels)

    def window(self, protocol: RandomizedResponseMean, value: float) -> IntegerLaw:
        level = int(protocol.check([value])[0])
        # One row of `report_matrix`, which would be large for many levels.
        law = np.full(protocol.levels, protocol.labels.other_probability)
        law[level] = protocol.labels.keep_probability
        return IntegerLaw(0, law, ROUNDINGS, 0.0, 0.0)

    def report_matrix(self, protocol: RandomizedResponseMean) -> ReportMatrix:
        return LabelClaims().report_matrix(protocol.labels)

    def loss_step(self, protocol: RandomizedResponseMean) -> float:
        return protocol.epsilon

    def pairs(self, protocol: RandomizedResponseMean) -> Sequence[PrivacyLossDistribution]:
        return LabelClaims().pairs(protocol.labels)

    def two_valued(self, protocol: RandomizedResponseMean) -> bool:
        return protocol.levels == 2

    def worst_value(self, protocol: RandomizedResponseMean) -> float:
        return protocol.most

    def unit_variance(self, protocol: RandomizedResponseMean, value: float) -> float:
        distance = int(protocol.check([value])[0]) - 0.5 * protocol.most
        return float(formulas.levels_variance(FLOATS, protocol.epsilon, protocol.levels, distance))
