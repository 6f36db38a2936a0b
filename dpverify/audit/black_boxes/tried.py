"""Which events of a black box's outputs are tried: learned on some outputs, chosen on others; and what decides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.results import POWER
from dpverify.digits import rounded_up, typed, unrounded
from dpverify.statistics.outputs.chosen import ChosenEvents, choose_events
from dpverify.statistics.outputs.learned import NamedScore, learned_scores

__all__ = [
    "MOST_HELD",
    "allowed",
    "chosen_on",
    "decisive",
    "excluded",
    "held_out",
    "learned_on",
    "least_sure",
    "surest_point",
    "with_held_out",
]

_LEAST_SCALE = 0.1
"""Slack is relative to a claim of at least this."""
_DEVIATIONS = 3.5
"""Standard deviations between an estimate and its limits."""
_FEW_HELD, _FEW = 7, 200
"""Where that would be few, a seventh of them, up to so many."""
MOST_HELD = 50_000
"""Outputs on each input that scores are learned from, and as many that events are chosen on."""
_MOST_NUMBERS = 2**20
"""How many numbers these have at most: of wide outputs fewer are kept, so that they take little memory."""
_LEVELS = np.concatenate([np.geomspace(1e-4, 0.02, 8), np.linspace(0.03, 0.97, 48), 1.0 - np.geomspace(0.02, 1e-4, 8)])
"""Quantiles of a score where events begin that choose a point of a claim."""
_SEEMS = 2.5
"""Standard deviations by which a point of a claim must seem to be broken."""

Rows = NDArray[np.float64]


def allowed(epsilon: float, detect: float) -> float:
    """Return up to which epsilon the tried events may show in a pass."""
    return epsilon + detect * max(epsilon, _LEAST_SCALE)


def decisive(trials: int, epsilon: float, delta: float, detect: float) -> bool:
    """Return whether so many fresh outputs tell a fault of the asked size on an event that one input has half the time.

    That is by how much its loss `ln(p / q)` exceeds what the claim leaves it. Fewer are no reason to pass anything,
    whatever was chosen: it may be events that show nothing.
    """
    if delta >= 0.5:
        return True
    q = (0.5 - delta) * math.exp(-epsilon)
    loss = math.log(0.5 / q)
    return _DEVIATIONS * (1.0 + math.sqrt((1.0 - q) / q)) <= (allowed(loss, detect) - loss) * math.sqrt(trials)


def held_out(trials: int, columns: int = 1, most: int = MOST_HELD) -> int:
    """Return how many outputs scores are learned from; as many are for choosing events, the rest is for the test."""
    most = min(most, _MOST_NUMBERS // columns * most // MOST_HELD)
    return min(max(trials // 8, min(trials // _FEW_HELD, _FEW)), max(_FEW, most))


def with_held_out(fresh: int) -> int:
    """Return about how many outputs there are if so many are left for the test; see `held_out`."""
    return min(math.ceil(fresh / 0.75), fresh + 2 * MOST_HELD)


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
        every=(first, second),
    )


def surest_point(
    first: Rows, second: Rows, scores: Sequence[NamedScore], points: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return the (epsilon, delta) of a claim that some event seems to break most surely, or if none does the first.

    Of the second half of the outputs, which the scores were not learned from; both directions and complements. At the
    least epsilon likely events touch the claim, which trials tell best.

    Parameters
    ----------
    first, second : ndarray, shape (held out, columns)
        Outputs on the two inputs.
    scores : sequence of NamedScore
    points : sequence of (epsilon, delta)
        Of the claim: all hold at once.
    """
    if len(points) == 1:
        return points[0]
    epsilon, delta = np.array(points).T
    grown, held = np.exp(epsilon), len(first) // 2
    surest = np.full(len(points), -np.inf)
    for score in scores:
        a, b = (np.sort(score.of(rows[held:])) for rows in (first, second))
        at = np.unique(np.quantile(np.concatenate([a, b]), _LEVELS, method="lower"))
        p, q = ((x.size - np.searchsorted(x, at, side="right") + 0.5)[:, np.newaxis] / (x.size + 1.0) for x in (a, b))
        for likely, other in ((p, q), (q, p), (1.0 - p, 1.0 - q), (1.0 - q, 1.0 - p)):
            deviation = np.sqrt(likely * (1.0 - likely) + grown**2 * other * (1.0 - other))
            surest = np.maximum(surest, ((likely - grown * other - delta) / deviation).max(axis=0))
    best = int(np.argmax(surest))
    return points[best if surest[best] * math.sqrt(len(first) - held) > _SEEMS else 0]


def excluded(most: float, excess: float, epsilon: float, delta: float) -> str:
    """Return what no event that counts shows, in the claim's own terms; empty if that is nothing."""
    at_epsilon = f"delta {rounded_up(excess, 3)} at epsilon {unrounded(epsilon)}"
    if math.isinf(most):
        return f"an event tried that shows more than {at_epsilon}" if excess < 1.0 else ""
    at_delta = f"epsilon {rounded_up(max(most, epsilon), 4)} at delta {typed(delta)}"
    return f"an event tried that shows more than {at_delta}, or {at_epsilon}"


def least_sure(trials: int, held: int, epsilon: float, delta: float, level: float) -> float | None:
    """Return the least probability of an outcome of one input alone that refutes the claim with power .95.

    An estimate: it must be met 20 times where events are learned, and its lower limit must exceed what the claim allows
    beside an upper limit of no outcome at all. None if no probability does.
    """
    fresh = trials - 2 * held
    each = level / 16.0
    other = -math.log(each) / fresh
    needed = math.exp(min(epsilon, 700.0)) * other + delta
    # Normal: p less both the limit's and the power's deviations reaches what is needed.
    wide = float(scipy.stats.norm.isf(each) + scipy.stats.norm.isf(1.0 - POWER)) / math.sqrt(fresh)
    root = (wide + math.sqrt(wide**2 + 4.0 * needed)) / 2.0
    least = max(root**2, 20.0 / held)
    return least if least < 1.0 else None
