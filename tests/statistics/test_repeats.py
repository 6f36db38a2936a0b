"""Repeated runs are seen without a law, and independent ones are not blamed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.repeats import repeats, smallest_repeated_share


def cached(outputs: np.ndarray, share: float, lag: int, rng: np.random.Generator) -> np.ndarray:
    outputs = outputs.copy()
    for run in np.flatnonzero(rng.random(outputs.size) < share):
        outputs[run] = outputs[max(0, run - lag)]
    return outputs


@pytest.mark.parametrize("lag", [1, 3, 8, 100, 256])
@pytest.mark.parametrize(("values", "share"), [(10**9, 0.01), (4, 0.2)])
def test_repeats_are_found(values: int, share: float, lag: int) -> None:
    rng = np.random.default_rng(lag)
    outputs = rng.integers(0, values, 20_000)
    assert repeats(cached(outputs, share, lag, rng)).p_value < 1e-4
    smallest = smallest_repeated_share(outputs, 0.01)
    assert smallest is not None
    assert smallest < share


def test_independent_runs_are_rarely_blamed() -> None:
    rng = np.random.default_rng(8)
    for values in (2, 300):
        alarms = sum(repeats(rng.integers(0, values, 1_000)).p_value <= 0.1 for _ in range(200))
        assert alarms <= stats.binom.isf(1e-6, 200, 0.1)


def test_a_constant_shows_nothing() -> None:
    assert repeats(np.zeros(1_000, dtype=np.int64)).p_value == 1.0
    assert smallest_repeated_share(np.zeros(1_000, dtype=np.int64), 0.01) is None
