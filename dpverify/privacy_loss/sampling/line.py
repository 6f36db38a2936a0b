"""Noise on a line and its shift, seen where a record takes part with a known probability: both directions on a grid.

P0 is the law of the noise and P1 that of the noise shifted by 1. Both have densities of a coordinate z, in which the
loss `L(z) = ln P1/P0` is `slope z + intercept`. Where the record takes part with probability q, what it adds reveals

    remove: (1-q) P0 + q P1 against P0, of likelihood ratio r = 1 - q + q E, E = e^L, and add: the same in reverse.

Of every cell of the grid, its losses ln r between two multiples of the step, the P0-mass is split between both ends, a
share `(r - r_low) / (r_high - r_low)` to the upper one: that keeps the cell's mass under both laws, so that no
divergence of either direction becomes smaller. r is affine in E, so the share is one of E, and q only says where the
grid points lie: all terms are positive, and each share is a product of `1 - e^-x` of lengths x within the cell that are
known to the last digits. docs/sampling.md has the proofs, and where every constant comes from.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import mixed_losses
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss
from dpverify.privacy_loss.windows.saddle import LossMoments
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["NoiseLine", "SampledGrids"]

Floats = NDArray[np.float64]

_NODES = 10
_PANEL = 0.04
_QUADRATURE = 1e-15
"""A panel of so many nodes spans at most `_PANEL` of a standard deviation, or 1 nat, and errs relatively by so much."""
_FARTHEST = 36.0
"""In standard deviations: as far as that bound holds, and masses are normal floats."""
_MOST_NODES = 2**26
_BLOCK = 2**13
"""Panels that are integrated at once."""
_LARGEST_LOSS, _LEAST_MASS = 700.0, 1e-300
_LARGEST_STEP = 16.0
"""Where the gap below the least loss, known to a few units, still tells the first grid point."""
_ATOMS = 1024
"""Of the coarse law that the step is chosen by."""
_PER_UNIT, _PER_NAT = 128.0, 32.0
"""Cells of a list, in a unit of the coordinate and in a nat of the loss of P1."""


class SampledGrids(NamedTuple):
    """Both directions on one grid: the record is there and taken away, or not there and added."""

    remove: GridPrivacyLoss
    add: GridPrivacyLoss


class _Cells(NamedTuple):
    """Where the grid points lie: `places` in the coordinate, all but that of the first one, which may have none.

    `start` is where offsets in the first cell are taken from, and `log_ratios` the logarithm of the density against P0.
    """

    start: float
    places: NDArray[np.float64]
    indices: NDArray[np.int64]
    losses: NDArray[np.float64]
    log_ratios: NDArray[np.float64]
    gap: float
    loss_error: float


@dataclass(frozen=True)
class NoiseLine:
    """The law P0 of a coordinate, and the line that is the loss of P1 against it.

    - slope, intercept: The loss at z is `slope z + intercept`, each within two roundings.
    - low, high: Where the density is taken: on z in [low, high].
    - atoms: P0-masses at both ends.
    - normal: Whether z is a standard normal variable; else its density falls like `e^(-slope z / 2)`.
    - missing: Upper bound on what either law has outside [low, high].
    - opposite: Whether the record is replaced by its opposite, and not removed: the mixtures are with P0 shifted by 1
      and -1.
    """

    slope: float
    intercept: float
    low: float
    high: float
    atoms: tuple[float, float]
    normal: bool
    missing: float
    opposite: bool = False

    @classmethod
    def gaussian(cls, noise: float, tail: float = 1e-40, *, opposite: bool = False) -> NoiseLine:
        """Return normal noise of a standard deviation of `noise` times the largest shift.

        - noise: The noise multiplier, positive.
        - tail: What may be left out.
        - opposite: Whether a record is replaced by its opposite, and not removed.
        """
        check_real("noise", noise, low=0.0, low_open=True)
        check_real("tail", tail, low=1e-281, high=0.1)
        slope, reach = 1.0 / noise, math.sqrt(-2.0 * math.log(tail))
        if not reach + slope <= _FARTHEST:
            raise CapacityError(
                f"noise={noise!r} of what a record moves must be at least {1.0 / (_FARTHEST - reach):.3g}, so that "
                f"masses of {tail:.3g} are floats; more noise or a larger delta does not."
            )
        low = -reach - slope if opposite else -reach
        return cls(slope, -0.5 * slope * slope, low, reach + slope, (0.0, 0.0), True, tail, opposite)

    @classmethod
    def laplace(cls, noise: float) -> NoiseLine:
        """Return Laplace noise of a scale of `noise` times the largest shift: the loss is between -1/noise and 1/noise.

        - noise: Positive, at least 1/700.
        """
        check_real("noise", noise, low=1.0 / _LARGEST_LOSS)
        slope = 1.0 / noise
        return cls(slope, 0.0, -1.0, 1.0, (0.5, 0.5 * math.exp(-slope)), False, 0.0)

    @classmethod
    def bounded_range(cls, epsilon: float) -> NoiseLine:
        """Return the line of what dominates all pairs whose losses lie in an interval of a length of at most epsilon.

        Their divergences are at most `(1 - e^((eps - epsilon) / 2))^2 / (1 - e^-epsilon)` for |eps| <= epsilon, which
        is that of losses between -epsilon and epsilon whose density rises like `e^(loss / 2)`.

        - epsilon: In (0, 700].
        """
        check_real("epsilon", epsilon, low=0.0, low_open=True, high=_LARGEST_LOSS)
        return cls(epsilon, 0.0, -1.0, 1.0, (0.0, 0.0), False, 0.0)

    # ------------------------------------------------------------------ the loss

    def _exponent(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of P0's density, up to its constant."""
        return np.asarray(-0.5 * z * z if self.normal else -0.5 * self.slope * (z + 1.0))

    @property
    def _constant(self) -> float:
        if self.normal:
            return 1.0 / math.sqrt(2.0 * math.pi)
        return 0.25 * self.slope if self.atoms[0] > 0.0 else -0.5 * self.slope / math.expm1(-self.slope)

    def _line_error(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound the error of `slope z + intercept` at floats z."""
        return np.asarray(8.0 * UNIT * (self.slope * np.abs(z) + abs(self.intercept)))

    def moments(self, rate: float) -> LossMoments:
        """Return the moments of the loss of removal from a coarse law, an estimate: to choose a step by."""
        width = (self.high - self.low) / _ATOMS
        z = self.low + width * (np.arange(_ATOMS, dtype=np.float64) + 0.5)
        losses, ratios, _ = self._losses(z, rate)
        logs = ratios + self._exponent(z) + math.log(width * self._constant)
        ends = [at for at, mass in zip((self.low, self.high), self.atoms, strict=True) if mass > 0.0]
        if ends:
            beyond, _, _ = self._losses(np.array(ends), rate)
            losses = np.concatenate([losses, beyond])
            logs = np.concatenate([logs, beyond + np.log([mass for mass in self.atoms if mass > 0.0])])
        return LossMoments(losses, logs)

    def _losses(self, z: NDArray[np.float64], rate: float) -> tuple[Floats, Floats, Floats]:
        """Return the losses at places z, ln r there, and bounds on the errors: of the line, and of the logarithm."""
        line = self.slope * z + self.intercept
        found = mixed_losses(line, 0.0, 1.0 - rate, rate)
        moved = np.exp(np.minimum(line + math.log(rate) - found.losses, 0.0))  # q E / r, what L moves ln r by
        error = moved * self._line_error(z) + found.rounding
        if not self.opposite:
            return found.losses, found.losses, error
        other = replace(self, slope=-self.slope, opposite=False)._losses(z, rate)
        return found.losses - other[0], found.losses, error + other[2] + UNIT * np.abs(found.losses - other[0])

    def _inverse(self, losses: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
        """Return about where ln r has given values; -inf where it is larger everywhere."""
        if self.opposite:
            # e^(s z) r - r' = 0 is a quadratic equation, and its root is e^(loss / 2) that of one with roots u and 1/u.
            half = 0.5 * np.abs(losses)
            with np.errstate(divide="ignore"):
                log_sinh = half + np.log(-0.5 * np.expm1(-2.0 * half))
                log_size = log_sinh + np.log1p(-rate) - math.log(rate) - self.intercept
            root = np.where(log_size > 20.0, log_size + math.log(2.0), np.arcsinh(np.exp(np.minimum(log_size, 20.0))))
            return np.asarray(np.copysign(half + root, losses) / self.slope)
        near = np.minimum(losses, 1.0)
        with np.errstate(divide="ignore"):
            if rate <= 0.5:
                line = np.log1p(np.maximum(np.expm1(near) / rate, -1.0))
            else:
                line = np.log(np.maximum(np.exp(near) - (1.0 - rate), 0.0) / rate)
        far = losses - math.log(rate) + np.log1p(-(1.0 - rate) * np.exp(-np.maximum(losses, 1.0)))
        return np.asarray((np.where(losses < 1.0, line, far) - self.intercept) / self.slope)

    def _cells(self, rate: float, step: float) -> _Cells:
        """Return the grid points, the true losses of which are next to multiples of the step.

        That of all but the first is the loss at a float. The first lies in a gap below the least loss, `r_low -
        r_first`, here in units of `q E` at the second; where losses have no least one, it is one at a float, too.
        """
        (least, largest), _, errors = self._losses(np.array([self.low, self.high]), rate)
        first = math.floor(least / step)
        last = max(math.ceil(largest / step), first + 1)
        if (last - first) * _NODES > _MOST_NODES:
            raise CapacityError(f"step={step:.3g} needs {last - first:.3g} cells; a larger step needs fewer.")
        indices = np.arange(first, last + 1)
        places = self._inverse(indices[1:] * step, rate)
        start = self.low
        if self.opposite:
            start = min(float(self._inverse(indices[:1] * step, rate)[0]), np.nextafter(start, -math.inf))
        dropped = int(np.searchsorted(places, self.low, side="right"))
        places, indices = places[dropped:], indices[dropped:]
        if places[-1] < self.high:  # by a rounding
            places[-1] = np.nextafter(self.high, math.inf)
        if not (np.diff(places) > 0.0).all():
            raise CapacityError(f"step={step:.3g} is less than floats tell apart here; a larger step is not.")
        if self.opposite:
            losses, ratios, loss_errors = self._losses(np.append(start, places), rate)
            loss_errors += np.abs(losses - indices * step)
            return _Cells(start, places, indices, losses, ratios, 0.0, float(loss_errors.max()) * (1.0 + 1e-9))
        losses, _, loss_errors = self._losses(places, rate)
        below = min(indices[0] * step - least, 0.0)
        lowest = least + below
        gap = -math.expm1(below) * math.exp(least - (self.slope * places[0] + self.intercept) - math.log(rate))
        # `below` and the gap err by a few units, the gap relatively: as a loss by the width of the cell times that.
        first_error = errors[0] + 16.0 * UNIT * (abs(least) + abs(lowest) + math.expm1(-below))
        losses = np.append(lowest, losses)
        loss_errors = np.append(first_error, loss_errors) + np.abs(losses - indices * step)
        return _Cells(start, places, indices, losses, losses, gap, float(loss_errors.max()) * (1.0 + 1e-9))

    def sampled(self, rate: float, step: float) -> SampledGrids:
        """Return both directions where the record takes part with probability `rate`, on the multiples of `step`.

        - rate: q, in (0, 1].
        - step: In nats.

        Raises CapacityError if it is above 16, or the grid would need more than 2^26 nodes, or its cells are no floats.
        """
        check_real("rate", rate, low=0.0, high=1.0, low_open=True)
        if check_real("step", step, low=0.0, low_open=True) > _LARGEST_STEP:
            raise CapacityError(f"so many need a grid coarser than {_LARGEST_STEP:g} nats.")
        cells = self._cells(rate, step)
        upper, lower, removed_error, error = self._shared(cells, rate)
        masses = np.append(lower, 0.0)
        masses[1:] += upper
        occupied = masses > 0.0
        masses, indices, ratios = masses[occupied], cells.indices[occupied], cells.log_ratios[occupied]
        apart = (step + 2.0 * cells.loss_error) * (1.0 + 4.0 * UNIT)
        add = GridPrivacyLoss(step, -indices[::-1], masses[::-1], 0.0, self.missing, error, cells.loss_error, apart)
        remove = replace(add, indices=indices, masses=masses * np.exp(ratios), relative_error=removed_error)
        return SampledGrids(remove, remove if self.opposite else add)

    def listed(self, rate: float, finer: int = 1) -> tuple[Directions, Directions]:
        """Return both directions as lists: one that dominates, and one that a function of the output attains.

        The cells are alike in the coordinate, whatever the rate: so fine that the excess is some millionths. Of the
        second each cell is one outcome: the split between its ends keeps its mass under both laws.

        - rate: q, in (0, 1].
        - finer: how many times as many cells; the excess falls like the square.
        """
        check_real("rate", rate, low=0.0, high=1.0, low_open=True)
        number = finer * math.ceil((self.high - self.low) * max(_PER_UNIT, _PER_NAT * self.slope))
        start = np.nextafter(self.low, -math.inf) if self.opposite else self.low
        places = self.low + (self.high - self.low) * (np.arange(1.0, number + 1.0) / number)
        places[-1] = max(places[-1], self.high)
        losses, ratios, errors = self._losses(np.append(start, places), rate)
        cells = _Cells(float(start), places, np.arange(number + 1), losses, ratios, 0.0, float(errors.max()))
        upper, lower, removed_error, error = self._shared(cells, rate)
        first, other = np.exp(ratios), np.exp(ratios - losses)

        def direction(masses: Floats, losses: Floats, error: float) -> PrivacyLossDistribution:
            known = {"missing_mass": self.missing, "relative_error": error, "loss_error": cells.loss_error}
            return PrivacyLossDistribution.from_atoms(losses, masses, **known)

        masses = np.append(lower, 0.0)
        masses[1:] += upper
        remove = direction(masses * first, losses, removed_error)
        add = remove if self.opposite else direction(masses, -losses, error)
        gone, kept = (law[:-1] * lower + law[1:] * upper for law in (first, other))
        floats = np.minimum(gone, kept) > _LEAST_MASS
        error = removed_error + cells.loss_error + 8.0 * UNIT
        missing = self.missing + 2.0 * float(np.maximum(gone, kept)[~floats].sum())

        def attained(first: Floats, second: Floats) -> PrivacyLossDistribution:
            return PrivacyLossDistribution.from_pmfs(
                first[floats], second[floats], missing_mass=missing, relative_error=error
            )

        below = attained(gone, kept)
        return Directions(remove, add), Directions(below, below if self.opposite else attained(kept, gone))

    def _shared(self, cells: _Cells, rate: float) -> tuple[Floats, Floats, float, float]:
        """Return the shares of each cell's ends, and the relative errors of their masses under the first law and P0."""
        upper, lower, cell_error = self._split(cells, rate)
        largest = max(abs(self.low), abs(self.high))
        # A node's place errs by a few units of itself, and the density by that times the slope of its logarithm.
        exponents = 4.0 * largest**2 + 8.0 * largest if self.normal else 8.0 * self.slope
        error = _QUADRATURE + cell_error + (exponents + 200.0) * UNIT
        line = float(self._line_error(np.array([largest]))[0]) + 4.0 * UNIT * float(np.abs(cells.log_ratios).max())
        return upper, lower, error + cells.loss_error + line + 4.0 * UNIT, error

    def _steepness(self, z: Floats, other: Floats, rate: float) -> Floats:
        """Return K(z, w), by which `1 - e^-(s (z - w))` is `r(z) r'(w) - r(w) r'(z)`, r' = 1 for removal."""
        up = np.exp(self.slope * z + self.intercept)
        if not self.opposite:
            return up
        down = np.exp(self.intercept - self.slope * other)
        pure = math.exp(2.0 * self.intercept)
        return np.asarray((1.0 - rate) * (up + down) + rate * (pure + up * down))

    def _split(self, cells: _Cells, rate: float) -> tuple[Floats, Floats, float]:
        """Return what the P0-mass of each cell gives to its upper and lower end, and bounds its relative error."""
        left = np.append(cells.start, cells.places[:-1])
        width = cells.places - left
        inside = width.copy()
        inside[-1] = self.high - left[-1]
        before, beyond = self.low - cells.start, cells.places[-1] - self.high
        inside[0] -= before
        panels = np.maximum(np.ceil(inside * max(1.0 / _PANEL if self.normal else 0.0, self.slope)), 1.0)
        total = float(panels.sum())
        if total * _NODES > _MOST_NODES:
            raise CapacityError(f"{total:.3g} panels are needed; a larger step needs fewer.")
        counts = panels.astype(np.int64)
        starts = np.cumsum(counts) - counts
        upper, lower = np.empty(int(total)), np.empty(int(total))
        whole = -np.expm1(-self.slope * width)
        whole[0] += cells.gap
        steepest = self._steepness(cells.places, left, rate)
        owner = np.repeat(np.arange(width.size), counts)
        number = (np.arange(int(total)) - starts[owner]).astype(np.float64)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        for block in range(0, int(total), _BLOCK):
            part = slice(block, min(block + _BLOCK, int(total)))
            own = owner[part]
            size = (inside[own] / counts[own])[:, None]
            # The nodes are symmetric: what is left of the panel above each is another's offset, and nothing cancels.
            above = (number[part, None] + 0.5 * (1.0 + nodes)) * size
            under = ((counts[own] - 1.0 - number[part])[:, None] + 0.5 * (1.0 - nodes)) * size
            under[own == width.size - 1] += beyond
            above[own == 0] += before
            places = left[own, None] + above
            density = np.exp(self._exponent(places))
            density *= weights * (0.5 * self._constant * size) / whole[own, None]
            rest, risen = -np.expm1(-self.slope * under), -np.expm1(-self.slope * above)
            if self.opposite:
                # The quotients first: of the density and one of both, floats may hold none.
                rest *= self._steepness(cells.places[own, None], places, rate) / steepest[own, None]
                risen *= self._steepness(places, left[own, None], rate) / steepest[own, None]
            else:
                risen *= np.exp(-self.slope * under)
                risen[own == 0] += cells.gap
            lower[part] = np.sum(density * rest, axis=1)
            upper[part] = np.sum(density * risen, axis=1)
        up, down = np.add.reduceat(upper, starts), np.add.reduceat(lower, starts)
        for at, mass, cell in zip((self.low, self.high), self.atoms, (0, width.size - 1), strict=True):
            under_it, above_it = float(cells.places[cell]) - at, at - float(left[cell])
            down[cell] += mass * -math.expm1(-self.slope * under_it) / whole[cell]
            risen_it = math.exp(-self.slope * under_it) * -math.expm1(-self.slope * above_it)
            up[cell] += mass * (risen_it + (cells.gap if cell == 0 else 0.0)) / whole[cell]
        # An offset errs by a few units, and so does e^-x - 1, by 1 + x times as many; the panels of a cell are added.
        units = 12.0 * self.slope * float(width.max()) + float(panels.max()) + 32.0
        if self.opposite:  # each K by two exponentials of the line
            units += 32.0 + 4.0 * float(self._line_error(np.array([cells.places[-1]]))[0]) / UNIT
        return up, down, units * UNIT
