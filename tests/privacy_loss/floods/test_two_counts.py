"""Two counts that share a flood: their enclosure against brute force, in exact rationals and with loud errors."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, ThreeNBPair
from dpverify.guarantee import CapacityError
from dpverify.laws import noise
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.floods import cells
from dpverify.privacy_loss.floods import two_counts as module
from dpverify.privacy_loss.floods.cells import Enclosure
from dpverify.privacy_loss.floods.intervals import Cuts
from dpverify.privacy_loss.floods.shared_flood import Listed
from dpverify.privacy_loss.floods.two_counts import Order, negative_binomial_counts, two_counts
from dpverify.privacy_loss.losses.pairs import discrete_laplace, three_nb
from tests.privacy_loss.exact import RationalPair, normalised, truth

EPSILONS = (-2.0, -0.3, 0.0, 0.05, 0.2, 0.5, 1.1, 2.5, 4.0)
COARSEST, FINE = 1.0, 4e9
"""Cells as large as they get, and points where there are few."""
CASES = [
    (1.0, 0.5, (3.0, 0.6)),
    (1.3, 0.4, (1.0, 0.7)),
    (2.0, 0.4, (9.0, 0.5)),
    (20.0, 0.1, (9.0, 0.6)),
    (400.0, 0.02, (1.0, 0.8)),
    (3.0, 0.5, (5.0, 0.0)),
    (5.0, 0.3, None),
]
STEEP = [
    (0.5, 0.5, (3.0, 0.5)),
    (0.9, 0.6, (1.0, 0.4)),
    (0.1, 0.5, (2.0, 0.8)),
    (0.02, 0.7, (9.0, 0.6)),
    (0.5, 0.4, None),
    (0.05, 0.6, None),
]
"""Shapes of the noise below 1, whose likelihood ratio is largest where the difference is 1."""
POINTS = [(0.3, 0.3, (0.5, 0.5)), (2.0, 0.4, (0.5, 0.6)), (0.5, 0.5, (3.0, 0.2))]
REPEATS = [(1.2, 0.8, (2.0, 0.7)), (0.1, 0.8, (1.0, 0.9)), (0.9, 0.7, (9.0, 0.8))]
Case = tuple[float, float, tuple[float, float] | None]


@functools.cache
def tables(case: Case) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P1 and P0 of both counts, or of their difference, by adding up all noises; what is left out is 1e-30."""
    shape, p, flood = case
    f = noise.negative_binomial(shape, p, 1e-32).pmf
    g = np.ones(1) if flood is None else noise.negative_binomial(*flood, 1e-32).pmf
    one, zero = (np.zeros((f.size + g.size, f.size + g.size)) for _ in range(2))
    for z, mass in enumerate(g):
        one[z + 1 : z + 1 + f.size, z : z + f.size] += mass * np.outer(f, f)
        zero[z : z + f.size, z : z + f.size] += mass * np.outer(f, f)
    if flood is None:
        return tuple(  # type: ignore[return-value]
            np.array([np.trace(law, -d) for d in range(-law.shape[0], law.shape[0])]) for law in (one, zero)
        )
    return one, zero


def check(found: Enclosure, case: Case, slack: float = 1e-11) -> None:
    one, zero = tables(case)
    for epsilon in EPSILONS:
        for p, q, upper, lower in zip((one, zero), (zero, one), found.upper, found.lower, strict=True):
            direct = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
            assert lower.delta(epsilon).lower <= direct * (1.0 + slack) + 1e-15, epsilon
            assert direct <= upper.delta(epsilon).upper * (1.0 + slack) + 1e-15, epsilon


@pytest.mark.parametrize("effort", [COARSEST, pytest.param(3e4, marks=pytest.mark.long), FINE])
@pytest.mark.parametrize("case", [*CASES, *STEEP, *POINTS])
def test_both_pairs_enclose_the_two_counts(case: Case, effort: float) -> None:
    check(negative_binomial_counts(*case, 1e-25, effort=effort), case)


@pytest.mark.parametrize("case", [*CASES, *STEEP, *POINTS])
def test_points_leave_no_gap(case: Case) -> None:
    found = negative_binomial_counts(*case, 1e-25)
    for epsilon in (0.0, 0.2, 1.1):
        for upper, lower in zip(found.upper, found.lower, strict=True):
            known = lower.delta(epsilon).lower
            assert upper.delta(epsilon).upper <= known * (1.0 + 2e-3) + 1e-9


@pytest.mark.parametrize(
    "case",
    [
        *((3.0, 0.7, (9.0, 0.8)), (30.0, 0.3, None), (0.5, 0.8, (2.0, 0.7)), (0.3, 0.8, None)),
        *(pytest.param((shape, p, flood), marks=pytest.mark.long) for shape, p, flood in REPEATS),
    ],
)
def test_cells_of_several_deviations_still_dominate(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    # Cells so large, on a grid so fine, that what a wrong corner leaves out shows.
    for name, value in (("_FINEST", 0.5), ("_COARSEST", 0.4), ("_FINE", 0.45), ("_SHARPEST", 1.0), ("_FLAT", 1.0)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(cells, "_STEPS_PER_CELL", 1e3)
    check(negative_binomial_counts(*case, 1e-25), case)


def losses_by_rows(case: Case) -> dict[tuple[int, int], float]:
    """Return the loss for every difference and smaller count that is not too rare."""
    one, zero = tables(case)
    u, v = np.meshgrid(*(np.arange(size) for size in one.shape), indexing="ij")
    listed = (zero > 1e-20) & (one > 1e-20)
    loss = np.where(listed, np.log(np.where(listed, one, 1.0) / np.where(listed, zero, 1.0)), np.nan)
    return {(int(a - b), int(min(a, b))): x for a, b, x in zip(u[listed], v[listed], loss[listed], strict=True)}


@pytest.mark.parametrize("case", [case for case in STEEP if case[2] is not None])
def test_losses_of_steep_noise_fall_beyond_the_largest_at_one_and_rise_else(case: Case) -> None:
    by_rows = losses_by_rows(case)
    checked = 0
    for (d, m), x in by_rows.items():
        for after in ((d, m + 1), (d + 1 if d > 0 else d - 1, m)):
            if after in by_rows:
                assert (x >= by_rows[after] - 1e-9) if d > 0 else (x <= by_rows[after] + 1e-9)
                checked += 1
        # What makes it rise: no loss at d <= 0 is above those at d > 0.
        assert x >= -math.log(case[1]) - 1e-9 if d > 0 else x <= -math.log(case[1]) + 1e-9
    assert checked > 100


@pytest.mark.parametrize("case", [(3.0, 0.6, (4.0, 0.7)), (1.0, 0.5, (3.0, 0.6)), (0.3, 0.6, (4.0, 0.7))])
def test_the_losses_of_a_cell_are_between_those_at_its_corners(case: Case) -> None:
    shape, p, flood = case
    assert flood is not None
    order, by_rows, rng = module._order(*case), losses_by_rows(case), np.random.default_rng(7)
    own, shared = (noise.negative_binomial(*law, 1e-40, max_atoms=10**4) for law in ((shape, p), flood))
    for first_row, first_column in rng.integers(1, 12, (60, 2)):
        rows, columns = Cuts(first_row[None], np.array([4])), Cuts(first_column[None], np.array([4]))
        found = module._cells(Listed(own, shared), rows, columns, order)
        assert found.low.size == 2
        for sign, low, high in zip((1, -1), found.low, found.high, strict=True):
            inside = [by_rows[sign * (first_row + i), first_column + j] for i in range(4) for j in range(4)]
            assert (min(inside), max(inside)) == pytest.approx((low, high), abs=1e-7)


@pytest.mark.parametrize("case", [case for case in CASES if case[2] is not None])
def test_losses_grow_with_the_difference_and_the_smaller_count(case: Case) -> None:
    by_rows = losses_by_rows(case)
    pairs = [
        (x, by_rows[d + i, m + j])
        for (d, m), x in by_rows.items()
        for i, j in ((0, 1), (1, 0))
        if (d + i, m + j) in by_rows
    ]
    assert len(pairs) > 100
    # Also from d = -1 to d = 0, though no cell has both.
    assert all(x <= y + 1e-9 for x, y in pairs)


def test_geometric_noise_is_what_the_closed_form_says() -> None:
    closed, found = three_nb(0.9, 12.0, 0.97), negative_binomial_counts(1.0, 0.9, (12.0, 0.97))
    for epsilon in (0.0, 0.05, 0.1, 0.15):
        for exact, upper, lower in zip(closed, found.upper, found.lower, strict=True):
            known = exact.delta(epsilon)
            assert lower.delta(epsilon).lower <= known.upper
            assert known.lower <= upper.delta(epsilon).upper
            assert upper.delta(epsilon).upper <= 1.005 * known.upper + 1e-30


@pytest.mark.parametrize("shape", [0.5, 2.5])
@pytest.mark.parametrize("direction", list(Direction))
def test_engine_agrees_with_arb(shape: float, direction: Direction) -> None:
    found = negative_binomial_counts(shape, 0.25, (3.0, 0.25))
    for epsilon in (0.0, 0.4, 1.3):
        exact = hockey_stick(ThreeNBPair(0.25, 3.0, 0.25, shape), epsilon, direction, digits=8)
        upper, lower = (pair[direction is Direction.DOWN].delta(epsilon) for pair in (found.upper, found.lower))
        assert lower.lower <= exact.upper
        assert exact.lower <= upper.upper <= 1.002 * exact.upper


def test_an_unlimited_flood_leaves_the_difference() -> None:
    found = negative_binomial_counts(1.0, 0.9, None)
    for epsilon in (0.0, 0.05, 0.1):
        exact = discrete_laplace(-math.log(0.9)).up.delta(epsilon)
        for upper, lower in zip(found.upper, found.lower, strict=True):
            assert lower.delta(epsilon).lower <= exact.upper
            assert exact.lower <= upper.delta(epsilon).upper <= 1.001 * exact.upper
    # All that a flood can do is to hide how the difference splits.
    limited = negative_binomial_counts(4.0, 0.8, (9.0, 0.95))
    unlimited = negative_binomial_counts(4.0, 0.8, None)
    assert limited.upper.up.delta(0.2).upper > unlimited.lower.up.delta(0.2).lower


@pytest.mark.parametrize(
    ("case", "width"),
    [((16.0, 0.9, (9.0, 0.99)), 1e-3), ((0.75, 0.98, (30.0, 0.999)), 2e-3), ((0.3, 0.98, None), 2e-3)],
)
def test_composed_ends_are_close(case: Case, width: float) -> None:
    found = negative_binomial_counts(*case, 1e-18)
    family = FamilyComposition(tuple(found.upper), 256, attained=found.lower, reference_delta=1e-6)
    epsilon = family.epsilon(1e-6)
    assert 0.5 < epsilon.lower < epsilon.upper
    assert epsilon.width <= width * epsilon.upper


@st.composite
def small_laws(draw: st.DrawFn) -> tuple[list[Fraction], list[Fraction]]:
    weights = st.lists(st.integers(1, 30), min_size=1, max_size=4)
    return normalised(draw(weights)), normalised(draw(weights))


def exact_pair(own: list[Fraction], flood: list[Fraction]) -> RationalPair:
    laws: list[dict[tuple[int, int], Fraction]] = [{}, {}]
    for x, law in zip((1, 0), laws, strict=True):
        for a, p in enumerate(own):
            for b, q in enumerate(own):
                for z, g in enumerate(flood):
                    key = (x + a + z, b + z)
                    law[key] = law.get(key, Fraction(0)) + p * q * g
    outcomes = sorted(set(laws[0]) | set(laws[1]))
    one, zero = ([law.get(outcome, Fraction(0)) for outcome in outcomes] for law in laws)
    return one, zero


def finite(pmf: list[Fraction]) -> IntegerLaw:
    return IntegerLaw(0, np.array([float(mass) for mass in pmf]), 2.0**-53, 0.0, 0.0)


@given(laws=small_laws(), epsilon=st.sampled_from(EPSILONS))
@settings(max_examples=60, deadline=None)
def test_small_laws_are_enclosed_exactly(laws: tuple[list[Fraction], list[Fraction]], epsilon: float) -> None:
    own, flood = laws
    one, zero = exact_pair(own, flood)
    found = two_counts(finite(own), finite(flood), order=Order.NONE)
    for pair, upper, lower in zip(((one, zero), (zero, one)), found.upper, found.lower, strict=True):
        known = truth([pair], [1], epsilon)
        # Outcomes that x = 0 cannot produce are listed as missing: an upper end only.
        assert lower.delta(epsilon).lower <= known.upper
        assert known.lower <= upper.delta(epsilon).upper
        impossible = sum(p for p, q in zip(*pair, strict=True) if q == 0)
        assert upper.delta(epsilon).upper <= float(known.upper) * (1.0 + 1e-3) + 1e-6
        assert float(impossible) <= upper.unbounded_mass * (1.0 + 1e-12)


def test_counts_of_zero_are_infinite_losses_and_known() -> None:
    found = negative_binomial_counts(3.0, 0.2, (2.0, 0.3))
    nothing = 0.8**3 * 0.7**2
    for pair in (found.upper.down, found.lower.down):
        assert pair.infinite_mass == pytest.approx(nothing, rel=1e-12)
        assert pair.missing_mass < 1e-30
    assert found.upper.up.infinite_mass == 0.0


STATED, REAL = 0.01, 0.0098
PATTERNS: dict[str, Callable[[NDArray[np.int64]], NDArray[np.float64]]] = {
    "too small": lambda k: -np.ones(k.size),
    "too large": lambda k: np.ones(k.size),
    "rising": lambda k: np.linspace(-1.0, 1.0, k.size),
    "alternating": lambda k: np.where(k % 2 == 0, 1.0, -1.0),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("effort", [COARSEST, FINE])
@pytest.mark.parametrize("case", [CASES[2], CASES[3]])
def test_the_errors_of_the_laws_are_charged(
    monkeypatch: pytest.MonkeyPatch, case: Case, effort: float, pattern: str
) -> None:
    tables(case)
    right = noise.negative_binomial

    def wrong(shape: float, p: float, tail: float, max_atoms: int) -> IntegerLaw:
        law = right(shape, p, tail, max_atoms=max_atoms)
        return replace(law, pmf=law.pmf * (1.0 + REAL * PATTERNS[pattern](law.support)), relative_error=STATED)

    monkeypatch.setattr(noise, "negative_binomial", wrong)
    check(negative_binomial_counts(*case, 1e-25, effort=effort), case)


@pytest.mark.parametrize("tail", [1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("effort", [COARSEST, FINE])
@pytest.mark.parametrize("case", [CASES[2], CASES[3], CASES[6], (3.0, 0.3, (40.0, 0.4))])
def test_what_windows_lack_is_charged(monkeypatch: pytest.MonkeyPatch, case: Case, effort: float, tail: float) -> None:
    # At real windows it is 1e-16 of what is kept, and nothing beside the rest.
    monkeypatch.setattr(module, "_MOST_PARTS", 0)
    monkeypatch.setattr(module, "_NEGLIGIBLE", 0.02)
    monkeypatch.setattr(module, "_DEEPER", 1.0)
    found = negative_binomial_counts(*case, tail, effort=effort)
    assert max(pair.missing_mass for pair in found.upper) > tail
    check(found, case)


@pytest.mark.parametrize("case", [CASES[2], CASES[6]])
def test_what_is_not_listed_is_missing(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    # Windows that lack so much that no cell is kept.
    monkeypatch.setattr(module, "_MOST_PARTS", 0)
    monkeypatch.setattr(module, "_DEEPER", 1.0)
    for pair in negative_binomial_counts(*case, 1e-3).upper:
        assert pair.losses.size == 0
        assert pair.missing_mass >= 1.0 - 1e-12


def test_windows_that_begin_above_zero_have_no_known_infinite_loss() -> None:
    found = negative_binomial_counts(3.0, 0.3, (400.0, 0.5), 1e-9)
    assert found.upper.down.infinite_mass == 0.0
    assert 0.0 < found.upper.down.missing_mass < 1e-6


def test_a_value_below_the_window_is_no_proof_of_an_infinite_loss() -> None:
    # Z1 = 0 has a probability of 1e-20, and so x = 1 can give a first count of 1: the loss is about 45.
    law = IntegerLaw(1, np.array([0.5, 0.5]), 0.0, 1e-20, 0.0)
    found = two_counts(law, IntegerLaw(0, np.ones(1), 0.0, 0.0, 0.0), order=Order.NONE)
    assert found.lower.down.delta(60.0).lower == 0.0
    assert found.upper.down.delta(40.0).upper >= 0.5


def test_bad_arguments_and_too_much_noise() -> None:
    with pytest.raises(ValueError, match=r"p=0\.0 must be a finite number in \(0, 1\)"):
        negative_binomial_counts(2.0, 0.0, None)
    with pytest.raises(ValueError, match=r"shape=0\.0 must be a finite number in \(0, "):
        negative_binomial_counts(0.0, 0.5, None)
    with pytest.raises(ValueError, match=r"tail=0\.7 must be a finite number in \(0, 0\.5\]"):
        negative_binomial_counts(2.0, 0.5, None, 0.7)
    with pytest.raises(CapacityError, match=r"at most 4e\+10 products are made; use less noise, or shapes of at least"):
        negative_binomial_counts(0.5, 0.99, (0.9, 0.999))
