"""Whether outputs are as frequent at some times as at others."""

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.order import structure
from dpverify.statistics.order.steadiness import smallest_unsteadiness, steady_runs

N = 20_000


def p_value(values: np.ndarray, seed: int = 0) -> float:
    return steady_runs(values[:, None], values.view(np.int64), seed).p_value


def noise(seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).laplace(size=N)


@pytest.mark.parametrize("period", [7, 100, 365, 1000])
def test_a_counter_is_found(period: int) -> None:
    values = noise()
    values[period - 1 :: period] = 0.0
    assert p_value(values) < 1e-6


@pytest.mark.parametrize("where", [slice(0, 300), slice(N - 300, N), slice(N // 2, N // 2 + N // 16)])
def test_a_stretch_without_noise_is_found(where: slice) -> None:
    values = noise()
    values[where] = 0.0
    assert p_value(values) < 1e-6


def test_drift_of_the_scale_is_found() -> None:
    assert p_value(noise() * np.linspace(1.5, 0.7, N)) < 1e-6


@pytest.mark.long
def test_runs_of_one_law_are_rarely_blamed() -> None:
    rng = np.random.default_rng(8)
    draws = [rng.laplace(size=1000) for _ in range(50)] + [rng.integers(0, 3, 1000) * 1.0 for _ in range(50)]
    alarms = sum(p_value(values, seed) <= 0.05 for seed, values in enumerate(draws))
    assert alarms <= stats.binom.isf(1e-6, 100, 0.05)
    assert p_value(np.zeros(100)) == 1.0


def test_more_runs_show_less_drift() -> None:
    assert 1.0 >= smallest_unsteadiness(100, 0.01) > smallest_unsteadiness(10**6, 0.01) > 0.0


def test_a_slow_drift_that_begins_anew_is_found() -> None:
    """Half a percent more and less at the ends of a thousand runs: no single number of the run shows it."""
    rng = np.random.default_rng(5)
    values = (rng.random((200, 1000)) < np.linspace(0.47, 0.53, 1000)).ravel() * 1.0
    assert p_value(values) < 1e-6


@pytest.mark.parametrize("period", [3, 7.3, 61.7])
def test_waves_of_any_length_are_found(period: float) -> None:
    """In each thousand runs by themselves, at a phase of their own."""
    rng = np.random.default_rng(6)
    phases = 2.0 * np.pi * (np.arange(1000) / period + rng.random((60, 1)))
    values = (rng.random((60, 1000)) < 0.3 + 0.06 * np.sin(phases)).ravel() * 1.0
    assert p_value(values) < 1e-6
    # The same outputs in another order have no waves.
    assert p_value(rng.permutation(values)) > 1e-3


def test_all_that_was_chosen_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()

    def least(hits: np.ndarray, *counts: np.ndarray, more: bool) -> np.ndarray:
        tried.extend(hits)
        return np.full(hits.shape, 1e-6)

    monkeypatch.setattr(structure, "fisher", least)
    assert p_value(noise()) == pytest.approx(1e-6 * len(tried))
    assert len(tried) > 1
