"""Audits of local mechanisms: right ones pass, and those that say too much or promise too much do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.local import local_subject
from dpverify.statistics.family import Verdict
from protocols.bitsum import RandomizedResponse
from protocols.local.labels import LabelRandomizedResponse

LABELS = LabelRandomizedResponse(3, 1.0)


def test_labels_are_consistent_with_what_they_promise() -> None:
    report = audit_protocol(LABELS, ("1", "0"), trials=2000, level=1e-3, seed=4)
    assert report.verdict is Verdict.CONSISTENT


def test_too_small_a_promise_is_refuted_without_trials() -> None:
    report = audit_protocol(LABELS, ("0.99", "0"), trials=200, level=0.1)
    refuted = [result.check for result in report.results if result.verdict is Verdict.VIOLATES]
    assert refuted[:1] == ["privacy of the parameters"]


def test_labels_that_are_kept_too_often_are_found() -> None:
    def outspoken(inputs: NDArray[Any], rng: np.random.Generator) -> int:
        return int(LabelRandomizedResponse(3, 1.3).randomize(inputs, rng)[0])

    assert audit_protocol(LABELS, implementation=outspoken, trials=4000, level=1e-3).verdict is Verdict.VIOLATES


def test_every_dataset_is_one_user() -> None:
    subject = local_subject(LabelRandomizedResponse(9, 1.0))
    assert [dataset.inputs.tolist() for dataset in subject.datasets] == [[0], [1], [2], [3], [4]]


def test_what_is_not_local_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^reference=RandomizedResponse\(.*\) must be a local mechanism, whose"):
        local_subject(RandomizedResponse(9, 0.1))
