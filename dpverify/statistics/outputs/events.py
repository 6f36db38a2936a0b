"""Events that tell two neighbouring datasets apart: from the exact laws, or searched on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.outputs.trees import SmallTrees
from protocols.classes.frozen import dataclass
from protocols.classes.optional import needing
from protocols.validation import check_integer, check_real

__all__ = [
    "EventCounts",
    "Events",
    "Score",
    "classifier_score",
    "histogram_score",
    "likelihood_ratio_events",
    "likelihood_ratio_score",
]

_AT_ONCE = 2**18
"""Samples that are counted at a time."""
_COMPARED = 1000
"""Samples on which a classifier says whether its trees are what they seem to be."""

Score = Callable[[NDArray[Any]], NDArray[np.float64]]
"""Maps samples, shape (trials, ...), to numbers, shape (trials,): the higher, the likelier the first dataset is."""


@dataclass(frozen=True)
class Events:
    """Some events of a score, fixed before the trials that they are tested on.

    - score: See `Score`.
    - thresholds (ndarray of float64, shape (events,)): Where each event begins.
    - upward (ndarray of bool, shape (events,)): True for {score > threshold}, tested as more likely on the first
      dataset; False for its complement (nan scores included), tested as more likely on the second.
    - expected (ndarray of float64, shape (events, 2)): The event's probability on the dataset where it is likelier, and
      on the other: exact, or a held-out estimate.
    """

    score: Score
    thresholds: NDArray[np.float64]
    upward: NDArray[np.bool_]
    expected: NDArray[np.float64]

    def __len__(self) -> int:
        return self.thresholds.size

    @property
    def distinct(self) -> int:
        """How many events there are, a complement counting as the same: so many union bounds need to cover.

        The limits that show `P(A) > e^epsilon Q(A)` are those that show `1 - Q(A) > e^epsilon (1 - P(A))`.
        """
        return int(np.unique(self.thresholds).size)

    def members(self, samples: ArrayLike) -> NDArray[np.bool_]:
        """Return which samples are in which event, shape (trials, events)."""
        score = self.score(np.asarray(samples))[:, np.newaxis]
        return np.asarray((score > self.thresholds) == self.upward)

    def pairs(self, first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return membership of the likelier and of the other dataset's samples, each (trials, events).

        Raises ValueError if the two datasets have different numbers of samples.
        """
        a, b = self.members(first), self.members(second)
        _check_as_many(len(a), len(b))
        return np.where(self.upward, a, b), np.where(self.upward, b, a)

    def counts(self, first: ArrayLike, second: ArrayLike) -> EventCounts:
        """Return how many samples are in each event; see `EventCounts.update`."""
        counts = EventCounts(self)
        counts.update(first, second)
        return counts


class EventCounts:
    """How many samples of two datasets are in each of some events, counted as they come.

    - events: Fixed without looking at the samples.

    - likely, other (ndarray of int64, shape (events,)): Of the dataset where an event is likelier, and of the other
      one.
    - trials: Samples of each dataset so far.
    """

    def __init__(self, events: Events) -> None:
        self.events, self.trials = events, 0
        self.likely: NDArray[np.int64] = np.zeros(len(events), dtype=np.int64)
        self.other: NDArray[np.int64] = np.zeros(len(events), dtype=np.int64)

    def update(self, first: ArrayLike, second: ArrayLike) -> None:
        """Count more samples, shape (trials,) or (trials, coordinates) of either dataset.

        Raises ValueError if the two datasets have different numbers of samples.
        """
        a, b = np.asarray(first), np.asarray(second)
        _check_as_many(len(a), len(b))
        self.trials += len(a)
        for start in range(0, len(a), _AT_ONCE):
            likely, other = self.events.pairs(a[start : start + _AT_ONCE], b[start : start + _AT_ONCE])
            self.likely += likely.sum(axis=0)
            self.other += other.sum(axis=0)


def _check_as_many(first: int, second: int) -> None:
    if first != second or not first:
        raise ValueError(
            f"first and second have {first} and {second} samples, but must have as many, and at least one."
        )


def likelihood_ratio_score(first: DiscreteLaw, second: DiscreteLaw) -> Score:
    """Return the exact privacy loss `ln P/Q` of an outcome: +-inf where one law has none, nan where both have none.

    In nats, rounded to 10 decimals, so that outcomes of equal loss stay equal.
    """

    def score(samples: NDArray[Any]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.log(first.probabilities(samples)) - np.log(second.probabilities(samples))
        return np.where(np.isfinite(loss), np.round(loss, 10), loss)

    return score


def likelihood_ratio_events(
    first: DiscreteLaw,
    second: DiscreteLaw,
    epsilon: float,
    trials: int,
    *,
    masses: Sequence[float] = (0.1,),
    least_expected: float = 10.0,
) -> Events:
    """Return events {loss > t} of both directions: t = epsilon, which attains the divergence, and likelier ones.

    Rare events say nothing in few trials: an event that `trials` draws from its likelier law meet fewer than
    `least_expected` times is replaced by the rarest that they do meet as often.

    - first, second: The exact laws of two neighbouring datasets.
    - epsilon: The claim, in nats.
    - trials: How many samples each dataset will give.
    - masses: Further events: the rarest whose probability, on the dataset where they are likelier, is at least this.
    - least_expected: See above.
    """
    check_integer("trials", trials, low=1)
    check_real("epsilon", epsilon, low=0.0)
    both = DiscreteLaw.of(
        np.concatenate([first.points, second.points]), np.concatenate([first.pmf, second.pmf]) / 2.0, 1.0
    )
    points = both.points
    loss = likelihood_ratio_score(first, second)(points)
    p, q = first.probabilities(points), second.probabilities(points)
    table = np.append(loss, np.nan)  # the last one is of what neither law lists

    def score(samples: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(table[both.index(samples)])

    found: list[tuple[float, bool, float, float]] = []
    for upward, sign, likely, other in ((True, 1.0, p, q), (False, -1.0, q, p)):
        signed = sign * loss
        values = np.unique(signed)[::-1]
        # Events {signed > t}: each distinct loss, and everything above it.
        order = np.argsort(-signed, kind="stable")
        ends = np.searchsorted(-signed[order], -values, side="right") - 1
        likely_mass, other_mass = np.cumsum(likely[order])[ends], np.cumsum(other[order])[ends]
        wanted = {int(np.searchsorted(-values, -epsilon, side="left")) - 1}
        wanted |= {int(np.searchsorted(likely_mass, mass)) for mass in masses}
        rarest = int(np.searchsorted(likely_mass, min(1.0, least_expected / trials)))
        # The event of all outcomes, or one that is no likelier here than there, shows nothing.
        for i in sorted({max(k, rarest) for k in wanted}):
            if i < values.size - 1 and values[i] > 0:
                edge = _between(values[i], values[i + 1])
                found.append((sign * edge, upward, float(likely_mass[i]), float(other_mass[i])))
    return _events(score, found)


def _between(high: float, low: float) -> float:
    """Return a threshold strictly between two losses, far from either, so that rounding moves no outcome across."""
    if np.isinf(high):
        return float(np.nextafter(np.inf, 0.0)) if np.isinf(low) else low + 1.0 + abs(low)
    return (high + low) / 2.0 if np.isfinite(low) else high - 1.0 - abs(high)


def _events(score: Score, found: Sequence[tuple[float, bool, float, float]]) -> Events:
    if not found:
        raise ValueError("first and second have the same law as far as these events see: there is nothing to test.")
    thresholds, upward, likely, other = zip(*found, strict=True)
    return Events(
        score,
        np.array(thresholds),
        np.array(upward, dtype=bool),
        np.minimum(1.0, np.array([likely, other], dtype=np.float64).T),
    )


def histogram_score(first: ArrayLike, second: ArrayLike, *, bins: int = 32) -> Score:
    """Return the log-ratio of two smoothed histograms with cells of equal mass, from training samples of numbers."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    check_integer("bins", bins, low=2)
    edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0.0, 1.0, bins + 1)[1:-1]))
    counts = [np.bincount(np.searchsorted(edges, x), minlength=edges.size + 1) + 0.5 for x in (a, b)]
    ratio = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())

    def score(samples: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(ratio[np.searchsorted(edges, np.asarray(samples, dtype=np.float64))])

    return score


def classifier_score(first: ArrayLike, second: ArrayLike, *, seed: int = 0) -> Score:
    """Return the log-odds of a gradient-boosted classifier, from training samples of numbers or of rows."""
    with needing("Learning what tells two inputs apart"):
        from sklearn.ensemble import HistGradientBoostingClassifier

    def features(samples: ArrayLike) -> NDArray[np.float64]:
        array = np.asarray(samples, dtype=np.float64)
        return array.reshape(len(array), -1)

    a, b = features(first), features(second)
    model = HistGradientBoostingClassifier(max_iter=60, max_depth=3, random_state=seed)
    model.fit(np.concatenate([a, b]), np.repeat([1, 0], [len(a), len(b)]))
    trees = SmallTrees.of_classifier(model, a[:_COMPARED])
    return trees or (lambda samples: np.asarray(model.decision_function(features(samples)), dtype=np.float64))
