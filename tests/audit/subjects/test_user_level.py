"""Audits of user-level learners: right ones pass, whatever learner and selection; faults are in `tests/faults`."""

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.user_level import user_level_subject
from dpverify.claims.registry import claims_named
from dpverify.guarantee import CapacityError
from protocols.bitsum import NegativeBinomial, RandomizedResponse
from protocols.selection import Selection
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.classifier import UserLevelClassifier
from protocols.user_level.littlestone import FrequentLearner
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.representations import DecisionLists, Thresholds
from protocols.user_level.stable_learner import StableLearner, WeighingLearner
from protocols.user_level.statistical_queries import Bisection, QueryLearner

CENTRAL = functools.partial(ExponentialSelection, epsilon=1.0)


def local(users: int, candidates: int) -> HadamardSelection:
    return HadamardSelection(candidates, 1.0)


def shuffled(users: int, candidates: int) -> Selection:
    return Selection(NegativeBinomial(users, 4.0, 0.4, estimate="under"), candidates)


def fitted(learner: StableLearner, selection: Any, users: int = 4, **options: Any) -> UserLevelClassifier:
    representation = learner.representation
    points = np.arange(64 * users) % representation.domain
    rows = points[:, np.newaxis] >> np.arange(representation.features) & (1 if representation.features > 1 else -1)
    labels = representation.concepts[1][points]
    model = UserLevelClassifier(learner, selection, random_state=1, **options)
    return model.fit(rows, labels, groups=np.repeat(np.arange(users), 64))


@pytest.mark.long
@pytest.mark.parametrize(
    ("learner", "selection"),
    [
        (WeighingLearner(DecisionLists(2), 50.0), CENTRAL),
        (QueryLearner(Bisection(3, 0.3)), local),
        (FrequentLearner(Thresholds(3), 0.2, 2, 4), shuffled),
    ],
    ids=lambda value: type(value).__name__,
)
def test_right_learners_are_not_refuted(learner: StableLearner, selection: Any) -> None:
    assert audit_protocol(fitted(learner, selection), trials=200).violations == ()


@pytest.mark.long
def test_a_claim_is_for_a_user_with_all_her_examples() -> None:
    model = fitted(WeighingLearner(Thresholds(3), 100.0), functools.partial(ExponentialSelection, epsilon=4.0))
    report = audit_protocol(model, (1, 0), trials=400)
    checks = {result.check.split(",")[0] for result in report.violations}
    assert checks >= {"privacy of the parameters", "privacy of selected hypothesis"}


@pytest.mark.parametrize("values", [[0, 1, 1], [2, 0, 2]])
def test_the_law_of_a_hadamard_selection_is_that_of_all_reports(values: list[int]) -> None:
    selection = HadamardSelection(3, 1.5)
    claims: Any = claims_named("hadamard-selection")
    laws = [claims.report_law(selection, value) for value in values]
    expected = np.zeros(3)
    for reports in itertools.product(range(2 * selection.order), repeat=3):
        chance = np.prod([law.probabilities(np.array([report]))[0] for law, report in zip(laws, reports, strict=True)])
        expected[selection.analyze(list(reports))] += chance
    law = claims.output_law(selection, values)
    assert_allclose(law.pmf, expected[law.points], rtol=1e-12)


def test_what_has_no_law_is_refused() -> None:
    weighing = WeighingLearner(Thresholds(3), 100.0)
    with pytest.raises(ValueError, match="must be a private selection"):
        audit_protocol(fitted(weighing, None), trials=100)
    with pytest.raises(CapacityError, match="too many sums of signs"):
        user_level_subject(fitted(weighing, local, 40))
    with pytest.raises(TypeError, match="public_random_state"):
        user_level_subject(fitted(weighing, CENTRAL, public_random_state=None))
    with pytest.raises(ValueError, match="must find different hypotheses"):
        user_level_subject(fitted(WeighingLearner(Thresholds(2), 1e-9), CENTRAL))
    with pytest.raises(TypeError, match="must be a UserLevelClassifier"):
        user_level_subject(RandomizedResponse(5, 0.2))  # type: ignore[arg-type]
