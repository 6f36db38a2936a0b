"""Rare outcomes that one input has far oftener: sets chosen by the outputs on both together, which costs no outputs.

A coin says for each of m draws from which input the next output comes. Given what was drawn, but not from where, which
outputs are of the first input is independent from one to the next, and of each has the odds of the two laws there: at
most `e^epsilon` if the claim holds with delta = 0. So of the k outputs in any set that was chosen by what was drawn,
the number from the first input is at most a binomial one with chance `e^epsilon / (1 + e^epsilon)`, and as many sets
may be tried as share the level (union bound, given what was drawn).

With delta > 0 an output of the first input is, with probability delta at most, one of those that it has beyond
`e^epsilon` times the other's law. Of m draws more than j are such ones with probability `P(Bin(m, delta / 2) > j)` at
most, which is charged; j outputs of any set then count as its own, and the others as above.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass

__all__ = ["PooledSets", "drawn_by_coins", "fewest_hits", "least_probability", "pooled_sets", "spared"]

_DEVIATIONS = 7.0
"""Outputs beyond those that coins ask for on average, in standard deviations: else nothing is said, never too much."""
_LARGEST = 32
"""Sets of up to so many times the fewest outputs that can show anything: more frequent outcomes need no pooling."""
_CHARGED = 0.05
"""The share of a level that is charged for outputs beyond `e^epsilon` times the other law."""
_TRIED = 16
"""About so many sets share the level where something rare shows."""

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PooledSets:
    """Sets of outcomes, with how many outputs on both inputs together are in each.

    - names: As in a report.
    - sizes, first (ndarray of int64, shape (sets,)): Outputs in each, and those of the first input among them.
    - shares (ndarray, shape (sets,)): Of the level, with sum 1.
    - draws: On both inputs together.
    """

    names: list[str]
    sizes: NDArray[np.int64]
    first: NDArray[np.int64]
    shares: NDArray[np.float64]
    draws: int

    def p_values(self, epsilon: float, delta: float, level: float) -> NDArray[np.float64]:
        """Return the p-value of the claim by each set, with its share of the level; both directions.

        - epsilon, delta: The claim.
        - level: At which it is tested, and which the number of outputs that count as a set's own depends on.
        """
        own, charged = spared(self.draws, delta, level)
        others = np.maximum(self.sizes - own, 0)
        most = np.maximum(np.maximum(self.first, self.sizes - self.first) - own, 0)
        tails = np.where(most > 0, scipy.stats.binom.sf(most - 1, others, scipy.special.expit(epsilon)), 1.0)
        return np.minimum(1.0, 2.0 * tails / self.shares + 2.0 * charged)

    def epsilon_lower(self, delta: float, level: float) -> float:
        """Return the largest epsilon, to within 1e-4, that is refuted at delta; 0 if none is."""
        low, high = 0.0, 40.0
        if not self.sizes.size or self.p_values(low, delta, level).min() > level:
            return 0.0
        while high - low > 1e-4:
            middle = (low + high) / 2.0
            refuted = self.p_values(middle, delta, level).min() <= level
            low, high = (middle, high) if refuted else (low, middle)
        return low


def spared(draws: int, delta: float, level: float) -> tuple[int, float]:
    """Return how many outputs of any set count as its own, and the probability that there are more of them."""
    own = int(scipy.stats.binom.isf(_CHARGED * level / 2.0, draws, delta / 2.0)) if delta > 0.0 else 0
    return own, float(scipy.stats.binom.sf(own, draws, delta / 2.0)) if delta > 0.0 else 0.0


def fewest_hits(draws: int, epsilon: float, delta: float, level: float) -> float:
    """Return the fewest outputs, all of one input, that refute a claim at a level."""
    own, charged = spared(draws, delta, level)
    if level <= 2.0 * charged:
        return math.inf
    return own + float(np.ceil(math.log((level - 2.0 * charged) / 2.0) / -math.log1p(math.exp(-epsilon))))


def least_probability(draws: int, epsilon: float, delta: float, level: float, power: float) -> float:
    """Return about the least probability of an outcome of one input alone that is found with some power."""
    hits = fewest_hits(draws, epsilon, delta, level / _TRIED)
    return min(1.0, 2.0 * float(scipy.special.gammaincinv(hits, power)) / draws) if hits <= draws else 1.0


def drawn_by_coins(runs: int, rng: np.random.Generator) -> tuple[int, int] | None:
    """Return how many outputs on each of two inputs coins ask for, of `runs` on each; None where that is too many.

    What has been drawn on one input has an order of no meaning: so the number from it is all that coins say.
    """
    draws = max(0, int(2 * runs - _DEVIATIONS * math.sqrt(2.0 * runs)))
    first = int(rng.binomial(draws, 0.5))
    return (first, draws - first) if 0 < first <= runs and 0 < draws - first <= runs else None


def pooled_sets(
    columns: Iterable[tuple[str, Rows | NDArray[np.int64], Rows | NDArray[np.int64]]],
    fewest: float,
    rng: np.random.Generator,
) -> PooledSets | None:
    """Return the rare sets of outcomes that columns have: single values, and the largest and smallest numbers.

    Sizes from the fewest that can show anything up to 32 times as many, in classes of twice the size: each class has
    an even share of the level, and so has each of its sets. Sets of the same outputs count once.

    - columns: A name, and what of the outputs on the two inputs is looked at: numbers, or codes, which have no order.
      As many outputs as coins ask for.
    - fewest: See `fewest_hits`.
    - rng: Of the marks by which sets are told apart.

    Returns: None if there is no such set.
    """
    found: dict[tuple[int, int], tuple[str, int]] = {}
    marks, draws = None, 0
    for name, first, second in columns:
        pooled = np.concatenate([first, second])
        draws = pooled.size
        marks = rng.integers(0, 2**63, draws, dtype=np.uint64) if marks is None else marks
        for what, places in _sets(pooled, fewest):
            members = int(marks[places].sum(dtype=np.uint64))
            found.setdefault((members, places.size), (what.format(name), int(np.count_nonzero(places < first.size))))
    if not found:
        return None
    sizes = np.array([size for _, size in found])
    classes = np.log2(sizes / fewest).astype(np.int64)
    kinds, among, often = np.unique(classes, return_inverse=True, return_counts=True)
    names, hits = zip(*found.values(), strict=True)
    return PooledSets(list(names), sizes, np.array(hits), 1.0 / (kinds.size * often[among]), draws)


def _sets(pooled: NDArray[np.float64] | NDArray[np.int64], fewest: float) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield names, and which outputs are in each set: by these alone, wherever they come from."""
    ordered = np.sort(pooled)
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if begins.size == 1:
        return
    sizes = np.diff(np.append(begins, ordered.size))
    rare = ordered[begins[(sizes >= fewest) & (sizes <= _LARGEST * fewest)]]
    if rare.size:
        at = np.minimum(np.searchsorted(rare, pooled), rare.size - 1)
        places = np.flatnonzero(rare[at] == pooled)
        order = np.argsort(at[places], kind="stable")
        for value, members in zip(rare, np.split(places[order], np.cumsum(np.bincount(at[places]))[:-1]), strict=True):
            yield (f"{value:.6g} in {{}}" if pooled.dtype.kind == "f" else "one of {}"), members
    if pooled.dtype.kind != "f":
        return
    for wanted in (fewest * 2.0 ** np.arange(0.5, math.log2(_LARGEST), 0.5)).astype(np.int64).tolist():
        if wanted < ordered.size:
            for what, members in (
                ("at least", pooled >= ordered[-wanted]),
                ("at most", pooled <= ordered[wanted - 1]),
            ):
                places = np.flatnonzero(members)
                if places.size <= _LARGEST * fewest:
                    edge = ordered[-wanted] if what == "at least" else ordered[wanted - 1]
                    yield f"{what} {edge:.6g} in {{}}", places
