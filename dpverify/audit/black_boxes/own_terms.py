"""What the outputs of a black box show of a claim that is a curve, in the claim's own terms: mu, rho, a divergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.black_boxes.examined import Examination, Examined
from dpverify.audit.black_boxes.tried import MOST_HELD, surest_point
from dpverify.audit.results import POWER
from dpverify.digits import rounded_up
from dpverify.guarantee import Budget
from dpverify.statistics.bounds.claim_test import EventLimits, curve_p_value, told_against
from dpverify.statistics.bounds.claims import CurveClaim, most_likely
from dpverify.statistics.family import AuditResult
from dpverify.statistics.outputs.learned import NamedScore

__all__ = ["Claimed", "CurveExamination", "TwoCalls", "examinations", "points_of"]

_LIMITS, _SURELY = 3.5, 6.0
"""Standard deviations between an estimate and its limits; and such that limits hold what was expected nearly always."""
_COINS = np.linspace(0.02, 0.5, 25)

Rows = NDArray[np.float64]
Claimed = Budget | CurveClaim | None
"""What an audit may hold outputs against."""


def points_of(claimed: Claimed, delta: float) -> tuple[tuple[float, float], ...]:
    """Return the (epsilon, delta) of a claim that hold at once; of none that epsilon is 0."""
    if isinstance(claimed, CurveClaim):
        return claimed.points
    return ((0.0 if claimed is None else claimed.epsilon, delta),)


def examinations(
    claimed: Claimed, trials: int, delta: float
) -> tuple[Callable[..., Examination], Callable[..., TwoCalls]]:
    """Return what makes the examinations of one call and of two, given the other parameters of `Examination`."""
    if isinstance(claimed, CurveClaim):
        one, two = partial(CurveExamination, claimed, at=delta), partial(CurveExamination, claimed.twice(), at=0.0)
        return partial(one, trials), partial(TwoCalls, two, trials)
    epsilon = None if claimed is None else claimed.epsilon
    # Independent calls of an (epsilon, delta) mechanism are (2 epsilon, 1 - (1 - delta)^2) together (kairouz2015).
    twice = partial(Examination, epsilon=None if epsilon is None else 2.0 * epsilon, delta=delta * (2.0 - delta))
    return partial(Examination, trials, epsilon=epsilon, delta=delta), partial(TwoCalls, twice, trials)


class CurveExamination(Examination):
    """As `Examination`, against all (epsilon, delta) of a claim at once.

    Events are chosen against the one of them that held-out outputs break most surely, and are tested against all: the
    limits of an event refute any that they refute, at no further price. In a pass count the chosen events that the
    trials resolve in the claim's own terms, and whatever shows more for certain; rarer ones may show more.

    Parameters
    ----------
    claim : CurveClaim
    trials, level, upper, detect, seed, check
        See `Examination`.
    at : float
        In [0, 1): the delta at which epsilon is stated.
    """

    def __init__(self, claim: CurveClaim, trials: int, *, at: float, detect: float, **given: Any) -> None:
        super().__init__(trials, epsilon=None, delta=at, detect=detect, **given)
        self._whole, self._at = claim, at

    def _point(self, first: Rows, second: Rows, scores: Sequence[NamedScore]) -> tuple[float | None, float]:
        return surest_point(first, second, scores, self._whole.points)

    def _limits_p_values(
        self, in_likely: NDArray[np.int64], in_other: NDArray[np.int64], trials: int
    ) -> NDArray[np.float64]:
        return curve_p_value(in_likely, in_other, trials, self._points)

    @property
    def _points(self) -> Sequence[tuple[float, float]]:
        return self._whole.points

    def result(self) -> Examined:
        """Return what all the outputs show."""
        found, claim = super().result(), self._whole
        limits, refuted = found.limits, found.result.p_value <= self._level
        lower = float(claim.shown(limits.p_lower, limits.q_upper).max())
        # The half planes allow hardly more than the claim does: the p-value decides.
        lower = max(lower, math.nextafter(claim.claimed, math.inf)) if refuted else min(lower, claim.claimed)
        most, mass = self._most(limits, 0.0, self._trials)
        passes, most = self._passes(limits, 0.0, self._trials), max(most, lower)
        result = replace(
            found.result,
            evidence=told_against(claim.unit, lower, claim.claimed, refuted=refuted),
            fault="" if math.isinf(most) else f"an event tried that shows more than {claim.unit} {rounded_up(most, 4)}",
            power=max(1.0 - self._upper, POWER) if passes else None,
            details={
                "unit": claim.unit,
                "lower": lower,
                "upper_of_events_tried": None if math.isinf(most) else most,
                "claimed": claim.claimed,
                "chosen_at": list(self._claim),
                "confidence": 1.0 - self._level - self._upper,
            },
        )
        return replace(
            found,
            result=result,
            epsilon_lower=limits.lower.epsilon(self._at),
            epsilon_upper=math.inf,
            delta_upper=1.0,
            least_mass=mass,
            shown=(lower, most),
        )

    def _most(self, every: EventLimits, beyond: float, trials: int) -> tuple[float, float]:
        claim, chosen = self._whole, every.part(slice(len(self._events)))
        counts = self._counting(trials)
        if not counts.any():
            return math.inf, 1.0
        each, surely = claim.shown(chosen.p_upper, chosen.q_lower), claim.shown(chosen.p_lower, chosen.q_upper)
        most = float(each[counts].max())
        most = max([most, *each[surely > most].tolist()])
        return most, chosen.likeliest(np.flatnonzero(each > most))

    def _passes(self, every: EventLimits, beyond: float, trials: int) -> bool:
        most, _ = self._most(every, beyond, trials)
        able = self._resolves(_COINS, most_likely(self._whole.points, _COINS), _LIMITS, trials)
        return most <= self._whole.excluded(self._detect) and bool(able.any())

    def _counting(self, trials: int) -> NDArray[np.bool_]:
        """Return which chosen events count in a pass, from held-out outputs alone."""
        p, q = self._events.expected.T
        counts = self._resolves(q, np.minimum(np.maximum(p, q), most_likely(self._whole.points, q)), _SURELY, trials)
        # A pass that left out what seems to show most would be worth nothing.
        seems = self._whole.shown(*(_limit(x, sign * _LIMITS, self._held) for x, sign in ((p, -1.0), (q, 1.0))))
        best = int(np.argmax(seems))
        counts[best] |= seems[best] > self._whole.excluded(self._detect)
        return counts

    def _resolves(self, q: Rows, p: Rows, deviations: float, trials: int) -> NDArray[np.bool_]:
        """Return whether the limits of events that keep the claim will show that they break no larger one."""
        ends = _limit(p, deviations, trials), _limit(q, -deviations, trials)
        return np.asarray(self._whole.shown(*ends) <= self._whole.excluded(self._detect))


class TwoCalls:
    """Whether two calls in a row show no more than two calls may: noise that they share would cancel.

    A pass asks no more of this test than limits: what one call shows is held against the claim by `Examination`.

    Parameters
    ----------
    made : callable
        Returns the examination of so many pairs of outputs.
    trials : int
        Single outputs on each input.
    """

    def __init__(self, made: Callable[..., Examination], trials: int, **given: Any) -> None:
        # Noise that calls share is no rare outcome: a quarter of the outputs teaches it.
        self._both = made(trials // 2, upper=1.0 - POWER, most_held=MOST_HELD // 4, **given)
        self._odd: tuple[Rows, Rows] | None = None

    def update(self, first: Rows, second: Rows) -> None:
        """Look at more outputs; see `Examination.update`."""
        if self._odd is not None:
            first, second = (np.concatenate(parts) for parts in zip(self._odd, (first, second), strict=True))
        even = len(first) // 2 * 2
        self._odd = (first[even:].copy(), second[even:].copy()) if len(first) > even else None
        width = first.shape[1]
        self._both.update(first[:even].reshape(-1, 2 * width), second[:even].reshape(-1, 2 * width))

    def result(self) -> AuditResult:
        """Return what all the outputs show."""
        return replace(self._both.result().result, power=POWER)


def _limit(p: Rows, deviations: float, trials: int) -> Rows:
    return np.clip(p + deviations * np.sqrt(p * (1.0 - p) / trials), 0.0, 1.0)
