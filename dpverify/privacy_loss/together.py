"""Joint changes composed with each other and with full ones: bounded along one contour, and attained from below.

`contour` bounds a divergence by a sum over the nodes of a line, with weights w >= 0, of the modulus of the product's
moment generating function. Let the product have K parts: joint changes of independent bits, each of which may choose
its moves by itself, and all full changes as one. For shares `l_1 + ... + l_K = 1` Hoelder's inequality says

    sum_z w_z prod_k |phi_k(z)| <= prod_k (sum_z w_z |phi_k(z)|^(1/l_k))^l_k,

so each part is bounded alone: a full one by its moduli, a joint one with `ln|phi|` over its share in the place of
`ln|phi|`, which is as linear in what the moves cost as it was (`joint_change`). What lies beyond the last node is one
more term. Any shares give a bound; it is sharp where the logarithms are in the same proportion at all nodes, as those
of losses next to normal are. So they are taken in the proportion of the first node's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

from dpverify.guarantee import CapacityError, Interval, PrivacyCurve
from dpverify.privacy_loss.attained_change import Parts, composed
from dpverify.privacy_loss.contour import Contour
from dpverify.privacy_loss.contour_composition import ContourComposition
from dpverify.privacy_loss.joint_change import JointChange
from dpverify.rounding import SUBNORMAL, UNIT
from dpverify.search import least_argument
from protocols.validation import check_real

__all__ = ["Together"]

_SMOOTHING = 1e-3
"""The extra variance of the total loss, relatively: half of that is what it costs of epsilon."""
_PERIOD = 7.0
"""Between the terms of Poisson's sum, in standard deviations of the total loss."""
_TILT_STEP = 0.02
"""Logarithms of tilts are multiples of this, so that queries next to each other share one."""
_GRAINS = 2**20
"""Shares are multiples of one over this, at least one of them, so that they add up to 1 exactly."""


class Together:
    """The privacy curve of independent joint changes, and of a composition of full ones.

    Parameters
    ----------
    joint : sequence of JointChange
        At least one.
    full : ContourComposition or None
        What dominates all full changes together.
    attained : Parts
        Pairs that datasets attain at once, and how often each: for the lower end, which is trivial without any.
    reference_delta : float
        Where the lower end shall be sharp.
    """

    def __init__(
        self, joint: Sequence[JointChange], full: ContourComposition | None, attained: Parts, reference_delta: float
    ) -> None:
        if not joint:
            raise ValueError("joint is empty, but must hold at least one joint change.")
        self._joint, self._full, self._attained, self._reference = joint, full, attained, reference_delta
        self._infinite = sum(part.left_out for part in joint)
        self._loss_error = 0.0
        if full is not None:
            self._infinite += 1.0 if full.singular else full.unbounded_mass
            self._loss_error = full.loss_error
        self._known: dict[float, float] = {}

    def _estimates(self, tilt: float) -> list[tuple[float, float]]:
        """Return of each part about its exponent at the first node and its deviation, the full one last."""
        found = [part.estimate(tilt) for part in self._joint]
        if self._full is not None and not self._full.singular:
            log_mgf, _, variance = self._full.moments(tilt)
            found.append((log_mgf, math.sqrt(variance)))
        return found

    @property
    def _parts(self) -> list[JointChange | ContourComposition]:
        return [*self._joint, *([] if self._full is None or self._full.singular else [self._full])]

    def _log_integral(self, tilt: float) -> float:
        """Return ln J, where every divergence at x is at most `J e^(-tilt x)` and the infinite mass."""
        if tilt not in self._known:
            estimates = self._estimates(tilt)
            deviation = math.hypot(*(spread for _, spread in estimates))
            contour = Contour.at(tilt, deviation, _SMOOTHING * deviation**2, period=_PERIOD)
            logs = [
                (share, part.log_integral(contour, share))
                for part, share in zip(self._parts, _shares([exponent for exponent, _ in estimates]), strict=True)
            ]
            rounding = 4.0 * UNIT * len(logs) * sum(share * abs(log) for share, log in logs)
            self._known[tilt] = sum(share * log for share, log in logs) + tilt * self._loss_error + rounding
        return self._known[tilt]

    def _least(self, cost: Callable[[float, float], float]) -> float:
        """Return the least cost that is found of (ln J, tilt): any tilt gives a bound."""

        def estimated(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            estimates = self._estimates(tilt)
            spread = math.hypot(*(spread for _, spread in estimates))
            exponent = sum(exponent for exponent, _ in estimates)
            # The integral of a Gaussian over a kernel that is wider.
            return cost(exponent - math.log(math.sqrt(2.0 * math.pi) * spread * tilt * (1.0 + tilt)), tilt)

        spreads = [part.deviation for part in self._joint]
        if self._full is not None and not self._full.singular:
            spreads.append(math.sqrt(self._full.moments(0.0)[2]))
        width = math.hypot(*spreads)
        best = least_argument(estimated, math.log(0.3 / width), math.log(100.0 / width))
        self._log_integral(math.exp(_TILT_STEP * round(best / _TILT_STEP)))
        return min(cost(log_integral, tilt) for tilt, log_integral in self._known.items())

    def delta(self, epsilon: float) -> Interval:
        """Return the largest hockey-stick divergence at a real epsilon, in nats, as a proved interval."""
        check_real("epsilon", epsilon)

        def log_delta(log_integral: float, tilt: float) -> float:
            return log_integral - tilt * epsilon + 8.0 * UNIT * (abs(log_integral) + tilt * abs(epsilon))

        upper = 1.0
        if self._infinite < 1.0:
            upper = math.exp(min(self._least(log_delta), 0.0)) + self._infinite
            upper = min(1.0, upper * (1.0 + 8.0 * UNIT) + SUBNORMAL)
        return Interval.proved(0.0 if self._lower is None else self._lower.delta(epsilon).lower, upper)

    def epsilon(self, delta: float) -> Interval:
        """Return the least epsilon >= 0, in nats, at which that divergence is at most delta, as a proved interval."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        lower = 0.0 if self._lower is None else self._lower.epsilon(delta).lower
        left = (delta - self._infinite) * (1.0 - 8.0 * UNIT)
        if left <= 0.0:
            return Interval.proved(lower, math.inf)
        wanted = math.log(left)

        def epsilon(log_integral: float, tilt: float) -> float:
            return (log_integral - wanted + 8.0 * UNIT * (abs(log_integral) - wanted)) / tilt

        return Interval.proved(lower, max(self._least(epsilon) * (1.0 + 4.0 * UNIT), 0.0))

    @cached_property
    def _lower(self) -> PrivacyCurve | None:
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
