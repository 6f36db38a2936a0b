import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.privacy_loss.shuffling import gridded_excess as module
from dpverify.privacy_loss.shuffling.gridded_excess import gridded_excess
from tests.privacy_loss.shuffling.test_excess import CASES, COPIES, exact, variable

RARE = [
    ([0.25, 0.25, 2.0**-20], [0.75, -1.25, 300.0]),
    ([0.25, 0.25, 2.0**-20, 2.0**-34], [0.75, -1.25, 300.0, 4096.5]),
    ([0.125, 0.25, 2.0**-9], [0.3125, -8.5, 64.0]),
]
"""A few large values decide, and none is on the grid but by chance."""


@pytest.mark.parametrize(("weights", "values"), CASES)
def test_it_is_sharp_where_the_grid_holds_all_values(weights: list[float], values: list[float]) -> None:
    truth = exact(weights, values)
    assert truth <= gridded_excess(variable(weights, values), COPIES) <= float(truth) * (1.0 + 1e-8)


@pytest.mark.parametrize(("weights", "values"), RARE)
def test_rare_large_values_are_no_obstacle(weights: list[float], values: list[float]) -> None:
    truth = exact(weights, values)
    assert truth <= gridded_excess(variable(weights, values), COPIES) <= float(truth) * 1.001


@pytest.mark.long
@pytest.mark.parametrize(("weights", "values"), RARE)
@pytest.mark.parametrize("spacing", [0.25, 1.0, 4.0])
def test_the_spread_to_the_grid_only_adds(
    monkeypatch: pytest.MonkeyPatch, weights: list[float], values: list[float], spacing: float
) -> None:
    monkeypatch.setattr(module, "_FINE", spacing)
    moved = [value + 0.01 for value in values]
    assert exact(weights, moved) <= gridded_excess(variable(weights, moved), COPIES)


@pytest.mark.long
@pytest.mark.parametrize(("weights", "values"), RARE)
@pytest.mark.parametrize("capped", [0.01, 0.5, 0.9])
def test_what_the_cap_takes_is_added(
    monkeypatch: pytest.MonkeyPatch, weights: list[float], values: list[float], capped: float
) -> None:
    monkeypatch.setattr(module, "_CAPPED", capped)
    assert exact(weights, values) <= gridded_excess(variable(weights, values), COPIES)


@pytest.mark.long
@pytest.mark.parametrize(("weights", "values"), CASES + RARE)
@pytest.mark.parametrize("decay", [0.5, 2.0, 5.0])
def test_sums_beyond_the_window_are_charged(
    monkeypatch: pytest.MonkeyPatch, weights: list[float], values: list[float], decay: float
) -> None:
    monkeypatch.setattr(module, "_DECAY", decay)
    monkeypatch.setattr(module, "_DEVIATIONS", 0.0)
    assert exact(weights, values) <= gridded_excess(variable(weights, values), COPIES)


@pytest.mark.parametrize(("weights", "values"), CASES + RARE)
def test_errors_of_weights_and_values_are_charged(weights: list[float], values: list[float]) -> None:
    error, off = 2.0**-10, 2.0**-8
    worst = exact([weight * (1.0 + error) for weight in weights], [value + off for value in values])
    if sum(weights) * (1.0 + error) <= 1.0:
        assert worst <= gridded_excess(variable(weights, values, error, off), COPIES)


@pytest.mark.parametrize(("weights", "values"), CASES + RARE)
def test_the_error_of_the_transforms_is_charged(
    monkeypatch: pytest.MonkeyPatch, weights: list[float], values: list[float]
) -> None:
    found = gridded_excess(variable(weights, values), COPIES)
    summed = module._summed

    def wrong(folded: NDArray[np.float64], copies: int) -> tuple[NDArray[np.float64], float]:
        masses, error = summed(folded, copies)
        lost = np.where(np.arange(masses.size) < masses.size // 8, 1.0, 0.0)
        lost *= 1e-3 / math.sqrt(float(lost.sum()))
        return masses - lost, error + 1e-3

    monkeypatch.setattr(module, "_summed", wrong)
    assert gridded_excess(variable(weights, values), COPIES) >= found


def test_the_law_of_the_sum_is_within_the_stated_error() -> None:
    one = np.array([0.5, 0.25, 0.125, 0.125] + [0.0] * 12)
    truth = np.array([1.0] + [0.0] * 15)
    for _ in range(9):
        truth = sum(mass * np.roll(truth, shift) for shift, mass in enumerate(one))
    found, error = module._summed(one, 9)
    assert np.linalg.norm(found - truth) <= error < 1e-12


def test_rounding_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    one, case = np.array([0.5, 0.25, 0.125, 0.125] + [0.0] * 12), variable(*CASES[0])
    found = gridded_excess(case, COPIES)
    monkeypatch.setattr(module, "UNIT", 1e-6)
    assert module._summed(one, 9)[1] > 1e-5
    monkeypatch.setattr(module, "_summed", lambda folded, copies: (folded, 0.0))
    alone = gridded_excess(case, COPIES)
    monkeypatch.setattr(module, "UNIT", 2.0**-53)
    assert alone > gridded_excess(case, COPIES) * (1.0 + 1e-4)
    assert found > 0.0


def test_more_points_than_there_are_leave_what_each_copy_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_POINTS", 4)
    assert gridded_excess(variable([0.25, 0.5], [1.0, -1.75]), COPIES) == pytest.approx(COPIES * 0.25)
