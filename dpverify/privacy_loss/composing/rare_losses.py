"""The atoms of a loss in classes: rare large ones, which decide how a few instances end, and all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.characteristic import LossAtoms
from dpverify.privacy_loss.windows.contour import Contour
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass

__all__ = [
    "Classes",
    "Floats",
    "OneRare",
    "Others",
    "Sums",
    "backwards",
    "log_moments",
    "sum_of_moduli",
    "sums_above",
]

Floats = NDArray[np.float64]

_POWERS = (1.25, 1.5, 2.0, 3.0)
_ROUNDED = 1e-11


@dataclass(frozen=True, eq=False)
class Classes:
    """How the atoms of any pair are divided: what was divided is kept.

    - masses: Those of the classes of rare losses: the first has the largest losses, the second those below, and so on.
    - smallest: About this mass of the smallest losses is counted as the largest of them: larger losses are worse.
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


def backwards(atoms: LossAtoms) -> LossAtoms:
    """Return the loss -L as the other law has it, of masses m e^(-L), which are rounded up."""
    off = 8.0 * UNIT * (np.abs(atoms.log_masses) + np.abs(atoms.losses))
    return LossAtoms(-atoms.losses, atoms.log_masses - atoms.losses + off)


def sums_above(contour: Contour, every: Sequence[LossAtoms], count: float) -> Floats:
    """Return a coarse upper bound on each sum of moduli, as a logarithm: no modulus exceeds the first."""
    # Either is rounded up by more units of its size than a product and a sum cost.
    return np.asarray(contour.log_integral(np.zeros(contour.count)) + count * log_moments(every, contour.tilt))


def sum_of_moduli(contour: Contour, atoms: LossAtoms, count: float) -> float:
    """Return an upper bound on the sum of moduli to the power of a count, as a logarithm."""
    return float(contour.log_integral(count * atoms.along(contour.nodes).log_moduli))


def _largest_sum(contour: Contour, every: Sequence[LossAtoms], count: int) -> float:
    """Return an upper bound on the largest sum of moduli of these, as a logarithm."""
    above, largest = sums_above(contour, every, count), -math.inf
    for place in np.argsort(-above):
        if above[place] <= largest:
            break
        largest = max(largest, sum_of_moduli(contour, every[place], count))
    return largest


@dataclass(frozen=True, eq=False)
class OneRare:
    """What any mix has where one instance has a rare loss: `sum over i of E[h(x - L); B_k(i)]`, h that of the others.

    It is linear in the one pair, with `h(y) = min(1, Others, J e^(-t y))` for all mixes of the others: the average over
    the instances of `G(k) = I E[h(x - L); B_k]`. Each loss counts by itself, and so does each pair: one with more mass
    at a lower loss is not both.

    - losses (ndarray, shape (losses,)): Those of all pairs, rounded up.
    - masses (ndarray, shape (pairs, losses)): Upper bounds on theirs, times the number of instances.
    - others: Of the common losses in all instances but one.
    - lines: t, and an upper bound on ln J.
    """

    losses: Floats
    masses: Floats
    others: Others
    lines: tuple[tuple[float, float], ...]

    @classmethod
    def of(
        cls,
        rare: Sequence[Sequence[LossAtoms]],
        instances: int,
        step: float,
        others: Others,
        lines: Sequence[tuple[float, float]],
    ) -> OneRare:
        """Return it for the rare losses of each pair, rounded up to about the next multiple of a step."""
        every = [atoms for own in rare for atoms in own]
        losses = np.concatenate([atoms.losses for atoms in every])
        places, columns = np.unique(np.ceil(losses / step), return_inverse=True)
        pairs = np.repeat(np.arange(len(rare)), [sum(atoms.losses.size for atoms in own) for own in rare])
        masses = np.zeros((len(rare), places.size))
        np.add.at(masses, (pairs, columns), np.exp(np.concatenate([atoms.log_masses for atoms in every])))
        rounded = places * step
        # exp and a sum of so many parts; the quotient and the product may each be off by a unit.
        masses *= instances * (1.0 + UNIT * (losses.size + 800.0))
        return cls(rounded + 8.0 * UNIT * np.abs(rounded), masses, others, tuple(lines))

    def at(self, x: float) -> Floats:
        """Return an upper bound on G of each pair, shape (pairs,)."""
        y = x - self.losses
        logs = [log_sum - t * y + 8.0 * UNIT * (abs(log_sum) + np.abs(t * y)) for t, log_sum in self.lines]
        along = np.exp(np.min(logs, axis=0).clip(max=0.0))
        shares = np.minimum(self.others.shares(y), along)
        return np.asarray(self.masses @ shares * (1.0 + UNIT * (shares.size + 64.0)))


@dataclass(frozen=True)
class Others:
    """The divergence of any mix of common losses at `y = x - largest < 0`, where it is nearly their mass.

    `(1 - u)+ = 1 - u + (u - 1)+` for `u = e^(y-L)`, and `(u - 1)+ <= (s-1)^(s-1) / s^s u^s` for s > 1. So it is at most
    `E[1] - e^y E[e^-L] + min over s of (s-1)^(s-1) / s^s e^(s y) E[e^(-s L)]`, moments of the total loss L under a
    measure. Each is a product over the instances, at most (at least) a power of the largest (least) of all pairs. The
    divergence falls as y grows, so that the largest of the rare losses stands for all.

    A contour is sharper than these moments where it is needed, and is one more of them: under E' = E[e^-L ...], the
    other law's measure, and with L' = -L, `E[(u - 1)+] = e^y E'[(1 - e^(-y-L'))+]`. That is e^y times a divergence at
    -y, which is at most J' e^(t y) along a contour of tilt t: s = 1 + t. Its moduli are those of a product, too, so
    that the largest J' of one pair in all instances bounds every mix.

    - largest: The sum of the rare losses beside these, at most.
    - log_mass, log_other: Bounds on the logarithms of E[1], from above, and of E[e^-L], from below.
    - powers: s, and the logarithm of what stands before e^(s y), from above.
    """

    largest: float
    log_mass: float
    log_other: float
    powers: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, common: Sequence[LossAtoms], count: int, largest: float, back: Contour | None = None) -> Others:
        """Return them for `count` instances, each of which has any of these losses; with a contour of these backwards.

        Any contour gives a bound.
        """
        other, errors = _log_moments(common, -1.0)
        powers = [
            (s, count * float(log_moments(common, -s).max()) + (s - 1.0) * math.log(s - 1.0) - s * math.log(s))
            for s in _POWERS
        ]
        if back is not None:
            powers.append((1.0 + back.tilt, _largest_sum(back, [backwards(atoms) for atoms in common], count)))
        log_mass = count * float(log_moments(common, 0.0).max())
        return cls(largest, log_mass, count * float((other - errors).min()), tuple(powers))

    def shares(self, y: Floats) -> Floats:
        """Return upper bounds on the divergence at y, a rounded difference, without `largest`, or 1 if that is less."""
        below = np.minimum(y, 0.0)
        # No more than 1, as E[e^-L] is a mass under the other law.
        lines = [log_factor + s * below + 8.0 * UNIT * (abs(log_factor) - s * below) for s, log_factor in self.powers]
        above = np.exp(np.min(lines, axis=0).clip(max=0.0))
        other = np.exp(np.minimum(self.log_other + below, 0.0))
        # A few units of each part, none of which matters above 1, as the exponents' errors are less than this.
        found = math.exp(min(self.log_mass, 1.0)) - other + above + _ROUNDED
        return np.asarray(np.where(y < 0.0, np.minimum(found, 1.0), 1.0))

    def log_share(self, x: float) -> float:
        """Return an upper bound on the logarithm of the divergence at `y = x - largest`, or 0 if that is less."""
        share = float(self.shares(np.array([x - self.largest]))[0])
        return math.log(share) if share < 1.0 else 0.0


@dataclass(frozen=True)
class Sums:
    """The sums of moduli of a pair in `count` instances along a contour, its rare losses apart, as logarithms."""

    contour: Contour
    count: int
    classes: Classes

    def largest_rare(self, branches: Sequence[Branch], place: int) -> float:
        """Return an upper bound on the largest moment of a class of rare losses at the first node, as a logarithm."""
        rare = [self.classes.of(branch.pair)[1 + place] for branch in branches]
        return float(log_moments(rare, self.contour.tilt).max())

    def others(self, branches: Sequence[Branch], rare: Sequence[int], back: Contour | None = None) -> Others:
        """Return what bounds the divergence of the common losses beside so many rare ones; see `Others.of`."""
        every = [self.classes.of(branch.pair) for branch in branches]
        largest = [max(float(atoms[1 + place].losses.max()) for atoms in every) for place in range(len(rare))]
        parts = [count * loss for count, loss in zip(rare, largest, strict=True)]
        total = math.fsum(parts) + 4.0 * UNIT * math.fsum(map(abs, parts))
        return Others.of([atoms[0] for atoms in every], self.count, total, back)

    def of(self, pair: PrivacyLossDistribution) -> float:
        """Return an upper bound on the sum."""
        return sum_of_moduli(self.contour, self.classes.of(pair)[0], self.count)

    def above(self, branches: Sequence[Branch]) -> list[float]:
        """Return a coarser bound for each."""
        common = [self.classes.of(branch.pair)[0] for branch in branches]
        return [float(high) for high in sums_above(self.contour, common, self.count)]
