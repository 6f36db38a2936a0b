"""The atoms of a loss in classes: rare large ones, which decide how a few instances end, and all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.characteristic import LossAtoms
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT

__all__ = ["Classes", "log_moments"]

Floats = NDArray[np.float64]


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
    """Return upper bounds on `ln E[e^(tilt L)]` of each, shape (atoms,); see `LossAtoms` for the rounding."""
    ends = np.cumsum([atoms.losses.size for atoms in every])
    starts = np.append(0, ends[:-1])
    log_masses = np.concatenate([atoms.log_masses for atoms in every])
    reached = tilt * np.concatenate([atoms.losses for atoms in every])
    exponents = reached + log_masses
    shifts = np.maximum.reduceat(exponents, starts)
    sums = np.add.reduceat(np.exp(exponents - np.repeat(shifts, ends - starts)), starts)
    steepest = float(np.abs(log_masses).max() + np.abs(reached).max())
    return np.asarray(shifts + np.log(sums) + UNIT * (16.0 * steepest + np.diff(ends, prepend=0) + 64.0))
