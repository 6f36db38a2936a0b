"""Families below a chord: exact domination of every member, repairs, and the supremum where there is no chord."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.privacy_loss.datasets import chord as chord_module
from dpverify.privacy_loss.datasets.chord import Members, chord

HALF, STEP = 40, 0.05
LOSSES = STEP * np.arange(-HALF, HALF + 1)


@pytest.fixture(autouse=True, scope="module")
def _two_rows_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chord_module, "_AT_ONCE", 2)
        yield


def excess(masses: np.ndarray) -> np.ndarray:
    """Return the excess profile on the grid of the pair with these Q-masses there (and mean ratio 1)."""
    ratios = np.expm1(LOSSES)
    above = np.array([np.sum(masses * np.maximum(ratios - x, 0.0)) for x in ratios])
    below = np.array([np.sum(masses * np.maximum(x - ratios, 0.0)) for x in ratios])
    return np.where(LOSSES >= 0.0, above, below)


def balanced(weights: list[float], places: list[int]) -> np.ndarray:
    """Return Q-masses on the grid with sum 1 and mean ratio 1: each place is balanced by the other side's."""
    masses = np.zeros(LOSSES.size)
    for weight, place in zip(weights, places, strict=True):
        up, down = np.expm1(STEP * place), -np.expm1(-STEP * (1 + place // 2))
        masses[HALF + place] += weight * down / (up + down)
        masses[HALF - 1 - place // 2] += weight * up / (up + down)
    return masses / masses.sum()


MEMBERS = st.lists(
    st.lists(st.tuples(st.floats(0.1, 1.0), st.integers(1, HALF - 2)), min_size=1, max_size=6), min_size=1, max_size=5
)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(MEMBERS, MEMBERS)
def test_every_member_is_below_the_chord_or_the_supremum(first: list, others: list) -> None:
    end = excess(balanced(*map(list, zip(*first[0], strict=True))))
    cells = np.array([end, *(excess(balanced(*map(list, zip(*member, strict=True)))) for member in others)])
    starts = np.arange(len(cells)) * 0.5 / len(cells)
    shares = np.stack([starts, starts + 0.5 / len(cells)], axis=1)
    up, down = chord(STEP, end, cells, shares, 0.0)
    profiles = [np.array([pair.delta(float(e)).upper for e in LOSSES]) for pair in (up, down)]
    floors = np.maximum(-np.expm1(LOSSES), 0.0)
    below_chord = below_supremum = True
    for cell, ends in zip(cells, shares, strict=True):
        mirrored = np.exp(LOSSES) * cell[::-1]
        for s in ends:
            for member, share in ((cell, s), (mirrored, 1.0 - s)):
                mixed = (1.0 - share) * profiles[0] + share * profiles[1]
                below_chord &= bool((floors + member <= mixed * (1 + 1e-12) + 1e-13).all())
        below_supremum &= bool((floors + cell <= profiles[0] * (1 + 1e-12) + 1e-13).all())
    assert below_chord or below_supremum
    # Both profiles belong to pairs: nothing was added to the masses but rounding.
    for pair in (up, down):
        assert abs(float(pair.masses.sum()) - 1.0) <= 1e-9


def test_both_ends_of_a_wide_cell_decide() -> None:
    # Both where the chord rises with the share of ones and where it falls.
    end = excess(balanced([1.0, 0.5], [3, 9]))
    mirrored = np.exp(LOSSES) * end[::-1]
    assert (mirrored > end * 1.01).any()
    assert (end > mirrored * 1.01).any()
    lone = 0.5 * (end + mirrored)
    for cell in (end, mirrored, lone):
        up, down = chord(STEP, end, np.array([end, cell]), np.array([[0.0, 0.0], [0.0, 0.5]]), 0.0)
        a, b = (np.array([pair.delta(float(e)).upper for e in LOSSES]) for pair in (up, down))
        member = np.maximum(-np.expm1(LOSSES), 0.0) + cell
        chords = [(member <= ((1.0 - s) * a + s * b) * (1 + 1e-12) + 1e-13).all() for s in (0.0, 0.5)]
        assert all(chords) or (member <= a * (1 + 1e-12) + 1e-13).all()


@pytest.mark.parametrize("side", [-1, 1])
def test_a_lift_on_one_side_is_one_on_the_other(side: int) -> None:
    # Halfway between the ends half of a lift of each counts.
    end = excess(balanced([1.0, 0.5], [3, 9]))
    cell = 0.5 * (end + np.exp(LOSSES) * end[::-1])
    cell += 0.02 * cell.max() * np.exp(-(((LOSSES - 3 * side * STEP) / 0.1) ** 2))
    cell[[0, -1]] = 0.0
    up, down = chord(STEP, end, np.array([end, cell]), np.array([[0.0, 0.0], [0.5, 0.5]]), 0.0)
    a, b = (np.array([pair.delta(float(e)).upper for e in LOSSES]) for pair in (up, down))
    member = np.maximum(-np.expm1(LOSSES), 0.0) + cell
    assert (member > a).any()
    assert (member <= 0.5 * (a + b) * (1 + 1e-12) + 1e-13).all()


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(MEMBERS, MEMBERS)
def test_every_member_is_below_a_chord_towards_the_end(first: list, others: list) -> None:
    end = excess(balanced(*map(list, zip(*first[0], strict=True))))
    rows = np.array([excess(balanced(*map(list, zip(*member, strict=True)))) for member in others])
    distances = np.linspace(0.1, 0.9, len(rows))
    reaches = [(0.5, 0.75), (0.3, 0.6), (1e-300, 1.0)]
    floors = np.maximum(-np.expm1(LOSSES), 0.0)
    members = Members(STEP, end, rows, distances, 0.0)
    for reach, foot in reaches:
        pairs = members.towards_end(reach, foot)
        far, near = (np.array([pair.delta(float(e)).upper for e in LOSSES]) for pair in pairs)
        for row, distance in ((end, 0.0), *zip(rows, distances, strict=True)):
            weight = distance / foot if distance < reach else 1.0
            assert (floors + row <= (weight * far + (1.0 - weight) * near) * (1 + 1e-12) + 1e-13).all()


@settings(max_examples=25, deadline=None)
@given(MEMBERS, MEMBERS)
def test_every_member_is_below_a_piece(first: list, others: list) -> None:
    end = excess(balanced(*map(list, zip(*first[0], strict=True))))
    rows = np.array([excess(balanced(*map(list, zip(*member, strict=True)))) for member in others])
    found = Members(STEP, end, rows, np.linspace(0.1, 0.9, len(rows)), 0.0).pieces([0.05, 0.2, 0.25, 0.6])
    profiles = np.array([[pair.delta(float(e)).upper for e in LOSSES] for pair in found])
    for member in (end, *rows):
        floored = member + np.maximum(-np.expm1(LOSSES), 0.0)
        assert (floored <= profiles * (1 + 1e-12) + 1e-13).all(axis=1).any()


def test_the_chord_is_tighter_than_the_supremum_for_a_skewed_family() -> None:
    # Members between a skewed pair and its mirror image, on the straight line: no lift is needed.
    narrow = np.exp(-0.5 * (LOSSES / 0.3) ** 2) * (1.0 + 0.3 * np.tanh(LOSSES / 0.3) * np.abs(LOSSES))
    masses = narrow / narrow.sum()
    # Tilt to mean ratio 1.
    low, high = -20.0, 20.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        tilted = masses * np.exp(middle * LOSSES)
        if np.sum(tilted * np.expm1(LOSSES)) > 0:
            high = middle
        else:
            low = middle
    tilted /= tilted.sum()
    end = excess(tilted)
    end[[0, -1]] = 0.0
    mirrored = np.exp(LOSSES) * end[::-1]
    s = np.array([0.0, 0.25, 0.5])
    cells = (1 - s[:, None]) * end + s[:, None] * mirrored
    up, _ = chord(STEP, end, cells, np.stack([s, s], axis=1), 0.0)
    for e in (-0.3, 0.0, 0.3, 0.6):
        lifted = up.delta(e).upper - max(-np.expm1(e), 0.0)
        assert lifted == pytest.approx(float(np.interp(np.expm1(e), np.expm1(LOSSES), end)), rel=1e-6)
    supremum = np.maximum.reduce(cells)
    assert supremum.max() >= end.max()
    assert (supremum > end * (1 + 1e-4)).any()


def test_what_reaches_beyond_the_grid_is_refused() -> None:
    end = np.zeros(2 * HALF + 1)
    cells = np.zeros((1, end.size))
    cells[0, -1] = 1e-9
    with pytest.raises(ValueError, match="must be 0 at the ends of the grid"):
        chord(STEP, end, cells, np.array([[0.0, 0.5]]), 0.0)


def test_distances_from_the_end_must_increase() -> None:
    rows = np.zeros((2, 2 * HALF + 1))
    with pytest.raises(ValueError, match="distances must increase"):
        Members(STEP, rows[0], rows, np.array([0.5, 0.2]), 0.0)


def test_a_missing_mass_is_filled_up_by_the_nearest() -> None:
    ratios, masses = np.exp(0.1 * np.arange(5)), np.array([0.1, 0.4, -0.05, 0.0, 0.6])
    before = masses.copy()
    chord_module._repair(masses, np.zeros(5), 0.1)
    assert np.isclose(masses.sum(), before.sum(), rtol=1e-14)
    assert np.isclose(ratios @ masses, ratios @ before, rtol=1e-14)
    # The neighbour with a mass has enough of it, and nothing else gives any.
    assert abs(masses[2]) < 1e-15
    assert masses[3:].tolist() == before[3:].tolist()
