"""Repeated runs are seen without a law, and independent ones are not blamed."""

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.order.repeats import alike_runs, repeats, smallest_deviation, smallest_repeated_share


def cached(outputs: np.ndarray, share: float, lag: int, rng: np.random.Generator) -> np.ndarray:
    outputs = outputs.copy()
    for run in np.flatnonzero(rng.random(outputs.size) < share):
        outputs[run] = outputs[max(0, run - lag)]
    return outputs


@pytest.mark.parametrize("lag", [1, 3, 50, 64])
@pytest.mark.parametrize(("values", "share"), [(10**9, 0.01), (4, 0.2)])
def test_repeats_are_found(values: int, share: float, lag: int) -> None:
    rng = np.random.default_rng(lag)
    outputs = rng.integers(0, values, 20_000)
    assert repeats(cached(outputs, share, lag, rng)).p_value < 1e-4
    smallest = smallest_repeated_share(outputs, 0.01)
    assert smallest < share


def test_independent_runs_are_rarely_blamed() -> None:
    rng = np.random.default_rng(8)
    for values in (2, 300):
        alarms = sum(repeats(rng.integers(0, values, 1_000)).p_value <= 0.1 for _ in range(200))
        assert alarms <= stats.binom.isf(1e-6, 200, 0.1)


def test_a_constant_shows_nothing() -> None:
    assert alike_runs(np.zeros((1_000, 2))).p_value == 1.0
    assert repeats(np.zeros(1_000, dtype=np.int64)).p_value == 1.0
    assert smallest_repeated_share(np.zeros(1_000, dtype=np.int64), 0.01) is None


def test_noise_that_cancels_or_shows_in_another_column_is_found() -> None:
    rng = np.random.default_rng(6)
    noise = rng.normal(size=4_000)
    turned = noise.copy()
    turned[1::2] = -turned[::2]
    assert alike_runs(turned[:, None]).p_value < 1e-6
    shown = np.stack([noise, np.roll(noise, 3) + rng.normal(size=4_000)], axis=1)
    assert alike_runs(shown).p_value < 1e-6
    # Columns that go together in one run are no dependence of runs.
    assert alike_runs(np.stack([noise, noise], axis=1)).p_value > 1e-3
    assert 0.05 < smallest_deviation(4_000, 0.01) < 0.2


def test_independent_columns_are_rarely_blamed() -> None:
    rng = np.random.default_rng(7)
    alarms = sum(alike_runs(rng.integers(0, 3, (600, 2)).astype(float)).p_value <= 0.2 for _ in range(60))
    assert alarms <= stats.binom.isf(1e-6, 60, 0.2)


def test_a_ring_buffer_of_any_length_is_found() -> None:
    """One run of 97 repeats that of 4,321 runs ago: no lag that anybody lists."""
    outputs = np.random.default_rng(3).normal(size=60_000)
    again = np.arange(4_321, outputs.size, 97)
    outputs[again] = outputs[again - 4_321]
    check = repeats(outputs.view(np.int64))
    assert check.p_value < 1e-6
    assert "4321 apart" in check.evidence


def test_sizes_and_parities_that_go_together_are_found() -> None:
    rng = np.random.default_rng(5)
    sizes = np.repeat(rng.exponential(size=10_000), 2) * rng.choice([-1.0, 1.0], 20_000)
    assert alike_runs(sizes[:, None]).p_value < 1e-6
    turns = 2.0 * rng.integers(-9, 9, 20_000) + (np.arange(20_000) // 5) % 2
    assert alike_runs(turns[:, None]).p_value < 1e-6
