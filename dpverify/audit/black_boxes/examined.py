"""What the outputs of a black box on two inputs show: learn, choose and test events, each on outputs of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.black_boxes.tried import allowed, chosen_on, decisive, held_out, learned_on
from dpverify.audit.results import POWER
from dpverify.digits import rounded_down, rounded_up
from dpverify.statistics.bounds.claim_test import LowerCurve, claim_p_value, shown_against
from dpverify.statistics.bounds.tradeoff_band import TradeoffBand, counted_above, scanned_scores, tradeoff_thresholds
from dpverify.statistics.family import AuditResult
from dpverify.statistics.outputs.chosen import ChosenEvents, EventLimits, event_limits
from dpverify.statistics.outputs.learned import NamedScore

__all__ = ["Examination", "Examined", "TwoCalls"]

_FURTHER = 0.1
"""The share of the level that further events have together."""
_SUREST, _NEXT = 0.4, 0.3
"""The shares of a claim's level that the event has that should break it most surely, and all in the order of this."""
_BAND, _SCAN, _SCAN_UPPER = 0.1, 0.1, 0.5
"""The shares of the level that the band has, and the scan; the last of that of what events show at most."""
_AT_ONCE = 20_000
"""Outputs that are scored at a time."""

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Examined:
    """What two samples show.

    Parameters
    ----------
    result : AuditResult
        The test of the claim; its p-value is 1 where nothing is claimed.
    epsilon_lower, epsilon_upper : float
        Some event tried has at least the one at delta, and no event that counts more than the other: with delta = 0 the
        events that the trials resolve count, else all that were tried.
    delta_upper : float
        No event tried has more delta than this at the claimed epsilon; 1 where nothing is claimed.
    limits : EventLimits
        Of the chosen events, and behind them of the others.
    band : TradeoffBand
        Of the score of the event that shows most.
    least_mass : float
        The least probability of the events that count; 0 where all do.
    seen_in : str
        What the event looks at that shows most; empty where none shows anything.
    """

    result: AuditResult
    epsilon_lower: float
    epsilon_upper: float
    delta_upper: float
    limits: EventLimits
    band: TradeoffBand
    least_mass: float
    seen_in: str
    shown: tuple[float, float] = (0.0, math.inf)
    """What events show at least and at most in a claim's own terms, where it is no (epsilon, delta)."""

    @property
    def curve(self) -> LowerCurve:
        """A curve below the true privacy curve."""
        return self.limits.lower


class Examination:
    """What the outputs on two inputs show, block by block: some teach scores, some choose events, the rest is counted.

    The test of the claim and what events show at least err with probability `level` at most, and are one statement: an
    event's limits at its share of the level refute the claim. What events show at most errs with probability `upper` at
    most. Both are shared by the chosen events and a band: events {score > t}, and their complements, of the score that
    should show most.

    With delta = 0 a rare event may show any epsilon, and only those that the trials resolve count in a pass. With
    delta > 0 one as rare as delta shows none, but one somewhat more frequent may show all there is, where a learned
    score is poor. So plain scores are scanned besides, in both directions and from end to end, all events count, and
    unless it is certain that at most delta of the outputs are beyond the ends nothing is excluded.

    Only the outputs that teach and choose are kept, so that memory does not grow with the trials.

    Parameters
    ----------
    trials : int
        How many outputs there will be on each input.
    epsilon : float, optional
        The claim at delta.
    delta : float
        In [0, 1).
    level, upper : float
        See above.
    detect : float
        A pass excludes that an event which counts shows (1 + detect) epsilon at delta.
    seed : int
        Of what is learned.
    check : str
        As in a report.
    """

    def __init__(
        self,
        trials: int,
        *,
        epsilon: float | None,
        delta: float,
        level: float,
        upper: float,
        detect: float,
        seed: int,
        check: str,
    ) -> None:
        self._held = held_out(trials)
        self._trials = trials - 2 * self._held
        self._claim, self._level, self._upper, self._detect = (epsilon, delta), level, upper, detect
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
        first, second = (np.concatenate(kept) for kept in self._kept)
        self._kept = ([], [])
        scores = learned_on(first, second, self._claim[0], self._seed)
        epsilon, delta = self._claim = self._point(first, second, scores)
        self._events = chosen_on(
            first,
            second,
            scores=scores,
            epsilon=epsilon,
            delta=delta,
            trials=self._trials,
            detect=self._detect,
        )
        # The band is of the score that should show most; which does, fresh outputs must not say.
        expected = np.rint(self._events.expected * self._trials).astype(np.int64)
        limits = event_limits(expected[:, 0], expected[:, 1], self._trials, self._level, self._events.shares(_FURTHER))
        best = int(np.argmax(limits.epsilon_lower(delta)))
        before = [self._events.score(rows[self._held :])[:, best] for rows in (first, second)]
        counted = self._events, best, tradeoff_thresholds(before[0], before[1]), self._scan(scores, first, second)
        self._counts = _Counts(*counted), _Counts(*counted)

    def _point(self, first: Rows, second: Rows, scores: Sequence[NamedScore]) -> tuple[float | None, float]:
        """Return what events are chosen against, from held-out outputs: the claim."""
        return self._claim

    def _p_values(self, in_likely: NDArray[np.int64], in_other: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the p-value of the claim by each event alone."""
        epsilon, delta = self._claim
        return claim_p_value(in_likely, in_other, self._trials, epsilon or 0.0, delta)

    def _scan(self, scores: Sequence[NamedScore], first: Rows, second: Rows) -> list[tuple[NamedScore, Rows]]:
        """Return plain scores and their thresholds; none where delta = 0."""
        (_, delta), held = self._claim, (first[self._held :], second[self._held :])
        if delta == 0.0:
            return []
        return [
            (score, tradeoff_thresholds(score.of(held[0]), score.of(held[1]), delta))
            for score in scanned_scores(scores, *held)
        ]

    def result(self) -> Examined:
        """Return what all the outputs show."""
        assert self._counts is not None
        (epsilon, delta), events, trials = self._claim, self._events, self._trials
        first, second = self._counts
        likely = np.where(events.upward, first.members, second.members)
        other = np.where(events.upward, second.members, first.members)
        plain = events.shares(_FURTHER)
        # The same thresholds both ways, so that an event and its complement are looked at in either direction.
        scanned = [np.concatenate([one.scanned, two.scanned]) for one, two in ((first, second), (second, first))]
        counted = (likely, other), (first.above, second.above), (scanned[0], scanned[1])
        parts = [x.size for x, _ in counted]
        scan = parts[2] > 0
        shares = _joined(plain if epsilon is None else _weights(events, epsilon, delta), parts, _SCAN * scan)
        every = event_limits(
            np.concatenate([x for x, _ in counted]),
            np.concatenate([y for _, y in counted]),
            trials,
            self._level,
            shares,
            upper=self._upper,
            upper_shares=_joined(plain, parts, _SCAN_UPPER * scan),
        )
        chosen, further = every.part(slice(parts[0])), every.part(slice(parts[0], None))
        band, beyond = TradeoffBand(further.part(slice(parts[1]))), 0.0
        if delta > 0.0:
            beyond = first.beyond(further.part(slice(parts[1], None)))
        every += further.complements
        refuted, p_value = False, 1.0
        if epsilon is not None:
            x, y = (np.concatenate(side) for side in zip(*counted, strict=True))
            tested = self._p_values(x, y) / shares
            reverse = self._p_values(trials - y[parts[0] :], trials - x[parts[0] :])
            p_value = min(1.0, float(tested.min()), float((reverse / shares[parts[0] :]).min()))
            refuted = p_value <= self._level
        lower = every.lower.epsilon(delta)
        evidence = f"epsilon >= {rounded_down(lower, 4)} at delta {delta:.3g} with confidence {1.0 - self._level:.4g}"
        if epsilon is not None:
            lower, evidence = shown_against(lower, epsilon, delta, self._level, refuted=refuted)
        most, mass = _most(events, every, beyond, delta)
        most = max(most, lower)
        excess = 1.0 if epsilon is None else min(1.0, float(every.delta_upper(epsilon).max()))
        passes = epsilon is not None and most <= allowed(epsilon, self._detect)
        passes = passes and epsilon is not None and decisive(trials, epsilon, self._detect)
        result = AuditResult(
            self._check,
            p_value,
            trials,
            f"{len(events)} events learned and chosen on other outputs, {2 * first.above.size} of a band; "
            "Clopper-Pearson limits, union bound; exact level",
            evidence,
            fault="" if epsilon is None else _excluded(most, excess, epsilon, delta),
            power=max(1.0 - self._upper, POWER) if passes else None,
            level=None if epsilon is None else self._level,
            details={
                "epsilon_lower": lower,
                "epsilon_upper_of_events_tried": None if math.isinf(most) else most,
                "epsilon_claimed": epsilon,
                "delta": delta,
                "delta_upper_of_events_tried": excess,
                "confidence": 1.0 - self._level - self._upper,
            },
        )
        seen_in = _plainest(events, chosen.epsilon_lower(delta))
        return Examined(result, lower, most, excess, every, band, mass, seen_in)


def _joined(shares: NDArray[np.float64], parts: Sequence[int], scan: float) -> NDArray[np.float64]:
    """Return shares of a level for the chosen events, those of the band and those that are scanned."""
    chosen = (1.0 - _BAND - scan) * shares
    return np.concatenate([chosen, np.full(parts[1], _BAND / parts[1]), np.full(parts[2], scan / max(1, parts[2]))])


class _Counts:
    """How many outputs on one input are in each event, above each threshold of one event's score, and of the scan."""

    def __init__(
        self,
        events: ChosenEvents,
        best: int,
        thresholds: NDArray[np.float64],
        scan: Sequence[tuple[NamedScore, NDArray[np.float64]]],
    ) -> None:
        self._events, self._best, self._thresholds, self._scan = events, best, thresholds, scan
        self.members = np.zeros(len(events), dtype=np.int64)
        self.above = np.zeros(thresholds.size, dtype=np.int64)
        self.scanned = np.zeros(sum(points.size for _, points in scan), dtype=np.int64)
        self._ends = np.cumsum([0, *(points.size for _, points in scan)])

    def update(self, rows: Rows) -> None:
        scores = self._events.score(rows)
        self.members += self._events.scored(scores).sum(axis=0)
        self.above += counted_above(self._thresholds, scores[:, self._best])
        if self._scan:
            self.scanned += np.concatenate([counted_above(points, score.of(rows)) for score, points in self._scan])

    def beyond(self, limits: EventLimits) -> float:
        """Return the most that the outputs beyond the ends of a scanned score may be on either input.

        Where nothing is scanned all held-out outputs were alike, and what is not like them is an event by itself.
        """
        if not self._scan:
            return 0.0
        both = self._ends[-1] * np.arange(2)[:, np.newaxis]
        above = limits.p_upper[both + self._ends[1:] - 1]
        below = 1.0 - limits.p_lower[both + self._ends[:-1]]
        return float(max(above.max(), below.max()))


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
        both = Examination(
            trials // 2,
            epsilon=None if epsilon is None else 2.0 * epsilon,
            delta=delta * (2.0 - delta),
            level=level,
            upper=1.0 - POWER,
            detect=detect,
            seed=seed,
            check=check,
        )
        self._set(both)

    def _set(self, both: Examination) -> None:
        self._both = both
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


def _most(events: ChosenEvents, every: EventLimits, beyond: float, delta: float) -> tuple[float, float]:
    """Return the most that an event which counts may show, and the least mass of those.

    With delta = 0 these are the chosen events that are resolved, and whatever shows more for certain; with delta > 0
    all, if what is beyond the ends of the scan has probability delta at most.
    """
    each, shown = every.epsilon_upper(delta), every.epsilon_lower(delta)
    assert events.resolved is not None
    if delta > 0.0:
        return (float(each.max()) if beyond <= delta else math.inf), 0.0
    if not events.resolved.any():
        return math.inf, 1.0
    most = float(each[: len(events)][events.resolved].max())
    return max([most, *each[shown > most].tolist()]), float(events.expected[events.resolved].max(axis=1).min())


def _excluded(most: float, excess: float, epsilon: float, delta: float) -> str:
    """Return what no event that counts shows, in the claim's own terms; empty if that is nothing."""
    if math.isinf(most):
        return ""
    at_delta = f"epsilon {rounded_up(max(most, epsilon), 4)} at delta {delta:.3g}"
    return f"an event tried that shows more than {at_delta}, or delta {rounded_up(excess, 3)} at epsilon {epsilon:.4g}"


def _plainest(events: ChosenEvents, lower: NDArray[np.float64]) -> str:
    """Return what shows most, but for a classifier's score where something simpler shows half as much."""
    order = sorted(range(len(events)), key=lambda k: -float(lower[k]))
    simple = [k for k in order if not events.names[k].endswith("classifier") and lower[k] >= 0.5 * lower[order[0]]]
    return events.names[[*simple, order[0]][0]] if lower[order[0]] > 0 else ""
