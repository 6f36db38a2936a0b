"""Rare outcomes of a black box: what outputs on both inputs together tell that an eighth of them would not."""

import re
from typing import Any

import numpy as np
import pytest

from dpverify import GaussianDP, audit_mechanism
from dpverify.audit.black_boxes import pooled
from dpverify.audit.black_boxes.pooled import RareOutcomes
from dpverify.audit.running.target import Target

PAIR = np.array([0]), np.array([1])
OFTEN = 2e-4


def numbers(x: np.ndarray, rng: np.random.Generator, runs: int) -> Any:
    said = rng.integers(0, 1_000, runs).astype(float)
    if x[0]:
        said[rng.random(runs) < OFTEN] = 417.25
    return said


def lengths(x: np.ndarray, rng: np.random.Generator, runs: int) -> Any:
    sizes = rng.integers(1, 4, runs)
    if x[0]:
        sizes[rng.random(runs) < OFTEN] = 7
    return [rng.random(int(size)).tolist() for size in sizes]


def messages(x: np.ndarray, rng: np.random.Generator, runs: int) -> Any:
    said = [f"ok {number}" for number in rng.integers(0, 100, runs)]
    if x[0]:
        for run in np.flatnonzero(rng.random(runs) < OFTEN):
            said[run] = f"no user {rng.integers(0, 100)}"
    return said


def tails(x: np.ndarray, rng: np.random.Generator, runs: int) -> Any:
    said = rng.normal(size=runs)
    if x[0]:
        said[rng.random(runs) < OFTEN] += 50.0
    return said


@pytest.mark.long
@pytest.mark.parametrize("run", [numbers, lengths, messages, tails])
def test_twenty_outputs_of_one_input_alone_are_found(run: Any) -> None:
    # 100,000 outputs have 20 such: an eighth of them, where others learn what to look at, two or three.
    report = audit_mechanism(Target(run, batch=True), (0.2, 0), PAIR, trials=100_000, seed=2)
    assert report.verdict.value == "violates"
    (found,) = (result for result in report.results if result.check.startswith("privacy of the output in rare"))
    assert found.verdict.value == "violates", report.statement
    assert report.epsilon_lower > 0.2
    assert any("A rare outcome tells the inputs apart" in sentence for sentence in report.diagnosis)


def test_an_exception_is_one() -> None:
    def raising(x: np.ndarray, rng: np.random.Generator) -> float:
        if x[0] and rng.random() < 1e-3:
            raise ValueError
        return float(rng.integers(0, 100))

    report = audit_mechanism(raising, (0.2, 0), PAIR, trials=20_000, exceptions=True, seed=1)
    assert [each.check for each in report.violations if "rare" in each.check]


def test_of_a_curve_the_point_that_fewest_outputs_refute_is_asked() -> None:
    def run(x: np.ndarray, rng: np.random.Generator, runs: int) -> Any:
        said = rng.integers(0, 10, runs)
        said[(rng.random(runs) < 1e-3) & (x[0] == 1)] = 99
        return said

    report = audit_mechanism(Target(run, batch=True), GaussianDP(0.1), PAIR, trials=50_000)
    (found,) = (result for result in report.results if result.check.startswith("privacy of the output in rare"))
    assert found.verdict.value == "violates"
    assert found.details["delta"] > 0.0
    assert report.shown_lower > 0.1


def test_memory_is_bounded_by_what_the_first_outputs_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooled, "_MEMORY", 10_000)
    kept = RareOutcomes(2, 0)
    rng = np.random.default_rng(0)
    rows = [np.column_stack([rng.random(3_000), rng.integers(0, 3, 3_000)]) for _ in range(2)]
    for at in range(0, 3_000, 500):
        kept.update([each[at : at + 500] for each in rows])
    assert kept.kept == 10_000 // (8 + 8 + 2)
    result = kept.result(0, 1, [(0.0, 0.0)], 0.01, "rare")
    assert result.trials == kept.kept
    assert result.p_value > 0.01
    few = RareOutcomes(2, 0)
    few.update([each[:150] for each in rows])
    assert few.result(0, 1, [(0.0, 0.0)], 0.01, "rare").p_value == 1.0


def test_looks_share_the_level_and_the_likelier_input_is_told() -> None:
    kept, rng = RareOutcomes(2, 0), np.random.default_rng(6)
    rows = [rng.integers(0, 10, (4_000, 1)).astype(float) for _ in range(2)]
    rows[1][300::60] = 99.0
    kept.update(rows)
    one, three = (kept.result(0, 1, [(0.5, 0.0)], level, "rare", looks) for level, looks in ((0.01, 1), (0.03, 3)))
    assert 0.0 < three.p_value == pytest.approx(3.0 * one.p_value, rel=1e-12)
    told = re.search(r"(\d+) of (\d+) are of the second input", one.details["rare"])
    assert int(told[1]) > int(told[2]) / 2
