"""Anytime-valid refutation of (epsilon, delta) by betting on pairs of samples.

If the claim is true, `G = 1[x in A] - e^epsilon 1[y in A] - delta` has mean <= 0 for x from the one dataset and y from
the other. So the wealth of who bets a fraction on G, starting from 1, ever exceeds 1/a with probability <= a (Ville's
inequality). The wealths of several bets, averaged with fixed weights, do the same.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.statistics.family import AuditResult
from dpverify.statistics.outputs.events import Events
from dpverify.statistics.power import faulty_event
from protocols.classes.frozen import dataclass
from protocols.validation import check_probability, check_real

__all__ = ["Bets", "anytime_privacy_test", "kelly_bets", "log_gains", "log_wealth"]

_MULTIPLES = ((1.0, 0.7), (0.5, 0.15), (2.0, 0.1), (4.0, 0.05))
"""The best bet against the fault that is asked for, others for smaller and larger ones, and their weights."""


@dataclass(frozen=True)
class Bets:
    """Fixed bets on events.

    - fractions (ndarray of float64, shape (bets, events)): What each bet puts on each event's G; non-negative, with
      `(e^epsilon + delta) sum < 1`: no bet can go broke.
    - weights (ndarray of float64, shape (bets,)): The initial wealth of each; sums to 1.
    - epsilon, delta: The claim.
    """

    events: Events
    fractions: NDArray[np.float64]
    weights: NDArray[np.float64]
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_real("epsilon", self.epsilon, low=0.0)
        check_probability("delta", self.delta, high_open=True)
        shape = (self.weights.size, len(self.events))
        if self.fractions.shape != shape:
            raise ValueError(f"fractions has shape {self.fractions.shape}, but must have shape {shape}.")
        worst = (math.exp(self.epsilon) + self.delta) * self.fractions.sum(axis=1)
        if (self.fractions < 0).any() or not (worst < 1).all():
            raise ValueError("fractions must be non-negative, and (e^epsilon + delta) times each row's sum below 1.")
        if (self.weights < 0).any() or not math.isclose(float(self.weights.sum()), 1.0, rel_tol=1e-12):
            raise ValueError("weights must be non-negative and sum to 1.")


def kelly_bets(
    events: Events, epsilon: float, delta: float, fault_epsilon: float, *, shares: NDArray[np.float64] | None = None
) -> Bets:
    """Return bets that grow fastest if the true epsilon is `fault_epsilon`, and fractions and multiples of them.

    One bet for each event, and one on an upward and a downward event together: where both directions are violated, as
    in pure mechanisms, that grows faster.

    - events: Their expected probabilities, shifted to the fault as by `faulty_event`, set the bets.
    - epsilon, delta: The claim.
    - fault_epsilon: More than epsilon. Only the speed depends on it, never the validity.
    - shares (ndarray, shape (events,)): Of the initial wealth, for each event; equal ones when omitted.
    """
    check_real("fault_epsilon", fault_epsilon, low=epsilon, low_open=True)
    singles = [[i] for i in range(len(events))]
    up, down = (np.flatnonzero(events.upward == upward) for upward in (True, False))
    groups: list[list[int]] = singles + [[int(i), int(j)] for i, j in zip(up, down, strict=False)]
    fractions, weights = [], []
    ceiling = 1.0 / (math.exp(epsilon) + delta)
    for group in groups:
        best = _kelly(group, events, epsilon, delta, fault_epsilon)
        for multiple, weight in _MULTIPLES:
            row = np.zeros(len(events))
            row[group] = min(multiple * best, 0.9 * ceiling / len(group))
            fractions.append(row)
            weights.append(weight * len(group) if shares is None else weight * float(shares[group].sum()))
    initial = np.array(weights)
    return Bets(events, np.array(fractions), initial / initial.sum(), epsilon, delta)


def _kelly(group: Sequence[int], events: Events, epsilon: float, delta: float, fault: float) -> float:
    """Return the equal stake on a group of disjoint events that maximises the expected log-growth under the fault."""
    # On each dataset a sample is in one of the events or in none; rows of `cells` are (is it, on which side of G).
    first, second = np.zeros(len(group) + 1), np.zeros(len(group) + 1)
    gain_first, gain_second = np.zeros(len(group) + 1), np.zeros(len(group) + 1)
    grown = math.exp(epsilon)
    for k, i in enumerate(group):
        p, q = events.expected[i].tolist()
        with contextlib.suppress(ValueError):  # an event that cannot show so much: bet on what it does show
            p, q = faulty_event(p, q, fault, delta)
        upward = bool(events.upward[i])
        first[k], second[k] = (p, q) if upward else (q, p)
        gain_first[k], gain_second[k] = (1.0, -grown) if upward else (-grown, 1.0)
    for cells in (first, second):
        cells[-1] = max(0.0, 1.0 - cells.sum())
        cells /= cells.sum()
    gains = gain_first[:, None] + gain_second[None, :] - len(group) * delta
    masses = np.outer(first, second)
    limit = 0.9 / (len(group) * (grown + delta))
    growth = scipy.optimize.minimize_scalar(
        lambda stake: -float(np.sum(masses * np.log1p(stake * gains))), bounds=(0.0, limit), method="bounded"
    )
    return max(float(growth.x), 1e-6 * limit)


def log_wealth(first: ArrayLike, second: ArrayLike, bets: Bets) -> NDArray[np.float64]:
    """Return the log of the averaged wealth after each pair of samples, shape (trials,).

    - first, second (array_like, shape (trials,) or (trials, coordinates)): Independent outputs on the two datasets, in
      the order in which they were drawn.
    - bets: Fixed without looking at these samples.
    """
    return np.asarray(scipy.special.logsumexp(log_gains(first, second, bets), axis=1, b=bets.weights))


def log_gains(first: ArrayLike, second: ArrayLike, bets: Bets) -> NDArray[np.float64]:
    """Return the log of what each bet has made of 1 after each pair of samples, shape (trials, bets).

    The parameters are those of `log_wealth`. Of two parts of the samples these add up.
    """
    likely, other = bets.events.pairs(first, second)
    gains = likely - math.exp(bets.epsilon) * other - bets.delta
    return np.asarray(np.cumsum(np.log1p(gains @ bets.fractions.T), axis=0))


def anytime_privacy_test(
    first: ArrayLike, second: ArrayLike, bets: Bets, *, level: float, check: str = "privacy, anytime"
) -> AuditResult:
    """Test (epsilon, delta) by betting; valid however the number of samples came about.

    The p-value is 1 / (the largest wealth so far), and `details` says after how many pairs it first fell to `level`.
    """
    check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
    path = log_wealth(first, second, bets)
    best = float(path.max())
    reached = path >= -math.log(level)
    decided = int(np.argmax(reached)) + 1 if reached.any() else None
    return AuditResult(
        check,
        math.exp(-max(0.0, best)),
        path.size,
        f"betting on {len(bets.events)} events, anytime-valid",
        f"largest wealth {math.exp(min(best, 700.0)):.4g} against epsilon {bets.epsilon:.4g} at delta {bets.delta:.3g}"
        + (f", refuted after {decided} pairs" if decided else ""),
        details={"log_wealth": best, "decided_after": decided},
    )
