"""Correct guesses of many users' secrets in one run, against a whole privacy curve.

Where many (epsilon, delta) hold at once, as a claim of Gaussian privacy says, each adds its constraint to the linear
program of `one_run`. Its dual is then the choice of one function, whose slopes are the e^epsilon that are used at each
height (docs/one_run.md). Any such function gives a bound; four numbers shape it here, and they are searched.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.rounding import UNIT
from dpverify.search import bisected, least_integer
from dpverify.statistics.bounds.claims import GaussianDP
from dpverify.statistics.bounds.one_run import LARGEST_EPSILON, one_run_p_value
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["curve_guesses_needed", "one_run_curve_p_value", "one_run_mu"]

_SEARCHED, _AGAIN, _ROUNDS = 80, 50, 2
"""The fewest shapes that are tried for a p-value; and those for a mu, in each of so many rounds."""
_SCANNED = 10
"""Single epsilons that are tried before."""
_BELOW = 2.0
"""How far below its first positive epsilon a function begins, in square roots of the guesses."""
_STEPS = 60
"""At most, of a search that few steps of Newton's end."""
_PRECISION = 1e-8
"""Relative, of that search: it costs as much of the bound."""
_UNIT = 1e-280
"""Mu while a function is made, which from there on grows by hundreds of orders of magnitude."""
_GROWTH = 1_200.0
"""The logarithm of about the most that it may grow by."""
_LARGEST_MU = 8.0
"""No larger one is told from that of secrets that are published."""

Floats = NDArray[np.float64]


def one_run_curve_p_value(
    correct: int, guesses: int, canaries: int, claims: Sequence[tuple[float, float]], *, quick: bool = False
) -> float:
    """Return the largest probability of so many correct guesses where all of some claims hold.

    The number of guesses must be fixed before the run.

    - correct, guesses, canaries: v, r and m: see `dpverify.statistics.bounds.one_run.one_run_p_value`.
    - claims: At least one, such as the `points` of a `CurveClaim`.
    - quick: Whether to try the claims one at a time only, in a tenth of the time: for 1,000 guesses 0.1 s.

    Returns: In [0, 1]; an upper bound, rounding included: of smooth curves 1 % above the probability, of few points up
    to 9 % where it is below a half (tests).
    """
    if not claims:
        raise ValueError("claims is empty, but must hold at least one (epsilon, delta).")
    told = [claim for claim in claims if claim[1] == 0.0] or claims[:1]
    alone = min(one_run_p_value(correct, guesses, canaries, *claim) for claim in told)
    if correct == 0 or len(claims) == 1 or min(claims)[0] > LARGEST_EPSILON:
        return alone
    dual, curve = _Dual(correct, guesses, canaries), _Curve.of(claims)
    epsilons = np.log(curve.grown[:: -(-len(curve.grown) // _SCANNED)]).tolist()
    flat, epsilon = min((dual.bound(np.array([epsilon, 0.0, 0.0, 1.0]), curve), epsilon) for epsilon in epsilons)
    if quick:
        return min(alone, flat)
    shape = np.array([0.8 * epsilon, 0.2 * epsilon, 0.5 * epsilon, 2.0])
    tried = _SEARCHED + 40_000 // max(guesses, 100)  # where each costs little, more of them
    return min(alone, flat, dual.searched(shape, curve, tried)[0])


@lru_cache(maxsize=32)
def curve_guesses_needed(
    guesses: int, canaries: int, claims: tuple[tuple[float, float], ...], level: float
) -> int | None:
    """Return about the fewest correct guesses that refute the claims together at a level; None if all guesses do not.

    The parameters are those of `one_run_curve_p_value`. So many refute them for certain.
    """

    def refutes(correct: int, quick: bool = False) -> bool:
        return one_run_curve_p_value(correct, guesses, canaries, claims, quick=quick) <= level

    if guesses == 0 or not refutes(guesses):
        return None
    quick = least_integer(lambda correct: refutes(correct, True), 0, guesses)
    return least_integer(refutes, max(0, quick - 1 - math.isqrt(guesses) // 2), quick)


def one_run_mu(correct: int, guesses: int, canaries: int, level: float) -> float:
    """Return a lower bound on the least mu of which a mechanism is mu-GDP; above it with probability at most `level`.

    The other parameters are those of `one_run_curve_p_value`. In [0, 8].
    """
    check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
    if correct == 0:
        return 0.0
    dual, quantile = _Dual(correct, guesses, canaries), -float(scipy.special.ndtri(level * correct / canaries))
    refuted, shape = 0.0, np.array([quantile, 0.2, 1.0, 2.0])  # where the curve's tangent is e^(mu quantile)

    def allowed(mu: float) -> bool:
        return dual.bound(shape * [mu, mu, mu, 1.0], _Curve.of(GaussianDP(mu).points)) > level

    for left in range(_ROUNDS, -1, -1):
        # Every mu below one that is refuted is refuted too, as the claim of less privacy follows from it.
        start = refuted or 1e-3
        if allowed(start):
            break
        refuted = bisected(allowed, start, _LARGEST_MU, relative=1e-4)[0]
        if left:
            scale = np.array([refuted, refuted, refuted, 1.0])
            shape = dual.searched(shape * scale, _Curve.of(GaussianDP(refuted).points), _AGAIN)[1] / scale
    return refuted


@dataclass(frozen=True)
class _Curve:
    """Claims by e^epsilon; the mean of two holds too, so that delta is linear between them."""

    grown: Floats
    deltas: Floats

    @classmethod
    def of(cls, claims: Sequence[tuple[float, float]]) -> _Curve:
        epsilons, deltas = np.array(sorted(claim for claim in claims if claim[0] <= LARGEST_EPSILON)).T
        return cls(np.exp(epsilons), deltas)


class _Dual:
    """The dual of the linear program of v correct guesses of r, from m canaries."""

    def __init__(self, correct: int, guesses: int, canaries: int) -> None:
        self.correct, self.guesses, self.canaries = correct, guesses, canaries
        self.below = np.arange(correct - 1.0, -1.0, -1.0)
        self.places = np.arange(guesses + 1.0)
        self.growth = np.log(self.places[1 : correct + 1] / (guesses - self.places[:correct]))
        self.share = 0.2
        """Where between its ends the search for mu ended for the function before, and begins for the next."""

    def searched(self, shape: Floats, curve: _Curve, tried: int) -> tuple[float, Floats]:
        """Return about the least bound of the shapes near one, and its shape."""
        found = scipy.optimize.minimize(
            self.bound, shape, (curve,), "Nelder-Mead", options={"maxfev": tried, "fatol": 1e-9}
        )
        return float(found.fun), found.x

    def bound(self, shape: Floats, curve: _Curve) -> float:
        """Return the bound of epsilons that fall linearly from v downwards, but rise next to it; rounded up."""
        level, fall, rise, width = shape
        epsilons = level - fall * self.below / math.sqrt(self.guesses)
        epsilons += rise * np.exp(-self.below / max(abs(width), 1e-3))
        start = max(0, int(np.argmax(epsilons > 0.0)) - int(_BELOW * math.sqrt(self.guesses)))
        growth = np.maximum(self.growth - epsilons.clip(0.0, LARGEST_EPSILON), 0.0)[::-1].cumsum()[::-1]
        start = max(start, int(np.argmax(growth <= _GROWTH)))
        slopes = np.exp(np.clip(epsilons[start:], 0.0, LARGEST_EPSILON)).clip(curve.grown[0], curve.grown[-1])
        knots, heights = self._function(start, slopes)
        if not math.isfinite(heights[-1]):
            return 1.0
        total, above = self._above(knots, heights, slopes)
        layers = np.diff(knots) * total
        return self._charged(start, slopes, layers, np.array(above) * total, curve)

    def _function(self, start: int, slopes: Floats) -> tuple[list[float], list[float]]:
        """Return the knots x_start = 0, ..., x_v and the heights that meet all conditions below v, by `_UNIT` of mu."""
        x = height = 0.0
        knots, heights = [x], [height]
        for j, slope in enumerate(slopes.tolist(), start):
            risen = (_UNIT + j * x) / (self.guesses - j)
            x, height = x + (risen - height) / slope, risen
            knots.append(x)
            heights.append(height)
        return knots, heights

    def _above(self, knots: list[float], heights: list[float], slopes: Floats) -> tuple[float, list[float]]:
        """Return mu over `_UNIT`, and by it x_(v+1), ..., x_r, so that the condition at v holds with the last knot."""
        top, rates, v, r = knots[-1], [*slopes.tolist(), float(slopes[-1])], self.correct, self.guesses
        low, high = 0.0, v * top
        point = self.share * high  # _UNIT (1 / mu - 1)
        for _ in range(_STEPS):
            x = rate = 0.0
            above: list[float] = []
            for j in range(r, v - 1, -1):
                k = bisect_right(knots, x) - 1
                above.append(x)
                rate = (1.0 + (r - j) * rates[k] * rate) / j
                x = (point + (r - j) * (heights[k] + rates[k] * (x - knots[k]))) / j
                if x > 4.0 * top:
                    break
            low, high = (point, high) if x <= top else (low, point)
            last, point = point, point - (x - top) / rate
            if x > 4.0 * top or not low <= point <= high:
                point = 0.5 * (low + high)
            if abs(point - last) <= _PRECISION * last:
                break
        self.share = last / (v * top)
        above += [top] * (r - v + 1 - len(above))
        return 1.0 / (_UNIT + last), above[:0:-1]

    def _charged(self, start: int, slopes: Floats, layers: Floats, above: Floats, curve: _Curve) -> float:
        """Return the bound of a function, by slopes and widths of its layers, and of any x_(v+1), ..., x_r.

        mu is taken from these numbers as they are, so that only the rounding of this is to be charged: of r + 16 steps
        in each sum, of terms of one sign, and of where a layer ends, times the largest slope. No bound matters above 1.
        """
        r, v = self.guesses, self.correct
        knots, heights = (np.concatenate([[0.0], np.cumsum(each)]) for each in (layers, slopes * layers))
        x = np.concatenate([np.zeros(start), knots, np.minimum(above, knots[-1])])
        following = np.append(x[1:], 0.0)
        added = (self.places >= v) + (r - self.places) * np.interp(following, knots, heights)
        largest = float(np.max((self.places >= v) + self.places * x + (r - self.places) * slopes.max() * following))
        mu = max(0.0, float(np.max(added - self.places * x)))
        prices = np.interp(slopes, curve.grown, curve.deltas) + 8.0 * UNIT * curve.deltas.max()
        cost = self.canaries * float(prices @ layers)
        return min(1.0, mu + cost + 2.0 * (r + 16.0) * UNIT * largest)
