"""The largest exponent over all changes of one user, from the exponents of a few moves of one bit.

docs/joint_changes.md has the proofs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpverify.changes import L2Ball, L2Bounded
from dpverify.privacy_loss.joint.bit_change import Move
from dpverify.rounding import UNIT

__all__ = ["ChangeGrid", "looseness"]

Floats = NDArray[np.float64]

_INTERPOLATION = 3e-4
"""What interpolating in t may cost of the exponent, relatively, in each cell, times what `looseness` is."""
_GUESSED = 16.0
"""So many times as much where a guess will do: the grid then has a fifth of the sizes."""
_LARGEST_EXPONENT = 300.0
"""Of what is squared and multiplied: beyond it a bound is infinite."""
_RESOLUTION = 2.0**-38
"""Sizes and the farthest midpoints are multiples of this where midpoints count, so that no probability is rounded."""
_LEAST_AROUND = 2.0**20 * _RESOLUTION
"""Sizes below this would be coarse multiples of it."""
_SHARES = np.linspace(-1.0, 1.0, 5)
"""The levels of midpoints, of the farthest one that counts."""
_STEEP = np.linspace(0.3, 0.5, 9)
"""Midpoints whose sizes, up to 1/2, are on the grid: from 0.3 on they grow fast with the size."""
_FINE_FROM = 0.05
"""From this ratio of the farthest midpoint to the size on, more midpoints between are looked at."""

_FEW_MOVES = 4
"""Up to so many of the largest moves fit into T^2: beyond it a fraction of one more is next to nothing."""


class ChangeGrid:
    """The moves that are looked at, for one kind of change, and what those between them cost at most.

    - change: T^2 and m. If it is an `L2Ball`, a move of size t around the midpoint c costs t^2 + c^2, otherwise t^2.
    - log_delta: -ln of the delta where accuracy is wanted.
    - guess: Whether what lies between moves of a coarse grid is taken to cost no more than these, which proves nothing.

    *Without a ball* sure bits are the worst: there is one level, of the moves from a sure 0 and to a sure 1.
    *With one*, `|c| (1-|c|) <= t^2` may be taken: levels are shares of the ends of that range, which are `+-C`,
    `C = (1 - sqrt(1 - 4t^2)) / 2` or 1 - t for t >= 1/2. C(t) is convex on either side of 1/2, which is a grid point,
    so that what lies between the levels is between chords of them. Nor can a move cost more than T^2: where that comes
    first, C is `sqrt(T^2 - u^2)`, u the grid point before t, which is less than C from `C = T^2` on, a grid point.
    """

    def __init__(self, change: L2Bounded, log_delta: float, *, guess: bool = False) -> None:
        self.change, self.guess = change, guess
        sizes = _sizes(change, log_delta, _GUESSED if guess else 1.0)
        self._around = isinstance(change, L2Ball) and sizes[0] >= _LEAST_AROUND
        farthest = np.zeros(sizes.size)
        if self._around:
            square = change.squared_change
            steep = np.append(_STEEP, square) if square < 0.5 else _STEEP
            steep = np.sqrt(steep * (1.0 - steep))
            sizes = np.append(sizes, steep[steep < sizes[-1]])
            sizes = np.unique(np.minimum(np.ceil(sizes / _RESOLUTION) * _RESOLUTION, 1.0))
            inner = 2.0 * sizes**2 / (1.0 + np.sqrt(np.maximum(1.0 - 4.0 * sizes**2, 0.0)))
            # Rounded upwards: with room for the roundings of the roots, near t = 1/2, too.
            inner = np.where(sizes < 0.5, inner * (1.0 + 1e-7) + _RESOLUTION, 1.0)
            afforded = np.sqrt(np.maximum(square - np.append(0.0, sizes[:-1]) ** 2, 0.0)) * (1.0 + 1e-7) + _RESOLUTION
            farthest = np.minimum(np.ceil(np.minimum(inner, afforded) / _RESOLUTION) * _RESOLUTION, 1.0 - sizes)
        self.sizes: Floats = sizes
        self._most_costs: Floats = sizes**2 + farthest**2
        shares = _SHARES if self._around else np.zeros(1)
        self.midpoints: Floats = farthest[:, None] * shares
        """Of each size and level, shape (sizes, levels)."""
        self._fine = farthest >= _FINE_FROM * sizes

    @property
    def has_sure_bits(self) -> bool:
        """Whether moves of any size may begin at a sure bit; else a 1 has before, up to size 0.4, a chance of 0.2."""
        return not self._around

    @functools.cached_property
    def cells(self) -> tuple[Floats, Floats]:
        """The least and the greatest cost of a move in every cell, each of shape (sizes, strips)."""
        sizes, farthest = (
            np.append(np.zeros((1, *found.shape[1:])), found, axis=0)
            for found in (self.sizes[:, None], np.abs(self.midpoints))
        )
        least, most = np.minimum(farthest[1:], farthest[:-1]), np.maximum(farthest[1:], farthest[:-1])
        if self._around:
            least, most = np.minimum(least[:, 1:], least[:, :-1]), np.maximum(most[:, 1:], most[:, :-1])
        return sizes[:-1] ** 2 + least**2, sizes[1:] ** 2 + most**2

    def moves(self, index: int) -> list[tuple[int, list[Move]]]:
        """Return the moves of one size by level, those levels that are looked at."""
        size = float(self.sizes[index])
        if not self._around:
            return [(0, [Move.from_zero(size), Move.to_one(size)])]
        middle = _SHARES.size // 2
        levels = [middle] if size == 1.0 else range(_SHARES.size) if self._fine[index] else (0, middle, 2 * middle)
        return [(level, [Move.around(size, float(self.midpoints[index, level]))]) for level in levels]

    def rates(self, log_moduli: Floats) -> tuple[Floats, Floats]:
        """Return upper bounds on F over the cost in every cell, and what each move in the first cell adds to F.

        F is the logarithm of the interpolation of `|phi|` between the moves (and 1 at t = 0), linear along every level
        and from level to level: a pair between them is dominated by a mixture of theirs.

        - log_moduli (ndarray, shape (sizes, levels, nodes)): ln |phi|, the largest over the moves of each level; nan
          for the levels that were not looked at.

        Returns rates (ndarray, shape (sizes, strips, nodes)): The first cell begins at 0; strips lie between
        neighbouring levels. Returns crowd: ndarray, shape (nodes,).

        *Along a level*, let r be the larger of `ln|phi| / q` at the ends of a cell, which are D apart and cost q. There
        |phi| is at most the chord of e^(r q), which lies at most `D^2/8` times the largest `(2 r + 4 r^2 q) e^(r q)`
        above it; so F/q exceeds r by at most `(D^2 / 8 min q) (2 r + 4 r^2 max q)+ e^(|r| (max q - min q))`. F is also
        at most the larger end.

        *Between two levels*, d apart, let A and B be these bounds on F, a and b those on F / q, and R the larger. At a
        share w from one to the other F is at most `(1-w) A + w B + w (1-w) (e^|A-B| - 1)^2 / 2`, from the second
        derivative of `ln((1-w) e^A + w e^B)`, and the cost is that of the levels, in the mean, less w (1-w) d^2. So F
        exceeds R times the cost by at most the largest `(1-w) x + w y + w (1-w) z`, x and y what A and B lack to R
        times their costs and `z = R d^2 + (e^|A-B| - 1)^2 / 2`. F is also at most the larger of A and B.

        *In the first cell*, from (0, 0) to the moves of size t_1, F is at most `ln(1 - y + y e^X) <= y (e^X - 1)` at
        size y t_1, X the largest logarithm at t_1: at most `X y^2 + (e^X - 1)^2 / 4X` for X > 0, and
        `(e^X - 1) y^2` for X < 0, as y is at most 1: nothing is added there, however small |phi| is far out. The cost
        is between y^2 t_1^2 and y^2 times the most at t_1.
        """
        log_moduli = self._filled(np.array(log_moduli))
        t, c = self.sizes[:, None], self.midpoints
        costs = t**2 + c**2
        q = costs[:, :, None]
        distance = (np.diff(t, axis=0) ** 2 + np.diff(c, axis=0) ** 2)[:, :, None]
        low, high = np.minimum(q[1:], q[:-1]), np.maximum(q[1:], q[:-1])
        # Along a chord the cost is convex: it may fall, at first, but by no more than a quarter of D^2.
        falling = t[:-1] * np.diff(t, axis=0) + c[:-1] * np.diff(c, axis=0) < 0.0
        low = low - 0.25 * distance * falling[:, :, None]
        each = log_moduli / q
        rate = np.maximum(each[1:], each[:-1])
        if self.guess:
            cells = np.append(each[:1], rate, axis=0)
            return np.maximum(cells[:, 1:], cells[:, :-1]) if self._around else cells, np.zeros(each.shape[-1])
        curvature = np.maximum(2.0 * rate + 4.0 * rate**2 * high, 0.0)
        growth = np.exp(np.minimum(np.abs(rate) * (high - low), _LARGEST_EXPONENT))
        excess = distance / (8.0 * low) * np.minimum(curvature, 1e100) * growth
        larger = np.maximum(log_moduli[1:], log_moduli[:-1])
        along = larger / np.where(larger > 0.0, low, high)
        # Where an exponent was cut, the excess is beyond all use.
        along = np.where(excess < 1e100, np.minimum(rate + excess, along), along)
        cells = self._between(along, q, low, high, distance) if self._around else along
        x = log_moduli[0].max(axis=0)
        grown = np.expm1(np.minimum(x, _LARGEST_EXPONENT))
        first = np.where(x > 0.0, x / self.sizes[0] ** 2, grown / costs[0].max())
        crowd = np.where(x > 0.0, grown**2 / (4.0 * np.maximum(x, 1e-300)), 0.0)
        crowd[x > _LARGEST_EXPONENT] = np.inf
        # Some ten roundings of each, and those of the grid.
        rates = np.append(np.broadcast_to(first, (1, *cells.shape[1:])), cells, axis=0)
        return rates + 64.0 * UNIT * np.abs(rates), crowd * (1.0 + 64.0 * UNIT) + 64.0 * UNIT * np.abs(x)

    def _between(self, along: Floats, costs: Floats, low: Floats, high: Floats, distance: Floats) -> Floats:
        """Return upper bounds on F over the cost between levels, shape (cells, levels - 1, nodes); see `rates`."""
        a, b = along[:, :-1], along[:, 1:]
        worst = np.maximum(a, b)
        # A - B is quadratic along the cell: its ends, and its curvature.
        ends = [b * q[:, 1:] - a * q[:, :-1] for q in (costs[:-1], costs[1:])]
        gap = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
        gap += 0.25 * (np.abs(a) * distance[:, :-1] + np.abs(b) * distance[:, 1:])
        # An exponent that is cut leaves the larger bound to the end.
        bend = np.where(gap < _LARGEST_EXPONENT, 0.5 * np.expm1(np.minimum(gap, _LARGEST_EXPONENT)) ** 2, np.inf)
        width = np.abs(np.diff(self.midpoints, axis=1))[:, :, None]
        bend += np.maximum(worst, 0.0) * np.maximum(width[1:], width[:-1]) ** 2
        lacking = [(a - worst) * low[:, :-1], (b - worst) * low[:, 1:]]
        apart = np.abs(lacking[0] - lacking[1])
        inner = bend > apart
        top = 0.5 * (lacking[0] + lacking[1]) + 0.25 * bend + apart**2 / (4.0 * np.where(inner, bend, 1.0))
        nearest, farthest = np.minimum(low[:, :-1], low[:, 1:]), np.maximum(high[:, :-1], high[:, 1:])
        found = worst + np.where(inner, np.maximum(top, 0.0), 0.0) / nearest
        sizes = [
            rate * np.where(rate > 0.0, most, least)
            for rate, least, most in ((a, low[:, :-1], high[:, :-1]), (b, low[:, 1:], high[:, 1:]))
        ]
        larger = np.maximum(*sizes)
        return np.asarray(np.minimum(found, larger / np.where(larger > 0.0, nearest, farthest)))

    def _filled(self, log_moduli: Floats) -> Floats:
        """Return upper bounds for all levels: |phi| is convex in the midpoint."""
        if not self._around:
            return log_moduli
        middle = _SHARES.size // 2
        log_moduli[self.sizes == 1.0] = log_moduli[self.sizes == 1.0, middle : middle + 1]
        coarse = ~self._fine & (self.sizes < 1.0)
        for level, share in enumerate(np.abs(_SHARES)):
            if 0.0 < share < 1.0:
                end = 0 if level < middle else -1
                ends = log_moduli[coarse, middle], log_moduli[coarse, end]
                log_moduli[coarse, level] = _logarithm_of_mean(*ends, share)
        return log_moduli

    def largest_mean(self, log_integrals: Floats) -> float:
        """Return an upper bound on the logarithm of the largest integral over all changes, from those in each cell.

        If e^(T^2 R) integrates to J_c, R the rates of cell c, a change of which shares p_c of the cost lie in the cells
        has at most the integral of `e^(T^2 sum p_c R_c)`: by Hoelder's inequality, `sum p_c ln J_c` in logarithms. As
        there are m moves, `sum p_c / q_c <= m / T^2`, q_c the most that one of the cell costs; and as no more than k
        moves can cost more than T^2 / (k+1) each, `sum p_c / q_c <= k / T^2` over the cells where they all do. By
        duality it is at most the largest `ln J_c + l (limit - weight of p_c)` for any l >= 0 and either kind of
        constraint.

        - log_integrals (ndarray, shape (cells,)): ln J_c, upper bounds; -inf for cells without moves.
        """
        shift, cells = float(log_integrals.max()), log_integrals > -math.inf
        if not math.isfinite(shift):
            return shift
        logs = log_integrals[cells] - shift
        return shift + min(_priced(logs, weights[cells], limit) for weights, limit in self._constraints())

    def _constraints(self) -> Iterator[tuple[Floats, float]]:
        """Yield what a share in each cell uses up, and how much there is."""
        square, each = self.change.squared_change, 1.0 / self._most_costs
        yield each, self.change.coordinates / square
        least = np.append(0.0, self.sizes[:-1] ** 2)
        few = max(math.floor(square), 1)
        if few <= _FEW_MOVES:
            yield np.where(least * (few + 1.0) > square * (1.0 + 8.0 * UNIT), each, 0.0), few / square


def _priced(values: Floats, weights: Floats, limit: float) -> float:
    """Return an upper bound on the largest mean of values under shares whose weights' mean is within a limit."""
    above, within = np.flatnonzero(weights > limit), np.flatnonzero(weights <= limit)
    prices = np.zeros((1, 1))
    if above.size and within.size:
        steepness = (values[above, None] - values[within]) / (weights[above, None] - weights[within])
        # The two cells of which the worst mix consists tell the price.
        mixes = values[within] + steepness * (limit - weights[within])
        prices = np.array([[0.0], [max(float(steepness.flat[int(np.argmax(mixes))]), 0.0)]])
    parts = values + prices * (limit - weights)
    rounding = 16.0 * UNIT * (np.abs(values) + prices * (limit + weights))
    return float((parts + rounding).max(axis=1).min())


def _logarithm_of_mean(one: Floats, other: Floats, share: float) -> Floats:
    """Return an upper bound on ln((1 - share) e^one + share e^other), with an error of units of either."""
    larger, smaller = np.maximum(one, other), np.minimum(one, other)
    weight = np.where(other > one, 1.0 - share, share)
    return np.asarray(larger + np.log1p(weight * np.expm1(smaller - larger)) * (1.0 - 8.0 * UNIT))


def looseness(change: L2Bounded) -> float:
    """Return how much less accuracy is wanted than for large T^2: few changes take a larger tilt, and finer grids."""
    return min(max(5.0 / math.sqrt(change.squared_change), 1.0), 4.0)


def _sizes(change: L2Bounded, log_delta: float, coarser: float) -> Floats:
    """Return the grid of t, from the first above 0 to min(1, T), for a divergence of about e^-log_delta.

    A cell of width d costs about `d^2 (2 r + 4 r^2 t^2) / 8` beside r t^2, where the rate r is about `log_delta / T^2`;
    the first one r t^2 / 4 for each coordinate.
    """
    square, error = change.squared_change, _INTERPOLATION * looseness(change) * coarser
    first = 2.0 * math.sqrt(square * error / change.coordinates)
    sizes = [min(1.0, math.sqrt(square) * (1.0 + 4.0 * UNIT))]
    while sizes[-1] > first:
        steepness = 2.0 + 4.0 * log_delta / square * sizes[-1] ** 2
        sizes.append(sizes[-1] * (1.0 - math.sqrt(8.0 * error / steepness)))
    return np.array(sizes[::-1])
