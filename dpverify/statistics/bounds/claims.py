"""Claims other than one (epsilon, delta): Gaussian differential privacy and curves, as `renyi_claims` has others.

Each is a family of (epsilon, delta) that all hold, in both directions: the region of `(P(A), Q(A))` that a claim allows
is convex, so that half planes `p - e^epsilon q <= delta` make it up. A finite family of them allows more than the
claim, never less: what refutes the family refutes the claim.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass
from protocols.validation import check_probability, check_real

__all__ = [
    "LARGEST_EPSILON",
    "LEAST_CHANCE",
    "POINTS",
    "CurveClaim",
    "GaussianDP",
    "TradeOffCurve",
    "half_planes",
    "most_likely",
]

POINTS = 192
"""Half planes that a claim is made of."""
LARGEST_EPSILON = 700.0
"""Larger epsilons are beyond the floats' exponentials."""
LEAST_CHANCE = 1e-9
"""Half planes touch the region where an event has at least this probability on the other input."""

Floats = NDArray[np.float64]


def most_likely(points: Sequence[tuple[float, float]], q: ArrayLike) -> Floats:
    """Return up to which probability an event may have on one input that has probability q on the other.

    - points: All hold, for an event and, the other way round, for its complement.
    - q: array_like, shape (...).

    Returns: Rounded up. (ndarray, shape (...).)
    """
    other = np.asarray(q, dtype=np.float64)[..., np.newaxis]
    epsilon, delta = np.array(points, dtype=np.float64).T
    event = np.exp(epsilon) * other + delta
    complement = 1.0 - np.exp(-epsilon) * (1.0 - other - delta)
    return np.asarray(np.clip(np.minimum(event, complement).min(axis=-1) + 16.0 * UNIT, 0.0, 1.0))


class CurveClaim(ABC):
    """A claim that many (epsilon, delta) hold at once, by one number that an event shows."""

    unit: ClassVar[str]
    """What that number is called."""

    @property
    @abstractmethod
    def claimed(self) -> float:
        """The largest that the claim allows."""

    @abstractmethod
    def shown(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return how much of it events show, 0 or more: inf where no such claim allows them.

        - p, q (array_like, shape (events,)): Their probabilities on the input where they are likelier, and on the
          other.
        """

    @property
    @abstractmethod
    def points(self) -> tuple[tuple[float, float], ...]:
        """Some (epsilon, delta) that hold, by epsilon; rounding charged."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return an upper bound, in [0, 1], of the deltas that the claim allows at an epsilon of at least 0."""

    @abstractmethod
    def twice(self) -> CurveClaim:
        """Return what two calls in a row keep where one keeps this."""

    def excluded(self, detect: float) -> float:
        """Return the most that events may show in a pass: no small delta has an epsilon `(1 + detect)` times larger."""
        return (1.0 + detect) * self.claimed

    @property
    @abstractmethod
    def words(self) -> str:
        """The claim in its own terms."""

    @property
    def terms(self) -> dict[str, float]:
        """The claim as plain values."""
        return {self.unit: self.claimed}

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class GaussianDP(CurveClaim):
    """Gaussian differential privacy (dong2022): nothing tells more than a normal variable shifted by mu deviations.

    Parameters
    ----------
    mu : float
        Positive: of Gaussian noise, the sensitivity over the standard deviation.

    Raises
    ------
    ValueError
        If mu is not positive.

    Examples
    --------
    >>> round(GaussianDP(1.0).delta(1.0), 6)
    0.126937
    """

    unit: ClassVar[str] = "mu"
    mu: float

    def __post_init__(self) -> None:
        check_real("mu", self.mu, low=0.0, low_open=True)

    @property
    def claimed(self) -> float:
        """Mu."""
        return float(self.mu)

    @property
    def words(self) -> str:
        """As `1-GDP`."""
        return f"{self.mu:.6g}-GDP"

    def shown(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return `Phi^-1(p) - Phi^-1(q)`."""
        return _difference(scipy.special.ndtri(p), scipy.special.ndtri(q))

    @cached_property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The half planes along the region's edge, evenly by the quantile of an event."""
        most = min(LARGEST_EPSILON, self.mu * (self.mu / 2.0 - float(scipy.special.ndtri(LEAST_CHANCE))))
        return tuple((epsilon, self.delta(epsilon)) for epsilon in np.linspace(0.0, most, POINTS).tolist())

    def delta(self, epsilon: float) -> float:
        """Return `Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)`, rounding charged."""
        check_real("epsilon", epsilon, low=0.0)
        nearer, farther = self.mu / 2.0 - epsilon / self.mu, -self.mu / 2.0 - epsilon / self.mu
        other = math.exp(min(0.0, epsilon + float(scipy.special.log_ndtr(farther))))
        # Either term is below Phi(nearer); the logarithm's relative error is that of its asymptotic series.
        charge = 256.0 * UNIT * (1.0 + epsilon + farther**2)
        near = float(scipy.special.ndtr(nearer))
        return min(1.0, max(0.0, near - other) + charge * near + 1e-300)

    def twice(self) -> GaussianDP:
        """Return sqrt(2) mu."""
        return GaussianDP(math.sqrt(2.0) * self.mu * (1.0 + 4.0 * UNIT))

    def excluded(self, detect: float) -> float:
        """Return `sqrt(1 + detect) mu`: at a small delta epsilon grows faster than mu, but not than its square."""
        return math.sqrt(1.0 + detect) * self.mu


@dataclass(frozen=True, init=False)
class TradeOffCurve(CurveClaim):
    """Any (epsilon, delta) that hold at once, such as points of an accountant's curve or of a trade-off function.

    Parameters
    ----------
    points : sequence of (epsilon, delta)
        At least one; each with epsilon, in nats, at least 0 and delta in [0, 1].

    Raises
    ------
    ValueError
        If there is none, or one is out of range.

    Examples
    --------
    >>> TradeOffCurve([(0.5, 0.1), (1.0, 1e-5)]).delta(2.0)
    1e-05
    """

    unit: ClassVar[str] = "the claimed epsilons, times"
    _points: tuple[tuple[float, float], ...]

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        if not points:
            raise ValueError("points is empty, but must hold at least one (epsilon, delta).")
        for epsilon, delta in points:
            check_real("epsilon", epsilon, low=0.0, high=LARGEST_EPSILON)
            check_probability("delta", delta)
        object.__setattr__(self, "_points", tuple(sorted((float(e), float(d)) for e, d in points)))

    @classmethod
    def of(cls, function: Callable[[float], float]) -> Self:
        """Return the claim that a trade-off function makes for both directions.

        Parameters
        ----------
        function : callable
            Convex, from [0, 1]: the least false negative rate of any test with a false positive rate. Between the rates
            where it is called, it is bounded below by the chords on either side, prolonged, as it is convex.
        """
        tail = np.geomspace(1e-7, 0.5, POINTS)
        x = np.concatenate([[0.0], tail, 1.0 - tail[-2::-1], [1.0]])
        y = np.array([check_probability("function", float(function(each))) for each in x.tolist()])
        slope = np.diff(y) / np.diff(x)
        if (slope > 0.0).any() or (np.diff(slope) < -1e-6 * (1.0 + np.abs(slope[1:]))).any():
            raise ValueError("function must be convex and not increasing.")
        # Where prolonged chords two cells apart meet, in the cell between them; and at both ends.
        before, after = slope[:-2], slope[2:]
        bend = np.maximum(after - before, 1e-300)
        meet = np.clip((y[1:-2] - y[2:-1] + after * x[2:-1] - before * x[1:-2]) / bend, x[1:-2], x[2:-1])
        least = np.maximum(y[1:-2] + before * (meet - x[1:-2]), y[2:-1] + after * (meet - x[2:-1]))
        last = y[-2] + slope[-2] * (1.0 - x[-2])
        corner_x = np.concatenate([[0.0], meet, [1.0 if last >= 0.0 else x[-2] - y[-2] / slope[-2], 1.0]])
        corner_y = np.concatenate([[y[1] - slope[1] * x[1]], least, [max(last, 0.0), max(last, 0.0)]])
        grown = -slope[(-slope > math.exp(-LARGEST_EPSILON)) & (-slope < math.exp(LARGEST_EPSILON))]
        delta = (1.0 - corner_y - grown[:, np.newaxis] * corner_x).max(axis=1)
        return cls(half_planes(grown, delta + 1e-14 * (1.0 + grown * x[1])))

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The points as given, by epsilon."""
        return self._points

    @property
    def claimed(self) -> float:
        """1."""
        return 1.0

    @property
    def words(self) -> str:
        """As `a curve of (1, 1e-05) and 9 more points`."""
        epsilon, delta = self._points[0]
        more = f" and {len(self._points) - 1} more points" if len(self._points) > 1 else ""
        return f"a curve of ({epsilon:.4g}, {delta:.3g}){more}"

    def shown(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return by how much the epsilons, delta by delta, must be multiplied for the curve to allow an event."""
        likely, other = (np.asarray(side, dtype=np.float64)[..., np.newaxis] for side in (p, q))
        epsilon, delta = np.array(self._points).T
        with np.errstate(divide="ignore", invalid="ignore"):
            both = [np.log(a - delta) - np.log(b) for a, b in ((likely, other), (1.0 - other, 1.0 - likely))]
            needed = np.nan_to_num(np.maximum(*both), nan=0.0, posinf=np.inf, neginf=0.0) / epsilon
        return np.asarray(np.nan_to_num(needed, nan=0.0, posinf=np.inf).max(axis=-1).clip(0.0))

    def delta(self, epsilon: float) -> float:
        """Return the delta at an epsilon that follows from the points: from one below, or a weighted mean of two."""
        check_real("epsilon", epsilon, low=0.0)
        at, delta = np.array(self._points).T
        slopes, least = [0.0, *np.exp(at)], [1.0, *np.minimum.accumulate(delta)]
        return float(np.interp(math.exp(min(epsilon, LARGEST_EPSILON)), slopes, least))

    @property
    def terms(self) -> dict[str, float]:
        """How many points there are."""
        return {"points": float(len(self._points))}

    def twice(self) -> TradeOffCurve:
        """Return for each point the basic composition with itself (kairouz2015)."""
        return TradeOffCurve([(min(2.0 * e, LARGEST_EPSILON), min(1.0, 2.0 * d)) for e, d in self._points])


def _difference(p: Floats, q: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.maximum(np.nan_to_num(p - q, nan=0.0, posinf=np.inf, neginf=0.0), 0.0))


def half_planes(grown: Floats, delta: Floats) -> tuple[tuple[float, float], ...]:
    """Return half planes `p - grown q <= delta` as points with epsilon at least 0, without those that others imply.

    In the other direction and of the complement, each is one with `1 / grown`; and weighted means of two hold.
    """
    turned = 1.0 - 1.0 / grown + delta / grown + 8.0 * UNIT * (1.0 + 1.0 / grown)
    slope, least = np.concatenate([grown, 1.0 / grown]), np.concatenate([delta, turned])
    kept: list[tuple[float, float]] = [(0.0, 1.0)]
    for k in np.lexsort((least, slope)).tolist():
        point = float(slope[k]), min(1.0, max(0.0, float(least[k])))
        if point[1] >= kept[-1][1]:
            continue
        while len(kept) > 1 and _above(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    at, lowest = np.array(kept).T
    first = (1.0, float(np.interp(1.0, at, lowest)) + 4.0 * UNIT)
    return tuple((_epsilon(each), value) for each, value in [first, *(point for point in kept if point[0] > 1.0)])


def _above(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Return whether a point is not below the chord of its neighbours."""
    (a, f), (b, g), (c, h) = first, middle, last
    return (g - f) * (c - a) >= (h - f) * (b - a)


def _epsilon(grown: float) -> float:
    """Return an epsilon whose exponential is no less, and hardly more, than a number from 1."""
    return math.log(grown) * (1.0 + 4.0 * UNIT) + 4.0 * UNIT if grown > 1.0 else 0.0
