"""What the outputs of a black box on two inputs show: learn, choose and test events, each on outputs of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.results import POWER
from dpverify.statistics.chosen import ChosenEvents, EventLimits, choose_events, event_limits
from dpverify.statistics.family import AuditResult
from dpverify.statistics.learned import learned_scores
from dpverify.statistics.lower_bound import LowerCurve, claim_p_value
from dpverify.statistics.tradeoff_band import TradeoffBand, counted_above, tradeoff_band, tradeoff_thresholds

__all__ = ["Examination", "Examined", "TwoCalls", "allowed", "chosen_on", "decisive", "held_out"]

_LEAST_SCALE = 0.1
"""Slack is relative to a claim of at least this."""
_DEVIATIONS = 3.5
"""Standard deviations between an estimate and its limits."""
_FEW_HELD, _FEW = 7, 200
"""Where that would be few, a seventh of them, up to so many."""
_FURTHER = 0.1
"""The share of the level that further events have together."""
_SUREST, _NEXT = 0.4, 0.3
"""The shares of a claim's level that the event has that should break it most surely, and all in the order of this."""
_MOST_HELD = 50_000
"""Outputs on each input that scores are learned from, and as many that events are chosen on."""
_AT_ONCE = 20_000
"""Outputs that are scored at a time."""

Rows = NDArray[np.float64]


def allowed(epsilon: float, detect: float) -> float:
    """Return up to which epsilon the tried events may show in a pass."""
    return epsilon + detect * max(epsilon, _LEAST_SCALE)


def decisive(trials: int, epsilon: float, detect: float) -> bool:
    """Return whether so many fresh outputs tell a fault of the asked size on an event that one input has half the time.

    Fewer are no reason to pass anything, whatever was chosen: it may be events that show nothing.
    """
    q = 0.5 * math.exp(-epsilon)
    return _DEVIATIONS * (1.0 + math.sqrt((1.0 - q) / q)) <= (allowed(epsilon, detect) - epsilon) * math.sqrt(trials)


def held_out(trials: int) -> int:
    """Return how many outputs scores are learned from; as many are for choosing events, the rest is for the test."""
    return min(max(trials // 8, min(trials // _FEW_HELD, _FEW)), _MOST_HELD)


@dataclass(frozen=True)
class Examined:
    """What two samples show.

    Parameters
    ----------
    result : AuditResult
        The test of the claim; its p-value is 1 where nothing is claimed.
    epsilon_lower, epsilon_upper : float
        Some event tried has at least the one at delta, and no event that the trials resolve more than the other.
    curve : LowerCurve
        Below the true privacy curve.
    band : TradeoffBand
        Of the score of the event that shows most.
    least_mass : float
        The least probability of the events that are resolved.
    seen_in : str
        What the event looks at that shows most; empty where none shows anything.
    """

    result: AuditResult
    epsilon_lower: float
    epsilon_upper: float
    curve: LowerCurve
    band: TradeoffBand
    least_mass: float
    seen_in: str


def chosen_on(
    first: Rows, second: Rows, *, epsilon: float | None, delta: float, trials: int, detect: float, seed: int
) -> ChosenEvents:
    """Return events learned from the first half of the outputs and chosen on the second; see `choose_events`."""
    half = len(first) // 2
    return choose_events(
        learned_scores(first[:half], second[:half], epsilon=epsilon or 0.0, seed=seed),
        first[half:],
        second[half:],
        delta=delta,
        epsilon=epsilon,
        trials=trials,
        slack=detect,
        training=(first[:half], second[:half]),
    )


class Examination:
    """What the outputs on two inputs show, block by block: some teach scores, some choose events, the rest is counted.

    All figures hold together but for probability `level`: half of it is for the chosen events, half for the band. Only
    the outputs that teach and choose are kept, so that memory does not grow with the trials.

    Parameters
    ----------
    trials : int
        How many outputs there will be on each input.
    epsilon : float, optional
        The claim at delta.
    delta : float
        In [0, 1).
    level : float
        The error probability of the limits.
    detect : float
        The relative size of the fault that a pass must exclude.
    seed : int
        Of what is learned.
    check : str
        As in a report.
    """

    def __init__(
        self, trials: int, *, epsilon: float | None, delta: float, level: float, detect: float, seed: int, check: str
    ) -> None:
        self._held = held_out(trials)
        self._trials = trials - 2 * self._held
        self._claim, self._level, self._detect = (epsilon, delta), level, detect
        self._seed, self._check = seed, check
        self._kept: tuple[list[Rows], list[Rows]] = ([], [])
        self._seen = 0
        self._counts: tuple[_Counts, _Counts] | None = None

    def update(self, first: Rows, second: Rows) -> None:
        """Look at more outputs on both inputs, shape (runs, columns), as many of each."""
        start = 0
        if self._counts is None:
            start = min(2 * self._held - self._seen, len(first))
            for kept, rows in zip(self._kept, (first, second), strict=True):
                kept.append(rows[:start].copy())
            if self._seen + start == 2 * self._held:
                self._choose()
        self._seen += len(first)
        if self._counts is not None:
            for counts, rows in zip(self._counts, (first, second), strict=True):
                for at in range(start, len(rows), _AT_ONCE):
                    counts.update(rows[at : at + _AT_ONCE])

    def _choose(self) -> None:
        epsilon, delta = self._claim
        first, second = (np.concatenate(kept) for kept in self._kept)
        self._kept = ([], [])
        self._events = chosen_on(
            first,
            second,
            epsilon=epsilon,
            delta=delta,
            trials=self._trials,
            detect=self._detect,
            seed=self._seed,
        )
        # The band is of the score that should show most; which does, fresh outputs must not say.
        expected = np.rint(self._events.expected * self._trials).astype(np.int64)
        best = int(np.argmax(_lower(self._limits(*expected.T), delta)))
        before = [self._events.score(rows[self._held :])[:, best] for rows in (first, second)]
        thresholds = tradeoff_thresholds(*before)
        self._counts = _Counts(self._events, best, thresholds), _Counts(self._events, best, thresholds)

    def _limits(self, likely: NDArray[np.int64], other: NDArray[np.int64]) -> EventLimits:
        return event_limits(likely, other, self._trials, self._level / 2.0, self._events.shares(_FURTHER))

    def result(self) -> Examined:
        """Return what all the outputs show."""
        assert self._counts is not None
        (epsilon, delta), events, trials = self._claim, self._events, self._trials
        first, second = self._counts
        likely = np.where(events.upward, first.members, second.members)
        other = np.where(events.upward, second.members, first.members)
        limits = self._limits(likely, other)
        band = tradeoff_band(first.above, second.above, trials, self._level / 2.0)
        curve = LowerCurve(
            np.concatenate([limits.p_lower, band.lower.p_lower]),
            np.concatenate([limits.q_upper, band.lower.q_upper]),
            self._level,
        )
        p_value = 1.0
        if epsilon is not None:
            weighted = claim_p_value(likely, other, trials, epsilon, delta) / _weights(events, epsilon, delta)
            p_value = min(1.0, float(weighted.min()))
        upper, mass = _upper(events, limits, delta)
        lower = curve.epsilon(delta)
        result = _result(
            self._check, p_value, trials, len(events), lower, upper, epsilon, delta, self._level, self._detect
        )
        return Examined(result, lower, upper, curve, band, mass, _plainest(events, _lower(limits, delta)))


class _Counts:
    """How many outputs on one input are in each event, and above each threshold of one event's score."""

    def __init__(self, events: ChosenEvents, best: int, thresholds: NDArray[np.float64]) -> None:
        self._events, self._best, self._thresholds = events, best, thresholds
        self.members = np.zeros(len(events), dtype=np.int64)
        self.above = np.zeros(thresholds.size, dtype=np.int64)

    def update(self, rows: Rows) -> None:
        scores = self._events.score(rows)
        self.members += self._events.scored(scores).sum(axis=0)
        self.above += counted_above(self._thresholds, scores[:, self._best])


class TwoCalls:
    """Whether two calls in a row show no more than two calls may: noise that they share would cancel.

    Independent calls of an (epsilon, delta) mechanism are (2 epsilon, 1 - (1 - delta)^2) together (kairouz2015). A pass
    asks no more of this test than limits: what one call shows is held against the claim by `Examination`.

    Parameters
    ----------
    trials, epsilon, delta, level, detect, seed, check
        See `Examination`; the trials and the claim are those of one call.
    """

    def __init__(
        self, trials: int, *, epsilon: float | None, delta: float, level: float, detect: float, seed: int, check: str
    ) -> None:
        self._both = Examination(
            trials // 2,
            epsilon=None if epsilon is None else 2.0 * epsilon,
            delta=delta * (2.0 - delta),
            level=level,
            detect=detect,
            seed=seed,
            check=check,
        )
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


def _weights(events: ChosenEvents, epsilon: float, delta: float) -> NDArray[np.float64]:
    """Return the shares of the level, from held-out outputs: the more surely an event breaks the claim, the more.

    A union bound with fixed weights that add up to 1: the surest event has most, so that it takes hardly more trials
    than alone (evenly shared, a quarter more), and the next ones enough to be found where a few held-out outputs have
    put them in the wrong order.
    """
    p, q = events.expected.T
    grown = math.exp(epsilon)
    deviation = np.sqrt(p * (1.0 - p) + grown**2 * q * (1.0 - q)) + 1e-300
    ranks = np.argsort(np.argsort(-(p - grown * q - delta) / deviation, kind="stable"))
    surest, falling = ranks == 0, 1.0 / (1.0 + ranks)
    weights = _SUREST * surest + _NEXT * falling / falling.sum()
    return np.asarray(weights + (1.0 - _SUREST - _NEXT) * events.shares(2.0 * _FURTHER))


def _lower(limits: EventLimits, delta: float) -> NDArray[np.float64]:
    excess = limits.p_lower - delta
    return np.where(excess > 0, np.log(np.maximum(excess, 1e-300) / limits.q_upper), -np.inf)


def _upper(events: ChosenEvents, limits: EventLimits, delta: float) -> tuple[float, float]:
    """Return the most that an event may show, of those that are resolved or show more than these, and their least mass.

    An event too rare to be resolved does not count unless it does show more than the others can.
    """
    each = limits.epsilon_upper(delta)
    assert events.resolved is not None
    if not events.resolved.any():
        return math.inf, 1.0
    most = float(each[events.resolved].max())
    more = _lower(limits, delta) > most
    return max([most, *each[more].tolist()]), float(events.expected[events.resolved].max(axis=1).min())


def _plainest(events: ChosenEvents, lower: NDArray[np.float64]) -> str:
    """Return what shows most, but for a classifier's score where something simpler shows half as much."""
    order = sorted(range(len(events)), key=lambda k: -float(lower[k]))
    simple = [k for k in order if not events.names[k].endswith("classifier") and lower[k] >= 0.5 * lower[order[0]]]
    return events.names[[*simple, order[0]][0]] if lower[order[0]] > 0 else ""


def _result(
    check: str,
    p_value: float,
    trials: int,
    events: int,
    lower: float,
    upper: float,
    epsilon: float | None,
    delta: float,
    level: float,
    detect: float,
) -> AuditResult:
    confidence = 1.0 - level
    claimed = "" if epsilon is None else f", claimed {epsilon:.4g}"
    passes = epsilon is not None and upper <= allowed(epsilon, detect) and decisive(trials, epsilon, detect)
    return AuditResult(
        check,
        p_value,
        trials,
        f"{events} events learned and chosen on other outputs; Clopper-Pearson limits, union bound; exact level",
        f"epsilon >= {lower:.4g} at delta {delta:.3g} with confidence {confidence:.4g}{claimed}",
        fault="" if math.isinf(upper) else f"an event tried that shows epsilon {upper:.4g} at delta {delta:.3g}",
        power=max(confidence, POWER) if passes else None,
        details={
            "epsilon_lower": lower,
            "epsilon_upper_of_events_tried": None if math.isinf(upper) else upper,
            "epsilon_claimed": epsilon,
            "delta": delta,
            "confidence": confidence,
        },
    )
