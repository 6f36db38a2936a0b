"""Audits that look inside: a finding that refutes ends them, a hint is said, and the level is shared."""

import json
from typing import Any

import numpy as np
import pytest

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.black_boxes.inspected import Inspected
from dpverify.audit.black_boxes.neighbours import changed_bits
from dpverify.audit.running.target import TargetError
from dpverify.shown import plain
from dpverify.statistics.family import Verdict
from tests.audit.inside import targets

PAIR = np.zeros(5), np.eye(5)[0]


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"timeout": 60.0}], ids=["here", "a process"])
def test_noise_too_small_ends_the_audit_with_its_line(options: dict[str, Any]) -> None:
    report = audit_mechanism(targets.half_scale, (1.1, 0), PAIR, inside=True, **options)
    assert report.verdict is Verdict.VIOLATES
    assert report.statement.startswith(
        "Violates: inside, scale: with the same draws the inputs differ by epsilon 2 of Laplace noise; claimed (1.1, 0)"
    )
    assert report.trials == 0
    assert [one["kind"] for one in json.loads(json.dumps(plain(report)))["findings"]] == ["scale", "floats"]
    assert report.diagnosis[0].startswith("floats (a hint)")


@pytest.mark.long
def test_hints_are_said_beside_the_verdict_of_the_runs() -> None:
    report = audit_mechanism(targets.drawn_and_dropped, (1.1, 0), PAIR, inside=True, trials=4_000)
    outside = audit_mechanism(targets.drawn_and_dropped, (1.1, 0), PAIR, trials=4_000)
    assert report.verdict is outside.verdict
    assert [one.kind for one in report.findings] == ["unused"]
    assert any(sentence.startswith("unused (a hint): integers draws here") for sentence in report.diagnosis)
    assert any(look.aspect == "inside" and "draws in 40 runs" in look.where for look in report.limits.tested)
    assert outside.findings == ()


def test_a_forgotten_bit_is_refuted_among_all_bits() -> None:
    def forgetful(x: Any, rng: Any) -> bytes:
        noise = rng.random(16) < 0.25
        noise[11] = False
        return bytes((x ^ np.packbits(noise)).tolist())

    pairs = changed_bits(np.zeros(2, np.uint8))
    report = audit_mechanism(forgetful, (1.1, 0), pairs, inside=True)
    assert report.violations[0].check == "inside, bare"
    assert "bit 4 of byte 1 of output never varies" in report.statement


def test_without_a_claim_there_are_only_hints() -> None:
    report = audit_mechanism(targets.half_scale, None, PAIR, inside=True, trials=1_000)
    assert not any(one.refutes for one in report.findings)
    assert any("epsilon 2 of Laplace noise" in look.where for look in report.limits.tested)


def test_a_target_that_fails_says_so() -> None:
    with pytest.raises(TargetError, match="a look inside"):
        audit_mechanism(lambda x, rng: 1 / 0, (1, 0), PAIR, inside=True)


def test_no_look_adds_nothing() -> None:
    assert (Inspected().refutations, Inspected().hints, Inspected().looks) == ([], (), ())
