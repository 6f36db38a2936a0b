"""What the twin of a local mean states: the law and the exact error of the estimate, and its privacy curve.

The estimate is the mean of independent debiased reports, each unbiased: its variance is the sum of theirs over n^2, and
the worst dataset gives every user the value of largest variance.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from dpverify.changes import Change
from dpverify.claims.local.base import LocalClaims
from dpverify.claims.means import MeanClaims
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import two_valued
from dpverify.privacy_loss.losses.two_valued import TwoValuedCurve
from protocols.local.means import LocalMean
from protocols.validation import check_integer

__all__ = ["LocalMeanClaims", "TwoValuedClaims"]

P = TypeVar("P", bound=LocalMean)


class LocalMeanClaims(LocalClaims[P], MeanClaims[P]):
    """The twin of a `LocalMean`, whose parameter epsilon is the largest privacy loss of a report, and attained."""

    def most(self, protocol: P) -> float:
        return protocol.most

    @abstractmethod
    def unit_variance(self, protocol: P, value: float) -> float:
        """Return the exact variance of a debiased report given a value, in units of the square of `protocol.unit`."""

    def variance(self, protocol: P, value: float) -> float:
        """Return the exact variance of a debiased report given a value.

        Raises OverflowError if it is above all floats; `rmse` is not.
        """
        variance = self.unit_variance(protocol, value) * protocol.unit**2
        if math.isinf(variance):
            raise OverflowError(f"protocol={protocol!r} has a variance above all floats, but rmse is finite.")
        return variance

    @abstractmethod
    def worst_value(self, protocol: P) -> float:
        """Return a value whose debiased report has the largest variance."""

    def window(self, protocol: P, value: float) -> IntegerLaw:
        """Return the law of a report as an integer, with proved error.

        Raises TypeError if reports have a density.
        """
        raise TypeError(f"protocol={protocol!r} has no listed reports: {self.name} has a law with a density.")

    def inputs(self, protocol: P) -> Sequence[Any]:
        """Return the two ends of what a user may hold, which attain the largest loss, and the worst value for error."""
        return tuple(dict.fromkeys((0.0, protocol.most, self.worst_value(protocol))))

    def report_law(self, protocol: P, value: Any) -> DiscreteLaw:
        return DiscreteLaw.from_integer_law(self.window(protocol, value))

    def pure_epsilon(self, protocol: P, threat_model: ThreatModel) -> Interval:
        return Interval(protocol.epsilon, protocol.epsilon)

    def curve(
        self, protocol: P, changes: Change, threat_model: ThreatModel, relative_width: float = 1e-6, **accuracy: float
    ) -> PrivacyCurve:
        """Return the privacy curve of so many independent reports on the same input."""
        copies = self.in_full(changes)
        loss = self.pure_epsilon(protocol, threat_model)
        rest = functools.partial(super().curve, protocol, changes, threat_model, relative_width=relative_width)
        closed = [lambda: TwoValuedCurve(loss, copies)] if self.two_valued(protocol) else []
        return BestCurve(
            LargestLossCurve(loss, changes), *closed, lambda: rest(**accuracy), relative_width=relative_width
        )

    def note(self, protocol: P, threat_model: ThreatModel) -> str:
        return "attained by a user at one end or the other; what other values tell is a part of that"

    def two_valued(self, protocol: P) -> bool:
        """Return whether a report has two privacy losses only, epsilon and -epsilon: then composition is closed."""
        return False

    def variance_of_mean(self, protocol: P, values: ArrayLike) -> float:
        """Return the exact variance of the estimate on these users' values, shape (users,)."""
        counts = Counter(protocol.check(values).tolist())
        total = math.fsum(count * self.variance(protocol, value) for value, count in counts.items())
        return total / counts.total() ** 2

    def rmse(self, protocol: P, users: int) -> float:
        """Return the exact root mean squared error of the mean of so many users' values, for the worst dataset."""
        check_integer("users", users, low=1)
        worst = self.unit_variance(protocol, self.worst_value(protocol))
        return protocol.unit * math.sqrt(worst / users)

    def estimate_law(self, protocol: P, values: ArrayLike) -> DiscreteLaw:
        held = protocol.check(values)
        total = views.total(*(self.window(protocol, value) for value in held.tolist()))
        # Debiasing is affine, so the mean of the debiased reports is the debiased mean of the reports.
        return DiscreteLaw.from_integer_law(total).image(lambda reports: protocol.debias(reports / held.size))


class TwoValuedClaims(LocalMeanClaims[P]):
    """The twin of a local mean by randomized response between the two ends, which is the worst pure mechanism."""

    def pairs(self, protocol: P) -> Sequence[PrivacyLossDistribution]:
        return (two_valued(Interval(protocol.epsilon, protocol.epsilon)),)

    def two_valued(self, protocol: P) -> bool:
        return True
