"""Audits of classifiers and of decoded words: laws by enumeration; `tests/faults/wholes.py` has the faults."""

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.classifier import classifier_subject, decoding_subject
from dpverify.audit.subjects.kde import places_of
from protocols.bitsum import RandomizedResponse
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import GaussianFeatures


def fitted(users: int, classes: int = 2, **options: Any) -> HighestDensityClassifier:
    bitsum = functools.partial(RandomizedResponse, flip_probability=0.2)
    given = {"instances": 2, "label_epsilon": 1.0, "random_state": 1, "empty_class": "never", **options}
    model = HighestDensityClassifier(GaussianFeatures(1), bitsum=bitsum, classes=list(range(classes)), **given)
    return model.fit(np.zeros((users, 1)), np.arange(users) % classes)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_joint_law_is_that_of_every_choice_of_labels_and_bits(classes: int) -> None:
    model = fitted(3, classes)
    subject = classifier_subject(model)
    dataset = subject.datasets[1]
    held = dataset.inputs[:, 1].astype(int)
    chances = 0.2 + 0.6 * (0.5 + model.features_.f(dataset.inputs[:, :1])[:, 0, 0] / (2.0 * model.features_.family.R))
    transition = LabelRandomizedResponse(classes, 1.0).transition
    expected: dict[tuple[int, ...], float] = {}
    for reports in itertools.product(range(classes), repeat=3):
        for bits in itertools.product((0, 1), repeat=3):
            mass = float(np.prod(transition[held, list(reports)] * np.where(bits, chances, 1.0 - chances)))
            counts = [reports.count(label) for label in (0, 1)]
            ones = [sum(bit for own, bit in zip(reports, bits, strict=True) if own == label) for label in (0, 1)]
            # Numbers of those with fewer reports come first: one outcome of none, two of one, and so on.
            key = tuple(count * (count + 1) // 2 + one for count, one in zip(counts, ones, strict=True))
            expected[key] = expected.get(key, 0.0) + mass
    law = dataset.view[1]
    assert_allclose(law.pmf, [expected[tuple(row)] for row in law.points.tolist()], rtol=1e-12)
    assert law.atoms == len(expected)
    first = dataset.laws[classes][1]
    assert_allclose(first.pmf, [sum(m for k, m in expected.items() if k[0] == at) for at in first.points.tolist()])


@pytest.mark.long
def test_right_classifiers_are_not_refuted_fitted_anew_or_in_halves() -> None:
    for model in (fitted(5), fitted(5, 3, public_random_state=np.random.default_rng(1))):
        assert audit_protocol(model, trials=100, seed=2).violations == ()


@pytest.mark.long
def test_a_claim_is_for_point_and_label_together() -> None:
    model = fitted(6, label_epsilon=3.0)
    report = audit_protocol(model, (1, "1e-3"), trials=300)
    assert {result.check.split(",")[0] for result in report.violations} >= {
        "privacy of the parameters",
        "privacy of the view",
    }


def test_an_estimator_of_several_classes_has_its_limits() -> None:
    with pytest.raises(ValueError, match=r"^users=41 must be an integer in \[1, 40\]"):
        classifier_subject(fitted(41))
    with pytest.raises(TypeError, match="must be a HighestDensityClassifier"):
        classifier_subject(RandomizedResponse(5, 0.2))  # type: ignore[arg-type]


DENSITY = KernelDensityProtocol(RandomizedResponse(3, 0.2), GaussianFeatures(2).sample(2, np.random.default_rng(1)))


def test_the_law_of_words_is_that_of_every_choice_of_bits() -> None:
    dataset = decoding_subject(DENSITY, k=2).datasets[0]
    features = DENSITY.features
    chances = 0.2 + 0.6 * (0.5 + features.f(dataset.inputs)[:, :, 0] / (2.0 * features.family.R))
    places = features.g(places_of(features.family))[:, :, 0]
    expected: dict[tuple[int, ...], float] = {}
    for bits in itertools.product((0, 1), repeat=6):
        sent = np.array(bits).reshape(3, 2)
        ranked = np.argsort(-places @ ((sent.sum(axis=0) - 0.6) / 0.6 - 1.5), kind="stable")
        mass = float(np.prod(np.where(sent, chances, 1.0 - chances)))
        key = tuple(ranked[:2].tolist())
        expected[key] = expected.get(key, 0.0) + mass
    law = dataset.view[1]
    assert_allclose(law.pmf, [expected[tuple(row)] for row in law.points.tolist()], rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("score", ["density", "distinctive"])
def test_right_words_are_not_refuted(score: Any) -> None:
    assert audit_protocol(decoding_subject(DENSITY, k=2, score=score), trials=300).violations == ()


def test_a_decoder_is_made_of_its_implementation() -> None:
    decoding = functools.partial(decoding_subject, DENSITY)
    report = audit_protocol(decoding, (9, 0), implementation=lambda points, rng: [0], trials=200)
    assert {result.check.split()[0] for result in report.violations} >= {"conformance"}


def test_words_that_tie_and_too_many_outcomes_are_refused() -> None:
    even = KernelDensityProtocol(RandomizedResponse(4, 0.2), DENSITY.features)
    with pytest.raises(ValueError, match="words that tie with probability"):
        decoding_subject(even)
    many = KernelDensityProtocol(RandomizedResponse(9, 0.2), GaussianFeatures(1).sample(9, np.random.default_rng(1)))
    with pytest.raises(ValueError, match="publishes one of 1000000000 outcomes"):
        decoding_subject(many)
    with pytest.raises(ValueError, match=r"^k=8 must be an integer in \[1, 7\]"):
        decoding_subject(DENSITY, k=8)
    with pytest.raises(TypeError, match="must be a KernelDensityProtocol"):
        decoding_subject(RandomizedResponse(5, 0.2))  # type: ignore[arg-type]
