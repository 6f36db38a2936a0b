"""A few events chosen among many learned scores, on held-out outputs, by what fresh outputs will show of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.statistics.outputs.events import Events, Score
from dpverify.statistics.outputs.learned import NamedScore
from protocols.classes.frozen import dataclass

__all__ = ["ChosenEvents", "choose_events", "resolves"]

_TAIL = np.geomspace(2e-4, 0.01, 12)
_LEVELS = np.array(sorted({*np.linspace(0.01, 0.99, 99), *_TAIL, *(1.0 - _TAIL)}))
"""Quantiles of the held-out scores where events begin: evenly, and closer and closer to both tails."""
_DEVIATIONS = 3.5
"""Standard deviations between an estimate and its limits, about those of the final test."""
_SURELY = 6.0
"""The same for limits that must hold what was expected of them nearly always."""
_MOST_OTHER = 0.98
"""Events that nearly always happen show less than 0.02 nats; their complements may show more."""
_MOST_FURTHER = 8
"""Further events of each direction that are tested with a small share of the level."""
_SEEMS = 1.0
"""Standard deviations by which a further event must seem to break the claim."""
_RARE = 0.01
"""Events up to here are looked for on their own: next to likely ones that just keep a claim they seem to show less."""
_LEAST_SCALE = 0.1
"""Slack is relative to a claim of at least this: smaller differences need too many trials."""


_Key = tuple[int, bool, float]
"""An event by the place of its score, its direction and where it begins."""


@dataclass(frozen=True)
class ChosenEvents(Events):
    """Events of several scores: column k of `score(samples)` is the score of event k.

    - scores (tuple of Score): The different ones.
    - places (tuple of int, shape (events,)): Which of these each event has.
    - names (tuple of str, shape (events,)): What each event looks at.
    - resolved (ndarray of bool, shape (events,)): Whether its limits count in a pass: of the events whose loss fresh
      outputs will tell to within the slack, and of one that seems to show more. Decided before these are drawn.
    - ranks (ndarray of int64, shape (events,)): 0 for the events that should show most; for further ones 1, 2, ... in
      the order in which they should show some.
    """

    scores: tuple[Score, ...] = ()
    places: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    resolved: NDArray[np.bool_] | None = None
    ranks: NDArray[np.int64] | None = None

    def plainest(self, lower: NDArray[np.float64]) -> str:
        """Return what shows most, by lower ends, but for a classifier where something simpler shows half as much."""
        order = sorted(range(len(self)), key=lambda k: -float(lower[k]))
        simple = [k for k in order if not self.names[k].endswith("classifier") and lower[k] >= 0.5 * lower[order[0]]]
        return self.names[[*simple, order[0]][0]] if lower[order[0]] > 0 else ""

    def shares(self, further: float) -> NDArray[np.float64]:
        """Return shares of a level, which sum to 1: those of the further events, `further` together, fall with rank."""
        assert self.ranks is not None
        first = self.ranks == 0
        falling = np.where(first, 0.0, 1.0 / np.maximum(self.ranks, 1))
        if first.all():
            return np.full(len(self), 1.0 / len(self))
        return np.asarray((1.0 - further) * first / first.sum() + further * falling / falling.sum())

    @property
    def distinct(self) -> int:
        """How many events there are: those of different scores may not be complements of each other."""
        return len(self)

    def members(self, samples: ArrayLike) -> NDArray[np.bool_]:
        """Return which samples are in which event, shape (trials, events)."""
        return np.asarray((self.score(np.asarray(samples)) > self.thresholds) == self.upward)


@dataclass(frozen=True)
class _Candidates:
    """Events of one direction of one score, with what fresh trials should show of them."""

    score: int
    upward: bool
    thresholds: NDArray[np.float64]
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    seen: int


def choose_events(
    scores: Sequence[NamedScore],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    *,
    delta: float,
    epsilon: float | None,
    trials: int,
    slack: float,
    every: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> ChosenEvents:
    """Return events: those that should give the best lower bounds, speak most against the claim, and decide it.

    Further ones have a small share of the level: of each score the one that speaks most against the claim, and the rare
    one that does.

    - scores: Learned from other outputs than these.
    - first, second (ndarray, shape (held out, columns)): Outputs on the two inputs; not those that the events are then
      tested on.
    - delta: At which epsilon is asked for.
    - epsilon: The claim.
    - trials: How many fresh outputs there will be on each input.
    - slack: The relative size of the fault that a pass must exclude.
    - every: These outputs with those that scores were learned from. Scores that were not fitted to them are judged on
      all: twice as many show better where a rare event begins.

    Returns: Where no output differs from another, whether fresh ones do.
    """
    every = (first, second) if every is None else every
    candidates = [
        found
        for place, score in enumerate(scores)
        for found in _candidates(place, *map(score.of, (first, second) if score.fitted else every))
    ]
    if not candidates:
        return _constant(first[0])
    picked: dict[_Key, tuple[float, float, bool, int]] = {}
    for upward in (True, False):
        side = _worth([found for found in candidates if found.upward == upward], scores, epsilon or 0.0, delta, trials)
        if not side:
            continue
        p, q = np.concatenate([c.p for c in side]), np.concatenate([c.q for c in side])
        place = np.repeat([c.score for c in side], [c.p.size for c in side])
        thresholds = np.concatenate([c.thresholds for c in side])
        # Estimates are as uncertain as the final ones, and their own.
        size = np.concatenate([np.full(c.p.size, c.seen * trials / (c.seen + trials)) for c in side])
        telling = q <= _MOST_OTHER
        lower = np.where(telling, _loss(_down(p, size) - delta, _up(q, size)), -np.inf)
        resolved = resolves(p, q, delta, epsilon, trials, slack)
        wanted = [lower, np.where(resolved, lower, -np.inf)]
        best = int(np.argmax(lower))
        # A pass that left out what seems to show most, by more than the slack, would be worth nothing.
        margin = slack * max(lower[best] if epsilon is None else epsilon, _LEAST_SCALE)
        if not resolved.any() or lower[best] > lower[resolved].max() + margin:
            resolved[best] = True
        wanted.append(np.where(place == place[best], -np.inf, lower))  # the best that another score has to offer
        # Where the two inputs differ most surely, and where the claim is broken most surely.
        for grown, among in ((1.0, telling & resolved), (math.exp(epsilon or 0.0), telling)):
            surely = _surely(p, q, grown, delta, size)
            wanted.append(np.where(among, surely, -np.inf))
        leading = [int(np.argmax(value)) for value in wanted if value.max() > -np.inf]
        for rank, k in [*((0, k) for k in leading), *enumerate(_further(place, surely, p), start=1)]:
            key = int(place[k]), upward, float(thresholds[k])
            picked.setdefault(key, (float(p[k]), float(q[k]), bool(resolved[k]), rank))
    return _events_of(scores, picked)


def _worth(
    side: list[_Candidates], scores: Sequence[NamedScore], epsilon: float, delta: float, trials: int
) -> list[_Candidates]:
    """Return events of all scores but the costly ones that show no more than the others, to within a deviation."""

    def shows(found: _Candidates) -> NDArray[np.float64]:
        size = np.full(found.p.size, found.seen * trials / (found.seen + trials))
        telling = found.q <= _MOST_OTHER
        shown = []
        for grown in (1.0, math.exp(epsilon)):
            surely = _surely(found.p, found.q, grown, delta, size)
            shown += [surely[among].max(initial=-np.inf) for among in (telling, telling & (found.p <= _RARE))]
        return np.array(shown)

    plain = [found for found in side if not scores[found.score].costly]
    if not plain or len(plain) == len(side):
        return side
    most = np.max([shows(found) for found in plain], axis=0)
    return [found for found in side if not scores[found.score].costly or (shows(found) > most + _SEEMS).any()]


def _further(place: NDArray[np.int64], surely: NDArray[np.float64], p: NDArray[np.float64]) -> list[int]:
    """Return for each score the event that breaks the claim most surely, and the rare one that does, in that order."""
    found = []
    for among in (np.full(p.shape, True), p <= _RARE):
        for score in np.unique(place):
            value = np.where(among & (place == score), surely, -np.inf)
            if value.max() > _SEEMS:
                found.append(int(np.argmax(value)))
    return sorted(dict.fromkeys(found), key=lambda k: -float(surely[k]))[:_MOST_FURTHER]


def _events_of(scores: Sequence[NamedScore], picked: dict[_Key, tuple[float, float, bool, int]]) -> ChosenEvents:
    places = [place for place, _, _ in picked]
    used = sorted(set(places))
    columns = [used.index(place) for place in places]

    apart = tuple(scores[place].of for place in used)

    def score(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([each(samples) for each in apart], axis=1)[:, columns]

    return ChosenEvents(
        score,
        np.array([threshold for _, _, threshold in picked]),
        np.array([upward for _, upward, _ in picked], dtype=bool),
        np.array([found[:2] for found in picked.values()]),
        apart,
        tuple(columns),
        tuple(scores[place].name for place in places),
        np.array([found[2] for found in picked.values()], dtype=bool),
        np.array([found[3] for found in picked.values()], dtype=np.int64),
    )


def _constant(usual: NDArray[np.float64]) -> ChosenEvents:
    """Return the events that an output is, or is not, the only one that was held out."""

    def other(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((samples != usual).any(axis=1), dtype=np.float64)

    scores = [NamedScore("the only output", other), NamedScore("the only output", lambda samples: -other(samples))]
    # Only that it is the usual one can be told to within a slack.
    rare, usually = (0.0, 0.0, False, 0), (1.0, 1.0, True, 0)
    picked = {(0, True, 0.5): rare, (0, False, 0.5): usually, (1, True, -0.5): usually, (1, False, -0.5): rare}
    return _events_of(scores, picked)


def _candidates(place: int, first: NDArray[np.float64], second: NDArray[np.float64]) -> Iterator[_Candidates]:
    pooled = np.sort(np.concatenate([first, second]))
    thresholds = np.unique(pooled[(_LEVELS * (pooled.size - 1)).astype(np.int64)])
    # Where the rarest scores are: an outcome that one input alone has may be rarer than any of these quantiles.
    thresholds = np.union1d(thresholds, _edges(pooled))
    thresholds = thresholds[thresholds < pooled[-1]]
    if not thresholds.size:
        return
    a, b = (1.0 - np.searchsorted(np.sort(x), thresholds, side="right") / x.size for x in (first, second))
    smooth = [(share * first.size + 0.5) / (first.size + 1.0) for share in (a, b, 1.0 - b, 1.0 - a)]
    yield _Candidates(place, True, thresholds, smooth[0], smooth[1], first.size)
    yield _Candidates(place, False, thresholds, smooth[2], smooth[3], first.size)


def _edges(pooled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first and last few distinct scores of a sorted sample, and where the sample has its widest gaps."""
    distinct = np.unique(pooled)
    gaps = distinct[np.argsort(-np.diff(distinct), kind="stable")[:6]] if distinct.size > 1 else distinct[:0]
    return np.concatenate([distinct[:6], distinct[-7:], gaps])


def _down(p: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(p - _DEVIATIONS * np.sqrt(p * (1.0 - p) / size))


def _up(q: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.minimum(1.0, q + _DEVIATIONS * np.sqrt(q * (1.0 - q) / size) + _DEVIATIONS**2 / (2.0 * size)))


def _surely(
    p: NDArray[np.float64], q: NDArray[np.float64], grown: float, delta: float, size: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how many standard deviations p is above grown q + delta."""
    return np.asarray((p - grown * q - delta) / np.sqrt((p * (1 - p) + grown**2 * q * (1 - q)) / size))


def _loss(excess: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(excess > 0, np.log(np.maximum(excess, 1e-300) / q), -np.inf)


def resolves(
    p: NDArray[np.float64], q: NDArray[np.float64], delta: float, epsilon: float | None, trials: int, slack: float
) -> NDArray[np.bool_]:
    """Return whether the limits of an event will stay below the claim and its slack where the event just keeps it.

    Where nothing is claimed: whether they will be as near to the estimate.
    """
    total = p + q
    if epsilon is None:
        centre = np.maximum(_loss(p - delta, q), 0.0)
        likely, other = p, q
    else:
        # What it may show at most: the claim where it seems to break it, what it does show where it keeps it.
        centre = np.full(p.shape, epsilon)
        other = np.maximum(q, (total - delta) / (1.0 + math.exp(epsilon)))
        likely = total - other
    below = np.maximum(other - _SURELY * np.sqrt(other * (1.0 - np.minimum(other, 1.0)) / trials), 0.0)
    above = np.minimum(1.0, likely + _SURELY * np.sqrt(np.maximum(likely * (1.0 - likely), 0.0) / trials))
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.where(above > delta, np.log((above - delta) / below), 0.0)
    return np.asarray(limit <= centre + slack * np.maximum(centre, _LEAST_SCALE))
