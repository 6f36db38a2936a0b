"""The atoms of a loss in classes: rare large ones, which decide how a few instances end, and all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.characteristic import LossAtoms
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT

__all__ = ["Classes", "Others", "log_moments"]

Floats = NDArray[np.float64]

_POWERS = (1.25, 1.5, 2.0, 3.0)
_ROUNDED = 1e-11


@dataclass(frozen=True, eq=False)
class Classes:
    """How the atoms of any pair are divided: what was divided is kept.

    Parameters
    ----------
    masses : tuple of float
        Those of the classes of rare losses: the first has the largest losses, the second those below, and so on.
    smallest : float
        About this mass of the smallest losses is counted as the largest of them: larger losses are worse.
    """

    masses: tuple[float, ...]
    smallest: float
    _known: dict[PrivacyLossDistribution, tuple[LossAtoms, ...]] = field(default_factory=dict, init=False, repr=False)

    def of(self, pair: PrivacyLossDistribution) -> tuple[LossAtoms, ...]:
        """Return the common losses of a pair, and then those of each class: their measures add up to the listed one."""
        if pair not in self._known:
            self._known[pair] = self._divided(pair)
        return self._known[pair]

    def _divided(self, pair: PrivacyLossDistribution) -> tuple[LossAtoms, ...]:
        losses, masses, rare = pair.losses, pair.masses, list[LossAtoms]()
        for mass in self.masses:
            first, above = _largest(masses, mass)
            rare.append(LossAtoms.of(losses[first:], above))
            # The last atom of a class may be divided.
            masses = np.append(masses[:first], masses[first : first + 1] - above[:1])
            losses = losses[: masses.size]
        low = min(int(np.searchsorted(np.cumsum(masses), self.smallest)), max(masses.size - 1, 0))
        common = masses[low:].copy()
        common[:1] += masses[:low].sum() * (1.0 + 64.0 * UNIT)
        return LossAtoms.of(losses[low:], common), *rare


def _largest(masses: Floats, mass: float) -> tuple[int, Floats]:
    """Return the place of the first of the last atoms that have this mass together, and theirs, of the first a part."""
    whole = int(np.searchsorted(np.cumsum(masses[::-1]), mass, side="right"))
    first = max(masses.size - whole - 1, 0)
    above = masses[first:].copy()
    if whole < masses.size:
        above[0] = min(max(mass - float(above[1:].sum()), 0.0), float(above[0]))
    return first, above


def log_moments(every: Sequence[LossAtoms], tilt: float) -> Floats:
    """Return upper bounds on `ln E[e^(tilt L)]` of each, shape (atoms,)."""
    found, errors = _log_moments(every, tilt)
    return np.asarray(found + errors)


def _log_moments(every: Sequence[LossAtoms], tilt: float) -> tuple[Floats, Floats]:
    """Return `ln E[e^(tilt L)]` of each, and what it is off by, shapes (atoms,); see `LossAtoms` for the rounding."""
    ends = np.cumsum([atoms.losses.size for atoms in every])
    starts = np.append(0, ends[:-1])
    log_masses = np.concatenate([atoms.log_masses for atoms in every])
    reached = tilt * np.concatenate([atoms.losses for atoms in every])
    exponents = reached + log_masses
    shifts = np.maximum.reduceat(exponents, starts)
    sums = np.add.reduceat(np.exp(exponents - np.repeat(shifts, ends - starts)), starts)
    steepest = float(np.abs(log_masses).max() + np.abs(reached).max())
    return shifts + np.log(sums), UNIT * (16.0 * steepest + np.diff(ends, prepend=0) + 64.0)


@dataclass(frozen=True)
class Others:
    """The divergence of any mix of common losses at `y = x - largest < 0`, where it is nearly their mass.

    `(1 - u)+ = 1 - u + (u - 1)+` for `u = e^(y-L)`, and `(u - 1)+ <= (s-1)^(s-1) / s^s u^s` for s > 1. So it is at most
    `E[1] - e^y E[e^-L] + min over s of (s-1)^(s-1) / s^s e^(s y) E[e^(-s L)]`, moments of the total loss L under a
    measure. Each is a product over the instances, at most (at least) a power of the largest (least) of all pairs. The
    divergence falls as y grows, so that the largest of the rare losses stands for all.

    Parameters
    ----------
    largest : float
        The sum of the rare losses beside these, at most.
    log_mass, log_other : float
        Bounds on the logarithms of E[1], from above, and of E[e^-L], from below.
    powers : tuple of (float, float)
        s, and the logarithm of what stands before e^(s y), from above.
    """

    largest: float
    log_mass: float
    log_other: float
    powers: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, common: Sequence[LossAtoms], count: int, largest: float) -> Others:
        """Return them for `count` instances, each of which has any of these losses."""
        other, errors = _log_moments(common, -1.0)
        powers = [
            (s, count * float(log_moments(common, -s).max()) + (s - 1.0) * math.log(s - 1.0) - s * math.log(s))
            for s in _POWERS
        ]
        log_mass = count * float(log_moments(common, 0.0).max())
        return cls(largest, log_mass, count * float((other - errors).min()), tuple(powers))

    def log_share(self, x: float) -> float:
        """Return an upper bound on the logarithm of the divergence at `y = x - largest`, or 0 if that is less."""
        y = x - self.largest - 8.0 * UNIT * (abs(x) + abs(self.largest))
        if y >= 0.0:
            return 0.0
        above = min(math.exp(min(log_factor + s * y, 0.0)) for s, log_factor in self.powers)
        # A few units of each part, none of which matters above 1, as the exponents' errors are less than this.
        share = math.exp(min(self.log_mass, 1.0)) - math.exp(min(self.log_other + y, 0.0)) + above + _ROUNDED
        return math.log(share) if share < 1.0 else 0.0
