"""A bound on joint changes of which one move is large: the law of its loss as it is, and moments of all others'.

Moduli along a contour are not sharp for a single loss of few values or of a heavy tail. Let a user's largest move be
(t, c). It is a mixture of the corners of its cell, whose losses L are listed, and her others cost at most `R = T^2 -
t^2 - c^2`: by domination

    H_x <= the mixture of E[G_R(x - L)],    G_R(y) >= H_y for every change that costs at most R.

None of these costs more than the largest. With `E e^(theta loss) <= M` for all of them, `H_y <= M e^(-theta y)
theta^theta / (1+theta)^(1+theta)`, as that is the most that `e^(-theta u) (1 - e^-u)` is for u > 0. Exchanging before
and after makes a change of the same cost: for y < 0 `H_y = 1 - e^y + e^y H'_(-y)`, H' bounded likewise. That is far
less than 1, and sharp where R is small. Where it is not, the bound on all changes no move of which costs more is taken.

**The bound need not fall as x grows**: for y < 0 that on H'_(-y) grows with y, and `1 - e^y (1 - H'_(-y))` may. The
divergence falls. So where a bisection finds the bound to be at most delta at some x, the *divergence* is at most delta
at x and at every x' > x: `LargestMove.epsilon` looks for any such x, part by part, and takes the largest. Nothing rests
on what the bound does elsewhere. A part that an earlier x suits is left there, which the truth alone justifies, and an
upper end that is taken unasked is one that `among` proves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.joint.change_rates import ChangeGrid
from dpverify.privacy_loss.windows.characteristic import LossAtoms
from dpverify.rounding import UNIT, summation_error
from dpverify.search import bisected
from protocols.classes.frozen import dataclass

__all__ = ["LargestMove", "RestMoments"]

Floats = NDArray[np.float64]

_PARTS = 3
"""Of each cell: in each of them the others' cost is what the least move of it leaves."""
_CLOSE = 5e-4
"""How near to the least epsilon the search ends, relatively."""


Bound = Callable[[float], float]


def _nothing(most: float) -> float:
    """Return the bound where none is known."""
    return math.inf


@dataclass(frozen=True, eq=False)
class RestMoments:
    """Bounds on moments of all changes that cost at most so much.

    - tilts (ndarray, shape (tilts,)): theta, positive.
    - rates (ndarray, shape (cells, tilts)): Upper bounds on a move's `ln E e^(theta loss)` over its cost, for the moves
      in each cell.
    - charges (ndarray, shape (tilts,)): What is added to the sum over all moves, not negative.
    - least_costs (ndarray, shape (cells,)): Of the moves in each cell, increasing.
    """

    tilts: Floats
    rates: Floats
    charges: Floats
    least_costs: Floats

    def lines(self, cost: float, most: float = math.inf) -> Floats:
        """Return l where `H_y <= e^(l - tilt y)` for every change that costs at most so much, shape (tilts,).

        For those no move of which costs more than `most`; what is left out apart.
        """
        within = self.rates[self.least_costs <= min(cost, most)].max(axis=0)
        tilts = self.tilts
        lines = cost * np.maximum(within, 0.0) + self.charges - tilts * np.log1p(1.0 / tilts) - np.log1p(tilts)
        return np.asarray(lines + UNIT * (16.0 * np.abs(lines) + 64.0))

    def epsilon(self, cost: float, log_divergence: float) -> float:
        """Return an epsilon >= 0 at which every change that costs at most so much has at most that divergence."""
        lines = self.lines(cost)
        found = (lines - log_divergence + 8.0 * UNIT * (np.abs(lines) + abs(log_divergence))) / self.tilts
        return max(float(found.min()) * (1.0 + 4.0 * UNIT), 0.0)

    def divergence(self, lines: Floats, epsilons: Floats) -> Floats:
        """Return upper bounds on H_y from such lines, what is left out apart."""
        falls = np.multiply.outer(np.abs(epsilons), self.tilts * (1.0 - 8.0 * UNIT))
        bound = np.exp(np.minimum((lines - falls).min(axis=-1), 0.0))
        below = np.minimum(epsilons, 0.0)
        return np.asarray(np.minimum(np.exp(below) * bound - np.expm1(below), 1.0))


class _Part(NamedTuple):
    """A part of a cell: the corners at its sizes, and the least and the largest share of the farther ones.

    And what all others cost, and what each of them costs at most, as the largest does.
    """

    corners: tuple[Sequence[LossAtoms], Sequence[LossAtoms]]
    shares: tuple[float, float]
    rest: float
    most: float


class LargestMove:
    """The largest divergence of all changes that have a move of more than a certain cost.

    - grid: The grid of moves.
    - atoms: For each size the losses of its moves by level, complete but for infinite ones.
    - rest: For the other moves.
    - split: The cost that the largest move exceeds, below T^2.
    """

    def __init__(
        self, grid: ChangeGrid, atoms: Sequence[dict[int, list[LossAtoms]]], rest: RestMoments, split: float
    ) -> None:
        # The worst of them first: mostly that is the largest.
        self._rest, self._parts = rest, list(_parts(grid, atoms, split))[::-1]
        self._lines: dict[tuple[float, float], Floats] = {}

    def _mean(self, part: _Part, epsilon: float) -> float:
        """Return an upper bound on the divergence at a real epsilon, the largest move in one part of a cell."""
        key = part.rest, part.most
        if key not in self._lines:
            self._lines[key] = self._rest.lines(*key)
        near, far = (max(self._alone(atoms, self._lines[key], epsilon) for atoms in each) for each in part.corners)
        return max((1.0 - share) * near + share * far for share in part.shares) * (1.0 + 4.0 * UNIT)

    def _alone(self, atoms: LossAtoms, lines: Floats, epsilon: float) -> float:
        masses = np.exp(atoms.log_masses)
        rounding = summation_error(masses.size) + UNIT * (16.0 + 4.0 * float(np.abs(atoms.log_masses).max()))
        return float(np.sum(masses * self._rest.divergence(lines, epsilon - atoms.losses))) * (1.0 + rounding)

    def divergence(self, epsilon: float, among: Bound = _nothing) -> float:
        """Return an upper bound on the hockey-stick divergence at a real epsilon, what is left out apart.

        - epsilon: In nats.
        - among: An upper bound on the divergence of all changes no move of which costs more than so much.
        """
        return max((min(self._mean(part, epsilon), among(part.most)) for part in self._parts), default=0.0)

    def epsilon(self, divergence: float, low: float, among: Bound = _nothing) -> float:
        """Return an epsilon from `low` on at which the divergence is at most so much.

        - divergence: In (0, 1).
        - low: In nats, finite.
        - among: An epsilon that suits all changes no move of which costs more than so much.
        """
        found = low
        for part in self._parts:
            high = among(part.most)
            if found < high and self._mean(part, found) > divergence:
                holds = functools.partial(self._within, part, divergence)
                found = bisected(holds, found, high, relative=_CLOSE)[1]
        return found

    def _within(self, part: _Part, divergence: float, epsilon: float) -> bool:
        return self._mean(part, epsilon) <= divergence


def _parts(grid: ChangeGrid, atoms: Sequence[dict[int, list[LossAtoms]]], split: float) -> Iterator[_Part]:
    square, levels = grid.change.squared_change * (1.0 + 8.0 * UNIT), grid.midpoints.shape[1]
    least, most = grid.cells
    for index in range(1, grid.sizes.size):
        for strip in range(least.shape[1]):
            if most[index, strip] <= split:
                continue
            corners = tuple(
                [made for level in range(strip, min(strip + 2, levels)) for made in _at(atoms[k], level)]
                for k in (index - 1, index)
            )
            low, high = float(grid.sizes[index - 1]), float(grid.sizes[index])
            midpoint = max(float(least[index, strip]) - low * low, 0.0)
            for part in range(_PARTS):
                shares = part / _PARTS, (part + 1) / _PARTS
                size = low + shares[0] * (high - low)
                cost = max((size * size + midpoint) * (1.0 - 16.0 * UNIT), split)
                yield _Part((corners[0], corners[1]), shares, max(square - cost, 0.0), float(most[index, strip]))


def _at(levels: dict[int, list[LossAtoms]], level: int) -> list[LossAtoms]:
    """Return the moves of a level, or those of the levels on either side, of which they are mixtures.

    A full change has one level, which all others are equal to.
    """
    below, above = ([k for k in levels if (k - level) * side >= 0] for side in (-1, 1))
    return [atoms for k in {*below[-1:], *above[:1]} for atoms in levels[k]]
