"""The fourth batch of faults: its records, what can be found of it by whom, and a quick part of it."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.audit.black_box import audit_mechanism
from dpverify.audit.engine import audit
from dpverify.statistics.family import Verdict
from tests.faults import (
    BOXES,
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
CANNOT = {"fourth-two-servers-deviation"}
"""Black boxes of exact chances that 200,000 draws do not show even to who knows what to look for."""
CANNOT_BY_LAW = {"rr-divided-by-participants", "poisson-a-one-twice", "laplace-clipped-at-30"}
BY_NAME = {fault.name: fault for fault in (*FOURTH_FAULTS, *FOURTH_BOXES)}
EXACT = [box for box in FOURTH_BOXES if box.chances is not None]
PARITY = "poisson-parity-of-run"
BETWEEN = [fault for fault in FOURTH_FAULTS if fault.caught_by == "dependence" and fault.name != PARITY]


def test_the_batch_is_large_and_new() -> None:
    names = [
        fault.name
        for fault in (*FAULTS, *LATE_FAULTS, *BOXES, *THIRD_FAULTS, *THIRD_BOXES, *FOURTH_FAULTS, *FOURTH_BOXES)
    ]
    assert len(set(names)) == len(names)
    assert len(BY_NAME) >= 110
    assert all(fault.wrong and fault.reason for fault in BY_NAME.values())
    assert set(BY_NAME) >= CANNOT | CANNOT_BY_LAW


@pytest.mark.parametrize("box", EXACT, ids=lambda box: box.name)
def test_chances_are_those_of_the_mechanism(box: BlackBox) -> None:
    assert box.chances is not None
    draws = 4_000
    for seen, chance in zip(box.hits(draws, seed=3), box.chances, strict=True):
        # Bernstein's inequality: of 100 comparisons one is off in a hundred thousand runs.
        assert abs(seen - draws * chance) <= (40.0 * draws * chance * (1.0 - chance)) ** 0.5 + 13.0


@pytest.mark.parametrize("box", EXACT, ids=lambda box: box.name)
def test_what_has_exact_chances_can_be_found_or_is_listed(box: BlackBox) -> None:
    assert (box.power(DRAWS, runs=400) >= POWER) is (box.name not in CANNOT)


@pytest.mark.parametrize("fault", BETWEEN, ids=lambda fault: fault.name)
def test_what_shows_between_runs_can_be_found(fault: Fault) -> None:
    subject = fault.build()
    drawn = (subject.target(dataset.inputs, np.random.default_rng(4), 40_000, "a run") for dataset in subject.datasets)
    assert any(between_runs(outputs, lags=12) > 6.0 for outputs in drawn)


def test_a_third_of_the_runs_has_their_parity() -> None:
    fault = BY_NAME[PARITY]
    assert isinstance(fault, Fault)
    subject = fault.build()
    dataset = subject.datasets[0]
    seen = subject.target(dataset.inputs, np.random.default_rng(4), 10_000, "a run")[:, -1]
    odd = (seen.astype(int) + np.arange(seen.size)) % 2
    assert abs(odd.mean() - 0.5) > 0.1  # 20 standard deviations of fair parities


@pytest.mark.parametrize("name", sorted(CANNOT_BY_LAW))
def test_what_is_too_small_cannot_be_found_by_its_law(name: str) -> None:
    fault = BY_NAME[name]
    assert isinstance(fault, Fault)
    assert not detectable(fault)


@pytest.mark.parametrize("name", ["fourth-leaf-again", "fourth-largest-of-five"])
def test_black_boxes_are_found_with_few_draws(name: str) -> None:
    box = BY_NAME[name]
    assert isinstance(box, BlackBox)
    report = audit_mechanism(box.target, box.claim, box.pair, trials=5_000, level=0.01)
    assert report.verdict is Verdict.VIOLATES


@pytest.mark.parametrize("name", ["labels-drawn-again", "one-bit-eighths"])
def test_faults_of_known_laws_are_found_with_few_draws(name: str) -> None:
    fault = BY_NAME[name]
    assert isinstance(fault, Fault)
    assert audit(fault.build(), trials=5_000, level=0.01).verdict is Verdict.VIOLATES
