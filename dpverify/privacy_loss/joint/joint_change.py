"""A bound on what a user reveals who changes the probabilities of m bits by t_j, `sum t_j^2 <= T^2`.

`contour` bounds a product by the moduli of its factors' moment generating functions along a line, whose logarithms add
up. With R_c(s) a bound on `ln|phi(z)|` over what a move costs, for all moves in a cell c and one pair, every product
has `ln|phi(z)| <= T^2 sum p_c R_c(s)`, p_c the share of its moves' cost that falls to the cell and the pair. The
integral along the line is log-convex in these shares: the worst change lies in a single cell, and all of it has the
same pair. Where one move may be most of T^2, `largest_move` has a second bound.
docs/joint_changes.md has the proofs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpverify.changes import L2Bounded
from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.composing.family import Entry, FamilyComposition
from dpverify.privacy_loss.datasets.cover_choice import SMOOTHING, loss_grid, sharpest
from dpverify.privacy_loss.datasets.covers import Covers, members
from dpverify.privacy_loss.joint.attained_change import AttainedChange
from dpverify.privacy_loss.joint.bit_change import FullChange
from dpverify.privacy_loss.joint.change_rates import ChangeGrid, looseness
from dpverify.privacy_loss.joint.largest_move import LargestMove, RestMoments
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.characteristic import LossAtoms, Nodes, all_faded, log_moduli_of
from dpverify.privacy_loss.windows.contour import Contour, Cost, best_tilt, epsilon_at, log_delta_at, tilts_tried
from dpverify.privacy_loss.windows.grid import dominating_grid
from dpverify.privacy_loss.windows.saddle import ManyMoments
from dpverify.rounding import SUBNORMAL, UNIT
from protocols.validation import check_real

__all__ = ["JointChange"]

Floats = NDArray[np.float64]

_CUT = 1e-5
"""The share of delta that the coordinates may lose together, on each side, by trimming the rarest losses."""
_PERIOD = 7.0
"""Between the terms of Poisson's sum, in standard deviations of the total loss: another costs nothing that shows."""
_FULL_WIDTH = 1e-4
_NEARLY_FULL, _OF_FEW, _FEW = 0.9, 0.25, 8
"""From these shares of T^2 in m on, charging all coordinates in full may be sharper, with more than few or few of them:
the smaller bound is taken."""
_LEAST = 1e-100
"""No smaller deviation or T^2 is computed with: squares would leave the floats, and more change only reveals more."""
_LARGEST_AROUND, _LEAST_CHANCE = 0.4, 0.2 - 1e-6
"""Of moves in a ball up to that size, a 1 has that chance before: `ChangeGrid.has_sure_bits`."""
_INFINITE_SHARE = 0.02
"""The share of delta that may be lost by counting large finite losses as infinite."""
_FADED_SHARE, _MOST_FADED = 1e-4, 3e-3
"""The share of delta that may fade from the rarest large losses, times the fourth power of `looseness`; at most."""
_SPARED = 1e-10
"""Of the losses along a line: most atoms are rarer, and T^2 over the cost of the least move, times this, is nothing."""
_LARGE = 0.5
"""Up to T^2 = 1 at most one move costs more than this share of T^2: it is looked at by itself."""
_NOT_ALL = 0.75
"""Tilts are sought for changes no move of which costs more than that, and this share of T^2."""
_FAR_BELOW = 0.5
"""The share of an epsilon that is to be decided, up to which a quick bound is enough."""
_TILTS = 24
"""Of the moments of all moves but the largest one."""
_LOOKED_AT = 48
"""Sizes by which moments are estimated: where rare losses begin to count, few of them show it."""


class JointChange:
    """The privacy curve of a user who changes the probabilities of m bits by t_j, `sum t_j^2 <= T^2`.

    - pairs: As for `FamilyComposition`: pairs of a bit's full change, up and down, which together dominate those of
      every dataset; a group is covered by the supremum of its profiles.
    - change: T^2 and m; an `L2Ball` where the bits come from points of a ball, which allows for less.
    - attained: Pairs that a dataset attains in every coordinate at once, for the lower bound: see `AttainedChange`.
      Without any it is trivial.
    - reference_delta: Where accuracy is wanted: what is far less likely is cut, and charged.
    - guess: Whether upper ends need only be about right, within a few per cent, for searches: they then prove nothing.
    """

    def __init__(
        self,
        pairs: Sequence[Entry],
        change: L2Bounded,
        *,
        attained: Sequence[PrivacyLossDistribution] = (),
        reference_delta: float = 1e-6,
        guess: bool = False,
    ) -> None:
        if not pairs:
            raise ValueError("pairs is empty, but must hold at least one distribution.")
        check_real("reference_delta", reference_delta, low=0.0, high=1.0, low_open=True, high_open=True)
        self._attained = AttainedChange(attained, change, reference_delta)
        self.change = change = replace(change, squared_change=max(change.squared_change, _LEAST))
        self._grid = ChangeGrid(change, -math.log(reference_delta), guess=guess)
        cut = _CUT * reference_delta / change.coordinates
        covering = pairs if isinstance(pairs, Covers) else Covers(pairs, ())
        groups = [members(entry) for entry in sharpest(covering, self._grid, reference_delta, cut)]
        trimmed = [[pair.trimmed(cut) for pair in group] for group in groups]
        spread, largest, step = loss_grid([pair for group in trimmed for pair in group])
        self.deviation = max(spread, step) * math.sqrt(change.squared_change)
        self._full = [FullChange(dominating_grid(group, step)) for group in trimmed]
        unlisted = max(pair.grid.unbounded_mass for pair in self._full)
        self._finite = finite_up_to = self._finite_up_to(unlisted / (_INFINITE_SHARE * reference_delta))
        self._fades = faded = min(_FADED_SHARE * looseness(change) ** 4, _MOST_FADED) * reference_delta
        m = change.coordinates
        self._log_growth = m * max(pair.relative_error for pair in self._full)
        self._infinite = self._infinite_mass(unlisted, finite_up_to)
        # Moves of the first cell, a share y of the smallest one each: the sum of the y is at most T sqrt(m) / t_1.
        crowd = float(self._grid.sizes[0]) * math.sqrt(m / change.squared_change)
        self._faded = faded * (1.0 + crowd) * (1.0 + 1e-9)
        self.left_out = (self._infinite + self._faded) * (1.0 + 4.0 * UNIT)
        # No loss exceeds that of a full change, nor that of an outcome that is given its finite loss, ln(b'/b).
        given = -math.log1p(-finite_up_to) if self._grid.has_sure_bits else math.log1p(finite_up_to / _LEAST_CHANCE)
        self._largest_listed = m * max(largest, given) * (1.0 + 8.0 * UNIT)
        self._known: dict[float, Floats] = {}
        # Of both laws, in total variation: the sum of all changes.
        self._distance = math.sqrt(change.squared_change * m) * (1.0 + 8.0 * UNIT)
        self._attained_in_full, self._pairs, self._reference = attained, pairs, reference_delta

    def _in_full(self, question: Callable[..., float], more: Callable[..., bool]) -> float:
        """Return an upper bound that all coordinates in full have, or inf where they are `more`, or far more than T^2.

        Or where that takes a larger grid than fits, or squares that leave the floats: it is there only to be smaller.
        """
        m = self.change.coordinates
        share = _NEARLY_FULL if m > _FEW else _OF_FEW
        if self.change.squared_change < share * m or self.deviation < _LEAST:
            return math.inf
        accuracy = {"relative_width": _FULL_WIDTH, "reference_delta": self._reference}
        # The first pair is the end of the family; another piece of a cover may be above what a sharper cover bounds.
        attained = self._attained_in_full or members(self._pairs[0])[:1]
        try:
            full = FamilyComposition(self._pairs, m, attained=attained, **accuracy)
            return math.inf if more(full) else question(full)
        except CapacityError:
            return math.inf

    def _finite_up_to(self, weight: float) -> float:
        """Return the t up to which an outcome that only the first law has gets its finite loss, ln(b'/b).

        Its moments grow like b^-tilt, however small its mass: the smallest t for which counting more as infinite costs
        little, where `weight` is the mass in units of what may be lost.
        """
        if weight * self.change.coordinates <= 1.0:
            return 0.0
        most = 0.5 if self._grid.has_sure_bits else _LARGEST_AROUND
        return min(most, math.sqrt(weight * self.change.squared_change))

    def _infinite_mass(self, unlisted: float, finite_up_to: float) -> float:
        """Return an upper bound on the P-mass of infinite or unknown loss, over all coordinates.

        `FullChange.moved` leaves out all of a pair's unlisted mass, at most, if t_j lies in a cell that reaches above
        `finite_up_to`, of which there are T^2 over the square of its lower end; and t_j times it for bits that are sure
        before, where sum t_j <= T sqrt(m).
        """
        m, square, sizes = self.change.coordinates, self.change.squared_change, self._grid.sizes
        crowd = math.sqrt(square * m) if self._grid.has_sure_bits else 0.0
        if sizes[-1] > finite_up_to:
            below = sizes[sizes <= finite_up_to]
            crowd = crowd + square / below[-1] ** 2 if below.size else math.inf
        return min(float(m), crowd) * unlisted * (1.0 + 16.0 * UNIT)

    @functools.cached_property
    def _moved(self) -> tuple[list[dict[int, list[LossAtoms]]], float]:
        """The losses of every move, by size and level, and a bound on their error: made where a finite loss counts."""
        places = [self._grid.moves(index) for index in range(self._grid.sizes.size)]
        moves = [move for row in places for _, each in row for move in each]
        counts = [sum(len(each) for _, each in row) for row in places]
        finite = np.repeat(self._grid.sizes <= self._finite, counts).tolist()
        made = [pair.all_moved(moves, finite) for pair in self._full]
        each, whole = [iter(atoms) for atoms, _ in made], list[dict[int, list[LossAtoms]]]()
        for row in places:
            whole.append({level: [next(atoms) for atoms in each for _ in some] for level, some in row})
        return whole, max(error for _, error in made)

    @functools.cached_property
    def _atoms(self) -> list[dict[int, list[LossAtoms]]]:
        """The same without losses so rare that they fade."""
        # In proportion to what moves cost that are mixed from this one: so it adds up.
        sizes, moved = self._grid.sizes, self._moved[0]
        least = (sizes if self._grid.guess else np.append(sizes[0], sizes[:-1])) ** 2
        shares = np.repeat(least / self.change.squared_change, [sum(map(len, row.values())) for row in moved])
        every = [atoms for row in moved for each in row.values() for atoms in each]
        faded = iter(all_faded(every, self._fades * shares))
        return [{level: [next(faded) for _ in each] for level, each in row.items()} for row in moved]

    @functools.cached_property
    def _loss_error(self) -> float:
        return self.change.coordinates * self._moved[1]

    @property
    def _largest(self) -> float:
        return max(self._largest_listed + self._loss_error, 0.0)

    # ------------------------------------------------------------------ the exponent along a line

    def _of_moves(self, values: Callable[[list[LossAtoms]], Floats]) -> Floats:
        """Return the values of every pair of each move, (pairs, sizes, levels, values), or nan where there are none."""
        places = [(index, level) for index, row in enumerate(self._atoms) for level in row]
        made = values([atoms for index, level in places for atoms in self._atoms[index][level]])
        made = made.reshape(len(places), -1, made.shape[-1]).swapaxes(0, 1)
        found = np.full((len(made), *self._grid.midpoints.shape, made.shape[-1]), np.nan)
        found[:, *np.transpose(places)] = made
        return found

    def _rates(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the rates of each pair, (pairs, cells, strips, number), and what the first cell adds, (number,)."""
        rates, crowd = zip(*(self._grid.rates(each) for each in values), strict=True)
        return np.array(rates), np.max(crowd, axis=0)

    def _charges(self, crowd: Floats, tilts: Floats | float) -> Floats:
        """Return what is added to the sum of the exponents of all moves."""
        charges = self.change.coordinates * crowd + self._log_growth + tilts * self._loss_error
        return np.asarray(charges * (1.0 + 8.0 * UNIT))

    def _exponents(self, nodes: Nodes) -> Floats:
        """Return T^2 times the rate of each pair and cell, with all charges: shape (pairs, cells, strips, nodes)."""
        rates, crowd = self._rates(self._of_moves(lambda every: log_moduli_of(every, nodes, spared=_SPARED)))
        return np.asarray(self.change.squared_change * rates + self._charges(crowd, nodes.tilt))

    def estimate(self, tilt: float, most: float = math.inf) -> tuple[float, float]:
        """Return estimates of the exponent at s = 0, and of the standard deviation of the tilted total loss.

        For moves that cost at most so much.
        """
        indices, costs, moments = self._looked_at
        near = self._grid.cells[0].min(axis=1)[indices] <= most
        log_mgfs, variances = moments.at(tilt)
        worst = int(np.argmax(np.where(near, log_mgfs / costs, -math.inf)))
        square = self.change.squared_change / costs[worst]
        return float(square * log_mgfs[worst]), max(math.sqrt(square * variances[worst]), 0.1 * self.deviation)

    @functools.cached_property
    def _looked_at(self) -> tuple[NDArray[np.int64], Floats, ManyMoments]:
        """The sizes' places of some moves, what they cost, and their moments."""
        sizes = self._grid.sizes
        found = [
            (int(index), level, atoms)
            for index in np.unique(np.linspace(0, sizes.size - 1, _LOOKED_AT).astype(int))
            for level, each in self._atoms[index].items()
            for atoms in each
        ]
        indices, levels = (np.array(places) for places in list(zip(*found, strict=True))[:2])
        costs = sizes[indices] ** 2 + self._grid.midpoints[indices, levels] ** 2
        return indices, costs, ManyMoments([(atoms.losses, atoms.log_masses) for *_, atoms in found])

    def _log_integral(self, tilt: float, most: float) -> float:
        """Return ln J, where every divergence at x is at most `J e^(-tilt x)` and what is left out.

        For all changes, or those of which no move costs more than `most`, which is m moves' share of T^2 or more.
        """
        each = self._known[tilt]
        return self._grid.largest_mean(np.where(self._grid.cells[0] <= most, each, -math.inf).max(axis=1))

    def _integrate(self, tilt: float, most: float) -> None:
        """Make the integrals of every cell known at a tilt, at nodes that suit moves whose squares are at most so."""
        if tilt not in self._known:
            contour = self._contour(tilt, most)
            thin = contour.thinned(self.estimate(tilt, most)[1], self.change.squared_change)
            exponents = self._exponents(thin.nodes)
            integrals = thin.log_integral(exponents)
            if not thin.is_thin_enough(exponents[np.unravel_index(int(np.argmax(integrals)), integrals.shape)]):
                integrals = contour.log_integral(self._exponents(contour.nodes))
            self._known[tilt] = integrals.max(axis=0)

    def _contour(self, tilt: float, most: float) -> Contour:
        exponent, deviation = self.estimate(tilt, most)
        # That of a normal loss of this exponent: a heavy tail is wider, and would have too much added.
        normal = min(max(2.0 * exponent / (tilt * (1.0 + tilt)), 0.01 * self.deviation**2), deviation**2)
        return Contour.at(tilt, deviation, SMOOTHING * looseness(self.change) * normal, period=_PERIOD)

    def log_integral(self, contour: Contour, share: float = 1.0) -> float:
        """Return ln J on any contour; with a share, of the moduli to the power of one over it: see `together`."""
        each = contour.log_integral(self._exponents(contour.nodes) / share)
        return self._grid.largest_mean(each.max(axis=(0, 2)))

    def _sought(self, cost: Cost, most: float = math.inf) -> tuple[float, float]:
        """Return the tilt of about the least cost, and an estimate of that."""
        self._looked_at[2].know(tilts_tried(self.deviation))
        return best_tilt(cost, functools.partial(self.estimate, most=most), self.deviation)

    def _least(self, cost: Cost, most: float = math.inf) -> float:
        """Return the least cost that is found: any tilt gives a bound."""
        self._integrate(self._sought(cost, most)[0], most)
        return self._known_least(cost, most)

    def _known_least(self, cost: Cost, most: float) -> float:
        """Return the least cost at the tilts that are known."""
        return min(cost(self._log_integral(tilt, most), tilt) for tilt in self._known)

    def _least_of_few(self, cost: Cost) -> float:
        """Return the least cost of changes without a large move; at a tilt for some larger moves, too."""
        if not self._grid.guess:
            self._least(cost, _NOT_ALL * self.change.squared_change)
        return self._least(cost, _LARGE * self.change.squared_change)

    @functools.cached_property
    def _largest_move(self) -> LargestMove | None:
        """The bound on changes whose largest move costs more than the split, where it may be most of them."""
        if self.change.squared_change > 1.0 or self.change.coordinates * _LARGE < 1.0:
            return None
        return LargestMove(self._grid, self._moved[0], self._moments, _LARGE * self.change.squared_change)

    @functools.cached_property
    def _moments(self) -> RestMoments:
        """Moments of any changes, for bounds without an integral."""
        tilts = np.geomspace(0.3, 100.0, _TILTS) / self.deviation
        rates, crowd = self._rates(
            self._of_moves(lambda every: np.array([atoms.log_moments(tilts) for atoms in every]))
        )
        return RestMoments(tilts, rates.max(axis=(0, 2)), self._charges(crowd, tilts), self._grid.cells[0].min(axis=1))

    # ------------------------------------------------------------------ queries

    def delta(self, epsilon: float) -> Interval:
        """Return the largest hockey-stick divergence at a real epsilon, in nats, as a proved interval."""
        upper = self.delta_upper(epsilon)
        lower = self._attained.delta_lower(epsilon)
        return Interval.proved(lower, upper)

    def epsilon(self, delta: float) -> Interval:
        """Return the least epsilon >= 0, in nats, at which that divergence is at most delta, as a proved interval."""
        upper = self.epsilon_upper(delta)
        lower = self._attained.epsilon_lower(delta)
        return Interval.proved(lower, upper)

    def delta_upper(self, epsilon: float) -> float:
        """Return an upper bound on the hockey-stick divergence at a real epsilon, in nats."""
        check_real("epsilon", epsilon)
        log_delta, listed = log_delta_at(epsilon), 0.0
        if epsilon < self._largest:
            listed = math.exp(min(self._least(log_delta), 0.0))
            if self._largest_move is not None:
                small = math.exp(min(self._least_of_few(log_delta), 0.0))
                growth = math.exp(self._log_growth)

                @functools.cache
                def among(most: float) -> float:
                    return math.exp(min(self._known_least(log_delta, most), 0.0)) / growth * (1.0 + 8.0 * UNIT)

                large = self._largest_move.divergence(epsilon - self._loss_error, among) * growth
                listed = min(listed, max(small, large))
            listed += self._faded
        apart = self._distance + max(-math.expm1(min(epsilon, 0.0)), 0.0)
        upper = float(min(1.0, min(listed + self._infinite, apart) * (1.0 + 8.0 * UNIT) + SUBNORMAL))

        def more(full: FamilyComposition) -> bool:
            return epsilon > 0.0 and 0.0 < upper < 1.0 and full.epsilon(upper, decide=epsilon).lower > epsilon

        return min(upper, self._in_full(lambda full: full.delta(epsilon).upper, more))

    def epsilon_upper(self, delta: float, *, decide: float = 0.0, most: float = math.inf) -> float:
        """Return an upper bound on the least epsilon >= 0, in nats, at which the divergence is at most delta.

        It is inf if the infinite and unknown mass reaches delta. A quick bound is returned if that is far below
        `decide`: far enough for a search to go on; and one that is not the least if all of them are above `most`.
        """
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if self._distance <= delta:
            return 0.0

        def or_in_full(known: float) -> float:
            def more(full: FamilyComposition) -> bool:
                return known < math.inf and full.epsilon(delta, decide=known).upper > known

            # Nothing is less than 0, and no grid decides whether more is.
            return min(known, self._in_full(lambda full: full.epsilon(delta).upper, more)) if known > 0.0 else known

        if delta <= self._infinite * (1.0 + 8.0 * UNIT):
            return or_in_full(math.inf)
        left = (delta - self.left_out) * (1.0 - 8.0 * UNIT)
        if left <= 0.0:
            return or_in_full(self._largest)
        wanted = math.log(left)
        epsilon = epsilon_at(wanted)
        if self._largest <= _FAR_BELOW * decide:
            return self._largest
        if decide > 0.0 and self._sought(epsilon)[1] <= _FAR_BELOW * decide:
            quick = self._moments.epsilon(self.change.squared_change, wanted)
            if quick <= _FAR_BELOW * decide:
                return quick
        every = or_in_full(min(max(self._least(epsilon), 0.0), self._largest))
        if self._largest_move is None or every <= self._loss_error:
            return every
        if every > most and self._least(epsilon, _LARGE * self.change.squared_change) > most:
            return every
        small = max(self._least_of_few(epsilon), self._loss_error)

        @functools.cache
        def among(most: float) -> float:
            return min(self._known_least(epsilon, most), every) - self._loss_error

        within = left * math.exp(-self._log_growth) * (1.0 - 8.0 * UNIT)
        found = self._largest_move.epsilon(within, small - self._loss_error, among)
        return min((found + self._loss_error) * (1.0 + 4.0 * UNIT), every)
