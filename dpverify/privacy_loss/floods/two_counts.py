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
from collections.abc import Callable
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.laws import noise
from dpverify.laws.window import EXACT, SMALLEST_TAIL, IntegerLaw
from dpverify.privacy_loss.floods.cells import Cells, Enclosure, enclosed
from dpverify.privacy_loss.floods.intervals import Cuts, cuts_of, points
from dpverify.privacy_loss.floods.shared_flood import Listed, View
from dpverify.privacy_loss.floods.smaller_count import SmallerCount
from dpverify.privacy_loss.losses.pairs import MOST_COUNTS
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
"""By how much cells become finer, or coarser, at a time: above 1, or the search for the best has no end."""


_MOST_PARTS = 128
"""The largest whole shape whose smaller count is summed over its parts."""


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

    - shape, p: r > 0 and p in (0, 1).
    - flood: r' > 0 and p' in [0, 1). None is an unlimited flood: the counts then tell no more than their difference.
    - tail: About what may be left out, in (0, 0.5].
    - effort, most_effort: See `two_counts`.
    - max_atoms: How many atoms each law may have.

    Raises ValueError if an argument is out of range. Raises CapacityError if the noise is too wide; much sooner where
    every cell is a point: for floods of a shape below 1, and for noise of such a shape without a flood that decays as
    slowly as its square.
    """
    check_real("p", p, low=0.0, high=1.0, low_open=True, high_open=True)
    check_real("tail", tail, low=0.0, high=0.5, low_open=True)
    check_real("shape", shape, low=0.0, high=EXACT, low_open=True)
    cut, order = max(tail * _DEEPER, SMALLEST_TAIL), _order(shape, p, flood)
    shared = None if flood is None else noise.negative_binomial(*flood, cut, max_atoms=max_atoms)
    if float(shape).is_integer() and shape <= _MOST_PARTS and order is Order.CONCAVE:
        made = SmallerCount(int(shape), p, flood, shared, tail)
        if made.listable:
            return _enclosed(made, order, effort, most_effort)
    own = noise.negative_binomial(shape, p, cut, max_atoms=max_atoms)
    return two_counts(own, shared, order=order, effort=effort, most_effort=most_effort)


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

    - own: Of Z1 and of Z2, on the integers from 0 on.
    - flood: Of Z3, on the integers from 0 on. When omitted, the difference of the counts is all that is seen.
    - order: How the loss changes from cell to cell.
    - effort: About how many products may be made: the more, the finer the cells. Cells that are too coarse to be of use
      are refined beyond it.
    - most_effort: How many may be made for those: beyond, it is refused.

    Raises CapacityError if that takes too long.
    """
    return _enclosed(Listed(own, flood), order, effort, most_effort)


def _enclosed(view: View, order: Order, effort: float, most_effort: float) -> Enclosure:
    """Enclose the pair of a view in cells as fine as the effort allows."""
    resolution = _FINEST
    while True:
        if order is not Order.NONE:
            rows, columns = _rows(view, resolution), _columns(view, resolution)
        else:
            rows, columns = points(view.differences), points(view.counts)
        cells = rows.firsts.size * (columns.firsts.size + _OVERHEAD)
        products = 12.0 * cells * view.cost
        coarsest = order is Order.NONE or resolution / _FINER < _COARSEST
        if products <= (most_effort if coarsest else effort):
            return enclosed(_cells(view, rows, columns, order), resolution)
        if coarsest:
            raise CapacityError(
                f"the two counts take 2 x {rows.firsts.size} x {columns.firsts.size} cells with {view.terms} values "
                f"of the noise, but at most {most_effort:.2g} products are made; use less noise, or shapes of at "
                "least 1."
            )
        resolution /= _FINER


def _rows(view: View, resolution: float) -> Cuts:
    """Cut the range of |d|: the loss changes by about one standard deviation over one of d.

    Less far out, where there is little; and if the shape is near 1 most of it next to 0.
    """
    spread = math.sqrt(2.0 * view.own.variance)
    width, flat, sharp = spread / resolution, _FLAT * spread + 1.0, min(_SHARP / resolution, _SHARPEST)
    return _cut(view, view.differences, lambda d: min(width * max(1.0, d / flat), sharp * d))


def _columns(view: View, resolution: float) -> Cuts:
    """Cut the range of m, from the sum of both windows' first integers on; one interval where m is not seen.

    Given d, m has about half the variance of Z2 and all of Z3's, and shifts by 1/2 with x. Like that of NB(r, p), the
    logarithm of its pmf is about the more curved, and so its loss the steeper, the smaller m is, by the square of it.
    It is followed as far as a fine resolution asks for, and no further than counts that are not too rare.
    """
    own, flood = view.own, view.flood
    if flood is None:
        return points(1)
    spread, deviation = math.sqrt(2.0 * own.variance), math.sqrt(own.variance + flood.variance)
    width = min((0.5 * spread + 2.0 * flood.variance / max(spread, 1.0)) / resolution, deviation)
    centre, flat = own.mean + flood.mean, _FLAT * deviation + 1.0
    power = min(1.0 + math.log(resolution / _COARSEST) / math.log(_FINE / _COARSEST), 2.0)

    def wide(m: int) -> float:
        if 0 < m < view.rare:
            return float(view.rare - m)
        return width * ((m / centre) ** power if m < centre else max(1.0, (m - centre) / flat))

    return _cut(view, view.counts, wide)


def _cut(view: View, stop: int, width: Callable[[int], float]) -> Cuts:
    cuts = cuts_of(stop, width)
    return cuts.below(stop) if view.short else cuts


def _cells(view: View, rows: Cuts, columns: Cuts, order: Order) -> Cells:
    floor = max(view.lack / _NEGLIGIBLE, _FLOOR)
    # All cells with less are no more than what is not listed, and their losses are the largest.
    rare = view.outside / (2.0 * rows.firsts.size * columns.firsts.size)
    from_zero = view.flood is not None and view.start == 0
    parts: list[tuple[Floats, ...]] = []
    infinite, missing = 0.0, np.zeros(2)
    for across in columns.blocks(_MOST_ENTRIES // view.terms):
        summed = view.cut(rows, across)
        for down in rows.blocks(_MOST_ENTRIES // (4 * max(view.terms, across.firsts.size))):
            # At x = 0 both counts have one law: what the first has more is as likely as what it has less.
            still = summed(down, 0, False)
            masses = still.masses()
            # The first count is the larger one by at least 1, or the smaller one.
            for larger in (True, False):
                skipped = 1 if larger and down.firsts[0] == 0 else 0
                cuts = Cuts(down.firsts[skipped:], down.widths[skipped:])
                if not cuts.firsts.size:
                    continue
                # Where the loss grows with m, but falls with |d|.
                crossed = order is not Order.CONVEX and not larger
                zero, zero_ends = masses[skipped:], [end[skipped:] for end in still.ends(crossed)]
                shifted = summed(cuts, -1 if larger else 1, not larger)
                one, one_ends = shifted.masses(), shifted.ends(crossed)
                kept = np.minimum.reduce([*zero_ends, *one_ends]) >= floor
                kept &= np.maximum(one, zero) >= rare
                # x = 0 where the first count is 0.
                impossible = (across.firsts == 0) & (zero >= floor) & (from_zero and not larger)
                infinite += float(np.sum(zero[impossible]))
                missing += float(np.sum(one[~kept])), float(np.sum(zero[~(kept | impossible)]))
                ends = [np.log(p1[kept] / p0[kept]) for p1, p0 in zip(one_ends, zero_ends, strict=True)]
                parts.append((one[kept], zero[kept], np.minimum(*ends), np.maximum(*ends)))
    error = 1.01 * (view.error(rows, columns) + 2.0 * _NEGLIGIBLE)
    lost = (missing * (1.0 + 2.0 * error) + view.outside) * (1.0 + 1e-9) + SUBNORMAL
    one, zero, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Cells(one, zero, low, high, infinite, (float(lost[0]), float(lost[1])), error)
