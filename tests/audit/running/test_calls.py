"""What the calls on one input show of each other, as they come."""

import numpy as np
import pytest

from dpverify.audit.running import calls
from dpverify.audit.running.calls import Calls
from dpverify.statistics.family import AuditResult

N = 6_000


def results(outputs: np.ndarray, block: int = 1_000) -> dict[str, AuditResult]:
    rows = np.c_[np.zeros(len(outputs)), outputs]
    seen = Calls("input 0", 1)
    for start in range(0, len(rows), block):
        seen.update(rows[start : start + block])
    return {result.check: result for result in seen.results(1e-3)}


def test_each_kind_of_dependence_has_its_test() -> None:
    noise = np.random.default_rng(4).laplace(size=N)
    assert all(result.p_value > 1e-3 for result in results(noise).values())
    again, counter, slow = noise.copy(), noise.copy(), noise.copy()
    again[3::20] = again[:-3:20]
    counter[::100] = 0.25
    slow[1:] += 0.8 * noise[:-1]
    assert results(again)["repeated runs, input 0"].p_value < 1e-6
    assert results(counter)["steadiness of runs, input 0"].p_value < 1e-6
    assert results(slow)["dependence of near runs, input 0"].p_value < 1e-6


def test_only_the_first_calls_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "COMPARED", 2_500)
    noise = np.random.default_rng(4).laplace(size=N)
    assert {result.trials for result in results(noise).values()} == {2_500}


def test_whether_all_outputs_are_the_same_is_known_of_all() -> None:
    seen = Calls("input 0", 1)
    seen.update(np.ones((10, 2)))
    assert seen.constant
    seen.update(np.array([[1.0, 2.0]]))
    assert not seen.constant


def test_columns_that_show_the_same_are_looked_at_once() -> None:
    one, other = np.random.default_rng(2).normal(size=(2, 500))
    rows = np.column_stack([one, 3.0 - 2.0 * one, other, one])
    np.testing.assert_array_equal(calls._distinct(rows), rows[:, [0, 2]])
