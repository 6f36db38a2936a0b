"""Counts of outputs are the same however the outputs come, and take no more memory for more of them."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running import counted
from dpverify.audit.running.counted import CountedOutputs
from dpverify.audit.running.target import Target
from dpverify.audit.subjects.bitsum import Implementation, bitsum_subject
from dpverify.audit.subjects.pipelines import bitsum_calls
from protocols.bitsum import CentralDiscreteLaplace, RandomizedResponse, ThreeNB

PROMISED = ThreeNB(20, 0.6, 2.0, 0.5)
LAPLACE = CentralDiscreteLaplace(20, 0.5)


def _outputs(trials: int) -> list[np.ndarray]:
    subject, rng = bitsum_subject(PROMISED), np.random.default_rng(1)
    target = Implementation.of(PROMISED, aggregated=True).target
    return [target(dataset.inputs, rng, trials, "here") for dataset in subject.datasets]


def test_counts_of_blocks_are_those_of_the_whole() -> None:
    subject, outputs = bitsum_subject(PROMISED), _outputs(1000)
    whole, pieces = (CountedOutputs(subject, 0.5, 1000) for _ in range(2))
    whole.update(outputs)
    for start, end in ((0, 1), (1, 600), (600, 1000)):
        pieces.update([rows[start:end] for rows in outputs])
    for one, other, rows in zip(whole.datasets, pieces.datasets, outputs, strict=True):
        for column, tally in one.columns.items():
            assert_array_equal(tally.counts, other.columns[column].counts)
            assert_array_equal(tally.counts, tally.law.counts(rows[:, column]))
        assert_array_equal(one.view.counts, other.view.counts)
    for (pair, compared), (_, others) in zip(whole.pairs, pieces.pairs, strict=True):
        for one, other in zip(compared, others, strict=True):
            direct = one.counts.events.counts(outputs[pair.first][:, one.where], outputs[pair.second][:, one.where])
            assert_array_equal(one.counts.likely, direct.likely)
            assert_array_equal(other.counts.other, direct.other)


@pytest.mark.long
@pytest.mark.parametrize("kept", [7, 10**6])
def test_the_first_runs_are_kept_in_their_order(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(counted, "COMPARED", kept)
    outputs = _outputs(50)
    few = CountedOutputs(bitsum_subject(PROMISED), None, 50)
    every = CountedOutputs(bitsum_subject(PROMISED), None, 50, all_kept=True)
    for start in range(0, 50, 5):
        for seen in (few, every):
            seen.update([rows[start : start + 5] for rows in outputs])
    for place, rows in enumerate(outputs):
        assert_array_equal(few.kept[place], rows[:kept])
        assert_array_equal(every.kept[place], rows)
    assert all(one.counts is None for _, compared in few.pairs for one in compared)


def _peak(run: object, trials: int) -> int:
    tracemalloc.start()
    try:
        run(trials)  # type: ignore[operator]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _bitsum(trials: int) -> None:
    promised = RandomizedResponse(20, 0.25)
    own = Implementation.of(promised, aggregated=True)
    subject = bitsum_subject(promised, implementation=own)
    seen = CountedOutputs(subject, 1.2, trials)
    for _ in range(trials // 20_000):
        seen.update([own.target(dataset.inputs, np.random.default_rng(0), 20_000, "") for dataset in subject.datasets])


def _calls(trials: int) -> None:
    def noisy(bits: np.ndarray, rng: np.random.Generator, runs: int) -> np.ndarray:
        return np.asarray(bits.sum(axis=0) + rng.geometric(0.5, (runs, 4)) - rng.geometric(0.5, (runs, 4)))

    audit_protocol(
        bitsum_calls(LAPLACE, 4, implementation=Target(noisy, True, (4,), "noisy")),
        (3, "1e-3"),
        trials=trials,
        block_size=20_000,
    )


@pytest.mark.long
@pytest.mark.parametrize("run", [_bitsum, _calls])
def test_memory_does_not_grow_with_the_runs(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    monkeypatch.setattr(counted, "COMPARED", 20_000)
    run(20_000)  # type: ignore[operator]
    few, many = (_peak(run, trials) for trials in (60_000, 120_000))
    assert many < 1.3 * few  # the runs themselves would be as much again


def test_a_fault_after_the_runs_that_are_kept_is_found_by_its_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "COMPARED", 1000)

    def silent(bits: np.ndarray, rng: np.random.Generator, runs: int) -> np.ndarray:
        silent.calls += 1  # type: ignore[attr-defined]
        late = silent.calls > 14  # type: ignore[attr-defined]
        noise = rng.geometric(0.5, runs) - rng.geometric(0.5, runs)
        return np.asarray(bits.sum() + (0.0 if late else 1.0) * noise)

    silent.calls = 0  # type: ignore[attr-defined]
    report = audit_protocol(LAPLACE, implementation=Target(silent, True, (), "silent"), trials=4000)
    assert {result.check.split()[0] for result in report.violations} >= {"conformance"}
