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

    def moved(self, move: Move, *, finite: bool) -> tuple[LossAtoms, float]:
        """Return the atoms of a move's pair, and what their losses err by at most.

        Q's unlisted mass, all of whose loss is that of a sure 0, keeps the profile above 1 - a. P's unlisted mass has
        the loss of a sure 1 if it is `finite` and 1 is possible before; otherwise the atoms leave out b' times it.
        """
        (zero, one), (zero_after, one_after) = move.before, move.after
        losses, error = self._losses(move)
        masses = zero_after * self.reference + one_after * self.grid.masses
        if zero_after > 0.0:
            sure = math.log(zero_after) - math.log(zero)
            losses, masses = np.append(losses, sure), np.append(masses, zero_after * self.unlisted)
            error = max(error, 4.0 * UNIT * (abs(math.log(zero_after)) + abs(math.log(zero))))
        if finite and one > 0.0:
            sure = math.log(one_after) - math.log(one)
            losses, masses = np.append(losses, sure), np.append(masses, one_after * self.grid.unbounded_mass)
            error = max(error, 4.0 * UNIT * (abs(math.log(one_after)) + abs(math.log(one))))
        return LossAtoms.of(losses, masses), error

    def _losses(self, move: Move) -> tuple[Floats, float]:
        """Return the loss `ln(1-b' + b' e^L) - ln(1-b + b e^L)` for each loss L of P against Q, and what it errs by.

        It is `ln(1 + t (e^L - 1) / (1-b + b e^L))`, and from -ln 2 upwards evaluated so: the quotient has a relative
        error of 12u at most, and the logarithm, which grows no steeper than 1.5 times itself, one of 24u with its own.
        Its derivative in L is `t e^L / ((1-b + b e^L) (1-b' + b' e^L))`, and the logarithm of that is 1-Lipschitz.
        """
        pair, (zero, one), (zero_after, one_after) = self.grid.losses, move.before, move.after
        away = np.exp(-np.minimum(np.abs(pair), _LARGEST_EXPONENT))
        gained = move.size * np.sign(pair) * -np.expm1(-np.abs(pair))
        gained /= np.where(pair > 0.0, zero * away + one, zero + one * away)
        moderate = (gained > -0.5) & (pair < _LARGEST_EXPONENT)
        losses = np.log1p(np.where(moderate, gained, 0.0))
        error = 24.0 * UNIT * float(np.abs(losses).max(initial=0.0))
        if not moderate.all():
            before, after = (
                mixed_losses(pair[~moderate], self.grid.loss_error, *ends)
                for ends in ((zero, one), (zero_after, one_after))
            )
            losses[~moderate] = after.losses - before.losses
            error = max(error, before.rounding + after.rounding + 2.0 * UNIT * float(np.abs(losses).max()))
        half = np.exp(0.5 * np.clip(pair, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
        steepness = move.size / ((zero / half + one * half) * (zero_after / half + one_after * half))
        steepest = float(steepness.max(initial=0.0)) * math.exp(min(self.grid.loss_error, 700.0)) * (1.0 + 1e-12)
        return losses, min(steepest, 1.0) * self.grid.loss_error + error
