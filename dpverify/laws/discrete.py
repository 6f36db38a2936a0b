"""The exact law of what a trial outputs, as audits need it: outcomes, probabilities, and how to look samples up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.window import IntegerLaw
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["DiscreteLaw", "NoLawError"]

_TOTAL_TOLERANCE = 1e-9
_ROUNDING = 2.0**-44
"""How far, relative to the largest outcome, a number may be from a listed one: the rounding of an analyzer."""
_AT_ONCE = 2**17
"""Samples that are looked up at a time."""
_COUNTED = 2**20
"""Samples that are counted at a time: few enough to keep no memory, and many enough for a law of many outcomes."""
_GAP = 1e-6
"""The same in gaps between outcomes, where those are as small as rounding errors."""


class NoLawError(ValueError):
    """What is asked for has no discrete law, or none is stated."""


@dataclass(frozen=True)
class DiscreteLaw:
    """A probability law on listed outcomes, and a bound for all others together.

    - points (ndarray, shape (atoms,) or (atoms, coordinates)): The outcomes, distinct and in (lexicographic) order:
      numbers, or rows of integers such as counts per symbol.
    - pmf (ndarray of float64, shape (atoms,)): Their probabilities, positive.
    - outside: Upper bound on the probability of all outcomes that are not listed; 0 if there are none.

    The probabilities are floats, wrong by some 1e-13 relative: an audit of N trials is off its level by some N times
    that at most, which no audit can tell from 0.
    """

    points: NDArray[Any]
    pmf: NDArray[np.float64]
    outside: float = 0.0

    def __post_init__(self) -> None:
        points, pmf = self.points, self.pmf
        if pmf.ndim != 1 or points.ndim not in (1, 2) or len(points) != pmf.size or pmf.size == 0:
            raise ValueError(
                f"points and pmf have shapes {points.shape}, {pmf.shape}, but must be (atoms,) or (atoms, coordinates) "
                "and (atoms,), with at least one atom."
            )
        if points.ndim == 2 and not np.issubdtype(points.dtype, np.integer):
            raise ValueError(f"points has dtype {points.dtype}, but rows must hold integers.")
        if not (np.isfinite(points).all() and np.isfinite(pmf).all() and (pmf > 0).all()):
            raise ValueError("points and pmf must be finite, and pmf positive.")
        check_real("outside", self.outside, low=0.0, high=1.0)
        total = float(pmf.sum())
        if not 1.0 - self.outside - _TOTAL_TOLERANCE <= total <= 1.0 + _TOTAL_TOLERANCE:
            raise ValueError(f"pmf sums to {total!r}, but must sum to 1 within outside={self.outside!r}.")
        keys = self._keys(points)
        if (np.diff(keys) <= 0).any():
            raise ValueError("points must be distinct and in lexicographic order; `of` sorts them.")
        for array in (points, pmf):
            array.flags.writeable = False

    @classmethod
    def of(cls, points: ArrayLike, pmf: ArrayLike, outside: float = 0.0) -> DiscreteLaw:
        """Build a law from outcomes in any order, adding up those that occur repeatedly and dropping empty ones."""
        outcomes, masses = np.asarray(points), np.asarray(pmf, dtype=np.float64)
        if masses.ndim != 1 or len(outcomes) != masses.size:
            raise ValueError(f"points and pmf have {len(outcomes)} and {masses.size} entries, but must have as many.")
        if (masses < 0).any():
            raise ValueError(f"pmf contains {float(masses.min())!r}, but must be non-negative.")
        distinct, inverse = np.unique(outcomes[masses > 0], axis=0, return_inverse=True)
        summed = np.bincount(inverse.reshape(-1), weights=masses[masses > 0], minlength=len(distinct))
        return cls(distinct, summed.astype(np.float64), outside)

    @classmethod
    def from_mapping(cls, pmf: Mapping[Any, float], outside: float = 0.0) -> DiscreteLaw:
        """Build a law from a dict of outcomes (numbers, or tuples of integers) to probabilities."""
        return cls.of(np.array(list(pmf)), np.array(list(pmf.values())), outside)

    @classmethod
    def from_integer_law(cls, law: IntegerLaw) -> DiscreteLaw:
        """Build a law from a window of the exact engine."""
        return cls(law.support, law.pmf.copy(), min(1.0, law.tail_below + law.tail_above))

    @property
    def atoms(self) -> int:
        """How many outcomes are listed."""
        return self.pmf.size

    def index(self, samples: ArrayLike) -> NDArray[np.int64]:
        """Return the position in `points` of every sample, shape (trials,), -1 for an outcome that is not listed.

        A real number counts as a listed one if it is off by no more than an analyzer's rounding: 2^-44 of the largest
        outcome, and 1e-6 of the smallest gap between outcomes. What is farther off could carry a message. ValueError
        for another shape than the law's points have.
        """
        values = np.asarray(samples)
        if values.ndim != self.points.ndim or values.shape[1:] != self.points.shape[1:]:
            wanted = ("trials", *map(str, self.points.shape[1:]))
            raise ValueError(f"samples has shape {values.shape}, but must have shape ({', '.join(wanted)}).")
        own = self._keys(self.points)
        found = np.empty(len(values), dtype=np.int64)
        for start in range(0, len(values), _AT_ONCE):
            found[start : start + _AT_ONCE] = self._found(values[start : start + _AT_ONCE], own)
        return found

    def _found(self, values: NDArray[Any], own: NDArray[Any]) -> NDArray[np.int64]:
        if self.points.ndim == 1:
            real = values.astype(np.float64)
            right = np.clip(np.searchsorted(own, real), 1, max(1, own.size - 1)) if own.size > 1 else 0
            left = np.maximum(np.asarray(right) - 1, 0)
            with np.errstate(invalid="ignore"):  # an infinite or nan sample is far from every point
                nearest = np.where(np.abs(real - own[left]) <= np.abs(own[right] - real), left, right)
                gap, largest = float(np.min(np.diff(own), initial=1.0)), float(np.abs(own).max())
                hit = np.abs(own[nearest] - real) <= min(_GAP * gap, _ROUNDING * max(largest, gap))
            return np.where(hit, nearest, -1).astype(np.int64)
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        inside = ((values >= low) & (values <= high) & (values == np.floor(values))).all(axis=1)
        keys = self._keys(np.where(inside[:, None], values, low).astype(np.int64))
        found = np.minimum(np.searchsorted(own, keys), own.size - 1)
        return np.where(inside & (own[found] == keys), found, -1).astype(np.int64)

    def counts(self, samples: ArrayLike) -> NDArray[np.int64]:
        """Return how often each outcome occurs, shape (atoms + 1,); the last entry counts those not listed."""
        values = np.asarray(samples)
        found = np.zeros(self.atoms + 1, dtype=np.int64)
        # At least once, so that a wrong shape is refused even where there are no samples.
        for start in range(0, max(1, len(values)), _COUNTED):
            places = self.index(values[start : start + _COUNTED]) % (self.atoms + 1)
            found += np.bincount(places, minlength=self.atoms + 1)
        return found

    def sample(self, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw listed outcomes with probabilities proportional to `pmf`, shape (trials,) or (trials, coordinates)."""
        check_integer("trials", trials, low=0)
        cumulative = np.cumsum(self.pmf)
        drawn = np.searchsorted(cumulative, rng.random(trials) * cumulative[-1], side="right")
        return np.asarray(self.points[np.minimum(drawn, self.atoms - 1)])

    def image(self, function: Callable[[NDArray[Any]], ArrayLike]) -> DiscreteLaw:
        """Return the law of `function(outcome)`, for a function of whole arrays of points."""
        return DiscreteLaw.of(function(self.points), self.pmf, self.outside)

    def probabilities(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each of these outcomes, 0 for those not listed (truly at most `outside`)."""
        at = self.index(points)
        return np.where(at >= 0, self.pmf[at], 0.0)

    def distance(self, other: DiscreteLaw) -> float:
        """Return a lower bound, up to rounding, on the largest difference of the probabilities of an event."""
        common = np.abs(self.pmf - other.probabilities(self.points)).sum()
        apart = common + other.pmf[self.index(other.points) < 0].sum()
        return max(0.0, float(apart) / 2.0 - self.outside - other.outside)

    @property
    def mean(self) -> float:
        """The mean over the listed outcomes; only for numbers."""
        return float(self.pmf @ self.points / self.pmf.sum())

    @property
    def variance(self) -> float:
        """The variance over the listed outcomes; only for numbers."""
        return float(self.pmf @ (self.points - self.mean) ** 2 / self.pmf.sum())

    @property
    def collision(self) -> float:
        """An upper bound on the probability that two independent outcomes are equal, `sum p^2`."""
        return min(1.0, float(self.pmf @ self.pmf) + self.outside)

    def _keys(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return one number per row that orders rows like the rows themselves, inside the points' box."""
        if self.points.ndim == 1:
            return rows.astype(np.float64)
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        sides = [int(side) for side in high - low + 1]
        if np.prod(np.array(sides, dtype=np.float64)) > 2.0**62:
            raise ValueError(f"points span a box of sides {sides}, but it must have at most 2^62 cells.")
        return np.asarray(np.ravel_multi_index(tuple((rows - low).T), sides))
