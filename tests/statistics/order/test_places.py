"""Where messages arrive tells nothing of who sent them after a shuffle, and is found to where it does."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.order import places
from dpverify.statistics.order.places import message_places

USERS = 20
Order = Callable[[np.random.Generator], np.ndarray]


def stops_early(rng: np.random.Generator) -> np.ndarray:
    order = np.arange(USERS)
    for at in range(USERS - 1, 7, -1):
        other = int(rng.integers(at + 1))
        order[[at, other]] = order[[other, at]]
    return order


def by_halves(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.permutation(np.arange(0, USERS, 2)), rng.permutation(np.arange(1, USERS, 2))])


def shuffled(rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(USERS)


def runs(order: Order, number: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    dealt = [rng.permutation(USERS) >= USERS // 2 for _ in range(number)]
    return dealt, [(marked ^ (rng.random(USERS) < 0.25))[order(rng)] for marked in dealt]


@pytest.mark.parametrize("order", [stops_early, by_halves])
def test_a_partial_shuffle_is_found(order: Order) -> None:
    assert message_places(*runs(order, 1_500, 3)).p_value < 1e-6


def test_a_shuffle_is_rarely_blamed() -> None:
    alarms = sum(message_places(*runs(shuffled, 80, seed)).p_value <= 0.1 for seed in range(200))
    assert alarms <= stats.binom.isf(1e-6, 200, 0.1)


def test_runs_may_have_any_number_of_messages() -> None:
    rng = np.random.default_rng(1)
    dealt = [rng.permutation(USERS) >= 10 for _ in range(400)]
    held = [np.repeat(marked, rng.integers(0, 4, USERS)) for marked in dealt]
    assert message_places(dealt, held).p_value < 1e-6
    assert message_places(dealt[:10], held[:10]).p_value == 1.0
    assert message_places(dealt, [np.zeros(0, dtype=bool)] * 400).p_value == 1.0


def test_all_weights_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[float]()

    def judged(weight: np.ndarray, runs: object) -> tuple[float, float]:
        tried.append(1e-3 / (1.0 + len(tried)))
        return tried[-1], -1.0

    monkeypatch.setattr(places, "_judged", judged)
    found = message_places(*runs(shuffled, 100, 5)).p_value
    assert found == pytest.approx(len(tried) * tried[-1])
    assert len(tried) == 3


def test_the_p_value_is_bernsteins_over_all_orders() -> None:
    rng = np.random.default_rng(1)
    weights, marks = rng.normal(size=(3, 4)), rng.normal(size=(5, 3))
    held = [np.array(row, dtype=bool) for row in ([1, 0, 0], [0, 1, 1, 1], [0, 0, 1], [1], [0, 1, 0, 1])]
    total, variance, most = 0.0, 0.0, 0.0
    for mark, symbols in zip(marks, held, strict=True):
        weight = mark @ weights[:, np.arange(symbols.size) * 4 // symbols.size]
        every = np.array([weight @ order for order in itertools.permutations(symbols.tolist())])
        total += float(weight @ symbols - every.mean())
        variance += float(every.var())
        most = max(most, float(every.max() - every.mean()))
    assert total > 0.0
    p_value, off = places._judged(weights, list(places._blocks(marks, held)))
    assert p_value == pytest.approx(math.exp(-(total**2) / (2.0 * (variance + most * total / 3.0))))
    assert off == pytest.approx(-total / math.sqrt(variance))
