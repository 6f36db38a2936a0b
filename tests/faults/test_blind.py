"""The batches written against frozen tests: their records, what can be found of them by whom, and a quick part."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.engine import audit
from dpverify.statistics.family import Verdict
from tests.faults import (
    BOXES,
    CORRECT_OTHERS,
    FAULTS,
    FOURTH_BOXES,
    FOURTH_FAULTS,
    LATE_FAULTS,
    THIRD_BOXES,
    THIRD_FAULTS,
    BlackBox,
    Fault,
)
from tests.faults.oracle import between_runs, detectable

DRAWS, POWER = 200_000, 0.95
BLIND_BOXES = {box.name: box for box in (*THIRD_BOXES, *FOURTH_BOXES)}
BLIND_FAULTS = {fault.name: fault for fault in (*THIRD_FAULTS, *FOURTH_FAULTS)}
EXACT = [box for box in BLIND_BOXES.values() if box.chances is not None]
CANNOT = {
    "third-wide-normal-for-pure",
    "third-normal-redrawn-at-4.3",
    "third-fails-a-little-oftener",
    "third-mask-a-little-biased",
    "third-epsilon-of-1.002",
    "fourth-two-servers-deviation",
}
"""Black boxes of exact chances that 200,000 draws do not show even to who knows what to look for."""
TOO_RARE = {"nb-queue-of-40", "poisson-table-to-36"}
TOO_SMALL = {"rr-divided-by-participants", "poisson-a-one-twice", "laplace-clipped-at-30"}
PARITY = "poisson-parity-of-run"
BETWEEN = [
    pytest.param(fault, draws, lags, id=fault.name)
    for batch, draws, lags in ((THIRD_FAULTS, 150_000, 3), (FOURTH_FAULTS, 40_000, 12))
    for fault in batch
    if fault.caught_by == "dependence" and fault.name != PARITY
]


def test_the_batches_are_large_and_new() -> None:
    blind = (*THIRD_FAULTS, *THIRD_BOXES, *FOURTH_FAULTS, *FOURTH_BOXES)
    names = [fault.name for fault in (*FAULTS, *LATE_FAULTS, *BOXES, *blind)]
    assert len(set(names)) == len(names)
    assert len(THIRD_FAULTS) + len(THIRD_BOXES) >= 200
    assert len(FOURTH_FAULTS) + len(FOURTH_BOXES) >= 110
    assert all(fault.wrong and fault.reason for fault in blind)
    assert set(BLIND_BOXES) >= CANNOT
    assert set(BLIND_FAULTS) >= TOO_RARE | TOO_SMALL


@pytest.mark.parametrize("box", EXACT, ids=lambda box: box.name)
def test_chances_are_those_of_the_mechanism(box: BlackBox) -> None:
    assert box.chances is not None
    draws = 4_000
    for seen, chance in zip(box.hits(draws, seed=3), box.chances, strict=True):
        # Bernstein's inequality: of 230 comparisons one is off in fifty thousand runs.
        assert abs(seen - draws * chance) <= (40.0 * draws * chance * (1.0 - chance)) ** 0.5 + 13.0


@pytest.mark.parametrize("box", EXACT, ids=lambda box: box.name)
def test_what_has_exact_chances_can_be_found_or_is_listed(box: BlackBox) -> None:
    assert (box.power(DRAWS, runs=400) >= POWER) is (box.name not in CANNOT)


@pytest.mark.parametrize("name", ["third-two-servers", "third-noise-of-a-byte", "third-bursts"])
def test_power_follows_from_the_number_of_draws(name: str) -> None:
    box = BLIND_BOXES[name]
    assert box.power(DRAWS, runs=400) >= POWER
    assert box.power(2_000, runs=400) < 0.5


@pytest.mark.parametrize(("fault", "draws", "lags"), BETWEEN)
def test_what_shows_between_runs_can_be_found(fault: Fault, draws: int, lags: int) -> None:
    subject = fault.build()
    drawn = (subject.target(dataset.inputs, np.random.default_rng(4), draws, "a run") for dataset in subject.datasets)
    assert any(between_runs(outputs, lags=lags) > 6.0 for outputs in drawn)


def test_independent_runs_show_nothing_between_them() -> None:
    subject = CORRECT_OTHERS["buckets"]()
    drawn = subject.target(subject.datasets[0].inputs, np.random.default_rng(4), 40_000, "a run")
    assert between_runs(drawn) < 5.0


def test_a_third_of_the_runs_has_their_parity() -> None:
    subject = BLIND_FAULTS[PARITY].build()
    dataset = subject.datasets[0]
    seen = subject.target(dataset.inputs, np.random.default_rng(4), 10_000, "a run")[:, -1]
    odd = (seen.astype(int) + np.arange(seen.size)) % 2
    assert abs(odd.mean() - 0.5) > 0.1  # 20 standard deviations of fair parities


@pytest.mark.parametrize("name", sorted(TOO_RARE))
def test_what_is_too_rare_cannot_be_found_by_its_law_either(name: str) -> None:
    assert not detectable(BLIND_FAULTS[name], 20_000)


@pytest.mark.parametrize("name", sorted(TOO_SMALL))
def test_what_is_too_small_cannot_be_found_by_its_law(name: str) -> None:
    assert not detectable(BLIND_FAULTS[name])


@pytest.mark.parametrize("name", ["rr-one-coin-for-ever", "labels-plain-hundreds"])
def test_others_show_in_the_law_of_one_run(name: str) -> None:
    assert detectable(BLIND_FAULTS[name])


@pytest.mark.parametrize(
    ("name", "trials"),
    [
        ("third-mixed-units", 20_000),
        ("third-weekends", 20_000),
        ("third-checksum", 20_000),
        ("third-alternating-signs", 20_000),
        ("third-one-coin-for-two", 20_000),
        ("third-asymmetric", 20_000),
        ("third-every-64th-plain", 20_000),
        ("fourth-leaf-again", 5_000),
        ("fourth-largest-of-five", 5_000),
    ],
)
def test_black_boxes_are_found_with_few_draws(name: str, trials: int) -> None:
    box = BLIND_BOXES[name]
    report = audit_mechanism(box.target, box.claim, box.pair, trials=trials, level=0.01)
    assert report.verdict is Verdict.VIOLATES


@pytest.mark.parametrize(
    "name",
    ["rr-every-fifth-honest", "histogram-one-bucket-fresh", "hadamard-rows-in-turn", "vector-rounds-by-run",
     "rappor-one-number-per-report", "rr-flips-sent-twice", "labels-one-uniform", "labels-drawn-again",
     "one-bit-eighths"],
)  # fmt: skip
def test_faults_of_known_laws_are_found_with_few_draws(name: str) -> None:
    subject = BLIND_FAULTS[name].build()
    report = audit(subject, trials=5_000 if subject.target.batch else 200, level=0.01)
    assert report.verdict is Verdict.VIOLATES
