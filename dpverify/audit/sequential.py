"""Betting against a claim on a black box while its outputs are drawn: earlier stages teach what a stage bets on.

If the claim is true, no bet on an event has a positive mean, however the event was chosen among earlier outputs. So the
wealth of who bets on, stage by stage, ever exceeds 1/a with probability at most a (Ville's inequality).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverify.audit.examined import allowed, chosen_on, held_out
from dpverify.statistics.betting import kelly_bets, log_wealth
from dpverify.statistics.chosen import ChosenEvents

__all__ = ["StagedBets"]

_FIRST = 500
"""Outputs on each input that teach the first stage; each stage is as long as all before it."""
_MOST_BEYOND = 4.0
"""Nats beyond the claim that a bet expects at most."""


class StagedBets:
    """Bets on the outputs of some pairs of inputs, as they come.

    Parameters
    ----------
    places : sequence of (int, int)
        The datasets of each pair; the wealth is shared evenly among them.
    epsilon, delta : float
        The claim.
    level : float
        In (0, 1): the probability that a true claim is ever refuted.
    detect : float
        The relative size of the fault that is bet on, where nothing larger has been seen.
    seed : int
        Of what is learned.
    """

    def __init__(
        self, places: Sequence[tuple[int, int]], epsilon: float, delta: float, *, level: float, detect: float, seed: int
    ) -> None:
        self._places, self._claim, self._level = tuple(places), (epsilon, delta), level
        self._detect, self._seed = detect, seed
        self._start = _FIRST
        self._wealth = np.zeros(len(self._places))
        self.log_wealth = 0.0
        """The log of the largest wealth so far."""
        self.refuted_after: int | None = None
        """How many outputs on each input refuted the claim; None if they did not."""
        self.seen_in = ""
        """What the events of the richest pair look at first."""

    def __call__(self, outputs: Sequence[NDArray[np.float64]]) -> bool:
        """Bet on the stages that are complete by now, and return whether the claim is refuted.

        Parameters
        ----------
        outputs : sequence of ndarray, shape (trials, columns)
            All so far, of every dataset: those of the calls before, and more.
        """
        while self.refuted_after is None and 2 * self._start <= len(outputs[0]):
            self._bet(outputs, self._start, 2 * self._start)
            self._start *= 2
        return self.refuted_after is not None

    def _bet(self, outputs: Sequence[NDArray[np.float64]], start: int, end: int) -> None:
        epsilon, delta = self._claim
        paths = np.empty((len(self._places), end - start))
        chosen: list[ChosenEvents] = []
        taught = min(start, 2 * held_out(10 * start))
        for k, (first, second) in enumerate(self._places):
            a, b = outputs[first], outputs[second]
            chosen.append(
                chosen_on(
                    a[start - taught : start],
                    b[start - taught : start],
                    epsilon=epsilon,
                    delta=delta,
                    trials=end - start,
                    detect=self._detect,
                    seed=self._seed,
                )
            )
            bets = kelly_bets(chosen[k], epsilon, delta, _expected(chosen[k], epsilon, delta, self._detect))
            paths[k] = self._wealth[k] + log_wealth(a[start:end], b[start:end], bets)
        path = special.logsumexp(paths, axis=0) - math.log(len(self._places))
        self._wealth = paths[:, -1]
        self.log_wealth = max(self.log_wealth, float(path.max()))
        if self.log_wealth >= -math.log(self._level):
            self.refuted_after = start + int(np.argmax(path >= -math.log(self._level))) + 1
            self.seen_in = chosen[int(np.argmax(paths.max(axis=1)))].names[0]


def _expected(events: ChosenEvents, epsilon: float, delta: float, detect: float) -> float:
    """Return the loss that a bet should expect: what the events have shown, within reason."""
    p, q = events.expected.T
    shown = float(np.log(np.maximum(p - delta, 1e-300) / np.maximum(q, 1e-300)).max())
    return max(allowed(epsilon, detect), min(shown, epsilon + _MOST_BEYOND))
