"""The rounded losses that lines are chosen by are those of the laws."""

import math

import numpy as np
import pytest

from dpverify.planning.contours.losses import Loss, Sum, short

ONE, ZERO = np.array([0.1, 0.2, 0.7]), np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("size", [0.2, 1.0])
def test_moves_have_the_moments_of_their_laws(size: float) -> None:
    mixed = (1 - size) * ZERO + size * ONE
    back = (1 - size) * ONE + size * ZERO
    for kind, (after, before) in enumerate([(mixed, ZERO), (ONE, back)]):
        moved = Loss.of(ONE, ZERO).moved(kind, size)
        exact = after @ (after / before) ** (1.5 + 0.7j)
        assert moved.moduli(1.5, np.array([0.7]))[0] == pytest.approx(math.log(abs(exact)), abs=1e-12)
        assert moved.tilted(1.5)[0] == pytest.approx(math.log(after @ (after / before) ** 1.5), abs=1e-12)


def test_a_sum_bounds_a_divergence_and_is_close_for_a_normal_loss() -> None:
    grid = np.linspace(-8.0, 8.0, 4001)
    masses = np.exp(-((grid - 0.5) ** 2) / 2)
    loss = Loss(grid, masses / masses.sum())
    line = Sum(2.0, 1.0)
    found = math.exp(line.of(loss.moduli(2.0, line.heights)) - 2.0 * 2.5)
    exact = float(loss.masses @ np.maximum(0.0, 1.0 - np.exp(2.5 - grid)))
    assert exact < found < 1.3 * exact


def test_ends_and_short_numbers() -> None:
    loss = Loss.of(ONE, ZERO)
    assert loss.end(1.0, 0.5) == loss.losses.max()
    assert loss.end(1.0, 0.75) == sorted(loss.losses)[1]
    assert loss.below(0.0).masses == pytest.approx([0.1, 0.2])
    assert short(0.123456789, 3) == "0.124"
    assert short(2.0**-30, 3) == "0.000000000932"
