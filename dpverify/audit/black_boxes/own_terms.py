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
from dpverify.search import bisected
from dpverify.statistics.bounds.claim_test import EventLimits, curve_p_value, told_against
from dpverify.statistics.bounds.claims import CurveClaim, most_likely
from dpverify.statistics.bounds.intervals import lower_limit, upper_limit
from dpverify.statistics.bounds.renyi_claims import RenyiClaim
from dpverify.statistics.family import AuditResult
from dpverify.statistics.outputs.learned import NamedScore
from protocols.classes.frozen import dataclass

__all__ = ["Claimed", "CurveExamination", "TwoCalls", "examinations", "points_of"]

_LIMITS, _SURELY = 3.5, 6.0
"""Standard deviations between an estimate and its limits; and such that limits hold what was expected nearly always."""
_COINS = np.linspace(0.02, 0.5, 25)
_LEAST_LOG, _MOST_LOG = -600.0, -1e-3
"""Logs of the levels between which a p-value is searched."""
_ROUNDED = 1e-10
"""Relative, charged to what cells show."""

_CELLS = 0.2
"""The share of the level of a claim on Renyi divergences that the cells of one score have together."""

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
        self._share = 1.0 - _CELLS * isinstance(claim, RenyiClaim)

    def _choose(self) -> None:
        super()._choose()
        claim, cells = self._whole, None
        if isinstance(claim, RenyiClaim):
            cells = _Cells.chosen(claim, self._before, self._held, self._trials)
        self._cells = cells

    def _above(self, x: NDArray[np.int64], y: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many outputs on either input are above the thresholds of the band."""
        begin, size, _ = self._parts
        return x[begin : begin + size], y[begin : begin + size]

    def _p_value(self, x: NDArray[np.int64], y: NDArray[np.int64], trials: int) -> float:
        p_value = super()._p_value(x, y, trials)
        if self._cells is None:
            return p_value
        return min(p_value, self._looks * self._cells.p_value(*self._above(x, y), trials) / _CELLS)

    def _limits(self, x: NDArray[np.int64], y: NDArray[np.int64], trials: int) -> tuple[EventLimits, float]:
        """Return the limits of all events, and the most that cells show which count in a pass."""
        every, _ = super()._limits(x, y, trials)
        cells, upper = self._cells, _CELLS * self._upper / self._looks
        if cells is None or not cells.counts(self._detect, trials):
            return every, 0.0
        return every, cells.shown(*self._above(x, y), trials, upper)[1]

    def _point(self, first: Rows, second: Rows, scores: Sequence[NamedScore]) -> tuple[float | None, float]:
        return surest_point(first, second, scores, self._whole.points)

    def _shown(self, limits: EventLimits) -> Rows:
        return self._whole.shown(limits.p_lower, limits.q_upper)

    def _limits_p_values(
        self, in_likely: NDArray[np.int64], in_other: NDArray[np.int64], trials: int
    ) -> NDArray[np.float64]:
        return curve_p_value(in_likely, in_other, trials, self._points)

    @property
    def _points(self) -> Sequence[tuple[float, float]]:
        return self._whole.points

    def result(self) -> Examined:
        """Return what all the outputs show."""
        found, claim, counted = super().result(), self._whole, self._counted()
        limits, refuted = found.limits, found.result.p_value <= self._level
        lower = float(self._shown(limits).max())
        if self._cells is not None:
            level = _CELLS * self._level / self._looks
            lower = max(lower, self._cells.shown(*self._above(*counted), self._trials, level)[0])
        # The half planes allow hardly more than the claim does: the p-value decides.
        lower = max(lower, math.nextafter(claim.claimed, math.inf)) if refuted else min(lower, claim.claimed)
        cells = self._limits(*counted, self._trials)[1]
        most, mass = self._most(limits, cells, self._trials)
        passes, most = self._passes(limits, cells, self._trials), max(most, lower)
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
        most = max([most, beyond, *each[surely > most].tolist()])
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


@dataclass(frozen=True)
class _Cells:
    """Cells between some thresholds of a band, which show more of a Renyi divergence together than any event does.

    Parameters
    ----------
    claim : RenyiClaim
    edges : tuple of int
        The places of the thresholds.
    masses : ndarray, shape (2, cells)
        Of the cells on either input, of held-out outputs: smoothed, as none is known to be empty.
    """

    claim: RenyiClaim
    edges: tuple[int, ...]
    masses: Rows

    @classmethod
    def chosen(cls, claim: RenyiClaim, above: Sequence[NDArray[np.int64]], held: int, trials: int) -> _Cells:
        """Return cells of about the most that so many fresh outputs show for certain, from held-out counts above."""
        size = held * trials / (held + trials)  # estimates are as uncertain as the final ones, and their own

        def of(edges: Sequence[int]) -> _Cells:
            counts = np.stack([_between(each, edges, held) for each in above])
            return cls(claim, tuple(edges), (counts + 0.5) / (held + 1.0))

        def worth(cells: _Cells) -> float:
            return cells._within(_LIMITS, size)[0]

        best = of(range(len(above[0])))
        while len(best.edges) > 1:
            fewer = max((of([k for k in best.edges if k != left]) for left in best.edges), key=worth)
            if worth(fewer) < worth(best):
                break
            best = fewer
        return best

    def shown(
        self, first: NDArray[np.int64], second: NDArray[np.int64], trials: int, level: float
    ) -> tuple[float, float]:
        """Return the least and the most that the cells show, from the outputs above thresholds.

        Either is wrong with probability `level` at most: each side of each cell on each input has an even share.
        """
        counts = np.stack([_between(each, self.edges, trials) for each in (first, second)])
        each = level / (2.0 * counts.size)
        return self._shown(lower_limit(counts, trials, each), upper_limit(counts, trials, each))

    def p_value(self, first: NDArray[np.int64], second: NDArray[np.int64], trials: int) -> float:
        """Return the smallest level at which the limits of the cells refute the claim, to 1e-6 relative; up to 1."""

        def refuted(log_level: float) -> bool:
            lower = self.shown(first, second, trials, math.exp(log_level))[0]
            return lower > self.claim.claimed * (1.0 + _ROUNDED)

        return math.exp(bisected(refuted, _LEAST_LOG, _MOST_LOG, absolute=1e-6)[1]) if refuted(_MOST_LOG) else 1.0

    def counts(self, detect: float, trials: int) -> bool:
        """Return whether limits of so many outputs will be as near to what the cells show as a pass asks for."""
        seems = max(self.claim.claimed, self._shown(self.masses, self.masses)[0])
        return self._within(_SURELY, trials)[1] <= (1.0 + detect) * seems

    def _within(self, deviations: float, size: float) -> tuple[float, float]:
        """Return what limits at so many deviations of the masses will show, of so many outputs."""
        off = deviations * np.sqrt(self.masses * (1.0 - self.masses) / size)
        upper = self.masses + off + deviations**2 / (2.0 * size)
        return self._shown(np.maximum(self.masses - off, 0.0), np.minimum(upper, 1.0))

    def _shown(self, lower: Rows, upper: Rows) -> tuple[float, float]:
        """Return how much the cells show at least and at most in the worse direction, by limits of their masses."""
        ways = (0, 1), (1, 0)
        return (
            max(self.claim.together(lower[p], upper[q]) for p, q in ways),
            max(self.claim.together(upper[p], lower[q]) for p, q in ways),
        )


def _between(above: NDArray[Any], edges: Sequence[int], total: Any) -> NDArray[Any]:
    """Return what is between thresholds, from what is above each."""
    return np.asarray(-np.diff(np.concatenate([[total], above[list(edges)], [0]])))


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
