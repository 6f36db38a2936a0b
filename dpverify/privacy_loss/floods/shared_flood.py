"""The difference and the smaller one of two counts that share a flood, as sums over what is not seen.

With D = Z1 - Z2 the difference and W + Z3 the smaller count, W the smaller of Z1 and Z2, a cell's mass is a sum over W:
of the mass of both noises, and of the flood's. Z1 and Z2 have one law, so that both signs of D are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.floods.intervals import Cuts, Masses, Sums
from dpverify.rounding import UNIT

__all__ = ["Listed", "Scale", "Summed", "View"]

Floats = NDArray[np.float64]


class Scale(NamedTuple):
    """About where a law is, from the first integer of its window on: its mean and its variance."""

    mean: float
    variance: float

    @classmethod
    def of(cls, law: IntegerLaw) -> Scale:
        """Return that of a law."""
        z = np.arange(law.pmf.size, dtype=np.float64)
        mean = float(law.pmf @ z)
        z -= mean
        z *= z
        return cls(mean, float(law.pmf @ z))

    @classmethod
    def of_noise(cls, shape: float, p: float) -> Scale:
        """Return that of NB(shape, p)."""
        mean = shape * p / (1.0 - p)
        return cls(mean, mean / (1.0 - p))


class Summed(NamedTuple):
    """A sum over what is not seen: each summand's mass of the difference, and of the smaller count given that."""

    rows: Masses
    columns: Masses

    def masses(self) -> Floats:
        """Return each cell's mass, shape (rows, columns)."""
        return self.rows.masses @ self.columns.masses.T

    def ends(self, crossed: bool) -> tuple[Floats, Floats]:
        """Return the probability at two opposite corners of each cell: of least m and least |d|, or `crossed`."""
        first, last = (self.rows.lasts, self.rows.firsts) if crossed else (self.rows.firsts, self.rows.lasts)
        return first @ self.columns.firsts.T, last @ self.columns.lasts.T


class View(Protocol):
    """What is known of |Z1 - Z2| and the smaller count, and how they are summed."""

    own: Scale
    flood: Scale | None
    differences: int
    """How many are listed, from 0 on."""
    counts: int
    """How many are listed, from `start` on."""
    start: int
    rare: int
    """A count, from `start` on, below which there is next to nothing."""
    short: bool
    """Whether what lies beyond what is listed is not nothing: the last intervals are then cut short."""
    terms: int
    """Of the sum."""
    cost: float
    """Of one probability of a cell, in products."""
    lack: float
    """By how much a listed probability may be too small."""
    outside: float
    """The mass of what is not listed, whatever x, with all that listed ones lack."""

    def error(self, rows: Cuts, columns: Cuts) -> float:
        """Bound the relative error of every mass and probability, but for what they lack."""

    def cut(self, rows: Cuts, columns: Cuts) -> Callable[[Cuts, int, bool], Summed]:
        """Return what gives a block of rows, at |d| shifted by -1, 0 or 1, and whether at m - 1, their sums."""


class Listed:
    """Z1, Z2 and Z3 by their probabilities, value by value of the smaller one of Z1 and Z2."""

    def __init__(self, own: IntegerLaw, flood: IntegerLaw | None) -> None:
        self._own, self._flood = own, flood
        self.own, self.flood = Scale.of(own), None if flood is None else Scale.of(flood)
        self.terms, self.rare, self.short = own.pmf.size, 0, False
        self.cost, self.differences = float(self.terms), self.terms + 1
        self.counts, self.start = (1, 1) if flood is None else (self.terms + flood.pmf.size, own.start + flood.start)
        tails = 2.0 * (own.tail_below + own.tail_above)
        tails += 0.0 if flood is None else flood.tail_below + flood.tail_above
        # Values that are left out of the sums, below, make up as much again.
        self._tails, self.lack = tails, 2.0 * tails
        self.outside = self.lack

    def error(self, rows: Cuts, columns: Cuts) -> float:  # noqa: D102
        # Entries are products of three masses, each a sum of at most 2^24 atoms in pairs; a scalar product of n terms
        # errs by n roundings in whatever order it is added up.
        error = 2.0 * self._own.relative_error + (0.0 if self._flood is None else self._flood.relative_error)
        return error + (self.terms + 80.0) * UNIT

    def cut(self, rows: Cuts, columns: Cuts) -> Callable[[Cuts, int, bool], Summed]:  # noqa: D102
        f, size, flood = self._own.pmf, self.terms, self._flood
        sums = Sums(f, -1, int(rows.lasts[-1]) + 1 + size)
        # Of the four products per row, two for either x, values may be left out that make up as much as the tails.
        least = self._tails / (4.0 * rows.firsts.size * size)
        seen: list[Masses] = []
        if flood is not None:
            shared = Sums(flood.pmf, -size, max(int(columns.lasts[-1]) + 1, flood.pmf.size))
            # The smaller of Z1 and Z2 runs forwards, so that the flood runs backwards.
            seen = [Masses.of(shared, columns, 1 - size - x, size).backwards() for x in (0, 1)]

        def summed(down: Cuts, shift: int, later: bool) -> Summed:
            larger = Masses.of(sums, down, shift, size)
            if not seen:
                return Summed(larger, Masses(*3 * (f[np.newaxis],)))
            occupied = np.flatnonzero(larger.masses.max(axis=0) * f > least)
            values = slice(int(occupied[0]), int(occupied[-1]) + 1) if occupied.size else slice(0, 1)
            weighed = Masses(*(row[:, values] * f[values] for row in larger))
            return Summed(weighed, Masses(*(column[:, values] for column in seen[later])))

        return summed
