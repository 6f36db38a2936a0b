"""What a few runs in a row show is seen without a law; independent runs are not blamed."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

from dpverify.statistics.order.successive import smallest_pattern, successive_runs

N = 80_000


def strata(rng: np.random.Generator) -> np.ndarray:
    """A hundred numbers in a row, one from each hundredth."""
    places = np.argsort(rng.random((N // 100, 100)), axis=1).ravel()
    return (places + rng.random(N)) / 100.0


def planes(rng: np.random.Generator) -> np.ndarray:
    """RANDU: each number is six times the last one less nine times that before, modulo 1."""
    states = [12345]
    for _ in range(N - 1):
        states.append(65539 * states[-1] % 2**31)
    return np.array(states) / 2.0**31


def digits(rng: np.random.Generator) -> np.ndarray:
    """Half of the numbers have the low digits of the last one."""
    whole, fine = np.floor(rng.normal(0.0, 50.0, N)), rng.random(N)
    fine[1::2] = fine[::2]
    return whole + fine


@pytest.mark.parametrize("numbers", [strata, planes, digits])
@pytest.mark.parametrize("seen_as", [lambda u: u, lambda u: 3.0 * special.ndtri(np.clip(u, 1e-9, 1 - 1e-9))])
def test_what_numbers_in_a_row_have_is_found(
    numbers: Callable[[np.random.Generator], np.ndarray], seen_as: Callable[[np.ndarray], np.ndarray]
) -> None:
    drawn = numbers(np.random.default_rng(1))
    drawn = drawn if numbers is digits else seen_as(drawn)
    assert successive_runs(drawn[:, None]).p_value < 1e-6
    # The same numbers in another order have nothing of it.
    assert successive_runs(np.random.default_rng(3).permutation(drawn)[:, None]).p_value > 1e-3


def test_one_column_that_was_another_is_found() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=N)
    assert successive_runs(np.stack([noise, np.roll(noise, 1)], axis=1)).p_value < 1e-9
    # Columns that go together in one run are no dependence of runs.
    assert successive_runs(np.stack([noise, noise], axis=1)).p_value > 1e-3


def test_independent_runs_are_rarely_blamed() -> None:
    rng = np.random.default_rng(8)
    drawn = (np.stack([rng.integers(0, 3, 1_600), rng.normal(size=1_600)], axis=1) for _ in range(60))
    alarms = sum(successive_runs(rows).p_value <= 0.1 for rows in drawn)
    assert alarms <= stats.binom.isf(1e-6, 60, 0.1)


def test_few_runs_and_constants_show_nothing() -> None:
    assert successive_runs(np.random.default_rng(1).normal(size=(60, 2))).p_value == 1.0
    assert successive_runs(np.zeros((N, 1))).p_value == 1.0
    assert 0.0 < smallest_pattern(200_000, 1e-3) < smallest_pattern(2_000, 1e-3) <= 1.0
