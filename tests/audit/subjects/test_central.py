"""Audits of a curator's mechanisms, and of whole learners that promise too much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.central import central_subject
from dpverify.statistics.family import Verdict
from protocols.local.labels import LabelRandomizedResponse
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.classifier import UserLevelClassifier
from protocols.user_level.representations import FiniteClass
from protocols.user_level.stable_learner import WeighingLearner

SELECTION = ExponentialSelection(4, 3, 1.0)


def twice(values: NDArray[Any], rng: np.random.Generator) -> int:
    """Select with weights exp(eps c): the factor 1/2 for a replaced user is forgotten."""
    return ExponentialSelection(4, 3, 2.0).run(values, rng)


def test_the_selection_is_consistent_with_what_it_promises() -> None:
    assert audit_protocol(SELECTION, ("1", "0"), trials=8000, seed=4).verdict is Verdict.CONSISTENT


def test_too_small_a_promise_is_refuted_without_trials() -> None:
    report = audit_protocol(SELECTION, ("0.7", "0"), trials=200, level=0.1)
    refuted = [result.check for result in report.results if result.verdict is Verdict.VIOLATES]
    assert refuted[:1] == ["privacy of the parameters"]


def test_a_forgotten_half_is_found_by_its_law_and_by_its_losses() -> None:
    report = audit_protocol(SELECTION, ("1", "0"), implementation=twice, trials=4000)
    violated = {result.check.split()[0] for result in report.violations}
    assert {"conformance", "privacy"} <= violated


def test_the_neighbours_differ_in_one_user() -> None:
    for users in (1, 4, 7):
        subject = central_subject(ExponentialSelection(users, 3, 1.0))
        for pair in subject.neighbours:
            first, second = (subject.datasets[at].inputs for at in (pair.first, pair.second))
            assert (first != second).sum() == 1


def learner(epsilon: float):
    """Return a whole user-level learner as a function of two users' labels, five examples each."""

    def run(labels: NDArray[Any], rng: np.random.Generator) -> int:
        y = labels.astype(int)
        model = UserLevelClassifier(
            WeighingLearner(FiniteClass([[0], [1]]), 200.0),
            lambda users, candidates: ExponentialSelection(users, candidates, epsilon),
            random_state=rng,
        )
        return model.fit(np.zeros((y.size, 1), dtype=int), y, groups=np.arange(y.size) // 5).hypothesis_

    return run


def test_a_learner_that_spends_more_than_it_claims_is_caught() -> None:
    # Two users: one of them has all her five examples replaced.
    inputs = np.repeat([0.0, 1.0], 5), np.zeros(10)
    for epsilon, violated in ((1.0, False), (2.5, True)):
        report = audit_mechanism(learner(epsilon), (1.0, 0), inputs, trials=800, seed=3)
        assert (report.verdict is Verdict.VIOLATES) == violated


def test_what_has_no_law_of_outputs_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^reference=.* must be a curator's mechanism, whose output has a law\.$"):
        central_subject(LabelRandomizedResponse(3, 1.0))
