"""Correct guesses of many users' secrets in one run, against a whole privacy curve.

Where several (epsilon, delta) hold at once, as points of a trade-off function do, each adds its constraint to the
linear program of `one_run`: docs/one_run.md. Any dual values bound the p-value, so what the solver returns is only a
proposal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from dpverify.rounding import UNIT
from dpverify.statistics.bounds.one_run import LARGEST_EPSILON, one_run_p_value

__all__ = ["one_run_curve_p_value"]


def one_run_curve_p_value(correct: int, guesses: int, canaries: int, claims: Sequence[tuple[float, float]]) -> float:
    """Return the largest probability of so many correct guesses where all of some claims hold.

    The number of guesses must be fixed before the run.

    Parameters
    ----------
    correct, guesses, canaries : int
        v, r and m: see `dpverify.statistics.bounds.one_run.one_run_p_value`.
    claims : sequence of (epsilon, delta)
        At least one. Twenty points of a curve and a thousand guesses take seconds.

    Returns
    -------
    float
        In [0, 1]; an upper bound, rounding included, and never above that of a single claim.
    """
    if not claims:
        raise ValueError("claims is empty, but must hold at least one (epsilon, delta).")
    alone = min(one_run_p_value(correct, guesses, canaries, *claim) for claim in claims)
    useful = [(epsilon, delta) for epsilon, delta in claims if epsilon <= LARGEST_EPSILON and delta < 1.0]
    if correct == 0 or len(useful) < 2:
        return alone
    grown = np.exp([epsilon for epsilon, _ in useful])
    costs = canaries * np.array([delta for _, delta in useful])
    proposed = _proposal(correct, guesses, grown, costs)
    return alone if proposed is None else min(alone, _bound(correct, proposed, grown, costs))


def _proposal(
    correct: int, guesses: int, grown: NDArray[np.float64], costs: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return y_j = j x_j of a good dual solution, shape (claims, guesses), for j = 1, ..., r; None if there is none."""
    count, places = len(grown), np.arange(guesses)
    rows, columns, values = (
        [np.arange(guesses + 1)],
        [np.full(guesses + 1, count * (guesses + 1))],
        [-np.ones(guesses + 1)],
    )
    for claim in range(count):
        own = claim * guesses + places
        rows += [places + 1, places]
        columns += [own, own]
        values += [-np.ones(guesses), grown[claim] * (guesses - places) / (places + 1)]
    unknowns = count * (guesses + 1) + 1  # all y, the largest x of each claim, mu
    shape = (guesses + 1, unknowns)
    masses = sparse.coo_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
    every = np.arange(count * guesses)
    largest = sparse.coo_matrix(
        (
            np.concatenate([1.0 / (every % guesses + 1), -np.ones(every.size)]),
            (np.tile(every, 2), np.concatenate([every, count * guesses + every // guesses])),
        ),
        shape=(every.size, unknowns),
    )
    solved = optimize.linprog(
        np.concatenate([np.zeros(every.size), costs, [1.0]]),
        A_ub=sparse.vstack([masses, largest]).tocsr(),
        b_ub=np.concatenate([-(np.arange(guesses + 1) >= correct).astype(float), np.zeros(every.size)]),
        bounds=(0, None),
        method="highs",
    )
    if solved.x is None or not np.isfinite(solved.x).all():
        return None
    return np.asarray(np.maximum(solved.x[: every.size], 0.0).reshape(count, guesses))


def _bound(
    correct: int, proposed: NDArray[np.float64], grown: NDArray[np.float64], costs: NDArray[np.float64]
) -> float:
    """Return `mu + sum of the costs times the largest x`, with mu from the proposal as it is; rounded up."""
    count, guesses = proposed.shape
    places = np.arange(guesses)
    taken, added = np.zeros(guesses + 1), (np.arange(guesses + 1) >= correct).astype(float)
    taken[1:] = proposed.sum(axis=0)
    added[:-1] += (grown[:, np.newaxis] * (guesses - places) / (places + 1) * proposed).sum(axis=0)
    # Each sum has a positive term per claim, each of at most four roundings and the exponential's.
    charge = (count + 8.0) * UNIT * float(np.max(taken + added))
    mu = max(0.0, float(np.max(added - taken)))
    largest = (proposed / (places + 1)).max(axis=1)
    bound = (mu + math.fsum(costs * largest)) * (1.0 + 8.0 * UNIT) + 2.0 * charge
    return float(min(1.0, bound))
