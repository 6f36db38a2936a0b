"""Shufflers that leave something in its place, against the exact chance of every position."""

from collections.abc import Callable

import numpy as np
import pytest

from dpverify.statistics.order.positions import PositionCounts

Shuffle = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def fair(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(messages)


def last_stays(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.append(rng.permutation(messages[:-1]), messages[-1])


def naive(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shuffled = messages.copy()
    for place, other in enumerate(rng.integers(0, messages.size, messages.size)):
        shuffled[[place, other]] = shuffled[[other, place]]
    return shuffled


def few_seeds(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.random.default_rng(int(rng.integers(256))).permutation(messages)


def checked(shuffle: Shuffle, runs: int, seed: int = 1, users: int = 40) -> float:
    rng, counts = np.random.default_rng(seed), PositionCounts(1)
    for _ in range(runs):
        messages = (np.arange(users) < users // 2).astype(np.int64) ^ (rng.random(users) < 0.1)
        counts.update(shuffle(messages, rng))
    assert counts.runs == runs
    return counts.check().p_value


@pytest.mark.long
@pytest.mark.parametrize(("shuffle", "runs"), [(last_stays, 300), (naive, 4_000), (few_seeds, 8_000)])
def test_a_shuffler_that_is_not_uniform_is_seen(shuffle: Shuffle, runs: int) -> None:
    assert checked(shuffle, runs) < 1e-6
    assert checked(fair, runs) > 0.01


def test_runs_of_different_lengths_are_compared_at_both_ends_and_by_stretches() -> None:
    rng = np.random.default_rng(3)
    sorted_long, fair_long = PositionCounts(1), PositionCounts(1)
    for _ in range(300):
        messages = np.sort(rng.integers(0, 2, rng.integers(1500, 2500)))
        fair_long.update(rng.permutation(messages))
        middle = slice(600, -600)  # out of sight of both ends
        messages = rng.permutation(messages)
        messages[middle] = np.sort(messages[middle])
        sorted_long.update(messages)
    assert fair_long.check().p_value > 0.01
    assert sorted_long.check().p_value < 1e-9
    assert "stretch" in sorted_long.check().evidence


def test_chance_is_let_pass_and_nothing_tells_nothing() -> None:
    p_values = [checked(fair, 60, seed, users=12) for seed in range(300)]
    assert sum(p < 0.05 for p in p_values) < 36  # with probability above 1 - 1e-6 if 5 % are expected
    empty = PositionCounts(0)
    empty.update(np.zeros(0))
    assert empty.check().p_value == 1.0


def test_the_bound_holds_exactly_for_tiny_runs() -> None:
    # All outcomes of one run of two messages: the chance of what is as unlikely as a p-value is at most that.
    outcomes = []
    for first in (0, 1):
        counts = PositionCounts(1)
        counts.update(np.array([first, 1 - first]))
        outcomes.append(counts.check().p_value)
    assert min(outcomes) == 1.0
