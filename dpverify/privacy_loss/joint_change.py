"""A bound on what a user reveals who changes the probabilities of m bits by t_j, `sum t_j^2 <= T^2`.

`contour` bounds a product by the moduli of its factors' moment generating functions along a line, whose logarithms add
up. With r(s) the largest `ln|phi_t(z)| / t^2` over all t, pairs and others' bits, every product has
`ln|phi(z)| <= T^2 r(s)`: one number for every direction of change. docs/joint_changes.md has the proofs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpverify.changes import L2Bounded
from dpverify.guarantee import Interval
from dpverify.privacy_loss.characteristic import LossAtoms, Nodes
from dpverify.privacy_loss.contour import Contour
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.family import Entry, FamilyComposition
from dpverify.privacy_loss.grid import GridPrivacyLoss, dominating_grid
from dpverify.privacy_loss.mixture import mixed_losses
from dpverify.rounding import SUBNORMAL, UNIT, summation_error
from dpverify.search import least_argument
from protocols.validation import check_real

__all__ = ["JointChange"]

Floats = NDArray[np.float64]

_CELLS_PER_DEVIATION = 30.0
_MOST_CELLS = 4000.0
_SMALLEST_STEP = 1e-12
_INTERPOLATION = 3e-4
"""What interpolating in t may cost of the exponent, relatively, in each cell."""
_CUT = 1e-9
"""The share of delta that the coordinates may lose together, on each side, by trimming the rarest losses."""
_SMOOTHING = 1e-3
"""The extra variance of the total loss, relatively: half of that is what it costs of epsilon."""
_TILT_STEP = 0.02
"""Logarithms of tilts are multiples of this, so that queries next to each other share one."""
_LARGEST_EXPONENT = 300.0
"""Of what is squared and multiplied: beyond it a bound is infinite."""
_LOWER_WIDTH = 1e-4
_NEARLY_FULL = 0.9
"""From this share of T^2 in m on, charging all coordinates in full may be sharper: the smaller bound is taken."""
_LEAST_SQUARE = 1e-100
"""No smaller T^2 is computed with: squares of the changes would leave the floats, and more change only reveals more."""
_INFINITE_SHARE = 0.02
"""The share of delta that may be lost by counting large finite losses as infinite."""


class JointChange:
    """The privacy curve of a user who changes the probabilities of m bits by t_j, `sum t_j^2 <= T^2`.

    Parameters
    ----------
    pairs : sequence of PrivacyLossDistribution or of groups of them
        As for `FamilyComposition`: pairs of a bit's full change, up and down, which together dominate those of every
        dataset; a group is covered by the supremum of its profiles.
    change : L2Bounded
        T^2 and m.
    attained : sequence of PrivacyLossDistribution
        Pairs that a dataset attains in every coordinate at once, for the lower bound: that of floor(T^2) coordinates in
        full. Without any it is trivial.
    reference_delta : float
        Where accuracy is wanted: what is far less likely is cut, and charged.
    """

    def __init__(
        self,
        pairs: Sequence[Entry],
        change: L2Bounded,
        *,
        attained: Sequence[PrivacyLossDistribution] = (),
        reference_delta: float = 1e-6,
    ) -> None:
        if not pairs:
            raise ValueError("pairs is empty, but must hold at least one distribution.")
        check_real("reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True)
        self.change = change = replace(change, squared_change=max(change.squared_change, _LEAST_SQUARE))
        groups = [[entry] if isinstance(entry, PrivacyLossDistribution) else list(entry) for entry in pairs]
        cut = _CUT * reference_delta / change.coordinates
        trimmed = [[pair.trimmed(cut) for pair in group] for group in groups]
        spread = max(_standard_deviation(pair) for group in trimmed for pair in group)
        largest = max(pair.largest_loss for group in trimmed for pair in group)
        step = max(spread / _CELLS_PER_DEVIATION, 2.0 * largest / _MOST_CELLS, _SMALLEST_STEP)
        self._deviation = max(spread, step) * math.sqrt(change.squared_change)
        full = [_FullChange(dominating_grid(group, step)) for group in trimmed]
        self._changes = _grid_of_changes(change, -math.log(reference_delta))
        unlisted = max(pair.grid.unbounded_mass for pair in full)
        finite_up_to = _finite_up_to(change, unlisted / (_INFINITE_SHARE * reference_delta))
        made = [[mixture for pair in full for mixture in pair.mixtures(float(t), finite_up_to)] for t in self._changes]
        self._atoms = [[atoms for atoms, _ in row] for row in made]
        m = change.coordinates
        self._loss_error = m * max(error for row in made for _, error in row)
        self._log_growth = m * max(pair.relative_error for pair in full)
        self._infinite = self._infinite_mass(unlisted, finite_up_to)
        # No loss exceeds that of a full change, nor that of an outcome that is given its finite loss.
        self._largest = max(m * max(largest, -math.log1p(-finite_up_to)) * (1.0 + 8.0 * UNIT) + self._loss_error, 0.0)
        self._known: dict[float, float] = {}
        family = functools.partial(FamilyComposition, relative_width=_LOWER_WIDTH, reference_delta=reference_delta)
        in_full = math.floor(change.squared_change)
        self._attained = [family([pair], in_full) for pair in attained] if in_full else []
        every = [pair for group in groups for pair in group]
        near = change.squared_change >= _NEARLY_FULL * m
        self._in_full = family(pairs, m, attained=every) if near else None

    def _infinite_mass(self, unlisted: float, finite_up_to: float) -> float:
        """Return an upper bound on the P-mass of infinite or unknown loss, over all coordinates.

        `_FullChange.mixtures` leaves out t_j times a pair's unlisted mass, and sum t_j <= T sqrt(m), or all of it if
        t_j lies in a cell that reaches above `finite_up_to`: at most T^2 over the square of its lower end.
        """
        m, square = self.change.coordinates, self.change.squared_change
        crowd = math.sqrt(square * m)
        if self._changes[-1] > finite_up_to:
            below = self._changes[self._changes <= finite_up_to]
            crowd = crowd + square / below[-1] ** 2 if below.size else math.inf
        return min(float(m), crowd) * unlisted * (1.0 + 16.0 * UNIT)

    # ------------------------------------------------------------------ the exponent along a line

    def _exponent(self, nodes: Nodes) -> Floats:
        """Return upper bounds on the logarithm of the modulus of every product, shape (count,)."""
        log_moduli = [np.max([atoms.along(nodes).log_moduli for atoms in row], axis=0) for row in self._atoms]
        over_changes = _over_changes(self._changes, np.array(log_moduli), self.change)
        return over_changes + self._log_growth + nodes.tilt * self._loss_error

    def _estimate(self, tilt: float) -> tuple[float, float]:
        """Return estimates of the exponent at s = 0, and of the standard deviation of the tilted total loss."""
        few = np.unique(np.linspace(0, self._changes.size - 1, 12).astype(int))
        rates = [max(atoms.log_moment(tilt) for atoms in self._atoms[k]) / self._changes[k] ** 2 for k in few]
        exponent = self.change.squared_change * max(rates)
        return exponent, max(math.sqrt(max(2.0 * exponent / (tilt * (1.0 + tilt)), 0.0)), 0.1 * self._deviation)

    def _log_integral(self, tilt: float) -> float:
        """Return ln J, where every divergence at x is at most `J e^(-tilt x)` and the infinite mass."""
        if tilt not in self._known:
            deviation = self._estimate(tilt)[1]
            contour = Contour.at(tilt, deviation, _SMOOTHING * deviation**2)
            self._known[tilt] = contour.log_integral(self._exponent(contour.nodes))
        return self._known[tilt]

    def _least(self, cost: Callable[[float, float], float]) -> float:
        """Return the least cost that is found of (ln J, tilt): any tilt gives a bound."""

        def estimated(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            exponent, spread = self._estimate(tilt)
            # The integral of a Gaussian over a kernel that is wider.
            return cost(exponent - math.log(math.sqrt(2.0 * math.pi) * spread * tilt * (1.0 + tilt)), tilt)

        best = least_argument(estimated, math.log(0.3 / self._deviation), math.log(100.0 / self._deviation))
        self._log_integral(math.exp(_TILT_STEP * round(best / _TILT_STEP)))
        return min(cost(log_integral, tilt) for tilt, log_integral in self._known.items())

    # ------------------------------------------------------------------ queries

    def delta(self, epsilon: float) -> Interval:
        """Return the largest hockey-stick divergence at a real epsilon, in nats, as a proved interval."""
        upper = self.delta_upper(epsilon)
        lower = max((family.delta(epsilon).lower for family in self._attained), default=0.0)
        return Interval.proved(lower, upper)

    def epsilon(self, delta: float) -> Interval:
        """Return the least epsilon >= 0, in nats, at which that divergence is at most delta, as a proved interval."""
        upper = self.epsilon_upper(delta)
        lower = max((family.epsilon(delta).lower for family in self._attained), default=0.0)
        return Interval.proved(lower, upper)

    def delta_upper(self, epsilon: float) -> float:
        """Return an upper bound on the hockey-stick divergence at a real epsilon, in nats."""
        check_real("epsilon", epsilon)

        def log_delta(log_integral: float, tilt: float) -> float:
            return log_integral - tilt * epsilon + 4.0 * UNIT * (abs(log_integral) + tilt * abs(epsilon))

        finite = math.exp(min(self._least(log_delta), 0.0)) if epsilon < self._largest else 0.0
        upper = float(min(1.0, (finite + self._infinite) * (1.0 + 8.0 * UNIT) + SUBNORMAL))
        return upper if self._in_full is None else min(upper, self._in_full.delta(epsilon).upper)

    def epsilon_upper(self, delta: float) -> float:
        """Return an upper bound on the least epsilon >= 0, in nats, at which the divergence is at most delta.

        It is inf if the infinite and unknown mass reaches delta.
        """
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        otherwise = math.inf if self._in_full is None else self._in_full.epsilon_upper(delta)
        left = (delta - self._infinite) * (1.0 - 8.0 * UNIT)
        if left <= 0.0:
            return otherwise
        wanted = math.log(left)

        def epsilon(log_integral: float, tilt: float) -> float:
            return (log_integral - wanted + 8.0 * UNIT * (abs(log_integral) - wanted)) / tilt

        return float(min(max(self._least(epsilon), 0.0), self._largest, otherwise))


@dataclass(frozen=True, eq=False)
class _FullChange:
    """A pair (P, Q) that dominates a bit's full change in one direction."""

    grid: GridPrivacyLoss

    @functools.cached_property
    def reference(self) -> Floats:
        """Q's listed masses; in halves, as e^-loss alone may overflow."""
        half = np.exp(-0.5 * self.grid.losses)
        return np.asarray(self.grid.masses * half * half)

    @property
    def relative_error(self) -> float:
        """Bound on the relative error of every mass, of P, Q and their mixtures."""
        return (1.0 + 2.0 * self.grid.relative_error) * math.exp(min(self.grid.loss_error, 700.0)) - 1.0 + 24.0 * UNIT

    @functools.cached_property
    def unlisted(self) -> float:
        """Upper bound on what Q's listed masses lack to 1."""
        listed = float(np.sum(self.reference))
        return max(0.0, 1.0 - listed * (1.0 - self.relative_error - summation_error(self.reference.size)))

    def mixtures(self, t: float, finite_up_to: float) -> list[tuple[LossAtoms, float]]:
        """Return the atoms of the pairs ((1-t)Q + tP, Q) and (P, (1-t)P + tQ), and what their losses err by at most.

        Their profiles at e^x = a are t h((a-1+t)/t), or 1 - a if that is an argument below 0, and
        (1 - a(1-t)) h(at / (1 - a(1-t))), or 0 if 1 - a(1-t) is below 0, h that of (P, Q): both grow with h. Q's
        unlisted mass, all of whose loss is ln(1-t), keeps the former above 1 - a. Of P's unlisted mass the first pair
        leaves out a share t, the second all if t is more than `finite_up_to`; its loss is -ln(1-t) otherwise.
        """
        grid, reference = self.grid, self.reference
        towards = mixed_losses(grid.losses, grid.loss_error, 1.0 - t, t)
        back = mixed_losses(-grid.losses, grid.loss_error, 1.0 - t, t)
        first = towards.losses, (1.0 - t) * reference + t * grid.masses
        second = -back.losses, grid.masses
        rounding = 0.0
        if t < 1.0:
            log_kept = math.log1p(-t)
            rounding = -4.0 * UNIT * log_kept
            first = np.append(first[0], log_kept), np.append(first[1], (1.0 - t) * self.unlisted)
            if t <= finite_up_to:
                second = np.append(second[0], -log_kept), np.append(second[1], grid.unbounded_mass)
        return [
            (LossAtoms.of(losses, masses), part.slope * grid.loss_error + part.rounding + rounding)
            for (losses, masses), part in ((first, towards), (second, back))
        ]


def _over_changes(changes: Floats, log_moduli: Floats, change: L2Bounded) -> Floats:
    """Return upper bounds on sum_j F(t_j) over all t_j with `sum t_j^2 = T^2`.

    F(t) is the logarithm of the interpolation, linear in t, of `|phi|` between the grid of t (and 1 at 0): the pair at
    t is dominated by a mixture of those at both ends of its cell.

    Parameters
    ----------
    changes : ndarray, shape (grid,)
        The grid of t, increasing, up to the largest t.
    log_moduli : ndarray, shape (grid, nodes)
        ln |phi_t|.

    Notes
    -----
    Let r be the larger of `ln|phi_t| / t^2` at the ends u < v of a cell. There |phi| is at most the chord of
    e^(r t^2), which lies at most `(v-u)^2/8` times the largest second derivative `(2 r + 4 r^2 t^2) e^(r t^2)` above
    it; so F(t)/t^2 exceeds r by at most `(v-u)^2/(8 u^2) (2 r + 4 r^2 v^2)+ e^(|r| (v^2 - u^2))`. F is also at most
    the larger end. With R the largest bound of any cell, and x = R t_1^2, F(t) - R t^2 in the first one, at
    t = y t_1, is at most `y (e^x - 1) - x y^2 <= (e^x - 1)^2 / 4x` for x > 0; for x < 0 convex in y, 0 or
    `e^x - 1 - x` at its ends. So `sum_j F(t_j) <= R T^2 + m c`, c the excess of the first cell.
    """
    t = changes[:, None]
    rates = log_moduli / t**2
    low, high, larger = t[:-1], t[1:], np.maximum(log_moduli[1:], log_moduli[:-1])
    rate = np.maximum(rates[1:], rates[:-1])
    curvature = np.maximum(2.0 * rate + (2.0 * rate * high) ** 2, 0.0)
    growth = np.abs(rate) * (high**2 - low**2)
    excess = (high - low) ** 2 / (8.0 * low**2) * curvature * np.exp(np.minimum(growth, _LARGEST_EXPONENT))
    excess[growth > _LARGEST_EXPONENT] = np.inf
    cells = np.minimum(rate + excess, larger / np.where(larger > 0.0, low, high) ** 2)
    worst = np.vstack([rates[:1], cells]).max(axis=0)
    x = worst * changes[0] ** 2
    grown = np.expm1(np.minimum(x, _LARGEST_EXPONENT))
    first = np.where(x > 0.0, grown**2 / (4.0 * np.maximum(x, 1e-300)), grown - x)
    first[x > _LARGEST_EXPONENT] = np.inf
    parts = change.squared_change * worst, change.coordinates * first
    # Some ten roundings of each of the terms, and those of the grid of t.
    return np.asarray(
        parts[0] + parts[1] + 64.0 * UNIT * (np.abs(parts[0]) + parts[1] + change.coordinates * np.abs(x))
    )


def _finite_up_to(change: L2Bounded, weight: float) -> float:
    """Return the t up to which an outcome that only the first law has gets its finite loss, -ln(1-t).

    Its moments grow like (1-t)^-tilt, however small its mass: the smallest t for which counting more as infinite costs
    little, where `weight` is the mass in units of what may be lost.
    """
    if weight * change.coordinates <= 1.0:
        return 0.0
    return min(0.5, math.sqrt(weight * change.squared_change))


def _standard_deviation(pair: PrivacyLossDistribution) -> float:
    """Return that of the finite losses."""
    share = pair.masses / max(float(np.sum(pair.masses)), SUBNORMAL)
    mean = float(np.sum(share * pair.losses))
    return math.sqrt(float(np.sum(share * (pair.losses - mean) ** 2)))


def _grid_of_changes(change: L2Bounded, log_delta: float) -> Floats:
    """Return the grid of t, from the first above 0 to min(1, T), for a divergence of about e^-log_delta.

    A cell of width d costs about `d^2 (2 r + 4 r^2 t^2) / 8` beside r t^2, where the rate r is about `log_delta / T^2`;
    the first one r t^2 / 4 for each coordinate.
    """
    square = change.squared_change
    first = 2.0 * math.sqrt(square * _INTERPOLATION / change.coordinates)
    changes = [min(1.0, math.sqrt(square) * (1.0 + 4.0 * UNIT))]
    while changes[-1] > first:
        steepness = 2.0 + 4.0 * log_delta / square * changes[-1] ** 2
        changes.append(changes[-1] * (1.0 - math.sqrt(8.0 * _INTERPOLATION / steepness)))
    return np.array(changes[::-1])
