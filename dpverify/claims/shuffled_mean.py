"""What is true of `protocols.shuffled_mean`.

**Privacy.** The view is that of the bitsum, whose exact law `dpverify.claims.bitsum.randomized_response` has.

**Error.** The sum of the reports is that of n independent bits of variance q (1 - q), q = p / 2, whatever the dataset:
the root mean squared error is the same for all. The expected absolute error depends on the number k of ones, slightly.
With q (1 - q) (q^2 + (1-q)^2) for the third absolute moment of a report, and sigma for the deviation of their sum,
the sum is within `rho = n q (1-q) (q^2 + (1-q)^2) / sigma^2 <= 1` users of a normal one in the Wasserstein distance
(goldstein2010, Theorem 1.1), and so is its absolute value in expectation: at most `sigma sqrt(2/pi) + rho`, and at most
sigma. What k = 0 attains is in closed form (De Moivre): `2 v C(n, v) q^v (1-q)^(n-v+1)` with `v = floor(n q) + 1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import flint
import numpy as np
from numpy.typing import ArrayLike

from dpverify.changes import Change
from dpverify.claims.base import Families
from dpverify.claims.bitsum.randomized_response import RandomizedResponseClaims
from dpverify.claims.means import MeanClaims
from dpverify.formulas.contexts import FLOATS, arb_context, lower_float, upper_float
from dpverify.formulas.protocols import shuffled_mean as formulas
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.papers.entries import stated
from dpverify.rounding import UNIT
from protocols.shuffled_mean import ShuffledMean
from protocols.validation import check_bits, check_integer

__all__ = ["ShuffledMeanClaims"]

_SUM = RandomizedResponseClaims()
_ENUMERATED = 256
"""Up to so many users the expected error of every number of ones is added up."""


class ShuffledMeanClaims(MeanClaims[ShuffledMean]):
    """The twin of `ShuffledMean`."""

    name = "shuffled-mean"
    protocol = ShuffledMean
    more_users = _SUM.more_users
    more_private_towards: ClassVar[Mapping[str, float]] = {"coin_probability": 1.0}
    pure = True
    theorems = stated("wang_lecture9/shuffled_mean", "shuffled_mean")

    def curve(
        self, protocol: ShuffledMean, changes: Change, threat_model: ThreatModel, **accuracy: float
    ) -> PrivacyCurve:
        return _SUM.curve(protocol.bitsum, changes, threat_model, **accuracy)

    def families(
        self, protocol: ShuffledMean, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        return _SUM.families(protocol.bitsum, threat_model, tail, loose=loose)

    def pure_epsilon(self, protocol: ShuffledMean, threat_model: ThreatModel) -> Interval:
        return _SUM.pure_epsilon(protocol.bitsum, threat_model)

    def note(self, protocol: ShuffledMean, threat_model: ThreatModel) -> str:
        return _SUM.note(protocol.bitsum, threat_model)

    def most(self, protocol: ShuffledMean) -> float:
        return 1.0

    def estimate_law(self, protocol: ShuffledMean, values: ArrayLike) -> DiscreteLaw:
        bits = check_bits("values", values)
        if bits.size != protocol.users:
            raise ValueError(f"values has {bits.size} entries, but must have one for each of users={protocol.users}.")
        return self._law(protocol, int(bits.sum()))

    def _law(self, protocol: ShuffledMean, ones: int) -> DiscreteLaw:
        return _SUM.estimate_law(protocol.bitsum, ones).image(lambda sums: sums / protocol.users)

    def rmse(self, protocol: ShuffledMean) -> float:
        """Return the exact root mean squared error of the mean, the same for every dataset."""
        return _SUM.rmse(protocol.bitsum) / protocol.users

    def mean_absolute_error(self, protocol: ShuffledMean, ones: int | None = None) -> Interval:
        """Return the expected absolute error of the mean.

        - protocol: The protocol and its parameters.
        - ones: How many users hold 1; the worst number when omitted, which is enclosed.
        """
        n = protocol.users
        if ones is not None:
            return self._at(protocol, check_integer("ones", ones, low=0, high=n))
        if n <= _ENUMERATED:
            # Flipping all bits exchanges k and n - k.
            every = [self._at(protocol, k) for k in range(n // 2 + 1)]
            return Interval.proved(max(found.lower for found in every), max(found.upper for found in every))
        with arb_context() as ctx:
            p = ctx.convert(protocol.coin_probability)
            q = p / 2
            deviation = ctx.sqrt(n * q * (1 - q))
            normal = deviation * ctx.sqrt(2 / flint.arb.pi()) + q**2 + (1 - q) ** 2
            most = min(upper_float(deviation / (n * (1 - p))), upper_float(normal / (n * (1 - p))))
            v = int((n * q).floor().unique_fmpz()) + 1
            log_choose = ctx.convert(n + 1).lgamma() - ctx.convert(v + 1).lgamma() - ctx.convert(n - v + 1).lgamma()
            at_zero = 2 * v * ctx.exp(log_choose + v * ctx.log(q) + (n - v + 1) * ctx.log1p(-q))
            return Interval.proved(lower_float(at_zero / (n * (1 - p))), most)

    def _at(self, protocol: ShuffledMean, ones: int) -> Interval:
        """Return it for a number of ones, from the law of the estimate."""
        law = self._law(protocol, ones)
        found = float(law.pmf @ np.abs(law.points - ones / protocol.users))
        # The law's relative error and the sum's; a rounding of each point; and the tails, 1 / (1 - p) away at most.
        error = 1e-11 * found + (law.outside + 8.0 * UNIT) / (1.0 - protocol.coin_probability)
        return Interval(max(0.0, found - error), found + error)

    def published(self, users: int, epsilon: float, delta: float) -> ShuffledMean:
        """Return the protocol with the p of the text, whose constant is taken for 1.

        Raises FormulaRangeError if that p is no probability below 1.
        """
        return ShuffledMean(users, float(formulas.coin_probability(FLOATS, epsilon, delta, users)))

    def published_bound(self, users: int, epsilon: float, delta: float) -> float:
        """Return the error bound of equation 9.4 without its constant."""
        return float(formulas.published_error(FLOATS, epsilon, delta, users))
