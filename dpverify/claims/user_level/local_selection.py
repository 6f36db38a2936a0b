"""What is true of `protocols.user_level.local_selection`. Neighbours differ in one user's value.

**Privacy.** Two columns of the Walsh matrix differ in exactly half of the rows. There a report has the probabilities
keep / K and flip / K given one value, and the other way round given the other; in the other rows they are equal. So for
any two values, in both directions, the losses are eps with probability keep / 2, -eps with flip / 2 and 0 with 1/2.
One pair is the whole mechanism, composed too; epsilon is attained.

**Error.** The product of two columns is a third one, balanced, and two different products are independent over a random
row. So what one user adds to the difference of the estimates of h and u, over 2 / tanh(eps / 2), is

    held value   h              u              another
    +1           keep / 2       flip / 2       1/4
     0           1/2            1/2            1/2
    -1           flip / 2       keep / 2       1/4

of which the middle column is the least in stochastic order. Where each user holds h with probability eta or more,
independently, the difference is at least the sum of n independent terms that are 0 with probability 1/2 and otherwise 1
with probability `q = eta keep + (1 - eta) flip`; and h is missed with at most `(candidates - 1) Pr[that sum <= 0]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpverify.claims.local.base import LocalClaims, ReportMatrix
from dpverify.guarantee import CapacityError, Interval, ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.sums import summed
from dpverify.papers.entries import stated
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.user_level.local_selection import HadamardSelection
from protocols.validation import check_integer, check_probability

__all__ = ["HadamardClaims"]

_MOST_LISTED, _MOST_USERS = 2**26, 10**7


class HadamardClaims(LocalClaims[HadamardSelection]):
    """The twin of `HadamardSelection`."""

    name = "hadamard-selection"
    protocol = HadamardSelection
    theorems = stated("ghazi2021/user_level", "local_learner")

    def inputs(self, protocol: HadamardSelection) -> Sequence[int]:
        return range(protocol.candidates)

    def report_law(self, protocol: HadamardSelection, value: Any) -> DiscreteLaw:
        at = check_integer("value", value, low=0, high=protocol.candidates - 1)
        _check_capacity(protocol, 1)
        return DiscreteLaw.of(np.arange(2 * protocol.order), self._row(protocol, at))

    def report_matrix(self, protocol: HadamardSelection) -> ReportMatrix:
        _check_capacity(protocol, protocol.candidates)
        rows = np.stack([self._row(protocol, value) for value in range(protocol.candidates)])
        return ReportMatrix(np.arange(2 * protocol.order), rows, 8.0 * UNIT)

    def _row(self, protocol: HadamardSelection, value: int) -> np.ndarray:
        signs = protocol.signs(value, np.arange(protocol.order))
        # Both are looked up: one less than the other would keep no digit of a rare one.
        chances = np.array([1.0 - protocol.flip_probability, protocol.flip_probability])
        return np.asarray(np.stack([chances[signs], chances[1 - signs]], axis=1).ravel() / protocol.order)

    def loss_step(self, protocol: HadamardSelection) -> float:
        return protocol.epsilon

    def pairs(self, protocol: HadamardSelection) -> Sequence[PrivacyLossDistribution]:
        flip, epsilon = protocol.flip_probability, protocol.epsilon
        # e^-eps and its quotient have a unit for each operation, and eps itself has none.
        return (
            PrivacyLossDistribution.from_atoms(
                np.array([epsilon, -epsilon, 0.0]),
                np.array([0.5 * (1.0 - flip), 0.5 * flip, 0.5]),
                relative_error=16.0 * UNIT,
            ),
        )

    def pure_epsilon(self, protocol: HadamardSelection, threat_model: ThreatModel) -> Interval:
        return Interval(protocol.epsilon, protocol.epsilon)

    def output_law(self, protocol: HadamardSelection, inputs: ArrayLike) -> DiscreteLaw:
        """Return the exact law of what is selected from reports of these values, shape (users,).

        Estimates are sums of a sign for each candidate and report, up to a factor: whole numbers, whose law is listed.

        Raises CapacityError where there are too many users or candidates.
        """
        held, copies = np.unique(np.asarray(inputs), return_counts=True)
        rows = np.arange(protocol.order)
        columns = np.stack([1 - 2 * protocol.signs(at, rows) for at in range(protocol.candidates)], axis=1)
        signs = np.concatenate([columns, -columns])  # of the reports with bit 0, and with bit 1
        parts = []
        for value, users in zip(held.tolist(), copies.tolist(), strict=True):
            masses = self._row(protocol, value).reshape(-1, 2).T.ravel()
            parts.append((DiscreteLaw.of(signs, masses), users))
        try:
            return summed(parts).image(lambda scores: scores.argmax(axis=1))
        except ValueError:
            raise CapacityError(
                f"users={copies.sum()} with candidates={protocol.candidates} have too many sums of signs to list; take "
                "fewer."
            ) from None

    def plurality_failure(self, protocol: HadamardSelection, users: int, share: float) -> float:
        """Return what `dpverify.claims.user_level.classifier.plurality_failure` does.

        Raises CapacityError for more than ten million users.
        """
        n, eta = check_integer("users", users, low=1), check_probability("share", share)
        if n > _MOST_USERS:
            raise CapacityError(f"users={n} must be at most {_MOST_USERS} for a sum over numbers of users.")
        flip = protocol.flip_probability
        ahead = eta * (1.0 - flip) + (1.0 - eta) * flip
        terms = np.arange(n + 1)
        missed = float(scipy.stats.binom.pmf(terms, n, 0.5) @ scipy.stats.binom.cdf(terms // 2, terms, ahead))
        return min(1.0, (protocol.candidates - 1) * missed * (1.0 + 1e-9) + 1e-15)


def _check_capacity(protocol: HadamardSelection, laws: int) -> None:
    if 2 * protocol.order * laws > _MOST_LISTED:
        raise CapacityError(f"candidates={protocol.candidates} makes {2 * protocol.order} reports: too many to list.")
