from __future__ import annotations

import math

import numpy as np
import pytest

from dpverify.privacy_loss.contour import Contour
from dpverify.rounding import UNIT

LOSS = 0.1


def divergence(copies: int, epsilon: float) -> float:
    """Return the profile of the worst pair that is pure 0.1-DP, composed, exactly but for rounding."""
    up = 1.0 / (1.0 + math.exp(-LOSS))
    return math.fsum(
        math.comb(copies, j) * up**j * (1.0 - up) ** (copies - j) * -math.expm1(epsilon - (2 * j - copies) * LOSS)
        for j in range(copies + 1)
        if (2 * j - copies) * LOSS > epsilon
    )


def log_moduli(copies: int, contour: Contour) -> np.ndarray:
    x = contour.tilt + 1j * contour.nodes.heights
    up = 1.0 / (1.0 + math.exp(-LOSS))
    return copies * np.log(np.abs(up * np.exp(x * LOSS) + (1.0 - up) * np.exp(-x * LOSS)) + 8.0 * UNIT)


@pytest.mark.parametrize("copies", [1, 7, 100])
@pytest.mark.parametrize("tilt", [0.3, 4.0, 15.0])
def test_the_sum_bounds_the_divergence_at_every_epsilon(copies: int, tilt: float) -> None:
    contour = Contour.at(tilt, LOSS * math.sqrt(copies), 1e-3 * LOSS**2 * copies)
    log_integral = contour.log_integral(log_moduli(copies, contour))
    for epsilon in np.linspace(-1.0, 3.0, 41):
        assert divergence(copies, float(epsilon)) <= math.exp(log_integral - tilt * epsilon)


def test_the_sum_is_sharp_for_many_copies() -> None:
    # In the middle between two losses, where the profile is a chord.
    copies, epsilon = 400, 6.1
    contour = Contour.at(1.0, LOSS * math.sqrt(copies), 1e-3 * LOSS**2 * copies)
    bound = math.exp(contour.log_integral(log_moduli(copies, contour)) - epsilon)
    assert 0.75 * bound < divergence(copies, epsilon) < bound


@pytest.mark.parametrize(
    ("spacing", "number", "smoothing"),
    [(1e-3, 2, 1e-9), (2.0, 40, 4.0), (0.5, 8, 1e-3), (0.01, 300, 0.5)],
    ids=["all but all of it in the tail", "smoothing that costs", "both", "fine"],
)
def test_any_spacing_and_smoothing_gives_a_bound(spacing: float, number: int, smoothing: float) -> None:
    contour = Contour(1.0, spacing, number, smoothing)
    log_integral = contour.log_integral(log_moduli(1, contour))
    for epsilon in np.linspace(-3.0, LOSS, 32):
        assert divergence(1, float(epsilon)) <= math.exp(log_integral - epsilon)
