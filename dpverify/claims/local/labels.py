"""What is true of `protocols.local.labels`.

**Privacy.** Given labels c and c' a report has the same probability but at c and c', where the two exchange: the losses
are eps with probability `keep`, -eps with `other` and 0 with the rest, for every c and c' and both directions. So one
pair is the whole mechanism, composed too.

**Error.** A report is r with probability keep given r, and other given anything else. The count of r that `debias`
makes is the count of reports divided by keep - other, plus a constant, so its variance is `(n_r keep (1-keep) + (n-n_r)
other (1-other)) / (keep - other)^2` exactly: linear in the true count n_r, and largest at one of its ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.local.base import LocalClaims, ReportMatrix
from dpverify.guarantee import Interval, ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.papers.entries import stated
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.local.labels import LabelRandomizedResponse
from protocols.validation import check_integer

__all__ = ["ROUNDINGS", "LabelClaims"]

ROUNDINGS = 16.0 * UNIT
"""Of the probabilities of reports: e^-eps and its multiples have a unit for each operation, and eps itself has none."""


class LabelClaims(LocalClaims[LabelRandomizedResponse]):
    """The twin of `LabelRandomizedResponse`."""

    name = "labels"
    protocol = LabelRandomizedResponse
    theorems = stated("wagner2025/labels", "labels")

    def inputs(self, protocol: LabelRandomizedResponse) -> Sequence[int]:
        """Return the labels, or the only one twice."""
        return range(protocol.classes) if protocol.classes > 1 else (0, 0)

    def report_law(self, protocol: LabelRandomizedResponse, value: Any) -> DiscreteLaw:
        label = check_integer("value", value, low=0, high=protocol.classes - 1)
        return DiscreteLaw.of(np.arange(protocol.classes), protocol.transition[label])

    def report_matrix(self, protocol: LabelRandomizedResponse) -> ReportMatrix:
        return ReportMatrix(np.arange(protocol.classes), protocol.transition, relative_error=ROUNDINGS)

    def loss_step(self, protocol: LabelRandomizedResponse) -> float:
        return protocol.epsilon

    def pairs(self, protocol: LabelRandomizedResponse) -> Sequence[PrivacyLossDistribution]:
        keep, other, m = protocol.keep_probability, protocol.other_probability, protocol.classes
        if m == 1:
            return (PrivacyLossDistribution.from_pmfs([1.0], [1.0]),)
        losses, masses = [protocol.epsilon, -protocol.epsilon], [keep, other]
        if m > 2:
            losses, masses = [*losses, 0.0], [*masses, (m - 2) * other]
        pair = PrivacyLossDistribution.from_atoms(
            np.array(losses), np.array(masses), 0.0, 0.0, relative_error=ROUNDINGS, loss_error=0.0
        )
        return (pair,)

    def pure_epsilon(self, protocol: LabelRandomizedResponse, threat_model: ThreatModel) -> Interval:
        epsilon = protocol.epsilon if protocol.classes > 1 else 0.0
        return Interval(epsilon, epsilon)

    def variances(self, protocol: LabelRandomizedResponse, counts: Sequence[float]) -> NDArray[np.float64]:
        """Return the exact variance of the debiased count of every class, shape (classes,), given the true counts."""
        keep, other, true = protocol.keep_probability, protocol.other_probability, np.asarray(counts, dtype=np.float64)
        leave = (protocol.classes - 1) * other
        spread = true * keep * leave + (true.sum() - true) * other * (1.0 - other)
        return np.asarray(spread / (-math.expm1(-protocol.epsilon) * keep) ** 2)

    def rmse(self, protocol: LabelRandomizedResponse, users: int) -> float:
        """Return the largest root mean squared error of a class's debiased count over all labels of so many users."""
        check_integer("users", users, low=1)
        ends = (np.eye(1, protocol.classes, at)[0] * users for at in {0, protocol.classes - 1})
        return math.sqrt(max(float(self.variances(protocol, end).max()) for end in ends))
