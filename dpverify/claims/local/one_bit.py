"""What is true of `protocols.local.one_bit` (wang_lecture9, Theorem 9.3).

**Privacy.** The law of a report given x is the mixture of those given 0 and m with the shares 1 - x/m and x/m. By joint
convexity no two values' reports have a larger divergence than those of 0 and m, which are randomized response: the
losses are eps and -eps, attained.

**Error.** Unbiased: rounding is, and so is the debiased bit. See `formulas.local_means.one_bit_variance`; the worst
value is m / 2.
"""

from __future__ import annotations

import numpy as np

from dpverify.claims.local.base import ReportMatrix
from dpverify.claims.local.means import TwoValuedClaims
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import local_means as formulas
from dpverify.laws.window import IntegerLaw
from dpverify.papers.entries import stated
from dpverify.rounding import UNIT
from protocols.local.one_bit import OneBitMean

__all__ = ["OneBitMeanClaims"]

_ROUNDINGS = 16.0 * UNIT
"""Of the probability of a bit, which is a sum of two positive terms with a unit for each operation."""


class OneBitMeanClaims(TwoValuedClaims[OneBitMean]):
    """The twin of `OneBitMean`."""

    name = "one-bit-mean"
    protocol = OneBitMean
    theorems = stated("wang_lecture9/local_means", "one_bit")

    def window(self, protocol: OneBitMean, value: float) -> IntegerLaw:
        # Mirrored, so that neither of two probabilities is the small difference of large ones.
        ends = [protocol.chance(protocol.largest - value), protocol.chance(value)]
        return IntegerLaw(0, np.array(ends), _ROUNDINGS, 0.0, 0.0)

    def report_matrix(self, protocol: OneBitMean) -> ReportMatrix:
        laws = [self.window(protocol, value).pmf for value in (0.0, protocol.largest)]
        return ReportMatrix(np.arange(2), np.array(laws), _ROUNDINGS)

    def worst_value(self, protocol: OneBitMean) -> float:
        return 0.5 * protocol.largest

    def unit_variance(self, protocol: OneBitMean, value: float) -> float:
        share = protocol.check([value])[0] / protocol.largest
        return float(formulas.one_bit_variance(FLOATS, protocol.epsilon, share))
