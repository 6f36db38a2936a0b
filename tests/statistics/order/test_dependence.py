"""Runs that depend on each other are seen at any lag, and independent ones are let pass at the stated rate."""

from collections.abc import Callable

import numpy as np
import pytest

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.order.dependence import compact, lags_up_to, serial_dependence

LAW = DiscreteLaw.of(np.arange(9), np.array([1.0, 8, 28, 56, 70, 56, 28, 8, 1]) / 256)


def drawn(seed: int, trials: int = 20_000) -> np.ndarray:
    return np.asarray(LAW.sample(trials, np.random.default_rng(seed)))


def test_every_short_lag_and_some_of_every_octave_are_looked_at() -> None:
    assert lags_up_to(20_000).tolist() == list(range(1, 201))
    assert lags_up_to(200_000)[1020:].tolist() == [1021, 1022, 1023, 1024, 1218, 1448, 1722]
    assert lags_up_to(400).tolist() == [1, 2, 3, 4]


def replayed(lag: int) -> np.ndarray:
    values = drawn(lag)
    again = np.flatnonzero(np.random.default_rng(lag).random(values.size) < 0.06)
    again = again[again >= lag]
    values[again] = values[again - lag]
    return values


@pytest.mark.parametrize("lag", [1, 3, 17, 32, 128])
def test_a_replay_is_seen_at_any_lag(lag: int) -> None:
    check = serial_dependence(replayed(lag), LAW)
    assert check.p_value < 1e-6
    assert f"of runs {lag} apart" in check.evidence


def test_noise_that_cancels_is_seen_though_it_never_repeats() -> None:
    values = drawn(5)
    values[1::2] = 8 - values[::2]
    assert serial_dependence(values, LAW).p_value < 1e-9


def test_two_coordinates_are_compared_as_one_outcome() -> None:
    rows = DiscreteLaw.of(np.array([[i, j] for i in range(9) for j in range(9)]), np.outer(LAW.pmf, LAW.pmf).ravel())
    values = rows.sample(20_000, np.random.default_rng(1))
    assert serial_dependence(values, rows).p_value > 1e-3
    values[3::4] = values[::4]
    assert serial_dependence(values, rows).p_value == 0.0


def test_independent_runs_fail_no_more_often_than_stated() -> None:
    p_values = np.array([serial_dependence(drawn(seed, 2_000), LAW).p_value for seed in range(400)])
    # Below 0.05 in at most 5 %: 45 or more of 400 with probability below 1e-6.
    assert np.count_nonzero(p_values < 0.05) < 45


@pytest.mark.parametrize(
    "wrong",
    [lambda values: np.minimum(values + 2, 8), lambda values: 4 + (values - 4) // 2],
    ids=["off its mean", "too narrow"],
)
def test_a_wrong_law_of_single_outputs_is_no_dependence_where_it_is_known(wrong: Callable[..., np.ndarray]) -> None:
    values = wrong(drawn(6))
    assert serial_dependence(values, LAW).p_value < 1e-9
    assert serial_dependence(values, LAW, refuted=True).p_value > 1e-3
    values[3::4] = values[::4]
    assert serial_dependence(values, LAW, refuted=True).p_value < 1e-9


def test_runs_that_are_all_the_same_are_repeats_though_their_law_is_refuted() -> None:
    assert serial_dependence(np.full(2_000, 4), LAW, refuted=True).p_value == 0.0


def test_what_is_known_of_the_law_only_raises_the_p_value() -> None:
    for seed in range(40):
        values = drawn(seed, 2_000)
        assert serial_dependence(values, LAW, refuted=True).p_value >= serial_dependence(values, LAW).p_value


def test_compact_codes_are_equal_where_the_codes_are() -> None:
    for most, size in ((2, 1), (120, 1), (5000, 2), (10**12, 4)):
        codes = np.random.default_rng(1).integers(-most, most, 100_000)
        short = compact(codes)
        assert short.itemsize == size
        np.testing.assert_array_equal(short[1:] == short[:-1], codes[1:] == codes[:-1])
        np.testing.assert_array_equal(np.argsort(short, kind="stable"), np.argsort(codes, kind="stable"))
    assert compact(np.zeros(0, dtype=np.int64)).size == 0


def test_outcomes_that_are_not_listed_are_no_repeats() -> None:
    half = DiscreteLaw.of(np.arange(2), [0.25, 0.25], 0.5)
    values = half.sample(2000, np.random.default_rng(4)).astype(float)
    values[::2] = 0.5  # equal at every even lag, and listed nowhere
    assert serial_dependence(values, half).p_value == 1.0
    values[::2] = 1.0
    assert serial_dependence(values, half).p_value < 1e-6


def test_outputs_that_rounding_moves_off_the_law_have_no_side() -> None:
    square = DiscreteLaw.of(np.array([(a, b) for a in range(9) for b in range(9)]), np.outer(LAW.pmf, LAW.pmf).ravel())
    outputs = np.stack([drawn(1), drawn(2)], axis=1)
    assert serial_dependence(outputs, square).p_value > 1e-6
    assert serial_dependence(outputs * 0.1 * 10.000000000000002, square).p_value > 1e-6
