"""A bound on what a user reveals who moves many counts by real numbers, rounded at random: real moves, integer steps.

A count's law is that of additive noise N on the integers, shifted by a real number u >= 0 that is rounded at random:
`N_u = (1-f) N(floor u) + f N(ceil u)`, f the fraction. Replacing a vector raises some counts and lowers others, and
the squares of the increases add up to `square` at most, and those of the decreases: no more is used of the vectors.
docs/real_moves.md has the proofs:

- `N_u` is affine in u between integers, so that a move (u, u + t) is dominated by a revealed mixture of such moves with
  an integer at one end: from 0 to t, or from `ceil t - t` to `ceil t`, up to a shift that is known.
- Of either kind, moves between two sizes of a grid that holds the integers are dominated by mixtures of theirs, as in
  `change_rates`, which bounds `ln|phi| / t^2` in each cell.
- Increases and decreases each have a budget of their own: the integral along a contour is log-convex in both mixes, so
  that the worst pair of cells, one for each, bounds it. Budgets that are not used up are the cells where nothing moves.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError, Interval
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.composing.attained_mix import Parts, composed_mix
from dpverify.privacy_loss.joint.change_rates import ChangeGrid
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.characteristic import LossAtoms, log_moduli_of
from dpverify.privacy_loss.windows.contour import Contour, Cost, best_tilt, epsilon_at, log_delta_at, tilts_tried
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots
from dpverify.privacy_loss.windows.saddle import ManyMoments, total_loss
from dpverify.privacy_loss.windows.transform import Composition
from dpverify.rounding import SUBNORMAL, UNIT, summation_error
from protocols.validation import check_integer, check_real

__all__ = ["MoveGrid", "RealMoves"]

Floats = NDArray[np.float64]
Law = Callable[[float], IntegerLaw]
"""The law of the noise, each tail of which that is cut off has a mass of the argument at most."""

_INTERPOLATION = 1e-3
"""What interpolating between sizes may cost of the exponent, relatively: half of it shows in epsilon."""
_CUT = 1e-5
"""The share of delta that all counts may lose together to the ends of the window."""
_FADED = 1e-3
"""The share of delta that may fade from the rarest large losses, of increases and of decreases: see `JointChange`."""
_SMOOTHING, _PERIOD = 1e-3, 7.0
"""Of the variance of the total loss; and between the terms of Poisson's sum, in its standard deviations."""
_CELLS = 32.0
"""Of the grid of one move's losses, in each of their standard deviations: they are split between two cells' ends."""
_TOGETHER = 2**17
"""About so many exponents of mixes are held at once."""
_RESOLUTION = 2.0**-40
"""Sizes are multiples of this, so that none is rounded where it is taken from an integer."""
_SHRUNK = 1.0 - 1e-9
"""So that no rounding makes an attained change larger than allowed."""
_SPARED = 1e-12
"""Of the losses along a line: most atoms are rarer."""
_LOOKED_AT = 8
"""Sizes by which moments are estimated."""
_LEAST_REST = 1e-6
"""The size of a move that is not worth a pair of its own."""
_COMPOSED = 2
"""How many attained changes are composed: those that promise most."""


class MoveGrid(ChangeGrid):
    """Sizes of moves, up to the largest, integers among them; as levels the two kinds of a move.

    - square: What the squares of the moves add up to at most.
    - largest: The largest move.
    - coordinates: How many counts may move.
    - guess: Whether only the moves that all counts make alike and the largest are looked at, which proves nothing.
    """

    def __init__(self, square: float, largest: float, coordinates: int, *, guess: bool = False) -> None:
        # Not above 1: what is below the first size is affine in it.
        first = min(2.0 * math.sqrt(square * _INTERPOLATION / coordinates), largest, 1.0)
        number = math.ceil(math.log(largest / first) / (2.0 * math.sqrt(_INTERPOLATION))) + 1
        sizes = np.append(np.geomspace(first, largest, number), np.arange(math.ceil(first), largest))
        sizes[number - 1] = largest
        if guess:
            sizes = np.array([min(math.sqrt(square / coordinates), largest), largest])
        self.sizes = np.unique(np.ceil(sizes / _RESOLUTION) * _RESOLUTION)
        self.midpoints = np.zeros((self.sizes.size, 2))
        self.guess, self._around = guess, False


class RealMoves:
    """The privacy curve of counts with additive noise that move by t_j, rounded at random.

    The squares of the increases add up to `square` at most, and those of the decreases.

    - noise: The law of the noise of each count, on integers >= 0, from a bound on each of its tails.
    - square: The largest sum of t_j^2 over the increases, and over the decreases, positive.
    - largest: The largest |t_j|, positive, at most the root of `square`.
    - coordinates: How many counts may increase at once, and as many others decrease: at least square / largest^2.
    - runs: Of how many runs these are, each of an even share of `square` and `coordinates`: attained changes keep to
      that.
    - reference_delta: Where accuracy is wanted: what is far less likely is cut, and charged.
    - guess: Whether upper ends need only be about right, for searches: they then prove nothing.
    """

    def __init__(
        self,
        noise: Law,
        square: float,
        largest: float,
        coordinates: int,
        *,
        runs: int = 1,
        reference_delta: float = 1e-6,
        guess: bool = False,
    ) -> None:
        self.runs = check_integer("runs", runs, low=1)
        self.square = check_real("square", square, low=0.0, low_open=True)
        self.largest = check_real("largest", largest, low=0.0, high=math.sqrt(square), low_open=True)
        self.coordinates = check_integer("coordinates", coordinates, low=1)
        check_real("reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True)
        self._reference = reference_delta
        self._law = law = noise(_CUT * reference_delta / (8.0 * coordinates))
        self.grid = MoveGrid(square, largest, coordinates, guess=guess)
        self._most = most = math.ceil(self.grid.sizes[-1])
        if law.pmf.size <= 2 * most:
            raise CapacityError(
                f"the noise has {law.pmf.size} atoms, but moves of {most} need more than twice as many."
            )
        self._known: dict[float, float] = {}

    # ------------------------------------------------------------------ pairs of one count

    def _at(self, shift: float, first: int) -> Floats:
        """Return the masses of N_shift at the counts of the window, from one on, shape (counts,)."""
        low = math.floor(shift)
        below, above = (np.append(np.zeros(i), self._law.pmf)[first : self._law.pmf.size] for i in (low, low + 1))
        fraction = shift - low
        return np.asarray(below if fraction == 0.0 else (1.0 - fraction) * below + fraction * above)

    def pair(self, size: float, *, increase: bool, low: bool) -> PrivacyLossDistribution:
        """Return the pair of a move, after against before, of whose ends the low or the high one is an integer.

        Decreases leave out the lowest counts, of which larger ones have no or next to no mass before; so do increases
        where the window begins above the least count, so that all masses are known.
        """
        law, most = self._law, self._most
        ends = (0.0, size) if low else (math.ceil(size) - size, float(math.ceil(size)))
        first = 0 if increase and law.tail_below == 0.0 else most
        after, before = (self._at(end, first) for end in (ends[::-1] if increase else ends))
        cut = float(law.pmf[:first].sum()) + float(law.pmf[-most:].sum())
        missing = cut * (1.0 + 2.0 * (law.relative_error + summation_error(most) + 4.0 * UNIT))
        missing = (missing + law.tail_below + law.tail_above) * (1.0 + 4.0 * UNIT)
        error = law.relative_error + 4.0 * UNIT
        return PrivacyLossDistribution.from_pmfs(after, before, missing_mass=missing, relative_error=error)

    @functools.cached_property
    def _gridded(self) -> list[list[list[GridPrivacyLoss]]]:
        """Increases and decreases, by size and kind: each on a grid of losses of its own, which dominates it."""
        return [
            [
                [_gridded(self.pair(float(size), increase=increase, low=low)) for low in (True, False)]
                for size in self.grid.sizes
            ]
            for increase in (True, False)
        ]

    @functools.cached_property
    def moved(self) -> list[list[list[LossAtoms]]]:
        """Their losses without those so rare that they fade, in proportion to the least that is mixed from a move."""
        sizes = self.grid.sizes
        shares = _FADED * self._reference * np.append(sizes[0], sizes[:-1]) ** 2 / self.square
        return [
            [[grid.atoms.faded(float(share)) for grid in kinds] for share, kinds in zip(shares, direction, strict=True)]
            for direction in self._gridded
        ]

    @functools.cached_property
    def left_out(self) -> float:
        """Upper bound on the mass that fades, or whose loss is infinite or unknown, over all counts."""
        unknown = (max(grid.unbounded_mass for kinds in moves for grid in kinds) for moves in self._gridded)
        # Moves of the first cell, a share y of the smallest one each: the sum of the y is at most this.
        crowd = math.sqrt(self.coordinates * self.square) / float(self.grid.sizes[0])
        faded = 2.0 * _FADED * self._reference * (1.0 + crowd * float(self.grid.sizes[0]) ** 2 / self.square)
        return (faded + self.coordinates * sum(unknown)) * (1.0 + 16.0 * UNIT)

    @functools.cached_property
    def _errors(self) -> tuple[float, float]:
        """What relative errors of masses multiply the divergence by, as a logarithm; and what losses err by in all."""
        every = [grid for direction in self._gridded for kinds in direction for grid in kinds]
        relative, loss = max(grid.relative_error for grid in every), max(grid.loss_error for grid in every)
        return 2 * self.coordinates * 2.0 * relative, 2 * self.coordinates * loss * (1.0 + 4.0 * UNIT)

    # ------------------------------------------------------------------ the exponent along a line

    @functools.cached_property
    def _looked_at(self) -> list[tuple[Floats, ManyMoments]]:
        """Of increases and of decreases the squares of a few sizes, and the moments of their losses."""
        places = np.unique(np.linspace(0, self.grid.sizes.size - 1, _LOOKED_AT).astype(int))
        return [
            (
                np.repeat(self.grid.sizes[places] ** 2, 2),
                ManyMoments([(atoms.losses, atoms.log_masses) for k in places for atoms in direction[k]]),
            )
            for direction in self.moved
        ]

    def estimate(self, tilt: float) -> tuple[float, float]:
        """Return estimates of the exponent at s = 0, and of the standard deviation of the tilted total loss."""
        exponent = variance = 0.0
        for squares, moments in self._looked_at:
            log_mgfs, variances = moments.at(tilt)
            worst = int(np.argmax(log_mgfs / squares))
            exponent += self.square / squares[worst] * float(log_mgfs[worst])
            variance += self.square / squares[worst] * float(variances[worst])
        return exponent, math.sqrt(variance)

    @functools.cached_property
    def deviation(self) -> float:
        """About the standard deviation of the total loss."""
        return self.estimate(1e-9)[1]

    def log_integral(self, contour: Contour, share: float = 1.0) -> float:
        """Return ln J, where every divergence at x is at most `J e^(-tilt x)` and what is left out.

        With a share, of the moduli to the power of one over it, which are log-convex in the mixes as well: see
        `together`.
        """
        return self._worst(contour, share)[0]

    def _worst(self, contour: Contour, share: float) -> tuple[float, Floats]:
        """Return ln J, and the exponents of the mix that has it, shape (contour.nodes.values,)."""
        rates, crowds, values = [], [], contour.nodes.values
        for direction in self.moved:
            every = [atoms for kinds in direction for atoms in kinds]
            moduli = log_moduli_of(every, contour.nodes, spared=_SPARED)
            found, crowd = self.grid.rates(moduli.reshape(len(direction), -1, values))
            # Moves that use up nothing, besides those that use up all: what lies between is a mixture of both.
            rates.append(np.append(np.zeros((1, values)), found.reshape(-1, values), axis=0))
            crowds.append(crowd)
        growth, loss_error = self._errors
        # Each count goes up or down.
        charges = 2 * self.coordinates * np.max(crowds, axis=0) + growth + contour.tilt * loss_error
        up, down = (self.square * rate for rate in rates)
        worst, most, step = -math.inf, np.zeros(values), max(_TOGETHER // down.size, 1)
        for first in range(0, len(up), step):
            some = up[first : first + step, None]
            exponents = some + down + charges * (1.0 + 8.0 * UNIT)
            exponents += 8.0 * UNIT * (np.abs(some) + np.abs(down) + charges)
            exponents = exponents.reshape(-1, values) / share
            integrals = contour.log_integral(exponents)
            row = int(np.argmax(integrals))
            if integrals[row] > worst:
                worst, most = float(integrals[row]), exponents[row]
        return worst, most

    def _least(self, cost: Cost) -> float:
        """Return the least cost that is found: any tilt gives a bound."""
        for _, moments in self._looked_at:
            moments.know(tilts_tried(self.deviation))
        tilt, _ = best_tilt(cost, self.estimate, self.deviation)
        if tilt not in self._known:
            exponent, deviation = self.estimate(tilt)
            normal = min(max(2.0 * exponent / (tilt * (1.0 + tilt)), 0.01 * self.deviation**2), deviation**2)
            contour = Contour.at(tilt, deviation, _SMOOTHING * normal, period=_PERIOD)
            thin = contour.thinned(deviation, 2.0 * self.square / self.largest**2)
            found, exponents = self._worst(thin, 1.0)
            self._known[tilt] = found if thin.is_thin_enough(exponents) else self.log_integral(contour)
        return min(cost(log_integral, known) for known, log_integral in self._known.items())

    # ------------------------------------------------------------------ queries

    def delta_upper(self, epsilon: float) -> float:
        """Return an upper bound on the hockey-stick divergence at a real epsilon, in nats."""
        check_real("epsilon", epsilon)
        listed = math.exp(min(self._least(log_delta_at(epsilon)), 0.0))
        return float(min(1.0, (listed + self.left_out) * (1.0 + 8.0 * UNIT) + SUBNORMAL))

    def epsilon_upper(self, delta: float) -> float:
        """Return an upper bound on the least epsilon >= 0, in nats, at which the divergence is at most delta."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        left = (delta - self.left_out) * (1.0 - 8.0 * UNIT)
        return max(self._least(epsilon_at(math.log(left))), 0.0) if left > 0.0 else math.inf

    @functools.cached_property
    def attained(self) -> list[Parts]:
        """Changes that two vectors attain: increases from 0 and decreases to 0, of one size, or few and a rest.

        Those that promise most first.
        """
        ups, downs = (self._some(increase) for increase in (True, False))
        both = [(*up, *down) for up, down in itertools.product(ups, downs)]
        return sorted(both, key=lambda parts: -total_loss(parts).saddle_point(self._reference)[0])

    @functools.cached_property
    def _attained(self) -> list[Composition]:
        found = list[Composition]()
        for parts in self.attained[:_COMPOSED]:
            # One that takes a larger grid than fits is one fewer.
            with suppress(CapacityError):
                found.append(composed_mix(parts, self._reference))
        return found

    def _some(self, increase: bool) -> list[Parts]:
        """Return, for every run, moves of all counts alike, and as many of the largest as fit and one of the rest."""
        many, square = self.coordinates // self.runs, self.square / self.runs
        few = min(max(math.floor(square / self.largest**2), 1), many)
        alike = min(math.sqrt(square / many) * _SHRUNK, self.largest)
        rest = math.sqrt(max(square - few * self.largest**2, 0.0)) * _SHRUNK
        sizes = [
            [(alike, many)],
            [(self.largest * _SHRUNK, few), *([(rest, 1)] if few < many and rest > _LEAST_REST else [])],
        ]
        return [
            tuple((self.pair(size, increase=increase, low=True), number * self.runs) for size, number in each)
            for each in sizes
        ]

    def delta(self, epsilon: float) -> Interval:
        """Return the largest hockey-stick divergence at a real epsilon, in nats, as a proved interval."""
        upper = self.delta_upper(epsilon)
        return Interval.proved(max((curve.delta(epsilon).lower for curve in self._attained), default=0.0), upper)

    def epsilon(self, delta: float) -> Interval:
        """Return the least epsilon >= 0, in nats, at which that divergence is at most delta, as a proved interval."""
        upper = self.epsilon_upper(delta)
        return Interval.proved(max((curve.epsilon_lower(delta) for curve in self._attained), default=0.0), upper)


def _gridded(pair: PrivacyLossDistribution) -> GridPrivacyLoss:
    mean = float(pair.masses @ pair.losses)
    spread = math.sqrt(float(pair.masses @ (pair.losses - mean) ** 2))
    return connect_the_dots(pair, max(spread / _CELLS, 1e-12 * max(pair.largest_loss, 1e-300)))
