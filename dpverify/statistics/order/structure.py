"""Checks for what sampling the outputs cannot see: order, number formats, and how users share their randomness.

Every check returns a p-value that is valid for each sample size: the chance, for a correct implementation, of evidence
at least as strong. Permutation tests get it from the symmetry that a correct implementation has, whatever its laws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_probability

__all__ = [
    "Least",
    "StructureCheck",
    "common_randomness",
    "fisher",
    "grid_exponents",
    "message_count",
    "message_order",
    "repeated_outputs",
]

PERMUTATIONS = 999
_PROFILE = 16
ENOUGH = 20
"""Drawing from a null law stops once a statistic was reached so often."""


@dataclass(frozen=True)
class StructureCheck:
    """What one check found.

    - name: The check.
    - p_value: In [0, 1]; 0 where a correct implementation cannot give this evidence at all.
    - evidence: What was seen, in words.
    """

    name: str
    p_value: float
    evidence: str


class Least:
    """The least of several p-values, which share the level by a union bound.

    - name: The check's.
    - found: What is said where none of them is below 1.
    """

    def __init__(self, name: str, found: str) -> None:
        self._name, self._found, self._p_value = name, found, 1.0

    def see(self, p_value: float, found: str) -> None:
        """Look at one more, and at what it is of."""
        if p_value < self._p_value:
            self._p_value, self._found = p_value, found

    def see_hits(self, compared: Sequence[tuple[int, int, int, int, str]], *, more: bool = False) -> None:
        """Look at hits, size, all hits and runs as in `fisher`, each with what was found: all at once."""
        if compared:
            *counts, found = zip(*compared, strict=True)
            for p_value, each in zip(fisher(*map(np.array, counts), more=more).tolist(), found, strict=True):
                self.see(p_value, each)

    def of(self, comparisons: int) -> StructureCheck:
        """Return the check, of so many comparisons."""
        return StructureCheck(self._name, min(1.0, self._p_value * max(1, comparisons)), self._found)


def fisher(
    hits: ArrayLike, size: ArrayLike, all_hits: ArrayLike, runs: ArrayLike, *, more: bool = False
) -> NDArray[np.float64]:
    """Return the p-value of so many hits in a part, by Fisher's exact test: given all hits, it is hypergeometric.

    One call for many is many times as fast as many calls.

    - hits, size: In the part, and how many runs it has.
    - all_hits, runs: In the whole.
    - more: Whether only too many count; else both sides do, and the smaller tail is doubled.
    """
    above = scipy.stats.hypergeom.sf(np.asarray(hits) - 1, runs, all_hits, size)
    if not more:
        above = 2.0 * np.minimum(above, scipy.stats.hypergeom.cdf(hits, runs, all_hits, size))
    return np.asarray(np.minimum(1.0, above))


def _permutation_p_value(
    observed: NDArray[np.float64], null: Callable[[], NDArray[np.float64]], permutations: int
) -> float:
    """Return the p-value of the most extreme of some statistics: their exact ranks, Bonferroni over the statistics.

    Sampling from the null stops once every statistic was exceeded often (besag1991): no evidence, and no time lost.
    """
    exceeded = np.zeros(observed.shape)
    p_values = np.ones(observed.shape)
    for drawn in range(1, permutations + 1):
        # Statistics that the permutation leaves alone are equal up to rounding, and equal counts against the evidence.
        exceeded += null() >= observed - 1e-9 * (1.0 + np.abs(observed))
        undecided = exceeded < ENOUGH
        p_values = np.where(undecided, (exceeded + 1) / (drawn + 1), p_values)
        if not undecided.any():
            break
    return min(1.0, float(p_values.min()) * observed.size)


def message_order(
    sequences: Sequence[ArrayLike], rng: np.random.Generator, *, permutations: int = PERMUTATIONS
) -> StructureCheck:
    """Test whether messages arrive in uniformly random order, as from a shuffler.

    Run it on a dataset sorted by bit, so that a forgotten shuffle shows. Four statistics: the trend of the symbol
    along a run, the profile over positions that is common to all runs (a shuffle by a fixed permutation), equal
    neighbours (users shuffled, but each user's messages left together) or unequal ones, and how much successive runs of
    one length go together (one permutation for two runs).

    - sequences (sequence of array_like of int, shape (messages,) each): The messages of independent runs, in the order
      in which they arrived.
    - rng: For the permutations.
    - permutations: The p-value is a multiple of 4 / (permutations + 1).
    """
    check_integer("permutations", permutations, low=1)
    coded = [np.unique(np.asarray(sequence), return_inverse=True)[1] for sequence in sequences]
    kept = [code for code in coded if code.any()]
    runs: list[NDArray[np.float64]] = [code.astype(np.float64) - code.mean() for code in kept]
    if not runs:
        return StructureCheck("message order", 1.0, "all messages of a run are the same: their order tells nothing")

    # All runs one after the other; those of one length are permuted together.
    sizes = np.array([run.size for run in runs])
    run_of = np.repeat(np.arange(len(runs)), sizes)
    position = np.arange(run_of.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = position * _PROFILE // np.repeat(sizes, sizes)
    rank = position - np.repeat((sizes - 1) / 2.0, sizes)
    inside = run_of[1:] == run_of[:-1]
    # In random order a run of m messages, c of one symbol, has c (c - 1) / m pairs of neighbours of it.
    usual = sum(float(count @ (count - 1)) / float(count.sum()) for count in map(np.bincount, kept))
    same_length = len(runs) > 1 and bool((sizes == sizes[0]).all())
    alike = [np.flatnonzero(np.repeat(sizes == size, sizes)).reshape(-1, size) for size in np.unique(sizes)]

    def statistics(values: NDArray[np.float64]) -> NDArray[np.float64]:
        profile = np.bincount(place, values, _PROFILE)
        neighbours = float(np.count_nonzero((values[1:] == values[:-1]) & inside))
        again = float(values[: -sizes[-1]] @ values[sizes[0] :]) if same_length else 0.0
        return np.array([abs(float(values @ rank)), float(profile @ profile), abs(neighbours - usual), abs(again)])

    messages = np.concatenate(runs)
    observed = statistics(messages)

    def shuffled() -> NDArray[np.float64]:
        found = np.empty_like(messages)
        for places in alike:
            found[places] = rng.permuted(messages[places], axis=1)
        return found

    p_value = _permutation_p_value(observed, lambda: statistics(shuffled()), permutations)
    return StructureCheck(
        "message order",
        p_value,
        f"over {len(runs)} runs: trend {observed[0]:.3g}, common profile {observed[1]:.3g}, equal neighbours off "
        f"by {observed[2]:.3g}, against {permutations} random orders",
    )


def common_randomness(
    noise: ArrayLike, rng: np.random.Generator, *, permutations: int = PERMUTATIONS
) -> StructureCheck:
    """Test whether users draw their noise independently of each other.

    Independent users' noises keep their law if one user's runs are reordered. Two statistics: the mean square of the
    users' sum (a shared generator makes it too large, cancelling noise too small), and how often neighbouring users
    draw the same.

    - noise (array_like, shape (runs, users)): What each user added in each of some independent runs on one dataset.
    - rng: For the permutations.
    - permutations: The p-value is a multiple of 3 / (permutations + 1).
    """
    check_integer("permutations", permutations, low=1)
    drawn = np.asarray(noise, dtype=np.float64)
    if drawn.ndim != 2 or min(drawn.shape) < 2:
        raise ValueError(f"noise has shape {drawn.shape}, but must have shape (runs, users) with at least 2 of each.")
    mean = float(drawn.mean(axis=0).sum())

    def statistics(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        square = float(np.mean((matrix.sum(axis=1) - mean) ** 2))
        return np.array([square, -square, float(np.count_nonzero(matrix[:, 1:] == matrix[:, :-1]))])

    observed = statistics(drawn)
    p_value = _permutation_p_value(observed, lambda: statistics(rng.permuted(drawn, axis=0)), permutations)
    independent = float(drawn.var(axis=0).sum())
    return StructureCheck(
        "common randomness",
        p_value,
        f"the users' noise together has variance {observed[0]:.4g}; their variances sum to {independent:.4g}",
    )


def repeated_outputs(first: ArrayLike, second: ArrayLike, collision: float) -> StructureCheck:
    """Test whether runs with different generators agree more often than chance: a fixed or replayed seed.

    - first, second (array_like, shape (pairs, ...)): Outputs of runs that should be independent, in pairs.
    - collision: An upper bound on the probability that two independent outputs are equal, `sum p^2`; 0 for continuous
      outputs.
    """
    check_probability("collision", collision)
    ones, others = np.asarray(first), np.asarray(second)
    if ones.shape != others.shape or ones.ndim == 0:
        raise ValueError(f"second has shape {others.shape}, but must have that of first, {ones.shape}.")
    equal = int((ones == others).reshape(len(ones), -1).all(axis=1).sum()) if len(ones) else 0
    p_value = float(scipy.stats.binom.sf(equal - 1, len(ones), collision))
    return StructureCheck(
        "repeated outputs", p_value, f"{equal} of {len(ones)} pairs of runs agree; {collision * len(ones):.3g} expected"
    )


def grid_exponents(outputs: ArrayLike) -> NDArray[np.int64]:
    """Return e for every float, the largest with the float a multiple of 2^e: its lowest bit that is set.

    Discrete outputs, so any privacy bound can be tested on them: noise added in floating point leaves grids of
    different pitch next to 0 and next to 1 (mironov2012). 0 itself gets 1024.
    """
    bits = np.asarray(outputs, dtype=np.float64, order="C").view(np.int64)
    fields = bits >> 52 & 0x7FF
    mantissas = bits & 2**52 - 1 | 2**52
    if not fields.all():  # 0, and numbers so small that their highest bit is written
        small = fields == 0
        mantissas = np.where(small, bits & 2**52 - 1, mantissas)
        fields = np.where(small, np.where(mantissas == 0, 1024 + 1074, 1), fields)
    # As many ones as zeros below the lowest one; of -1, which is left of 0, numpy counts one.
    return np.asarray(fields - 1075 + np.bitwise_count((mantissas & -mantissas) - 1))


def message_count(counts: ArrayLike, low: int = 0, high: float = math.inf) -> StructureCheck:
    """Check that every user sends between `low` and `high` messages: no correct run can fail.

    - counts: Messages per user, any shape.
    - low, high: The ends, both allowed.
    """
    sent: NDArray[Any] = np.asarray(counts)
    wrong = (sent < low) | (sent > high)
    evidence = f"{int(wrong.sum())} of {sent.size} users sent fewer than {low:g} or more than {high:g} messages"
    return StructureCheck("message count", 0.0 if wrong.any() else 1.0, evidence)
