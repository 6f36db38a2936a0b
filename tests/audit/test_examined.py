"""What outputs show: learned, chosen and tested on outputs of their own."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.audit.examined import Examination, Examined, TwoCalls, _weights, allowed, decisive, held_out
from dpverify.statistics.chosen import ChosenEvents


def examined(first: np.ndarray, second: np.ndarray, epsilon: float | None = 1.0, delta: float = 0.0) -> Examined:
    rows = [np.asarray(x, dtype=float).reshape(len(x), -1) for x in (first, second)]
    examination = Examination(len(first), epsilon=epsilon, delta=delta, level=0.01, detect=0.1, seed=0, check="privacy")
    for start in range(0, len(first), 7_001):
        examination.update(*(x[start : start + 7_001] for x in rows))
    return examination.result()


def test_a_claim_is_tested_at_its_delta() -> None:
    # With probability .2 the first input shows itself: (0, .2) holds, (0, .1) does not.
    rng = np.random.default_rng(4)
    first, second = np.where(rng.random(60_000) < 0.2, 2, rng.integers(0, 2, 60_000)), rng.integers(0, 2, 60_000)
    assert examined(first, second, 0.5, 0.1).result.p_value < 1e-6
    held = examined(first, second, 0.5, 0.21)
    assert held.result.p_value == 1.0
    assert held.epsilon_lower < 0.05
    assert held.result.power is not None
    assert examined(first, second, None, 0.0).epsilon_lower > 5


def test_what_is_shown_does_not_depend_on_the_blocks() -> None:
    rng = np.random.default_rng(7)
    rows = [rng.integers(0, 4, (4_001, 1)) + bit * (rng.random((4_001, 1)) < 0.2) for bit in (1, 0)]
    given = {"epsilon": 0.3, "delta": 0.0, "level": 0.01, "detect": 0.1, "seed": 0, "check": "privacy"}
    for kind in (Examination, TwoCalls):
        at_once, in_parts = kind(4_001, **given), kind(4_001, **given)
        at_once.update(rows[0] * 1.0, rows[1] * 1.0)
        for start, end in ((0, 333), (333, 334), (334, 2_001), (2_001, 4_001)):
            in_parts.update(*(x[start:end] * 1.0 for x in rows))
        found = [x.result() for x in (at_once, in_parts)]
        first, second = (x.result if isinstance(x, Examined) else x for x in found)
        assert first == second
        assert 0.0 < first.p_value < 1.0 or first.details["epsilon_lower"] > 0.0


def test_fresh_outputs_decide_where_the_held_out_ones_are_all_alike() -> None:
    trials = 40_000
    first, second = np.zeros(trials), np.zeros(trials)
    same = examined(first, second)
    assert same.epsilon_lower == 0
    assert same.epsilon_upper < 0.01
    second[2 * held_out(trials) :] = 1  # never seen in training
    assert examined(first, second).result.p_value < 1e-6


def test_few_outputs_pass_nothing() -> None:
    assert not decisive(1_000, 1.0, 0.1)
    assert decisive(15_000, 1.0, 0.1)
    assert decisive(1_000, 1.0, 0.5)
    assert allowed(2.0, 0.1) == pytest.approx(2.2)
    assert allowed(0.0, 0.5) == pytest.approx(0.05)
    coin = np.random.default_rng(3).integers(0, 2, (2, 1_000))
    assert examined(*coin).result.power is None


def test_what_shows_it_is_named_plainly() -> None:
    rng = np.random.default_rng(1)
    noise = 2 * rng.integers(0, 1000, (2, 10_000))
    assert examined(noise[0], noise[1] + 1).seen_in == "column 0 mod 2"
    assert examined(*noise).seen_in == ""


def test_the_surest_event_has_most_of_the_level_and_the_next_one_enough() -> None:
    def score(rows: np.ndarray) -> np.ndarray:
        return rows

    expected = np.array([[0.5, 0.4], [0.5, 0.1], [0.01, 0.001]])
    ranks = np.array([0, 0, 1])
    events = ChosenEvents(score, np.zeros(3), np.ones(3, dtype=bool), expected, ("a", "b", "c"), None, ranks)
    weights = _weights(events, 1.0, 0.0)
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    # 0.4 for the surest, 0.3 in the order of sureness, and 0.3 as for the limits: 4/10 of it each, and 2/10.
    order = 0.3 / (1 + 1 / 2 + 1 / 3)
    np.testing.assert_allclose(weights, [order / 3 + 0.12, 0.4 + order + 0.12, order / 2 + 0.06])
