"""Masses of intervals, against sums in plain Python; and that many of them take no more memory than they fill."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.privacy_loss.floods.intervals import Masses, Sums, cuts_of, points


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(-30, 30), st.integers(1, 25), st.floats(0.1, 9.0))
def test_masses_are_the_sums(seed: int, size: int, shift: int, length: int, width: float) -> None:
    pmf = np.random.default_rng(seed).random(size)
    cuts = cuts_of(30, lambda edge: width * edge / 5)
    assert cuts.firsts[0] == 0
    assert (cuts.firsts[1:] == cuts.lasts[:-1] + 1).all()
    sums = Sums(pmf, min(shift, 0), max(int(cuts.lasts[-1]) + shift + length, size))
    found = Masses.of(sums, cuts, shift, length)

    def at(integer: int) -> float:
        return float(pmf[integer]) if 0 <= integer < size else 0.0

    for row, (first, last) in enumerate(zip(cuts.firsts, cuts.lasts, strict=True)):
        for column, j in enumerate(range(shift, shift + length)):
            assert found.masses[row, column] == pytest.approx(sum(at(z + j) for z in range(first, last + 1)), rel=1e-14)
            assert found.firsts[row, column] == at(first + j)
            assert found.lasts[row, column] == at(last + j)
    assert (found.backwards().masses == found.masses[:, ::-1]).all()
    again = Masses.of(sums, cuts, shift, length)
    assert (again.masses == found.masses).all()


def test_points_and_blocks_are_all_of_the_integers() -> None:
    cuts = points(10)
    assert (cuts.firsts == np.arange(10)).all()
    assert (cuts.lasts == cuts.firsts).all()
    assert [block.firsts.size for block in cuts.blocks(4)] == [4, 4, 2]


def test_masses_take_no_more_memory_than_what_they_fill() -> None:
    pmf = np.full(4000, 1e-3)
    cuts = cuts_of(4000, lambda edge: edge / 40)
    tracemalloc.start()
    try:
        found = Masses.of(Sums(pmf, -1, int(cuts.lasts[-1]) + pmf.size), cuts, -1, pmf.size)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 1.25 * sum(matrix.nbytes for matrix in found)


def test_sums_and_single_intervals_are_not_made_anew() -> None:
    pmf = np.full(4000, 1e-3)
    sums = Sums(pmf, -1, 8001)
    assert sums.of(8) is sums.of(8)
    single = next(cuts_of(4000, lambda _: 8.0).blocks(1))
    found = Masses.of(sums, single, 1, pmf.size)
    assert all(
        np.shares_memory(matrix, kept) for matrix, kept in zip(found, (sums.of(8), *2 * (sums.points,)), strict=True)
    )
    assert found.masses[0, 0] == pytest.approx(8e-3)


def test_the_last_interval_can_be_cut_short() -> None:
    cuts = cuts_of(21, lambda first: 8.0)
    assert cuts.lasts[-1] == 23
    short = cuts.below(21)
    assert (short.lasts[-1], short.widths.sum()) == (20, 21)
    assert (short.firsts == cuts.firsts).all()
