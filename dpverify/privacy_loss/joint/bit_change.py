"""One bit whose probability moves: the privacy loss of that, from the loss of a full change.

Let (A, B) be the laws of a bitsum's view when her bit is 0 and when it is 1, the others' bits fixed. A bit that is 1
with probability b has the view (1-b) A + b B. A move from b to b' = b + t > b has at e^x = a the profile

    1 - a                                            for a (1-b) <= 1-b',
    (b' - ab) h((a (1-b) - (1-b')) / (b' - ab))      between,
    0                                                for a b >= b',

h that of (B, A). It grows with h, so that whatever dominates the full change does for the move. A move downwards is one
upwards of 1 less the bit, with the directions exchanged.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.losses.mixture import mixed_losses
from dpverify.privacy_loss.windows.characteristic import LossAtoms
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss
from dpverify.rounding import UNIT, summation_error
from protocols.classes.frozen import dataclass

__all__ = ["FullChange", "Move"]

Floats = NDArray[np.float64]
_LARGEST_EXPONENT = 700.0
_TOGETHER = 2**15
"""About so many losses are computed in one go: what is in between stays small."""


class Move(NamedTuple):
    """A bit's probabilities to be 0 and 1, before and after, each with a small relative error, and how far it moves.

    - before, after: The probabilities of 0 and of 1.
    - size: t, positive: by how much a 1 gets likelier.
    """

    before: tuple[float, float]
    after: tuple[float, float]
    size: float

    @classmethod
    def from_zero(cls, size: float) -> Move:
        """Return the move of a bit that is surely 0 before."""
        return cls((1.0, 0.0), (1.0 - size, size), size)

    @classmethod
    def to_one(cls, size: float) -> Move:
        """Return the move of a bit that is surely 1 after."""
        return cls((size, 1.0 - size), (0.0, 1.0), size)

    @classmethod
    def around(cls, size: float, midpoint: float) -> Move:
        """Return the move of a bit whose two probabilities of a 1 add up to 1 + midpoint, |midpoint| <= 1 - size.

        Nothing is rounded if both are multiples of 2^-50.
        """
        ends = 0.5 * (1.0 - size + midpoint), 0.5 * (1.0 + size + midpoint)
        return cls((1.0 - ends[0], ends[0]), (1.0 - ends[1], ends[1]), size)


@dataclass(frozen=True, eq=False)
class FullChange:
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

    def all_moved(self, moves: Sequence[Move], finite: Sequence[bool]) -> tuple[list[LossAtoms], float]:
        """Return the atoms of the moves' pairs, in the order of their losses, and what these err by at most.

        Q's unlisted mass, all of whose loss is that of a sure 0, keeps the profile above 1 - a. P's unlisted mass has
        the loss of a sure 1 if the move's is `finite` and 1 is possible before; otherwise the atoms leave out b' times
        it.
        """
        made, error, step = list[LossAtoms](), 0.0, max(_TOGETHER // (self.grid.indices.size + 2), 1)
        for first in range(0, len(moves), step):
            losses, masses, off = self._moved(moves[first : first + step], np.array(finite[first : first + step]))
            made += LossAtoms.rows(losses, masses)
            error = max(error, off)
        return made, error

    def _moved(self, moves: Sequence[Move], finite: NDArray[np.bool_]) -> tuple[Floats, Floats, float]:
        """Return losses and masses, shape (moves, losses + 2), those of sure bits first and last; and the error."""
        zero, one, zero_after, one_after = np.array([move.before + move.after for move in moves]).T
        losses, masses = np.zeros((2, len(moves), self.grid.indices.size + 2))
        losses[:, 1:-1], error = self._losses(moves)
        masses[:, 1:-1] = np.outer(zero_after, self.reference) + np.outer(one_after, self.grid.masses)
        # Where there is none it is as the one beside it, without mass.
        for column, beside, before, after, mass in (
            (0, 1, zero, zero_after, self.unlisted),
            (-1, -2, np.where(finite, one, 0.0), one_after, self.grid.unbounded_mass),
        ):
            sure = (before > 0.0) & (after > 0.0)
            logs = [np.log(np.where(sure, chance, 1.0)) for chance in (after, before)]
            losses[:, column] = np.where(sure, logs[0] - logs[1], losses[:, beside])
            masses[:, column] = np.where(sure, after * mass, 0.0)
            error = max(error, 4.0 * UNIT * float((np.abs(logs[0]) + np.abs(logs[1])).max()))
        return losses, masses, error

    def _losses(self, moves: Sequence[Move]) -> tuple[Floats, float]:
        """Return the loss `ln(1-b' + b' e^L) - ln(1-b + b e^L)` for each loss L of P against Q, and what it errs by.

        It is `ln(1 + t (e^L - 1) / (1-b + b e^L))`, and from -ln 2 upwards evaluated so: the quotient has a relative
        error of 12u at most, and the logarithm, which grows no steeper than 1.5 times itself, one of 24u with its own.
        Its derivative in L is t over `((1-b) / e^L + b) (1-b' + b' e^L)`, and the logarithm of that is 1-Lipschitz; the
        product is convex in L, so that it is the least next to where its derivative is 0.
        """
        pair, (away, gained, likelier) = self.grid.losses, self._one
        sizes = np.array([move.size for move in moves])
        zero, one, zero_after, one_after = np.array([move.before + move.after for move in moves]).T
        quotients = np.outer(zero, np.where(likelier, away, 1.0))
        quotients += np.outer(one, np.where(likelier, 1.0, away))
        np.divide(np.outer(sizes, gained), quotients, out=quotients)
        moderate = (quotients > -0.5) & (pair < _LARGEST_EXPONENT)
        losses = np.log1p(np.where(moderate, quotients, 0.0))
        error = 24.0 * UNIT * float(np.abs(losses).max(initial=0.0))
        for row in np.flatnonzero(~moderate.all(axis=1)).tolist():
            far = ~moderate[row]
            before, after = (
                mixed_losses(pair[far], self.grid.loss_error, *ends) for ends in (moves[row].before, moves[row].after)
            )
            losses[row, far] = after.losses - before.losses
            error = max(error, before.rounding + after.rounding + 2.0 * UNIT * float(np.abs(losses[row]).max()))
        with np.errstate(divide="ignore", invalid="ignore"):
            least = 0.5 * (np.log(zero) + np.log(zero_after) - np.log(one) - np.log(one_after))
        place = np.searchsorted(pair, np.nan_to_num(least))
        near = pair.take([place - 1, place], mode="clip") if pair.size else np.zeros((2, sizes.size))
        half = np.exp(0.5 * np.clip(near, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
        steepness = sizes / ((zero / half + one * half) * (zero_after / half + one_after * half))
        steepest = float(steepness.max()) * math.exp(min(self.grid.loss_error, 700.0)) * (1.0 + 1e-12)
        return losses, min(steepest, 1.0) * self.grid.loss_error + error

    @functools.cached_property
    def _one(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """`e^-|L|`, `(e^L - 1) / max(e^L, 1)` and whether L is positive."""
        pair = self.grid.losses
        away = np.exp(-np.minimum(np.abs(pair), _LARGEST_EXPONENT))
        return away, np.sign(pair) * -np.expm1(-np.abs(pair)), pair > 0.0
