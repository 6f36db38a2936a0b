"""Two counts that share a flood, (x + Z1 + Z3, Z2 + Z3), for x = 1 against x = 0: Z1, Z2 of one law, Z3 of another.

The view is told by d, the first count less the second, and m, the smaller one. With f the pmf of Z1 and Z2 and g that
of Z3, P0 is `sum_w f(w + |d|) f(w) g(m - w)`, and P1 is P0 where the first count is one less. The plane is cut into
cells, intervals of d times intervals of m, whose masses are products of matrices without a negative entry.

Where f and g are log-concave the loss ln(P1/P0) grows with d and with m, and where f is that of NB(r, p) with r < 1 it
falls with |d| and m for d > 0, and grows with both else: in a cell it lies between its values at two corners;
docs/accounting.md has the proofs.
"""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.laws import noise
from dpverify.laws.window import SMALLEST_TAIL, IntegerLaw
from dpverify.privacy_loss.cells import Cells, Enclosure, enclosed
from dpverify.privacy_loss.intervals import Cuts, Masses, Sums, cuts_of, points
from dpverify.privacy_loss.pairs import MOST_COUNTS
from dpverify.rounding import SUBNORMAL, UNIT
from protocols.validation import check_real

__all__ = ["EFFORT", "MOST_EFFORT", "Order", "negative_binomial_counts", "two_counts"]

Floats = NDArray[np.float64]

EFFORT = 4e9
"""Products to be made by default, which takes some tenths of a second."""
MOST_EFFORT = 4e10
"""And where finer cells are needed."""
_OVERHEAD = 8.0
"""Columns that would take as long as making a row."""
_MOST_ENTRIES = 2**22
"""Of a matrix, 32 MiB."""
_FINEST, _FINE, _COARSEST = 128.0, 48.0, 6.0
"""In how many cells the loss changes by about one of its standard deviations, at most, normally and at least."""
_NEGLIGIBLE = 1e-16
"""What cut windows may take from a probability that is kept, relatively: charged with it."""
_FLOOR = 1e-280
"""Probabilities below have lost digits to underflow, those above less than a negligible share."""
_DEEPER = 1e-22
"""Where to cut the noises, in units of what the view may leave out: it keeps what their tails are negligible to."""
_SHARP, _SHARPEST = 8.0, 0.5
"""An interval of d is no longer than d times the former over the resolution, or the latter: the loss may jump at 0."""
_FLAT = 4.0
"""From so many standard deviations on intervals grow with their distance from the mean."""
_FINER = 1.5


class Order(Enum):
    """How the loss is known to change with |d| and m."""

    CONCAVE = auto()
    """As where both laws are log-concave: it grows with m, grows with |d| where d > 0, and falls with it where d < 0.
    """
    CONVEX = auto()
    """As for noise of a shape below 1: it falls with |d| and m where d > 0, and grows with both where d <= 0."""
    NONE = auto()
    """Nothing is known, and every cell is a point."""


def negative_binomial_counts(
    shape: float,
    p: float,
    flood: tuple[float, float] | None,
    tail: float = 1e-40,
    *,
    effort: float = EFFORT,
    most_effort: float = MOST_EFFORT,
    max_atoms: int = MOST_COUNTS,
) -> Enclosure:
    """Enclose the pair of the counts for Z1, Z2 ~ NB(shape, p) and Z3 ~ NB(*flood), or of their difference alone.

    Parameters
    ----------
    shape, p : float
        r > 0 and p in (0, 1).
    flood : (float, float), optional
        r' > 0 and p' in [0, 1). None is an unlimited flood: the counts then tell no more than their difference.
    tail : float
        About what may be left out, in (0, 0.5].
    effort, most_effort : float
        See `two_counts`.
    max_atoms : int
        How many atoms each law may have.

    Raises
    ------
    ValueError
        If an argument is out of range.
    CapacityError
        If the noise is too wide; much sooner where every cell is a point: for floods of a shape below 1, and for noise
        of such a shape without a flood that decays as slowly as its square.
    """
    check_real("p", p, low=0.0, high=1.0, low_open=True, high_open=True)
    cut = max(check_real("tail", tail, low=0.0, high=0.5, low_open=True) * _DEEPER, SMALLEST_TAIL)
    own = noise.negative_binomial(shape, p, cut, max_atoms=max_atoms)
    shared = None if flood is None else noise.negative_binomial(*flood, cut, max_atoms=max_atoms)
    return two_counts(own, shared, order=_order(shape, p, flood), effort=effort, most_effort=most_effort)


def _order(shape: float, p: float, flood: tuple[float, float] | None) -> Order:
    # NB(r, p) has f(z+1)/f(z) = p (z+r)/(z+1); with p' = 0 there is no flood, and g is the law of a constant.
    if flood is not None and flood[0] < 1.0 and flood[1] > 0.0:
        return Order.NONE
    if shape >= 1.0:
        return Order.CONCAVE
    # The square rounds by one unit.
    return Order.CONVEX if flood is None or p * p * (1.0 + 4.0 * UNIT) <= flood[1] else Order.NONE


def two_counts(
    own: IntegerLaw,
    flood: IntegerLaw | None,
    *,
    order: Order,
    effort: float = EFFORT,
    most_effort: float = MOST_EFFORT,
) -> Enclosure:
    """Enclose the pair of (x + Z1 + Z3, Z2 + Z3) for x = 1 against x = 0.

    Parameters
    ----------
    own : IntegerLaw
        Of Z1 and of Z2, on the integers from 0 on.
    flood : IntegerLaw, optional
        Of Z3, on the integers from 0 on. When omitted, the difference of the counts is all that is seen.
    order : Order
        How the loss changes from cell to cell.
    effort : float
        About how many products may be made: the more, the finer the cells. Cells that are too coarse to be of use are
        refined beyond it.
    most_effort : float
        How many may be made for those: beyond, it is refused.

    Raises
    ------
    CapacityError
        If that takes too long.
    """
    own_scale, flood_scale = _Scale.of(own), None if flood is None else _Scale.of(flood)
    resolution = _FINEST
    while True:
        if order is not Order.NONE:
            rows, columns = _rows(own_scale, resolution), _columns(own_scale, flood_scale, resolution)
        else:
            rows, columns = (
                points(own_scale.stop + 1),
                points(own_scale.stop + flood_scale.stop if flood_scale else 1),
            )
        products = 12.0 * rows.firsts.size * (columns.firsts.size + _OVERHEAD) * own.pmf.size
        coarsest = order is Order.NONE or resolution / _FINER < _COARSEST
        if products <= (most_effort if coarsest else effort):
            return enclosed(_cells(own, flood, rows, columns, order), resolution)
        if coarsest:
            raise CapacityError(
                f"the two counts take 2 x {rows.firsts.size} x {columns.firsts.size} cells with {own.pmf.size} values "
                f"of the noise, but at most {most_effort:.2g} products are made; use less noise, or shapes of at "
                "least 1."
            )
        resolution /= _FINER


class _Scale(NamedTuple):
    """About where a law is, from the first integer of its window on: its mean, its variance and its end."""

    mean: float
    variance: float
    stop: int

    @classmethod
    def of(cls, law: IntegerLaw) -> _Scale:
        z = np.arange(law.pmf.size, dtype=np.float64)
        mean = float(law.pmf @ z)
        z -= mean
        z *= z
        return cls(mean, float(law.pmf @ z), law.pmf.size)


def _rows(own: _Scale, resolution: float) -> Cuts:
    """Cut the range of |d|: the loss changes by about one standard deviation over one of d.

    Less far out, where there is little; and if the shape is near 1 most of it next to 0.
    """
    spread = math.sqrt(2.0 * own.variance)
    width, flat, sharp = spread / resolution, _FLAT * spread + 1.0, min(_SHARP / resolution, _SHARPEST)
    return cuts_of(own.stop + 1, lambda d: min(width * max(1.0, d / flat), sharp * d))


def _columns(own: _Scale, flood: _Scale | None, resolution: float) -> Cuts:
    """Cut the range of m, from the sum of both windows' first integers on; one interval where m is not seen.

    Given d, m has about half the variance of Z2 and all of Z3's, and shifts by 1/2 with x. Like that of NB(r, p), the
    logarithm of its pmf is about the more curved, and so its loss the steeper, the smaller m is, by the square of it.
    It is followed as far as a fine resolution asks for.
    """
    if flood is None:
        return points(1)
    spread, deviation = math.sqrt(2.0 * own.variance), math.sqrt(own.variance + flood.variance)
    width = min((0.5 * spread + 2.0 * flood.variance / max(spread, 1.0)) / resolution, deviation)
    centre, flat = own.mean + flood.mean, _FLAT * deviation + 1.0
    power = min(1.0 + math.log(resolution / _COARSEST) / math.log(_FINE / _COARSEST), 2.0)
    return cuts_of(
        own.stop + flood.stop,
        lambda m: width * ((m / centre) ** power if m < centre else max(1.0, (m - centre) / flat)),
    )


class _Summed(NamedTuple):
    """What is summed over the smaller of Z1 and Z2: its pmf times that of the larger, and the flood's."""

    rows: Masses
    columns: Masses

    @classmethod
    def of(cls, f: Floats, rows: Masses, columns: Masses | None, least: float) -> _Summed:
        """Return it without the values whose mass is at most `least` in every row; all values if there is no flood."""
        if columns is None:
            return cls(rows, Masses(*3 * (f[np.newaxis],)))
        occupied = np.flatnonzero(rows.masses.max(axis=0) * f > least)
        values = slice(int(occupied[0]), int(occupied[-1]) + 1) if occupied.size else slice(0, 1)
        weighed = Masses(*(row[:, values] * f[values] for row in rows))
        return cls(weighed, Masses(*(column[:, values] for column in columns)))

    def masses(self) -> Floats:
        """Return each cell's mass, shape (rows, columns)."""
        return self.rows.masses @ self.columns.masses.T

    def ends(self, crossed: bool) -> tuple[Floats, Floats]:
        """Return the probability at two opposite corners of each cell: of least m and least |d|, or `crossed`."""
        first, last = (self.rows.lasts, self.rows.firsts) if crossed else (self.rows.firsts, self.rows.lasts)
        return first @ self.columns.firsts.T, last @ self.columns.lasts.T


def _cells(own: IntegerLaw, flood: IntegerLaw | None, rows: Cuts, columns: Cuts, order: Order) -> Cells:
    # The smaller of Z1 and Z2 runs forwards, so that the flood runs backwards.
    f, size = own.pmf, own.pmf.size
    tails = 2.0 * (own.tail_below + own.tail_above)
    tails += 0.0 if flood is None else flood.tail_below + flood.tail_above
    # Of the four products per row, two for either x, values of the noise may be left out that make up as much again.
    least = tails / (4.0 * rows.firsts.size * size)
    tails *= 2.0
    floor = max(tails / _NEGLIGIBLE, _FLOOR)
    from_zero = flood is not None and own.start + flood.start == 0
    parts: list[tuple[Floats, ...]] = []
    infinite, missing = 0.0, np.zeros(2)
    own_sums = Sums(f, -1, int(rows.lasts[-1]) + 1 + size)
    flood_sums = None if flood is None else Sums(flood.pmf, -size, max(int(columns.lasts[-1]) + 1, flood.pmf.size))
    for across in columns.blocks(_MOST_ENTRIES // size):
        seen, later = (
            None if flood_sums is None else Masses.of(flood_sums, across, 1 - size - x, size).backwards()
            for x in (0, 1)
        )
        for down in rows.blocks(_MOST_ENTRIES // (4 * size)):
            # At x = 0 both counts have one law: what the first has more is as likely as what it has less.
            still = _Summed.of(f, Masses.of(own_sums, down, 0, size), seen, least)
            masses = still.masses()
            # The first count is the larger one, or the smaller one by at least 1.
            for larger in (True, False):
                skipped = 0 if larger or down.firsts[0] else 1
                cuts = Cuts(down.firsts[skipped:], down.widths[skipped:])
                if not cuts.firsts.size:
                    continue
                # Where the loss grows with m, but falls with |d|.
                crossed = order is not Order.CONVEX and not larger
                zero, zero_ends = masses[skipped:], [end[skipped:] for end in still.ends(crossed)]
                moved = Masses.of(own_sums, cuts, -1 if larger else 1, size)
                shifted = _Summed.of(f, moved, seen if larger else later, least)
                one, one_ends = shifted.masses(), shifted.ends(crossed)
                kept = np.minimum.reduce([*zero_ends, *one_ends]) >= floor
                # x = 0 where the first count is 0: where it is the smaller, or the counts are equal, and the smaller 0.
                impossible = (across.firsts == 0) & ((not larger) | (cuts.firsts == 0))[:, None] & (zero >= floor)
                impossible &= from_zero
                infinite += float(np.sum(zero[impossible]))
                missing += float(np.sum(one[~kept])), float(np.sum(zero[~(kept | impossible)]))
                ends = [np.log(p1[kept] / p0[kept]) for p1, p0 in zip(one_ends, zero_ends, strict=True)]
                parts.append((one[kept], zero[kept], np.minimum(*ends), np.maximum(*ends)))
    # Entries are products of three masses, each a sum of at most 2^24 atoms in pairs; a scalar product of n terms errs
    # by n roundings in whatever order it is added up.
    error = 2.0 * own.relative_error + (0.0 if flood is None else flood.relative_error)
    error = 1.01 * (error + (size + 80.0) * UNIT + 2.0 * _NEGLIGIBLE)
    lost = (missing * (1.0 + 2.0 * error) + tails) * (1.0 + 1e-9) + SUBNORMAL
    one, zero, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Cells(one, zero, low, high, infinite, (float(lost[0]), float(lost[1])), error)
