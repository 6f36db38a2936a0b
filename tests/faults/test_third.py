"""The third batch of faults: its records, what can be found of it by whom, and a quick part of it."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.audit.black_box import audit_mechanism
from dpverify.audit.engine import audit
from dpverify.statistics.family import Verdict
from tests.faults import BOXES, CORRECT_OTHERS, FAULTS, LATE_FAULTS, THIRD_BOXES, THIRD_FAULTS, BlackBox, Fault
from tests.faults.oracle import between_runs, detectable

DRAWS, POWER = 200_000, 0.95
CANNOT = {
    "third-wide-normal-for-pure",
    "third-normal-redrawn-at-4.3",
    "third-fails-a-little-oftener",
    "third-mask-a-little-biased",
    "third-epsilon-of-1.002",
}
"""Black boxes that 200,000 draws do not show even to who knows what to look for."""
CANNOT_BY_LAW = {"nb-queue-of-40", "poisson-table-to-36"}
BY_NAME = {fault.name: fault for fault in (*THIRD_FAULTS, *THIRD_BOXES)}
EXACT = [box for box in THIRD_BOXES if box.chances is not None]
BETWEEN = [fault for fault in THIRD_FAULTS if fault.caught_by == "dependence"]


def test_the_batch_is_large_and_new() -> None:
    names = [fault.name for fault in (*FAULTS, *LATE_FAULTS, *BOXES, *THIRD_FAULTS, *THIRD_BOXES)]
    assert len(set(names)) == len(names)
    assert len(THIRD_FAULTS) + len(THIRD_BOXES) >= 200
    assert all(fault.wrong and fault.reason for fault in (*THIRD_FAULTS, *THIRD_BOXES))
    assert set(BY_NAME) >= CANNOT | CANNOT_BY_LAW


@pytest.mark.parametrize("box", EXACT, ids=lambda box: box.name)
def test_chances_are_those_of_the_mechanism(box: BlackBox) -> None:
    assert box.chances is not None
    draws = 4_000
    for seen, chance in zip(box.hits(draws, seed=3), box.chances, strict=True):
        # Bernstein's inequality: of 130 comparisons one is off in a hundred thousand runs.
        assert abs(seen - draws * chance) <= (40.0 * draws * chance * (1.0 - chance)) ** 0.5 + 13.0


@pytest.mark.parametrize("box", EXACT, ids=lambda box: box.name)
def test_what_has_exact_chances_can_be_found_or_is_listed(box: BlackBox) -> None:
    assert (box.power(DRAWS, runs=400) >= POWER) is (box.name not in CANNOT)


@pytest.mark.parametrize("name", ["third-two-servers", "third-noise-of-a-byte", "third-bursts"])
def test_power_follows_from_the_number_of_draws(name: str) -> None:
    box = BY_NAME[name]
    assert isinstance(box, BlackBox)
    assert box.power(DRAWS, runs=400) >= POWER
    assert box.power(2_000, runs=400) < 0.5


@pytest.mark.parametrize("fault", BETWEEN, ids=lambda fault: fault.name)
def test_what_shows_between_runs_can_be_found(fault: Fault) -> None:
    subject = fault.build()
    drawn = (subject.target(dataset.inputs, np.random.default_rng(4), 150_000, "a run") for dataset in subject.datasets)
    assert any(between_runs(outputs) > 6.0 for outputs in drawn)


def test_independent_runs_show_nothing_between_them() -> None:
    subject = CORRECT_OTHERS["buckets"]()
    drawn = subject.target(subject.datasets[0].inputs, np.random.default_rng(4), 40_000, "a run")
    assert between_runs(drawn) < 5.0


@pytest.mark.parametrize("name", sorted(CANNOT_BY_LAW))
def test_what_is_too_rare_cannot_be_found_by_its_law_either(name: str) -> None:
    fault = BY_NAME[name]
    assert isinstance(fault, Fault)
    assert not detectable(fault, 20_000)


@pytest.mark.parametrize("name", ["rr-one-coin-for-ever", "labels-plain-hundreds"])
def test_others_show_in_the_law_of_one_run(name: str) -> None:
    fault = BY_NAME[name]
    assert isinstance(fault, Fault)
    assert detectable(fault)


@pytest.mark.parametrize(
    "name",
    ["third-mixed-units", "third-weekends", "third-checksum", "third-alternating-signs", "third-one-coin-for-two",
     "third-asymmetric", "third-every-64th-plain"],
)  # fmt: skip
def test_black_boxes_are_found_with_few_draws(name: str) -> None:
    box = BY_NAME[name]
    assert isinstance(box, BlackBox)
    report = audit_mechanism(box.target, box.claim, box.pair, trials=20_000, level=0.01)
    assert report.verdict is Verdict.VIOLATES


@pytest.mark.parametrize(
    "name",
    ["rr-every-fifth-honest", "histogram-one-bucket-fresh", "hadamard-rows-in-turn", "vector-rounds-by-run",
     "rappor-one-number-per-report", "rr-flips-sent-twice", "labels-one-uniform"],
)  # fmt: skip
def test_faults_of_known_laws_are_found_with_few_draws(name: str) -> None:
    fault = BY_NAME[name]
    assert isinstance(fault, Fault)
    subject = fault.build()
    report = audit(subject, trials=5_000 if subject.target.batch else 200, level=0.01)
    assert report.verdict is Verdict.VIOLATES
