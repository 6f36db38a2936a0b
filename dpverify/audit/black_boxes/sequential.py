"""Betting against a claim on a black box while its outputs are drawn: earlier stages teach what a stage bets on.

If the claim is true, no bet on an event has a positive mean, however the event was chosen among earlier outputs. So the
wealth of who bets on, stage by stage, ever exceeds 1/a with probability at most a (Ville's inequality).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.black_boxes.tried import allowed, chosen_on, held_out, learned_on, surest_point
from dpverify.statistics.bounds.betting import Bets, kelly_bets, log_gains
from dpverify.statistics.outputs.chosen import ChosenEvents

__all__ = ["StagedBets"]

_FIRST = 125
"""Outputs on each input that teach the first stage; each stage is as long as all before it."""
_FURTHER = 0.1
"""The share of the wealth that is for events which should show less."""
_AT_ONCE = 5_000
"""Outputs that are bet on at a time."""
_MOST_BEYOND = 4.0
"""Nats beyond the claim that a bet expects at most."""


class StagedBets:
    """Bets on the outputs of some pairs of inputs, as they come.

    Parameters
    ----------
    places : sequence of (int, int)
        The datasets of each pair; the wealth is shared evenly among them.
    points : sequence of (epsilon, delta)
        The claim: all hold at once. A stage bets against the one that the outputs before it break most surely.
    level : float
        In (0, 1): the probability that a true claim is ever refuted.
    detect : float
        The relative size of the fault that is bet on, where nothing larger has been seen.
    seed : int
        Of what is learned.
    """

    def __init__(
        self,
        places: Sequence[tuple[int, int]],
        points: Sequence[tuple[float, float]],
        *,
        level: float,
        detect: float,
        seed: int,
    ) -> None:
        self._places, self._points, self._level = tuple(places), tuple(points), level
        self._detect, self._seed = detect, seed
        self._kept: list[NDArray[np.float64]] | None = None
        self._seen, self._until = 0, _FIRST
        self._stage: list[tuple[ChosenEvents, Bets, NDArray[np.float64]]] = []
        self._wealth = np.zeros(len(self._places))
        self.log_wealth = 0.0
        """The log of the largest wealth so far."""
        self.refuted_after: int | None = None
        """How many outputs on each input refuted the claim; None if they did not."""
        self.seen_in = ""
        """What the events of the richest pair look at first."""

    def update(self, outputs: Sequence[NDArray[np.float64]]) -> bool:
        """Bet on more outputs, and return whether the claim is refuted.

        Parameters
        ----------
        outputs : sequence of ndarray, shape (runs, columns)
            One for each dataset, as many of each. What is bet does not depend on how many come at a time.
        """
        at = 0
        while self.refuted_after is None and at < len(outputs[0]):
            end = min(len(outputs[0]), at + self._until - self._seen, at + _AT_ONCE)
            piece = [rows[at:end] for rows in outputs]
            if self._stage:
                self._bet(piece)
            self._keep(piece)
            self._seen, at = self._seen + end - at, end
            if self._seen == self._until and self.refuted_after is None:
                self._learn()
                self._until *= 2
        return self.refuted_after is not None

    def _keep(self, piece: Sequence[NDArray[np.float64]]) -> None:
        """Keep what may still teach: of the last outputs as many as the next stage needs."""
        kept = piece if self._kept is None else map(np.concatenate, zip(self._kept, piece, strict=True))
        self._kept = [rows[-_taught(2 * self._until) :] for rows in kept]

    def _learn(self) -> None:
        """Choose the events that the next stage bets on; the wealth so far is what it begins with."""
        assert self._kept is not None
        if self._stage:
            self._wealth += [_log_mean(each[np.newaxis], bets)[0] for _, bets, each in self._stage]
        self._stage = []
        for first, second in self._places:
            kept = [self._kept[place][-_taught(self._seen) :] for place in (first, second)]
            scores = learned_on(kept[0], kept[1], self._points[0][0], self._seed)
            epsilon, delta = surest_point(kept[0], kept[1], scores, self._points)
            events = chosen_on(
                kept[0],
                kept[1],
                scores=scores,
                epsilon=epsilon,
                delta=delta,
                trials=self._seen,
                detect=self._detect,
            )
            expected = _expected(events, epsilon, delta, self._detect)
            bets = kelly_bets(events, epsilon, delta, expected, shares=events.shares(_FURTHER))
            self._stage.append((events, bets, np.zeros(bets.weights.size)))

    def _bet(self, piece: Sequence[NDArray[np.float64]]) -> None:
        paths = np.empty((len(self._places), len(piece[0])))
        for k, (first, second) in enumerate(self._places):
            events, bets, before = self._stage[k]
            each = before + log_gains(piece[first], piece[second], bets)
            self._stage[k] = events, bets, each[-1]
            paths[k] = self._wealth[k] + _log_mean(each, bets)
        path = scipy.special.logsumexp(paths, axis=0) - math.log(len(self._places))
        self.log_wealth = max(self.log_wealth, float(path.max()))
        if self.log_wealth >= -math.log(self._level):
            self.refuted_after = self._seen + int(np.argmax(path >= -math.log(self._level))) + 1
            self.seen_in = self._stage[int(np.argmax(paths.max(axis=1)))][0].names[0]


def _taught(seen: int) -> int:
    """Return how many outputs teach a stage after so many."""
    return min(seen, 2 * held_out(10 * seen))


def _log_mean(wealth: NDArray[np.float64], bets: Bets) -> NDArray[np.float64]:
    """Return the log of the averaged wealth, shape (trials,), from those of the bets, shape (trials, bets)."""
    return np.asarray(scipy.special.logsumexp(wealth, axis=1, b=bets.weights))


def _expected(events: ChosenEvents, epsilon: float, delta: float, detect: float) -> float:
    """Return the loss that a bet should expect: what the events have shown, within reason."""
    p, q = events.expected.T
    shown = float(np.log(np.maximum(p - delta, 1e-300) / np.maximum(q, 1e-300)).max())
    return max(allowed(epsilon, detect), min(shown, epsilon + _MOST_BEYOND))
