"""The late half of the fault library: its records, what can be found of it, a quick part of it, and its benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.audit_faults import main
from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.engine import audit
from dpverify.statistics.family import Verdict
from tests.faults import BOXES, CORRECT_BOXES, FAULTS, LATE_FAULTS, BlackBox, CorrectBox, Fault
from tests.faults.black_box import box
from tests.faults.oracle import detectable

BY_NAME = {fault.name: fault for fault in (*LATE_FAULTS, *BOXES)}
CANNOT = {
    "box-tails-redrawn-at-10",
    "box-classical-sigma",
    "box-noise-skipped-rarely",
    "box-too-rare-symbol",
    "box-flips-too-rarely-by-little",
}
"""Black boxes that 200,000 draws do not show even to who knows what to look for."""
QUICK = (
    "box-half-precision",
    "box-integer-sigma",
    "box-sorted-by-truth",
    "box-opposite-draws",
    "box-counter-of-a-byte",
    "box-antithetic-calls",
    "box-last-noise-shown",
    "box-polar-laplace",
    "box-parity-of-eight",
    "box-bit-17",
    "box-spelling",
)


def test_the_library_is_large_and_more_than_half_of_it_is_late() -> None:
    everything = (*FAULTS, *LATE_FAULTS, *BOXES)
    assert len({fault.name for fault in everything}) == len(everything) >= 200
    assert 2 * (len(LATE_FAULTS) + len(BOXES)) >= len(everything)
    assert all(fault.wrong and fault.reason for fault in everything)
    assert len({fault.kind for fault in BOXES} | {fault.protocol for fault in (*FAULTS, *LATE_FAULTS)}) >= 25


def test_few_black_boxes_cannot_be_found() -> None:
    assert {fault.name for fault in BOXES if not fault.detectable(200_000)} == CANNOT


def test_what_keeps_its_claim_is_not_called_detectable() -> None:
    for right in CORRECT_BOXES[:4]:
        fault = box("", "right", "", "", right.run, lambda y: y > 1, pair=right.pair, claim=(right.epsilon, 0.0))
        assert not fault.detectable(50_000)


@pytest.mark.parametrize(
    ("name", "draws", "expected"),
    [("rr-covert-channel", 2_000, True), ("rr-2-percent-low", 100_000, True), ("rr-2-percent-low", 500, False),
     ("laplace-tail-at-25", 50_000, False)],
)  # fmt: skip
def test_the_oracle_knows_how_many_draws_a_fault_takes(name: str, draws: int, expected: bool) -> None:
    fault = BY_NAME[name]
    assert isinstance(fault, Fault)
    assert detectable(fault, draws) is expected


@pytest.mark.parametrize("name", QUICK)
def test_black_boxes_are_found_with_few_draws(name: str) -> None:
    fault = BY_NAME[name]
    assert isinstance(fault, BlackBox)
    report = audit_mechanism(fault.target, fault.claim, fault.pair, trials=40_000, level=0.01)
    assert report.verdict is Verdict.VIOLATES


@pytest.mark.parametrize("name", ["laplace-tail-at-12", "gaussian-tail-at-5", "mean-clipped"])
def test_cut_tails_are_found(name: str) -> None:
    fault = BY_NAME[name]
    assert isinstance(fault, Fault)
    assert audit(fault.build(), trials=50_000, level=0.01).verdict is Verdict.VIOLATES


@pytest.mark.parametrize("right", CORRECT_BOXES, ids=lambda right: right.name)
def test_correct_boxes_keep_their_epsilon_and_no_less(right: CorrectBox) -> None:
    rng = np.random.default_rng(2)
    outputs = right.run(right.pair[0].copy(), rng, 50)
    assert outputs.shape == (50, *right.shape)
    if right.delta == 0.0 and right.epsilon <= 1.1:
        report = audit_mechanism(right.target, (0.7 * right.epsilon, 0), right.pair, trials=60_000, level=0.01)
        assert report.verdict is Verdict.VIOLATES
        assert report.epsilon_lower <= right.epsilon


def test_the_benchmark_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store.jsonl"
    for command in (["faults", "--only", "laplace-tail"], ["correct", "--audits", "3", "--draws", "200"], ["slack"]):
        main([*command, "--quick", "--store", str(store)])
        lines, first = store.read_text().splitlines(), capsys.readouterr().out
        main([*command, "--quick", "--store", str(store)])
        # The same figures, seconds included, and no audit was done again.
        assert store.read_text().splitlines() == lines
        assert capsys.readouterr().out == first
