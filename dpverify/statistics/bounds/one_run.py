"""What correct guesses of many users' secrets in one run say of the privacy: exact p-values against (epsilon, delta).

Of m canaries, users whose secret bit is a fair coin each, r are guessed from one output, and v guesses are right. The
largest probability of that under (epsilon, delta)-DP for replacing one user's bit is the value of a linear program in
r + 1 unknowns, which is derived in docs/one_run.md. For delta = 0 it is the binomial tail of randomized response
(steinke2023, Theorem 5.2); for delta > 0 it is attained, and never above the bound of that theorem.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.rounding import UNIT
from dpverify.search import bisected, least_integer
from protocols.validation import check_integer, check_probability, check_real

__all__ = ["LARGEST_EPSILON", "guesses_needed", "one_run_epsilon", "one_run_p_value", "one_run_power"]

_ROUNDING = 1e-11
"""Relative error charged for the incomplete beta function."""
_MESH, _MESHES = 129, 5
"""Values of the multiplier that are tried at a time, and how often the search is narrowed."""
_SMALLEST = 1e-30
"""Where the search for it begins at the latest: rounding charges more."""
LARGEST_EPSILON = 40.0
"""No larger one is told from that of secrets that are published."""


def one_run_p_value(correct: int, guesses: int, canaries: int, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest probability of so many correct guesses under (epsilon, delta)-DP.

    Valid for any dependence of the guesses on each other. For delta > 0 it is that of a number of guesses that was
    fixed before the run; for delta = 0 that number may depend on the output.

    - correct: v, in [0, guesses].
    - guesses: r, in [0, canaries].
    - canaries: m, at least 1: users with a fair secret bit each, independent of the others'.
    - epsilon, delta: The claim, for replacing the bit of one canary.

    Returns: In [0, 1]; an upper bound, rounding included.
    """
    check_integer("canaries", canaries, low=1)
    check_integer("guesses", guesses, low=0, high=canaries)
    check_integer("correct", correct, low=0, high=guesses)
    check_real("epsilon", epsilon, low=0.0)
    check_probability("delta", delta)
    if correct == 0:
        return 1.0
    tail = _binomial_tail(correct, guesses, epsilon)
    if delta == 0.0 or tail >= 1.0:
        return tail
    if epsilon > LARGEST_EPSILON:
        return 1.0
    # Convex in the multiplier, so the least is beside the best of a mesh; whichever value is taken gives a bound.
    low, high, least = max(tail, _SMALLEST), 1.0, 1.0
    for _ in range(_MESHES):
        mesh = np.geomspace(low, high, _MESH)
        bounds = _dual_bounds(correct, guesses, canaries, epsilon, delta, mesh)
        best = int(np.argmin(bounds))
        least = min(least, float(bounds[best]))
        low, high = mesh[max(0, best - 1)], mesh[min(_MESH - 1, best + 1)]
    return least


def _refutes(correct: int, guesses: int, canaries: int, epsilon: float, delta: float, level: float) -> bool:
    # The tail is what a mechanism of (epsilon, 0) attains, which saves the search for most of what is asked here.
    tail = _binomial_tail(correct, guesses, epsilon) if correct else 1.0
    return tail <= level and one_run_p_value(correct, guesses, canaries, epsilon, delta) <= level


def _binomial_tail(correct: int, guesses: int, epsilon: float) -> float:
    """Return P(Bin(guesses, e^epsilon / (1 + e^epsilon)) >= correct), rounded up."""
    wrong = 1.0 / (1.0 + math.exp(min(epsilon, 700.0)))  # by the complement: the chance of a right guess is near 1
    return min(1.0, float(scipy.special.betaincc(guesses - correct + 1.0, correct, wrong)) * (1.0 + _ROUNDING))


def _dual_bounds(
    correct: int, guesses: int, canaries: int, epsilon: float, delta: float, floor: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return an upper bound on the p-value for every value of the multiplier of the total mass, shape of `floor`.

    Whatever x_1, ..., x_r >= 0 are, the p-value is at most `mu + m delta max x` with `mu` the largest of
    `c_j - j x_j + e^epsilon (r - j) x_(j+1)`, c_j = 1 for j >= v and else 0 (docs/one_run.md). Here x is the smallest
    that keeps each of them at or below `floor`; mu is then taken from x as it is in floating point, which makes x's
    rounding harmless. That of mu is charged.
    """
    grown = math.exp(epsilon)
    following, largest, mu, scale = (np.zeros_like(floor) for _ in range(4))
    with np.errstate(over="ignore", invalid="ignore"):  # multipliers that are much too small lead to infinities
        for j in range(guesses, -1, -1):
            if j < correct and not following.any():
                break  # all that follow are 0
            wanted = float(j >= correct) + grown * (guesses - j) * following
            x = np.maximum(wanted - floor, 0.0) / j if j else np.zeros_like(floor)
            mu = np.maximum(mu, wanted - j * x)
            scale = np.maximum(scale, wanted)
            largest, following = np.maximum(largest, x), x
        # `wanted` is five roundings from the truth, the difference two more, and the rest is squared.
        bounds = (mu + canaries * delta * largest) * (1.0 + 8.0 * UNIT) + 12.0 * UNIT * scale
    return np.where(np.isnan(bounds), np.inf, bounds)


def one_run_epsilon(correct: int, guesses: int, canaries: int, delta: float, level: float) -> float:
    """Return a lower bound on epsilon at delta that is above the truth with probability at most `level`; >= 0.

    The other parameters are those of `one_run_p_value`. At most 40.
    """
    check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)

    def allowed(epsilon: float) -> bool:
        return not _refutes(correct, guesses, canaries, epsilon, delta, level)

    if allowed(0.0):
        return 0.0
    if not allowed(LARGEST_EPSILON):
        return LARGEST_EPSILON
    # The last epsilon that is refuted: everything below it is too.
    return bisected(allowed, 0.0, LARGEST_EPSILON, relative=1e-4, absolute=1e-6)[0]


@lru_cache(maxsize=256)
def guesses_needed(guesses: int, canaries: int, epsilon: float, delta: float, level: float) -> int | None:
    """Return the fewest correct guesses that refute a claim at a level; None if all together do not.

    The parameters are those of `one_run_p_value`.
    """
    check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)

    def refutes(correct: int) -> bool:
        return _refutes(correct, guesses, canaries, epsilon, delta, level)

    if guesses == 0 or not refutes(guesses):
        return None
    return least_integer(refutes, 0, guesses)


def one_run_power(guesses: int, needed: int | None, right: float) -> float:
    """Return the probability that at least `needed` guesses are right, each by itself with this probability."""
    check_probability("right", right)
    if needed is None:
        return 0.0
    return 1.0 if needed == 0 else float(scipy.special.betainc(needed, guesses - needed + 1.0, right))
