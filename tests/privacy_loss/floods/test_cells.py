"""Cells whose masses and ends of losses are off by as much as is stated: both pairs are bounds nevertheless."""

import math

import numpy as np
import pytest

from dpverify.privacy_loss.floods.cells import Cells, enclosed

STATED, REAL = 0.01, 0.0098
FINE = 48.0
EPSILONS = [float(epsilon) for epsilon in np.linspace(-1.0, 1.0, 201)]


@pytest.mark.parametrize("mass_error", [-REAL, REAL])
@pytest.mark.parametrize("low_share", [0.1, 0.5, 0.9])
def test_losses_outside_their_cell_by_its_error_are_dominated(low_share: float, mass_error: float) -> None:
    # Cells of two outcomes each, reported with masses and losses that are off by as much as is stated.
    ends = np.array([[-0.7, -0.5], [0.4, 0.6]])
    one = np.array([[low_share, 1.0 - low_share]]) * np.array([[0.4], [0.5]])
    zero = one * np.exp(-ends)
    one, zero = one / one.sum(), zero / zero.sum()
    losses = np.log(one / zero)
    cells = Cells(
        one.sum(axis=1) * (1.0 + mass_error),
        zero.sum(axis=1) * (1.0 - mass_error),
        losses[:, 0] + 2.0 * REAL,
        losses[:, 1] - 2.0 * REAL,
        0.0,
        (0.0, 0.0),
        STATED,
    )
    found = enclosed(cells, FINE).upper
    for epsilon in EPSILONS:
        for p, q, upper in zip((one, zero), (zero, one), found, strict=True):
            direct = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
            assert direct <= upper.delta(epsilon).upper * (1.0 + 1e-9) + 1e-12


def test_cells_with_their_losses_enclose_what_is_in_them() -> None:
    # Three cells of two outcomes each, exactly described; and a fourth, whose outcome is not listed.
    one = np.array([[0.1, 0.2], [0.3, 0.1], [0.05, 0.15], [0.1, 0.0]])
    zero = np.array([[0.3, 0.2], [0.15, 0.05], [0.05, 0.15], [0.1, 0.0]])
    losses = np.log(one[:3] / zero[:3])
    cells = Cells(
        one[:3].sum(axis=1), zero[:3].sum(axis=1), losses.min(axis=1), losses.max(axis=1), 0.0, (0.1, 0.1), 1e-12
    )
    found = enclosed(cells, FINE)
    for epsilon in EPSILONS:
        for p, q, upper, lower in zip((one, zero), (zero, one), found.upper, found.lower, strict=True):
            direct = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
            assert lower.delta(epsilon).lower <= direct + 1e-12
            assert direct <= upper.delta(epsilon).upper + 1e-12


def test_nothing_kept_is_all_missing() -> None:
    nothing = np.zeros(0)
    found = enclosed(Cells(nothing, nothing, nothing, nothing, 0.0, (1.0, 1.0), 0.0), FINE)
    assert all(pair.missing_mass >= 1.0 and pair.losses.size == 0 for pair in found.upper)


def test_rare_large_losses_leave_small_ones_their_cells() -> None:
    # What a wide noise gives: losses of 1e-4, and in the far tail one of 12.
    losses = np.append(np.linspace(-4e-4, 4e-4, 801), 12.0)
    one = np.append(np.exp(-0.5 * (losses[:-1] / 1e-4) ** 2), 1e-12)
    one /= one.sum()
    zero = one * np.exp(-losses)
    zero /= zero.sum()
    exact = np.log(one / zero)
    found = enclosed(Cells(one, zero, exact, exact, 0.0, (0.0, 0.0), 1e-15), FINE)
    for epsilon in (0.0, 1e-4, 3e-4):
        upper, lower = (pair.up.delta(epsilon) for pair in found)
        assert upper.upper <= 1.001 * lower.lower


def test_losses_next_to_equal_have_a_grid() -> None:
    one = np.array([0.25, 0.75])
    zero = one * np.exp(-200.0 * (1.0 + np.array([0.0, 2.0**-52])))
    losses = np.log(one / zero)
    found = enclosed(Cells(one, zero, losses, losses, 1.0 - float(zero.sum()), (0.0, 0.0), 1e-15), FINE)
    assert found.lower.up.delta(100.0).lower <= 1.0 - math.exp(-100.0) <= found.upper.up.delta(100.0).upper


def test_sums_of_masses_move_the_losses_of_the_lower_pair() -> None:
    # Between two steps of the grid every cell's loss is a sum's.
    one = np.full(4096, 1.0 / 4096)
    zero = one * np.exp(np.linspace(-1e-3, 1e-3, 4096))
    zero /= zero.sum()
    losses = np.log(one / zero)
    found = enclosed(Cells(one, zero, losses, losses, 0.0, (0.0, 0.0), 0.0), FINE)
    assert found.lower.up.loss_error >= found.upper.up.loss_error + 2.0 * 4096 * 2.0**-53
