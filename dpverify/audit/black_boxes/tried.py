"""Which events of a black box's outputs are tried: learned on some outputs, chosen on others; and what decides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.statistics.outputs.chosen import ChosenEvents, choose_events
from dpverify.statistics.outputs.learned import NamedScore, learned_scores

__all__ = ["allowed", "chosen_on", "decisive", "held_out", "learned_on"]

_LEAST_SCALE = 0.1
"""Slack is relative to a claim of at least this."""
_DEVIATIONS = 3.5
"""Standard deviations between an estimate and its limits."""
_FEW_HELD, _FEW = 7, 200
"""Where that would be few, a seventh of them, up to so many."""
_MOST_HELD = 50_000
"""Outputs on each input that scores are learned from, and as many that events are chosen on."""

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


def learned_on(first: Rows, second: Rows, epsilon: float | None, seed: int) -> list[NamedScore]:
    """Return scores learned from the first half of the outputs; see `learned_scores`."""
    half = len(first) // 2
    return learned_scores(first[:half], second[:half], epsilon=epsilon or 0.0, seed=seed)


def chosen_on(
    first: Rows,
    second: Rows,
    *,
    scores: Sequence[NamedScore],
    epsilon: float | None,
    delta: float,
    trials: int,
    detect: float,
) -> ChosenEvents:
    """Return events of scores learned from the first half of the outputs, chosen on the second: see `choose_events`."""
    half = len(first) // 2
    return choose_events(
        scores,
        first[half:],
        second[half:],
        delta=delta,
        epsilon=epsilon,
        trials=trials,
        slack=detect,
        training=(first[:half], second[:half]),
    )
