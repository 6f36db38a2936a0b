"""What the outputs of a black box on two inputs show: learn, choose and test events, each on outputs of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.black_boxes.members import Members
from dpverify.audit.black_boxes.tried import (
    MOST_HELD,
    allowed,
    chosen_on,
    decisive,
    excluded,
    held_out,
    learned_on,
    with_held_out,
)
from dpverify.audit.results import POWER
from dpverify.digits import rounded_down, typed
from dpverify.search import galloped, least_integer
from dpverify.statistics.bounds.claim_test import EventLimits, LowerCurve, claim_p_value, event_limits, shown_against
from dpverify.statistics.bounds.tail_products import product_p_value
from dpverify.statistics.bounds.tradeoff_band import TradeoffBand, counted_above, scanned_scores, tradeoff_thresholds
from dpverify.statistics.family import AuditResult
from dpverify.statistics.outputs.chosen import ChosenEvents, resolves
from dpverify.statistics.outputs.learned import NamedScore
from protocols.classes.frozen import dataclass

__all__ = ["Examination", "Examined"]

_FURTHER = 0.1
"""The share of the level that further events have together."""
_SUREST, _NEXT = 0.4, 0.3
"""The shares of a claim's level that the event has that should break it most surely, and all in the order of this."""
_BAND, _SCAN, _SCAN_UPPER = 0.1, 0.1, 0.5
"""The shares of the level that the band has, and the scan; the last of that of what events show at most."""
_PRODUCT = 0.5
"""The share of the level that the product of the two tail probabilities of each chosen event has beside its limits."""
_AT_ONCE = 16_000
"""Outputs that are scored at a time."""
_MOST_TRIALS = 10**12
"""The most that an estimate says are needed."""

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
        No event tried of a larger probability shows more; 0 where none does.
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
    event's limits at half its share of the level refute the claim, or the product of its two tail probabilities does at
    the other half. What events show at most errs with probability `upper` at most. Both are shared by the chosen events
    and a band: events {score > t}, and their complements, of the score that should show most.

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
        A pass excludes that an event which counts shows (1 + detect) epsilon at delta; or (1 + detect) delta, where the
        other input has it so rarely that this epsilon is worth less than the slack of delta.
    seed : int
        Of what is learned.
    check : str
        As in a report.
    looks : int
        Among how many examinations, of fixed numbers of outputs, `level` and `upper` are shared evenly: p-values are
        multiplied by it.
    most_held : int
        Of so many outputs at most scores are learned, and on as many events chosen.
    held : int, optional
        Of so many instead.
    """

    _share = 1.0
    """The share of `level` and of `upper` that events have."""

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
        looks: int = 1,
        most_held: int = MOST_HELD,
        held: int | None = None,
    ) -> None:
        self._all, self._most_held, self._given = trials, most_held, held
        self._claim, self._level, self._upper, self._detect = (epsilon, delta), level, upper, detect
        self._looks = looks
        self._seed, self._check = seed, check
        self._kept: list[Rows] = []
        self._seen = 0
        self._counts: tuple[Members, Members] | None = None

    def update(self, first: Rows, second: Rows) -> None:
        """Look at more outputs on both inputs, shape (runs, columns), as many of each."""
        start = 0
        if self._counts is None:
            if not self._kept:
                self._held = self._given or held_out(self._all, first.shape[1], self._most_held)
                self._trials = self._all - 2 * self._held
                self._kept = [np.empty((2 * self._held, first.shape[1])) for _ in range(2)]
            start = min(2 * self._held - self._seen, len(first))
            for kept, rows in zip(self._kept, (first, second), strict=True):
                kept[self._seen : self._seen + start] = rows[:start]
            if self._seen + start == 2 * self._held:
                self._choose()
        self._seen += len(first)
        if self._counts is not None:
            for counts, rows in zip(self._counts, (first, second), strict=True):
                for at in range(start, len(rows), _AT_ONCE):
                    counts.update(rows[at : at + _AT_ONCE])

    def _choose(self) -> None:
        first, second = self._kept
        self._kept = []
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
        best = int(np.argmax(self._shown(limits)))
        score = self._events.scores[self._events.places[best]]
        before = [score(rows[self._held :]) for rows in (first, second)]
        band = tradeoff_thresholds(before[0], before[1])
        self._before = [counted_above(band, each) for each in before]
        counted = self._events, best, band, self._scan(scores, first, second)
        self._counts = Members(*counted), Members(*counted)

    def _point(self, first: Rows, second: Rows, scores: Sequence[NamedScore]) -> tuple[float | None, float]:
        """Return what events are chosen against, from held-out outputs: the claim."""
        return self._claim

    def _shown(self, limits: EventLimits) -> Rows:
        """Return what each event shows at least."""
        return limits.epsilon_lower(self._claim[1])

    def _limits_p_values(
        self, in_likely: NDArray[np.int64], in_other: NDArray[np.int64], trials: int
    ) -> NDArray[np.float64]:
        """Return the p-value of the claim by the limits of each event alone."""
        epsilon, delta = self._claim
        return claim_p_value(in_likely, in_other, trials, epsilon or 0.0, delta)

    @property
    def _points(self) -> Sequence[tuple[float, float]]:
        """What is claimed to hold at once."""
        epsilon, delta = self._claim
        return ((epsilon or 0.0, delta),)

    def _p_value(self, x: NDArray[np.int64], y: NDArray[np.int64], trials: int) -> float:
        """Return the p-value of the claim by all events, in both directions."""
        shares, own = self._shares[0], len(self._events)
        least = []
        for likely, other, each in ((x, y, shares), (trials - y[own:], trials - x[own:], shares[own:])):
            least.append(self._limits_p_values(likely, other, trials) / ((1.0 - _PRODUCT) * each))
        # Of an event and its complement the product is the same.
        least.append(product_p_value(x[:own], y[:own], trials, self._points) / (_PRODUCT * shares[:own]))
        return min(1.0, self._looks * float(min(values.min() for values in least)) / self._share)

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
        (epsilon, delta), events = self._claim, self._events
        x, y = self._counted()
        every, beyond = self._limits(x, y, self._trials)
        p_value, refuted = 1.0, False
        if epsilon is not None:
            p_value = self._p_value(x, y, self._trials)
            refuted = p_value <= self._level
        lower = every.lower.epsilon(delta)
        evidence = f"epsilon >= {rounded_down(lower, 4)} at delta {typed(delta)}"
        if epsilon is not None:
            lower, evidence = shown_against(lower, epsilon, delta, refuted=refuted)
        most, mass = self._most(every, beyond, self._trials)
        passes = self._passes(every, beyond, self._trials)
        most = max(most, lower)
        excess = 1.0 if epsilon is None else min(1.0, float(every.delta_upper(epsilon).max()))
        result = AuditResult(
            self._check,
            p_value,
            self._trials,
            f"{len(events)} events learned and chosen on other outputs, {2 * self._parts[1]} of a band; "
            "Clopper-Pearson limits and products of tail probabilities, union bound; exact level",
            evidence,
            fault="" if epsilon is None else excluded(most, excess, epsilon, delta),
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
        seen_in = events.plainest(every.part(slice(len(events))).epsilon_lower(delta))
        band = TradeoffBand(every.part(slice(len(events), sum(self._parts[:2]))))
        return Examined(result, lower, most, excess, every, band, mass, seen_in)

    @property
    def _parts(self) -> tuple[int, int, int]:
        """How many events are chosen, of the band, and scanned, in both directions."""
        assert self._counts is not None
        return len(self._events), self._counts[0].above.size, 2 * self._counts[0].scanned.size

    @property
    def _shares(self) -> tuple[Rows, Rows]:
        """The shares that all events have of the level, and of that of what they show at most."""
        events, (epsilon, delta), scan = self._events, self._claim, self._parts[2] > 0
        plain = events.shares(_FURTHER)
        weights = plain if epsilon is None else _weights(events, epsilon, delta)
        (_, band, scanned), found = self._parts, []
        for shares, share in ((weights, _SCAN * scan), (plain, _SCAN_UPPER * scan)):
            rest = np.full(band, _BAND / band), np.full(scanned, share / max(1, scanned))
            found.append(np.concatenate([(1.0 - _BAND - share) * shares, *rest]))
        return found[0], found[1]

    def _counted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many outputs are in each event, on the input where it should be likelier and on the other."""
        assert self._counts is not None
        (first, second), upward = self._counts, self._events.upward
        # The same thresholds both ways, so that an event and its complement are looked at in either direction.
        x, y = (
            np.concatenate([np.where(upward, a.members, b.members), a.above, a.scanned, b.scanned])
            for a, b in ((first, second), (second, first))
        )
        return x, y

    def _limits(self, x: NDArray[np.int64], y: NDArray[np.int64], trials: int) -> tuple[EventLimits, float]:
        """Return the limits of all events by their counts, and the most that is beyond the ends of the scan."""
        assert self._counts is not None
        shares, upper_shares = self._shares
        level, upper = (self._share * each / self._looks for each in ((1.0 - _PRODUCT) * self._level, self._upper))
        every = event_limits(x, y, trials, level, shares, upper=upper, upper_shares=upper_shares)
        beyond = self._counts[0].beyond(every.part(slice(sum(self._parts[:2]), None))) if self._claim[1] > 0.0 else 0.0
        return every + every.part(slice(self._parts[0], None)).complements, beyond

    def _most(self, every: EventLimits, beyond: float, trials: int) -> tuple[float, float]:
        """Return the most that an event which counts may show, and up to which probability one may show more.

        With delta = 0 these are the chosen events that so many trials resolve, and whatever shows more for certain;
        with delta > 0 all, if what is beyond the ends of the scan has probability delta at most.
        """
        events, (epsilon, delta) = self._events, self._claim
        each, shown = every.epsilon_upper(delta), every.epsilon_lower(delta)
        if delta > 0.0:
            return (float(each.max()) if beyond <= delta else math.inf), 0.0
        assert events.resolved is not None
        counts = events.resolved
        if trials > self._trials:  # an estimate
            p, q = events.expected.T
            counts = counts | resolves(p, q, delta, epsilon, trials, self._detect)
        if not counts.any():
            return math.inf, 1.0
        most = float(each[: len(events)][counts].max())
        most = max([most, *each[shown > most].tolist()])
        return most, every.likeliest(np.flatnonzero(each[: len(events)] > most))

    def _passes(self, every: EventLimits, beyond: float, trials: int) -> bool:
        """Return whether the claim passes, where so many trials give these limits.

        An event that the other input has next to never shows no epsilon at delta, but delta itself: it is held to that.
        """
        epsilon, delta = self._claim
        if epsilon is None or not decisive(trials, epsilon, delta, self._detect):
            return False
        most = allowed(epsilon, self._detect)
        if delta > 0.0 and beyond <= delta:
            slack = self._detect * delta
            own = (math.exp(most) * every.q_upper <= slack) & (every.p_upper <= delta + slack)
            return bool((own | (every.epsilon_upper(delta) <= most)).all())
        return self._most(every, beyond, trials)[0] <= most

    def needed(self) -> float:
        """Return about how many outputs on each input decide a claim, if events went on as they were seen.

        0 if these do, inf if no number seems to.
        """
        x, y = self._counted()

        def decide(trials: int) -> bool:
            likely, other = (np.rint(side * (trials / self._trials)).astype(np.int64) for side in (x, y))
            every, beyond = self._limits(likely, other, trials)
            return self._passes(every, beyond, trials) or self._p_value(likely, other, trials) <= self._level

        if decide(self._trials):
            return 0.0
        bracket = galloped(decide, self._trials, 2 * self._trials, ceiling=_MOST_TRIALS)
        return math.inf if bracket is None else float(with_held_out(least_integer(decide, *bracket, tolerance=0.01)))


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
