"""What is true of `protocols.user_level.central_selection`. Neighbours differ in one user's value.

Let a = eps / 2, w = e^(a c) the weights of dataset D with sum Z, and let one user go from v to u in D', with Z' the sum
there. The losses of D against D' are `l + a` at v, `l - a` at u and l elsewhere, `l = ln(Z' / Z)`, with

    Z' / Z = 1 + (w_u (e^a - 1) - w_v (1 - e^-a)) / Z.

**The largest loss.** Z' / Z grows with w_u and falls with w_v and every other weight. Moving users to u, all but the
one who leaves v, makes it largest: the largest loss is `a + ln((e^(a n) + 1 + R) / (e^(a (n-1)) + e^a + R))`, R =
candidates - 2, attained, and below eps. The other direction is the same set of pairs.

**One run at delta > 0.** Let y be e^-(loss - l), in [e^-a, e^a], and M its mean under D, which is e^l. The divergence
at e is the mean of `(1 - e^e y / M)+`, convex in y: given M it is largest where all mass is on v and u. With x that of
v it is then `x - e^e x / (e^eps - x (e^eps - 1))`, and largest at `x = (e^eps - e^((e + eps) / 2)) / (e^eps - 1)`:

    delta(e) <= (1 - e^(-(eps - e) / 2))^2 / (1 - e^-eps).

The lower end is the best of the datasets with all users on two candidates.

**Error.** Given that k users hold h, it is missed most often if all others agree, as e^(a c) is convex in c: with
probability `(e^(a (n-k)) + R) / (e^(a k) + e^(a (n-k)) + R)`, which falls with k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flint
import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.changes import Change
from dpverify.claims.base import Families
from dpverify.claims.central import CentralClaims
from dpverify.formulas.contexts import arb_context, enclosure, upper_float
from dpverify.guarantee import Interval, PrivacyCurve, ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.papers.entries import stated
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from dpverify.search import bisected
from protocols.user_level.central_selection import ExponentialSelection
from protocols.validation import check_integer, check_probability, check_real

__all__ = ["ExponentialClaims"]

_CELLS = 64
"""Of the ranges of losses, in the cover of many runs."""


class ExponentialClaims(CentralClaims[ExponentialSelection]):
    """The twin of `ExponentialSelection`."""

    name = "exponential-selection"
    protocol = ExponentialSelection
    theorems = stated("ghazi2021/user_level", "central_learner")
    pure = True

    def neighbours(self, protocol: ExponentialSelection) -> Sequence[tuple[NDArray[Any], NDArray[Any]]]:
        """Return the pair of the largest loss, whose outcome is rare for many users, and an even one."""
        found = []
        for leaving in (1, (protocol.users + 1) // 2):
            before = (np.arange(protocol.users) >= leaving).astype(np.int64)
            after = before.copy()
            after[0] = 1
            found.append((before, after))
        return found

    def output_law(self, protocol: ExponentialSelection, inputs: NDArray[Any]) -> DiscreteLaw:
        counts = np.bincount(inputs, minlength=protocol.candidates)
        return DiscreteLaw.of(np.arange(protocol.candidates), protocol.probabilities(counts))

    def pure_epsilon(self, protocol: ExponentialSelection, threat_model: ThreatModel) -> Interval:
        """Return the largest loss over all datasets and neighbours, which one pair attains."""
        n, rest = protocol.users, protocol.candidates - 2
        with arb_context() as ctx:
            half = ctx.convert(protocol.epsilon) / 2
            # Over e^(a n), which may be beyond the floats.
            above = 1 + (1 + rest) * ctx.exp(-half * n)
            below = ctx.exp(-half) + ctx.exp(half * (1 - n)) + rest * ctx.exp(-half * n)
            return enclosure(half + ctx.log(above / below))

    def curve(
        self, protocol: ExponentialSelection, changes: Change, threat_model: ThreatModel, **accuracy: float
    ) -> PrivacyCurve:
        """Return the privacy curve of many runs on the same users.

        Of several runs the upper end is for losses within a range of eps anywhere up to the largest, which may be
        another range in each; the lower end is that of users on two candidates, as evenly as can be.
        """
        runs = self.in_full(changes)
        largest = self.pure_epsilon(protocol, threat_model)
        if runs == 1:
            return _OneRun(protocol, largest)

        def composed() -> PrivacyCurve:
            ((entries, attained),) = self.families(protocol, threat_model, 0.0)
            return FamilyComposition(entries, runs, attained=attained, **accuracy)

        return BestCurve(LargestLossCurve(largest, changes), composed)

    def families(
        self, protocol: ExponentialSelection, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        laws = _two_candidates(protocol, np.array([(protocol.users + 1) // 2]))
        listed = np.minimum(laws[0][0], laws[1][0]) > 1e-290
        before, after = (law[0][listed] for law in laws)
        pair = PrivacyLossDistribution.from_pmfs(
            before, after, missing_mass=2.0 * float(laws[0][0][~listed].sum()), relative_error=_error(protocol)
        )
        return (((_cover(protocol.epsilon, self.pure_epsilon(protocol, threat_model).upper),), (pair,)),)

    def with_users(self, protocol: ExponentialSelection, users: int, *, more_private: bool) -> ExponentialSelection:
        """Return the protocol as it is: the curator is trusted, and what is claimed holds whatever others hold."""
        return protocol

    def note(self, protocol: ExponentialSelection, threat_model: ThreatModel) -> str:
        return "datasets with all users on two candidates attain the lower end"

    def plurality_failure(self, protocol: ExponentialSelection, users: int, share: float) -> float:
        """Return what `dpverify.claims.user_level.classifier.plurality_failure` does, attained if all others agree.

        The number of users does not change how it selects.
        """
        n, eta = check_integer("users", users, low=1), check_probability("share", share)
        k = np.arange(n + 1)
        half, rest = 0.5 * protocol.epsilon, protocol.candidates - 2
        odds = np.exp(np.minimum(half * (n - 2 * k), 700.0)) + rest * np.exp(-half * k)
        return min(1.0, float(scipy.stats.binom.pmf(k, n, eta) @ (odds / (1.0 + odds))) * (1.0 + 1e-9) + 1e-300)


def _cover(epsilon: float, largest: float) -> list[PrivacyLossDistribution]:
    """Return pairs of two losses that dominate all with losses in a range of epsilon, none beyond `largest` in size.

    Losses within [-b, t] are dominated by the pair that has -b and t alone: by convexity, as in the module's proof. So
    one pair covers all ranges whose ends are between neighbouring points of a grid.
    """
    wider = 1e-12 * epsilon + 1e-30  # for the rounding of the ends; relative, as epsilon may be far below 1
    ends = np.linspace(epsilon - largest - wider, largest, _CELLS + 1)
    pairs = []
    for low, high in zip(np.maximum(ends[:-1], 0.0), ends[1:], strict=True):
        below, above = epsilon - low + wider, high + wider  # the losses are -below and above
        # p + q = 1 with p e^-above + q e^below = 1. Nothing cancels, however small both losses are.
        masses = np.array([math.expm1(below), -math.expm1(-above)])
        pairs.append(
            PrivacyLossDistribution.from_atoms(
                np.array([above, -below]), masses / masses.sum(), relative_error=64.0 * UNIT
            )
        )
    return pairs


def _two_candidates(
    protocol: ExponentialSelection, leaving: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the laws of what is selected where so many hold v and the rest u, and after one went to u.

    Shape (datasets, 3) each: v, u and all others together.
    """
    counts = np.stack([leaving, protocol.users - leaving], axis=-1).astype(np.float64)
    made = []
    for dataset in (counts, counts + np.array([-1.0, 1.0])):
        top = np.maximum(dataset.max(axis=-1, keepdims=True), 0.0)
        weights = np.exp(0.5 * protocol.epsilon * (np.append(dataset, np.zeros((len(dataset), 1)), axis=-1) - top))
        weights[:, 2] *= protocol.candidates - 2
        made.append(weights / weights.sum(axis=-1, keepdims=True))
    return made[0], made[1]


def _error(protocol: ExponentialSelection) -> float:
    """Bound the relative error of such a probability: exp's argument has a few units, and it is that large."""
    return (4.0 * protocol.epsilon * protocol.users + 32.0) * UNIT


class _OneRun:
    """The curve of one run."""

    def __init__(self, protocol: ExponentialSelection, largest: Interval) -> None:
        self._protocol, self._largest = protocol, largest
        self._laws = _two_candidates(protocol, np.arange(1, protocol.users + 1))

    def delta(self, epsilon: float) -> Interval:
        check_real("epsilon", epsilon, low=0.0)
        before, after = self._laws
        slack = _error(self._protocol) * (before + math.exp(min(epsilon, 700.0)) * after)
        parts = np.maximum(before - math.exp(min(epsilon, 700.0)) * after - 2.0 * slack, 0.0)
        lower = float(parts.sum(axis=-1).max()) * (1.0 - 4.0 * UNIT)
        if epsilon >= self._largest.upper:
            return Interval.proved(0.0, 0.0)
        with arb_context() as ctx:
            full = ctx.convert(self._protocol.epsilon)
            left = -ctx.expm1((ctx.convert(epsilon) - full) / 2)
            return Interval.proved(lower, min(1.0, upper_float(flint.arb(-(left**2) / ctx.expm1(-full)))))

    def epsilon(self, delta: float) -> Interval:
        check_real("delta", delta, low=0.0, high=1.0, high_open=True)
        with arb_context() as ctx:
            full = ctx.convert(self._protocol.epsilon)
            left = 1 - (-ctx.convert(delta) * ctx.expm1(-full)).sqrt()
            upper = upper_float(full + 2 * ctx.log(left)) if left > 0 else 0.0
        upper = max(0.0, min(upper, self._largest.upper))

        def needed(epsilon: float) -> bool:
            return self.delta(epsilon).lower <= delta

        lower = 0.0 if needed(0.0) else bisected(needed, 0.0, upper, absolute=1e-9)[0]
        return Interval.proved(lower, upper)
