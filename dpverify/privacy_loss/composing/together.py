"""Changes of many kinds composed with each other: bounded along one contour, and attained from below.

`contour` bounds a divergence by a sum over the nodes of a line, with weights w >= 0, of the modulus of the product's
moment generating function. Let the product have K parts, each of which may choose what it is by itself: the pairs of
its instances, or the moves of a joint change. For shares `l_1 + ... + l_K = 1` Hoelder's inequality says

    sum_z w_z prod_k |phi_k(z)| <= prod_k (sum_z w_z |phi_k(z)|^(1/l_k))^l_k,

so each part is bounded alone. What lies beyond the last node is one more term. Any shares give a bound; it is sharp
where the logarithms are in the same proportion at all nodes, as those of losses next to normal are. So they are taken
in the proportion of the first node's.

A part of m instances, each of which may present any of some pairs (`AnyOf`), is as many parts of a share of l/m, and
each of these at most the largest of its pairs: the worst pair in all instances, no supremum of their profiles. A joint
change has `ln|phi|` over its share in the place of `ln|phi|`, as linear in what the moves cost (`joint_change`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.composing.rare_losses import sum_of_moduli, sums_above
from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.datasets.worst_branch import MOST_SPLITS, worst_branch
from dpverify.privacy_loss.joint.attained_change import Composed, Parts, composed
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.characteristic import LossAtoms
from dpverify.privacy_loss.windows.contour import Contour, Cost, best_tilt, epsilon_at, log_delta_at
from dpverify.privacy_loss.windows.saddle import LossMoments
from dpverify.rounding import SUBNORMAL, UNIT
from protocols.validation import check_integer, check_real

__all__ = ["AnyOf", "Part", "Together"]

_PERIOD = 7.0
"""Between the terms of Poisson's sum, in standard deviations of the total loss."""
_LEAST_DEVIATION = 1e-100
_SPLIT = 2e-4
"""By which share of a part's exponent a branch may be worse than what is attained before it is divided."""
_GRAINS = 2**20
"""Shares are multiples of one over this, at least one of them, so that they add up to 1 exactly."""


class Part(Protocol):
    """What is composed with other parts: `log_integral` is ln J as for `Contour`, over a share."""

    @property
    def left_out(self) -> float:
        """An upper bound on the mass of losses that are infinite, unknown, or in no atom."""

    @property
    def deviation(self) -> float:
        """About the standard deviation of the total loss, positive."""

    def estimate(self, tilt: float) -> tuple[float, float]:
        """Return about the exponent at the first node, and the deviation of the tilted loss."""

    def log_integral(self, contour: Contour, share: float = 1.0) -> float:
        """Return ln J on a contour, of moduli to the power of one over the share."""


class AnyOf:
    """Instances each of which presents a pair that one of some laws dominates, or an average of some.

    - laws: At least one. A branch that makes the bound loose is divided.
    - instances: How many.
    - cut: The mass that every pair may lose on each side.
    - most_splits: How many branches are divided for a line at the most.
    """

    def __init__(
        self,
        laws: Sequence[PrivacyLossDistribution | Branch],
        instances: int,
        *,
        cut: float = 0.0,
        most_splits: int = MOST_SPLITS,
    ) -> None:
        if not laws:
            raise ValueError("laws is empty, but must hold at least one distribution.")
        self._instances, self._cut, self._most_splits = check_integer("instances", instances, low=1), cut, most_splits
        self._losses_off = self._masses_off = self._missing = 0.0
        self._atoms: dict[Branch, LossAtoms] = {}
        self.branches = [law if isinstance(law, Branch) else Branch(law) for law in laws]
        """What stands for all pairs: those that were divided are not among them."""
        self._admit(self.branches)
        guess = [branch for branch in self.branches if branch.attained] or self.branches
        self._moments = [LossMoments(atoms.losses, atoms.log_masses) for atoms in self._admit(guess)]

    def _admit(self, branches: Sequence[Branch]) -> list[LossAtoms]:
        """Return their atoms, and charge what these pairs are off by, from now on."""
        for branch in branches:
            if branch not in self._atoms:
                pair = branch.pair.trimmed(self._cut)
                self._atoms[branch] = LossAtoms.of(pair.losses, pair.masses)
                self._losses_off = max(self._losses_off, pair.loss_error)
                self._masses_off = max(self._masses_off, pair.relative_error)
                self._missing = max(self._missing, pair.unbounded_mass)
        return [self._atoms[branch] for branch in branches]

    @property
    def left_out(self) -> float:
        """An upper bound on the mass of losses that are infinite, unknown, or in no atom."""
        return self._instances * self._missing * (1.0 + 8.0 * UNIT)

    @cached_property
    def deviation(self) -> float:
        """About the standard deviation of the total loss, positive."""
        return max(self.estimate(0.0)[1], _LEAST_DEVIATION)

    def estimate(self, tilt: float) -> tuple[float, float]:
        """Return about the exponent at the first node, and the deviation of the tilted loss."""
        found = [moments.at(tilt) for moments in self._moments]
        largest = self._instances * max(log_mgf for log_mgf, _, _ in found)
        return largest, math.sqrt(self._instances * max(variance for _, _, variance in found))

    def log_integral(self, contour: Contour, share: float = 1.0) -> float:
        """Return ln J on a contour, of moduli to the power of one over the share."""
        count = self._instances / share

        def above(some: Sequence[Branch]) -> list[float]:
            return [float(high) for high in sums_above(contour, self._admit(some), count)]

        def sum_of(branch: Branch) -> float:
            return sum_of_moduli(contour, self._atoms[branch], count)

        attained = [sum_of(branch) for branch in self.branches if branch.attained]
        enough = max(attained, default=math.inf) + _SPLIT * abs(self.estimate(contour.tilt)[0]) / share
        largest, self.branches, _ = worst_branch(
            self.branches, above, sum_of, enough=enough, most_splits=self._most_splits
        )
        error = self._masses_off + 4.0 * UNIT
        log_growth = -self._instances * math.log1p(-error) * (1.0 + 8.0 * UNIT) if error < 1.0 else math.inf
        loss_error = self._instances * self._losses_off * (1.0 + 8.0 * UNIT)
        # Each of the three is above by more units of its size than this costs.
        return largest + (log_growth + contour.tilt * loss_error) / share


class Together:
    """The privacy curve of independent parts.

    - parts: At least one: joint changes, and instances of families of pairs.
    - attained: Pairs that datasets attain at once, and how often each: for the lower end, which is trivial without any.
    - reference_delta: Where the lower end shall be sharp.
    - smoothing: The extra variance of the total loss, relatively: half of that is what it costs of epsilon. With less
      of it cells of joint changes would be looked at far from the tilt, where they are loose.
    """

    def __init__(
        self, parts: Sequence[Part], attained: Parts, reference_delta: float, *, smoothing: float = 1e-3
    ) -> None:
        if not parts:
            raise ValueError("parts is empty, but must hold at least one.")
        self._parts, self._attained, self._reference = parts, attained, reference_delta
        self._smoothing = smoothing
        self._known: dict[float, float] = {}

    @property
    def _infinite(self) -> float:
        """What the parts leave out: more of it once they were divided for a line."""
        return sum(part.left_out for part in self._parts)

    def _estimate(self, tilt: float) -> tuple[float, float]:
        exponents, spreads = zip(*(part.estimate(tilt) for part in self._parts), strict=True)
        return sum(exponents), max(math.hypot(*spreads), _LEAST_DEVIATION)

    def _log_integral(self, tilt: float) -> float:
        """Return ln J, where every divergence at x is at most `J e^(-tilt x)` and the infinite mass."""
        if tilt not in self._known:
            _, deviation = self._estimate(tilt)
            contour = Contour.at(tilt, deviation, self._smoothing * deviation**2, period=_PERIOD)
            logs = [
                (share, part.log_integral(contour, share))
                for part, share in zip(
                    self._parts, _shares([part.estimate(tilt)[0] for part in self._parts]), strict=True
                )
            ]
            rounding = 4.0 * UNIT * len(logs) * sum(share * abs(log) for share, log in logs)
            self._known[tilt] = sum(share * log for share, log in logs) + rounding
        return self._known[tilt]

    def _least(self, cost: Cost) -> float:
        """Return the least cost that is found: any tilt gives a bound."""
        width = math.hypot(*(part.deviation for part in self._parts))
        self._log_integral(best_tilt(cost, self._estimate, width)[0])
        return min(cost(log_integral, tilt) for tilt, log_integral in self._known.items())

    def delta(self, epsilon: float) -> Interval:
        """Return the largest hockey-stick divergence at a real epsilon, in nats, as a proved interval."""
        check_real("epsilon", epsilon)
        upper = 1.0
        if self._infinite < 1.0:
            finite = math.exp(min(self._least(log_delta_at(epsilon)), 0.0))
            upper = min(1.0, (finite + self._infinite) * (1.0 + 8.0 * UNIT) + SUBNORMAL)
        return Interval.proved(0.0 if self._lower is None else self._lower.delta(epsilon).lower, upper)

    def epsilon(self, delta: float) -> Interval:
        """Return the least epsilon >= 0, in nats, at which that divergence is at most delta, as a proved interval."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        lower = 0.0 if self._lower is None else self._lower.epsilon_lower(delta)
        upper = math.inf
        for _ in range(2):  # what is left out is known once the parts were divided
            left = (delta - self._infinite) * (1.0 - 8.0 * UNIT)
            upper = max(self._least(epsilon_at(math.log(left))), 0.0) if left > 0.0 else math.inf
        return Interval.proved(lower, upper)

    @cached_property
    def _lower(self) -> Composed | None:
        if not self._attained:
            return None
        try:
            return composed(self._attained, self._reference)
        except CapacityError:
            return None


def _shares(exponents: Sequence[float]) -> list[float]:
    """Return shares in about the proportion of these numbers, each positive, that add up to 1 exactly."""
    largest = max(*exponents, SUBNORMAL) if len(exponents) > 1 else 1.0
    sizes = [max(exponent, 1e-6 * largest) for exponent in exponents]
    grains = [max(int(_GRAINS * size / sum(sizes)), 1) for size in sizes]
    grains[grains.index(max(grains))] += _GRAINS - sum(grains)
    return [grain / _GRAINS for grain in grains]
