"""The smaller of two counts given their difference, against sums over all noise in exact rationals."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest

from dpverify.guarantee import CapacityError
from dpverify.laws import noise
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.floods import smaller_count as module
from dpverify.privacy_loss.floods.intervals import Cuts, points
from dpverify.privacy_loss.floods.smaller_count import SmallerCount
from dpverify.privacy_loss.floods.two_counts import negative_binomial_counts
from dpverify.privacy_loss.losses.recurrence import decayed_sums_error

CASES = [(1, 0.5, (3.0, 0.625)), (2, 0.375, (9.0, 0.5)), (5, 0.75, (4.0, 0.75)), (17, 0.25, (1.0, 0.5))]
ROWS, COLUMNS = points(30), points(40)


def made(shape: int, p: float, flood: tuple[float, float] | None, tail: float = 1e-30) -> SmallerCount:
    law = None if flood is None else noise.negative_binomial(*flood, tail * 1e-20)
    return SmallerCount(shape, p, flood, law, tail)


def pmf(shape: int, p: Fraction, z: int) -> Fraction:
    return math.comb(z + shape - 1, z) * (1 - p) ** shape * p**z if z >= 0 else Fraction(0)


def exact(shape: int, p: float, flood: tuple[float, float] | None, d: int, m: int) -> Fraction:
    """Return P(Z1 - Z2 = d, min(Z1, Z2) + Z3 = m) for d >= 0; of the difference alone, up to 1e-30, if no flood."""
    own = Fraction(p)
    terms = [(w, pmf(shape, own, w + d) * pmf(shape, own, w)) for w in range((m if flood else 400) + 1)]
    if flood is None:
        return sum((term for _, term in terms), Fraction(0))
    return sum((term * pmf(int(flood[0]), Fraction(flood[1]), m - w) for w, term in terms), Fraction(0))


@pytest.mark.parametrize("case", CASES)
def test_every_probability_is_within_the_stated_error(case: tuple[int, float, tuple[float, float]]) -> None:
    counts = made(*case)
    error = counts.error(ROWS, COLUMNS)
    assert error < 1e-12
    for shift, later in ((0, False), (-1, False), (1, True)):
        found = counts.cut(ROWS, COLUMNS)(ROWS, shift, later).masses()
        for d in (1, 2, 7, 29):
            for m in (1, 2, 5, 39):
                true = exact(*case, d + shift, m - later)
                assert abs(Fraction(found[d, m]) / true - 1) <= error


def test_without_a_flood_the_difference_is_left() -> None:
    counts = made(4, 0.5, None)
    found = counts.cut(ROWS, points(1))(ROWS, 0, False).masses()
    assert counts.counts == 1
    for d in (0, 3, 20):
        assert abs(Fraction(found[d, 0]) / exact(4, 0.5, None, d, 0) - 1) <= counts.error(ROWS, points(1))


@pytest.mark.parametrize("case", CASES)
def test_cells_add_up_what_is_in_them(case: tuple[int, float, tuple[float, float]]) -> None:
    counts = made(*case)
    rows, columns = Cuts(np.array([0, 1, 5]), np.array([1, 4, 3])), Cuts(np.array([2, 10]), np.array([8, 16]))
    cells = counts.cut(rows, columns)(Cuts(rows.firsts[1:], rows.widths[1:]), -1, False)
    single = counts.cut(ROWS, COLUMNS)(ROWS, -1, False).masses()
    for row, (d, down) in enumerate(((1, 4), (5, 3))):
        for column, (m, across) in enumerate(((2, 8), (10, 16))):
            inside = single[d : d + down, m : m + across]
            assert cells.masses()[row, column] == pytest.approx(inside.sum(), rel=1e-12)
            low, high = cells.ends(False)
            assert (low[row, column], high[row, column]) == pytest.approx((inside[0, 0], inside[-1, -1]), rel=1e-12)


@pytest.mark.parametrize("tail", [1e-1, 1e-3, 1e-12])
@pytest.mark.parametrize("case", [*CASES, (3, 0.5, (5.0, 0.0)), (5, 0.9, (40.0, 0.9))])
def test_what_is_not_listed_is_charged(case: tuple[int, float, tuple[float, float]], tail: float) -> None:
    shape, p, flood = case
    # A window of the flood that is cut on both sides shows what it lacks.
    law = noise.negative_binomial(*flood, tail) if flood[1] else point_mass(0)
    counts = SmallerCount(shape, p, flood, law, tail)
    rows, columns = points(counts.differences), points(counts.counts)
    summed = counts.cut(rows, columns)
    zero, larger, smaller = (summed(rows, *at).masses().sum(axis=1) for at in ((0, False), (-1, False), (1, True)))
    assert zero.sum() + zero[1:].sum() >= 1.0 - counts.outside - 1e-12
    assert larger[1:].sum() + smaller.sum() >= 1.0 - counts.outside - 1e-12


def test_a_flood_that_is_cut_below_lacks_that_everywhere() -> None:
    law = noise.negative_binomial(400.0, 0.5, 1e-9)
    counts = SmallerCount(3, 0.5, (400.0, 0.5), law, 1e-6)
    assert counts.start == law.start > 0
    assert law.tail_below <= counts.lack <= counts.outside
    assert law.pmf.size < SmallerCount(3, 0.5, (400.0, 0.5), law, 1e-30).counts
    assert SmallerCount(3, 0.5, (400.0, 0.5), law, 1e-30).lack >= law.tail_below + law.tail_above


def test_errors_of_the_flood_and_of_long_sums_are_stated() -> None:
    law = noise.negative_binomial(3.0, 0.5, 1e-40)
    counts, wide = made(2, 0.5, (3.0, 0.5)), Cuts(np.array([0]), np.array([2**20]))
    loud = SmallerCount(2, 0.5, (3.0, 0.5), IntegerLaw(0, law.pmf.copy(), 0.01, 0.0, law.tail_above), 1e-30)
    assert loud.error(ROWS, COLUMNS) >= 0.01
    assert counts.error(wide, COLUMNS) - counts.error(ROWS, COLUMNS) >= (2**20 - 2) * 2.0**-53


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_weight_shows(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    right: Callable[[int, int, int], float] = module._multinomial
    monkeypatch.setattr(module, "_multinomial", lambda r, i, j: right(r, i, j) * (factor if (i, j) == (1, 1) else 1.0))
    found = made(*CASES[2]).cut(ROWS, COLUMNS)(ROWS, 0, False).masses()
    assert abs(found[3, 5] / float(exact(*CASES[2], 3, 5)) - 1.0) > 1e-3


def test_wide_noise_takes_no_more_than_narrow_noise() -> None:
    found = negative_binomial_counts(16.0, 0.9998, (4.0, 0.99995), 1e-12)
    pair = FamilyComposition(tuple(found.upper), 100, attained=found.lower, relative_width=1e-3)
    epsilon = pair.epsilon(1e-6)
    assert 0.0 < epsilon.upper < 2e-3
    assert epsilon.width <= 2e-2 * epsilon.upper
    # What lists the noise value by value, as for shapes that are not whole, refuses.
    with pytest.raises(CapacityError, match="products are made"):
        negative_binomial_counts(16.5, 0.9998, (4.0, 0.99995), 1e-12)


def test_weights_that_leave_the_floats_are_not_used() -> None:
    assert made(16, 0.5, None, 1e-150).listable
    shape, p, epsilon, tail = 128, 0.5618800646792604, 0.5042431421961379, 1.6e-214
    assert not made(shape, p, None, tail).listable
    with flint.ctx.workprec(300):
        own = [flint.arb(math.comb(z + shape - 1, z)) * flint.arb(p) ** z for z in range(4000)]
        # Of differences from -2000 to 2000 but for (1-p)^256, with 2,000 values of the smaller count and more.
        law = list(flint.arb_poly(own) * flint.arb_poly(own[::-1]))[1999:6000]
        scale = (1 - flint.arb(p)) ** (2 * shape)
        grown = flint.arb(epsilon).exp()
        excess = sum((x for a, b in pairwise(law) if (x := a - grown * b) > 0), flint.arb(0)) * scale
        truth = float(excess.upper())
    found = negative_binomial_counts(float(shape), p, None, tail)
    assert 0.0 < truth < 1e-280
    assert max(pair.delta(epsilon).lower for pair in found.lower) <= truth * 1.01


def test_listing_refuses_what_fits_in_no_memory() -> None:
    assert not SmallerCount(1, 1.0 - 1e-9, None, None, 1e-20).listable


def test_each_part_of_the_error_is_stated() -> None:
    counts, bare = made(5, 0.75, (4.0, 0.75)), made(5, 0.75, None)
    rate, width = -2.0 * math.log(0.75), 2.0
    alone = (32.0 * 5 + 64.0 + 2.0 * bare.differences * rate + width) * 2.0**-53
    assert bare.error(ROWS, points(1)) >= alone
    sums = 10.0 * (decayed_sums_error(counts.counts) + 6.0 * 2.0**-53) + 3.0 * 2.0**-53 * counts.counts * rate
    assert counts.error(ROWS, COLUMNS) >= alone + sums
    # What is not listed: a quarter of the tail, and a factor of four for the rounding of Chernoff's bound.
    assert math.exp(-counts._level) <= 1e-30 / 16.0 * (1.0 + 1e-12)
