"""Many independent instances at once: the law of the privacy loss summed over them, and what ties them together.

A leak that no instance shows by itself, such as noise that two of them share, shows in their sum, or in how often two
of them are on the same side of their medians.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.order.structure import StructureCheck
from dpverify.statistics.outputs.events import likelihood_ratio_score
from dpverify.statistics.outputs.products import index_sets, products_of
from protocols.classes.frozen import dataclass

__all__ = ["Sides", "SummedLoss", "SummedValues"]

_FINENESS = 200
"""Steps of the lattice in a standard deviation of the sum."""
_REACH = 20 * _FINENESS
"""No single score is larger: the privacy loss of outcomes that only one dataset has is infinite."""
_SEVERAL = 12
"""Instances of which all threes and fours are looked at; of more, so many that are evenly spread."""
_CUT = 1e-18
"""Less probable ends of the sum's law are left out, and counted as unlisted."""
UNLISTED = 2.0**50
"""The score of a run in which some instance's outcome is impossible: no sum is so large."""


Tables = list[tuple[DiscreteLaw, NDArray[np.int64]]]


class _Summed(ABC):
    """Whole-numbered scores of independent outcomes, summed; the law of the sum is a convolution."""

    @property
    @abstractmethod
    def _tables(self) -> Tables:
        """Return, per instance, all outcomes and their scores."""

    @property
    def informative(self) -> int:
        """How many instances have scores other than 0."""
        return sum(bool(scores.any()) for _, scores in self._tables)

    def scores(self, outputs: ArrayLike) -> NDArray[np.float64]:
        """Return the sum of each run's scores, whole numbers, shape (runs,); 2^50 where an outcome is not listed.

        - outputs: array_like, shape (runs, instances).
        """
        rows = np.asarray(outputs)
        if rows.ndim != 2 or rows.shape[1] != len(self._tables):
            raise ValueError(f"outputs has shape {rows.shape}, but must have shape (runs, {len(self._tables)}).")
        total, unlisted = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.bool_)
        for (both, scores), column in zip(self._tables, rows.T, strict=True):
            at = both.index(column)
            total += scores[at]
            unlisted |= at < 0
        return np.where(unlisted, UNLISTED, total)

    def law(self, laws: Sequence[DiscreteLaw]) -> DiscreteLaw:
        """Return the exact law of the scores' sum if the instances are independent and have these laws."""
        low, pmf, outside = 0, np.ones(1), 0.0
        for (both, scores), law in zip(self._tables, laws, strict=True):
            start = int(scores.min())
            pmf = np.convolve(pmf, np.bincount(scores - start, weights=law.probabilities(both.points)))
            kept = np.flatnonzero(pmf > _CUT)
            first, last = int(kept[0]), int(kept[-1]) + 1
            outside += law.outside + float(pmf[:first].sum() + pmf[last:].sum())
            low, pmf = low + start + first, pmf[first:last]
        return DiscreteLaw.of(low + np.arange(pmf.size), pmf, min(1.0, outside))


@dataclass(frozen=True, eq=False)
class SummedValues(_Summed):
    """Any number per outcome of independent instances, summed and rounded per instance to a lattice.

    - laws: The outcomes of all instances.
    - values (sequence of ndarray, shape (atoms,)): The numbers of these outcomes.
    - deviation: Of the sum, or thereabouts, positive: it sets the lattice.
    """

    laws: Sequence[DiscreteLaw]
    values: Sequence[NDArray[np.float64]]
    deviation: float

    @property
    def step(self) -> float:
        """What one of the scores is worth."""
        return self.deviation / _FINENESS

    @cached_property
    def _tables(self) -> Tables:
        scores = (np.rint(values / self.step).astype(np.int64) for values in self.values)
        return list(zip(self.laws, scores, strict=True))


@dataclass(frozen=True, eq=False)
class SummedLoss(_Summed):
    """The privacy loss of a row of independent outcomes, rounded per instance to a lattice; the law is exact.

    Rounding costs a little power and nothing else: whatever scores are summed, their law is a convolution.

    - first, second: The laws of all instances on two neighbouring datasets: as many, of numbers.
    """

    first: Sequence[DiscreteLaw]
    second: Sequence[DiscreteLaw]

    def __post_init__(self) -> None:
        if len(self.first) != len(self.second) or not self.first:
            raise ValueError(
                f"first and second hold {len(self.first)} and {len(self.second)} laws, but must hold as many, and at "
                "least one."
            )

    @cached_property
    def _tables(self) -> Tables:
        """Return, per instance, all outcomes of either law and their scores."""
        listed, losses = [], []
        for p, q in zip(self.first, self.second, strict=True):
            both = DiscreteLaw.of(np.concatenate([p.points, q.points]), np.concatenate([p.pmf, q.pmf]) / 2.0, 1.0)
            listed.append(both)
            losses.append(likelihood_ratio_score(p, q)(both.points))
        variance = sum(_variance(both.pmf, loss) for both, loss in zip(listed, losses, strict=True))
        step = max(variance**0.5 / _FINENESS, 1e-9)
        scores = [np.rint(np.clip(loss / step, -_REACH, _REACH)).astype(np.int64) for loss in losses]
        return list(zip(listed, scores, strict=True))


def _variance(weights: NDArray[np.float64], losses: NDArray[np.float64]) -> float:
    finite = np.isfinite(losses)
    if not finite.any():
        return 1.0
    mean = np.average(losses[finite], weights=weights[finite])
    return float(np.average((losses[finite] - mean) ** 2, weights=weights[finite]))


class Sides:
    """How often the outcomes of each instance fall above its median and far from its mean, and two above together.

    Counted as the outputs come, in memory that does not grow with them.

    - laws: The laws of all instances, of numbers.
    """

    def __init__(self, laws: Sequence[DiscreteLaw]) -> None:
        self.count, self.runs = len(laws), 0
        # Per instance three cuts between outcomes: the median, and one standard deviation to either side.
        self._cuts = np.array(
            [[_median(law), *(_between(law, law.mean + side * law.variance**0.5) for side in (-1, 1))] for law in laws]
        )
        chances = []
        for law, (middle, low, high) in zip(laws, self._cuts, strict=True):
            far = (law.points < low) | (law.points > high)
            chances.append([law.pmf[law.points > middle].sum(), law.pmf[far].sum()])
        self._chances = np.clip(np.array(chances), 0.0, 1.0)
        self._both = np.triu_indices(self.count, 1)
        first, second = (self._chances[each, 0] for each in self._both)
        self._agree = first * second + (1.0 - first) * (1.0 - second)
        self._seen = np.zeros((self.count, 2), dtype=np.int64)
        self._together = np.zeros((self.count, self.count), dtype=np.int64)
        self._several = np.linspace(0, self.count - 1, min(self.count, _SEVERAL)).astype(np.int64)
        self._products: NDArray[np.float64] = np.zeros(self.sets)

    @property
    def pairs(self) -> int:
        """How many pairs of instances there are."""
        return self.count * (self.count - 1) // 2

    @property
    def sets(self) -> int:
        """How many sets of three and of four instances are looked at, of twelve instances at most."""
        return len(index_sets(self._several.size)) if self.count > 2 else 0

    @property
    def constant(self) -> float:
        """The largest probability, over the instances, that a run falls where one without noise may always fall."""
        return float(np.max(np.maximum(self._chances, 1.0 - self._chances).min(axis=1)))

    @property
    def agreement(self) -> float:
        """The largest probability, over all pairs, that two instances are on the same side or on different ones."""
        return float(np.max(np.maximum(self._agree, 1.0 - self._agree), initial=0.0))

    def update(self, outputs: NDArray[Any]) -> None:
        """Count more outputs, shape (runs, instances)."""
        middle, low, high = self._cuts.T
        above, far = outputs > middle, (outputs < low) | (outputs > high)
        self.runs += len(outputs)
        self._seen += np.stack([above, far], axis=2).sum(axis=0)
        if self.sets:
            self._products += products_of(np.where(above[:, self._several], np.float32(-1.0), np.float32(1.0)))
        ones = above.astype(np.float64)  # products of whole numbers below 2^53 are exact
        self._together += np.rint(ones.T @ ones).astype(np.int64)

    def single(self) -> StructureCheck:
        """Test each instance by itself: how often it is above its median, and how often far from its mean."""
        p_values = _binomial(self._seen, self.runs, self._chances)
        at = int(np.argmin(p_values.min(axis=1)))
        kind = int(np.argmin(p_values[at]))
        where = ("above the median", "farther than a standard deviation from the mean")[kind]
        return StructureCheck(
            "each instance",
            min(1.0, p_values.size * float(p_values.min())),
            f"instance {at} is {where} in {self._seen[at, kind]:,} of {self.runs:,} runs, "
            f"{self.runs * self._chances[at, kind]:,.1f} expected",
        )

    def tied(self) -> StructureCheck:
        """Test each pair of two or more instances: how often both are on the same side of their medians."""
        ones, (first, second) = self._seen[:, 0], self._both
        same = self.runs - ones[first] - ones[second] + 2 * self._together[first, second]
        p_values = _binomial(same, self.runs, self._agree)
        at = int(np.argmin(p_values))
        return StructureCheck(
            "pairs of instances",
            min(1.0, p_values.size * float(p_values.min())),
            f"instances {first[at]} and {second[at]} are on the same side of their medians in {same[at]:,} of "
            f"{self.runs:,} runs, {self.runs * self._agree[at]:,.1f} expected",
        )

    def several(self) -> StructureCheck:
        """Test sets of three and four instances: how often an odd number of them is above their medians."""
        lean = np.append(1.0 - 2.0 * self._chances[self._several, 0], 1.0)  # behind it, for sets of three
        sets = index_sets(self._several.size)
        chances = (1.0 - lean[sets].prod(axis=1)) / 2.0
        odd = np.rint((self.runs - self._products) / 2.0).astype(np.int64)
        p_values = _binomial(odd, self.runs, np.clip(chances, 0.0, 1.0))
        at = int(np.argmin(p_values))
        names = ", ".join(str(self._several[each]) for each in sets[at] if each >= 0)
        return StructureCheck(
            "sets of instances",
            min(1.0, p_values.size * float(p_values.min())),
            f"of instances {names} an odd number is above the medians in {odd[at]:,} of {self.runs:,} runs, "
            f"{self.runs * chances[at]:,.1f} expected",
        )


def _median(law: DiscreteLaw) -> float:
    """Return the cut between two outcomes that both sides are most equally likely of."""
    if law.atoms == 1:
        return float(law.points[0]) + 1.0
    at = int(np.argmin(np.abs(np.cumsum(law.pmf)[:-1] - 0.5)))
    return float(law.points[at] + law.points[at + 1]) / 2.0


def _between(law: DiscreteLaw, value: float) -> float:
    """Return a cut near a value that no outcome is near to: the middle of two outcomes, or beyond them all."""
    at = int(np.searchsorted(law.points, value, side="right"))
    if at == 0:
        return float(law.points[0]) - 1.0
    if at == law.atoms:
        return float(law.points[-1]) + 1.0
    return float(law.points[at - 1] + law.points[at]) / 2.0


def _binomial(counts: NDArray[Any], trials: int, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exact two-sided p-values: twice the smaller tail, at most 1."""
    below = scipy.special.bdtr(counts, trials, chances)
    above = np.where(counts > 0, scipy.special.bdtrc(np.maximum(counts - 1, 0), trials, chances), 1.0)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(below, above)))
