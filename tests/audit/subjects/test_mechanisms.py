"""Audits of mechanisms whose twin states a law: right ones pass, and those that say or promise too much do not."""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import Target
from dpverify.audit.subject import Subject
from dpverify.audit.subjects.mechanisms import _equal, central_subject, local_subject, mean_subject
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.family import Verdict
from protocols.bitsum import RandomizedResponse
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.shuffled_mean import ShuffledMean
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.classifier import UserLevelClassifier
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.representations import FiniteClass
from protocols.user_level.stable_learner import WeighingLearner

LABELS, SELECTION = LabelRandomizedResponse(3, 1.0), ExponentialSelection(4, 3, 1.0)
RESPONSE, ONE_BIT = RandomizedResponseMean(1.0, 3), OneBitMean(1.0, 3.0)
LAPLACE, SHUFFLED, CURATOR = LaplaceMean(1.0, 3.0), ShuffledMean(12, 0.4), CentralLaplaceMean(9, 0.7, 2.0)
LEVELS = DiscreteLaplaceMean(1.0, 2.0, 2)
OPTIONS: dict[str, Any] = {"trials": 4000, "level": 1e-3, "seed": 5}


@pytest.mark.long
@pytest.mark.parametrize(
    "subject",
    [*(mean_subject(each) for each in (RESPONSE, ONE_BIT, LEVELS, CURATOR, SHUFFLED))],
    ids=lambda subject: type(subject.reference).__name__,
)
def test_right_estimators_are_not_refuted(subject: Subject) -> None:
    assert audit_protocol(subject, **OPTIONS).verdict is not Verdict.VIOLATES


@pytest.mark.long
@pytest.mark.parametrize("reference", [RESPONSE, ONE_BIT, LEVELS, LAPLACE, LABELS, SELECTION], ids=repr)
def test_right_mechanisms_keep_their_promise_and_no_smaller_one(reference: Any) -> None:
    assert audit_protocol(reference, (1.0, 0), **OPTIONS).verdict is not Verdict.VIOLATES
    report = audit_protocol(reference, (0.7, 0), trials=200)
    refuted = [result.check for result in report.results if result.verdict is Verdict.VIOLATES]
    assert refuted[0] == "privacy of the parameters"


@pytest.mark.long
@pytest.mark.parametrize("reference", [LABELS, SELECTION], ids=repr)
def test_enough_trials_make_a_pass(reference: Any) -> None:
    assert audit_protocol(reference, ("1", "0"), trials=8000, seed=4).verdict is Verdict.CONSISTENT


def kept_too_often(inputs: NDArray[Any], rng: np.random.Generator) -> int:
    return int(LabelRandomizedResponse(3, 1.3).randomize(inputs, rng)[0])


def twice(values: NDArray[Any], rng: np.random.Generator) -> int:
    """Select with weights exp(eps c): the factor 1/2 for a replaced user is forgotten."""
    return ExponentialSelection(4, 3, 2.0).run(values, rng)


def too_quiet(values: NDArray[Any], rng: np.random.Generator) -> float:
    return float(values[0] + rng.laplace(0.0, 0.8 * LAPLACE.scale))


def too_loud(values: NDArray[Any], rng: np.random.Generator) -> float:
    return float(values[0] + rng.laplace(0.0, 1.25 * LAPLACE.scale))


def forgets_n(values: NDArray[Any], rng: np.random.Generator) -> float:
    return float(values.mean() + rng.laplace(0.0, CURATOR.scale / 2.0))


def exact_at_times(values: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
    """One run in two hundred has no noise: its number is one that a continuous law has never twice."""
    return np.asarray(values.mean() + rng.laplace(0.0, CURATOR.scale, trials) * (rng.random(trials) >= 0.005))


@pytest.mark.long
@pytest.mark.parametrize(
    ("subject", "reference", "wrong", "trials"),
    [
        (local_subject, LABELS, kept_too_often, 4000),
        (local_subject, LAPLACE, too_quiet, 4000),
        (local_subject, LAPLACE, too_loud, 4000),
        (mean_subject, CURATOR, Target(exact_at_times, True, name="at times"), 20_000),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_wrong_noise_is_found(subject: Callable[..., Subject], reference: Any, wrong: Any, trials: int) -> None:
    # More faults of means, and of single reports, are in `tests.faults`.
    report = audit_protocol(subject(reference, implementation=wrong), trials=trials, level=1e-3, seed=1)
    assert "conformance" in {result.check.split()[0] for result in report.violations}


@pytest.mark.long
def test_a_fault_that_loses_privacy_is_found_by_its_losses_too() -> None:
    for subject in (central_subject(SELECTION, implementation=twice), mean_subject(CURATOR, implementation=forgets_n)):
        report = audit_protocol(subject, ("1", 0), **OPTIONS)
        assert {"conformance", "privacy"} <= {result.check.split()[0] for result in report.violations}


def test_datasets_are_single_users_or_neighbours() -> None:
    labels = local_subject(LabelRandomizedResponse(9, 1.0))
    # Three users, so that what several of them share is seen.
    assert [dataset.inputs.tolist() for dataset in labels.datasets] == [[k, 0, 0] for k in range(5)]
    mean = mean_subject(ONE_BIT)
    assert [dataset.inputs.tolist() for dataset in mean.datasets[:2]] == [[0.0] * 6, [3.0] + [0.0] * 5]
    assert [len(dataset.inputs) for dataset in mean_subject(SHUFFLED).datasets] == [12] * 3
    for users in (1, 4, 7):
        subject = central_subject(ExponentialSelection(users, 3, 1.0))
        for pair in subject.neighbours:
            first, second = (subject.datasets[at].inputs for at in (pair.first, pair.second))
            assert (first != second).sum() == 1


@pytest.mark.parametrize(
    ("subject", "reference"),
    [
        (local_subject, RandomizedResponse(9, 0.1)),
        (central_subject, LABELS),
        (mean_subject, LABELS),
        (mean_subject, RandomizedResponse(9, 0.1)),
        (mean_subject, LaplaceMean(1.0)),  # its law has a density
    ],
)
def test_what_has_no_such_law_is_refused(subject: Callable[..., Subject], reference: Any) -> None:
    with pytest.raises(TypeError, match=r"^(reference|protocol)="):
        subject(reference)


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "violated"), [(1.0, False), (2.5, True)])
def test_a_whole_learner_that_spends_more_than_it_claims_is_caught(epsilon: float, violated: bool) -> None:
    def learned(labels: NDArray[Any], rng: np.random.Generator) -> int:
        y = labels.astype(int)
        model = UserLevelClassifier(
            WeighingLearner(FiniteClass([[0], [1]]), 200.0),
            lambda users, candidates: ExponentialSelection(users, candidates, epsilon),
            random_state=rng,
        )
        return model.fit(np.zeros((y.size, 1), dtype=int), y, groups=np.arange(y.size) // 5).hypothesis_

    # Two users of five examples each: one of them has all of hers replaced.
    inputs = np.repeat([0.0, 1.0], 5), np.zeros(10)
    report = audit_mechanism(learned, (1.0, 0), inputs, trials=800, seed=3)
    assert (report.verdict is Verdict.VIOLATES) == violated


class OneCoin(LabelRandomizedResponse):
    """All users of a run leave their labels together."""

    def randomize(self, labels: Any, rng: np.random.Generator) -> NDArray[np.int64]:
        leave = rng.random() < (self.classes - 1) * self.other_probability
        return np.asarray((np.asarray(labels) + leave * rng.integers(1, self.classes, np.size(labels))) % self.classes)


class OneShift(LabelRandomizedResponse):
    """Those of a run who leave their labels say the same other one."""

    def randomize(self, labels: Any, rng: np.random.Generator) -> NDArray[np.int64]:
        leave = rng.random(np.size(labels)) < (self.classes - 1) * self.other_probability
        return np.asarray((np.asarray(labels) + leave * rng.integers(1, self.classes)) % self.classes)


class OneNoise(LaplaceMean):
    """All users of a run draw one noise."""

    def randomize(self, values: Any, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray(values + super().randomize(np.zeros(1), rng))


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "reference"), [(OneCoin, LABELS), (OneShift, LABELS), (OneNoise, LAPLACE)], ids=lambda each: str(each)
)
def test_users_who_draw_together_are_found(kind: type, reference: Any) -> None:
    faulty = kind(*(getattr(reference, each.name) for each in dataclasses.fields(reference)))

    def run(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        return np.asarray(faulty.randomize(values, rng))

    several = functools.partial(local_subject, reference, users=4)
    for audited in (functools.partial(local_subject, reference, users=2), several):
        assert audit_protocol(audited, implementation=run, trials=1_000).verdict is Verdict.VIOLATES
    assert audit_protocol(several, implementation=reference.randomize, **OPTIONS).verdict is not Verdict.VIOLATES
    # A function is one user's unless it is said that it takes several; then the report says what it left out.
    alone = audit_protocol(reference, implementation=lambda value, rng: float(run(value, rng)[0]), **OPTIONS)
    assert alone.verdict is not Verdict.VIOLATES
    assert "whether the reports of several users are independent" in alone.limits.not_tested


def test_the_number_of_equal_reports_has_its_law() -> None:
    # By all outcomes of three users.
    law, other = DiscreteLaw.of([0, 1, 2], [0.5, 0.2, 0.3]), DiscreteLaw.of([0, 1, 3], [0.1, 0.6, 0.3])
    expected = np.zeros(3)
    for outcome in itertools.product(range(3), repeat=3):
        points = law.points[outcome[0]], other.points[outcome[1]], other.points[outcome[2]]
        mass = law.pmf[outcome[0]] * other.pmf[outcome[1]] * other.pmf[outcome[2]]
        expected[sum(each == points[0] for each in points[1:])] += mass
    np.testing.assert_allclose(_equal(law, other, 2).pmf, expected, rtol=1e-12)


def test_a_mechanism_of_ours_is_taken_whole_and_another_method_is_refused() -> None:
    hadamard = HadamardSelection(4, 1.0)
    assert audit_protocol(hadamard, implementation=hadamard.randomize, **OPTIONS).verdict is not Verdict.VIOLATES
    with pytest.raises(TypeError, match=r"HadamardSelection.*must return users' reports, as `randomize` of the same"):
        audit_protocol(hadamard, implementation=hadamard.run)
    assert audit_protocol(SELECTION, implementation=SELECTION, trials=100).verdict is not Verdict.VIOLATES
    with pytest.raises(TypeError, match=r"implementation=<object .*> must be a callable, .* with a method `run"):
        audit_protocol(SELECTION, implementation=object())
