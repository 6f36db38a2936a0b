"""Audits of density estimators with their features: right ones pass; `tests/faults/densities.py` has the faults."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.kde import density_subject, own_density
from dpverify.learning.density import PrivateDensity
from dpverify.statistics.family import Verdict
from protocols.bitsum import BitsumProtocol, CentralGaussian, NegativeBinomial, RandomizedResponse, ThreeNB
from protocols.kde import KernelDensityProtocol
from protocols.lsq import ExponentialTessellation, GaussianFeatures, Identity, LSQFamily


def density(bitsum: BitsumProtocol, family: LSQFamily, instances: int) -> KernelDensityProtocol:
    return KernelDensityProtocol(bitsum, family.sample(instances, np.random.default_rng(1)))


def test_the_laws_are_those_of_every_choice_of_bits() -> None:
    protocol = density(RandomizedResponse(3, 0.2), GaussianFeatures(1), 2)
    subject = density_subject(protocol)
    dataset = subject.datasets[0]
    chances = 0.2 + 0.6 * (0.5 + protocol.features.f(dataset.inputs)[:, :, 0] / (2.0 * protocol.features.family.R))
    weights = protocol.features.g(subject.datasets[0].inputs[:1])[0, :, 0] / 6.0
    published, mean = np.zeros((2, 4)), 0.0
    for bits in itertools.product((0, 1), repeat=6):
        sent = np.array(bits).reshape(3, 2)
        mass = float(np.prod(np.where(sent, chances, 1.0 - chances)))
        for feature, count in enumerate(sent.sum(axis=0)):
            published[feature, count] += mass
        mean += mass * float(weights @ ((2.0 * (sent.sum(axis=0) - 0.6) / 0.6 - 3.0) * protocol.features.family.R))
    for feature in (0, 1):
        for column in (feature, 2 + feature):  # what is published, and the view
            assert_allclose(dataset.laws[column][1].pmf[:: -1 if column > 1 else 1][:4], published[feature][::1])
    query = int(np.argmin(np.abs([subject.datasets[0].laws[4 + at][1].mean - mean for at in range(3)])))
    law = dataset.laws[4 + query][1]
    assert abs(law.mean - mean) < 0.01 * law.variance**0.5  # a lattice of 200 steps to a standard deviation


@pytest.mark.long
@pytest.mark.parametrize(
    "protocol",
    [
        density(RandomizedResponse(5, 0.2), Identity(2, radius=1.0), 1),
        density(ThreeNB(3, 0.5, 0.6, 0.3), GaussianFeatures(2), 2),
        density(NegativeBinomial(5, 3.0, 0.3), ExponentialTessellation(2, buckets=1, signed=True), 3),
    ],
    ids=lambda protocol: type(protocol.bitsum).__name__,
)
def test_right_estimators_are_not_refuted(protocol: Any) -> None:
    report = audit_protocol(protocol, trials=200)
    assert report.violations == ()
    assert any(look.aspect == "errors" and "supRMSE" in look.where for look in report.limits.tested)


@pytest.mark.long
def test_enough_trials_make_a_pass() -> None:
    report = audit_protocol(density(RandomizedResponse(3, 0.25), GaussianFeatures(1), 1), trials=1_200, detect=0.5)
    assert report.verdict is Verdict.CONSISTENT


@pytest.mark.long
def test_many_features_are_run_without_messages_and_a_claim_is_tested_on_all_of_them() -> None:
    protocol = density(RandomizedResponse(8, 0.2), GaussianFeatures(1), 36)
    report = audit_protocol(protocol, (1, "1e-3"), trials=600)
    assert {result.check.split(",")[0] for result in report.violations} >= {
        "privacy of the parameters",
        "privacy of summed privacy loss 1",
    }
    assert any("which are what the adversary sees" in each for each in report.limits.not_tested)


@pytest.mark.long
def test_a_fitted_estimator_is_audited_by_what_it_has_run() -> None:
    points = np.random.default_rng(0).normal(size=(40, 2))
    learned = PrivateDensity(epsilon=3, delta=1e-3, kernel="gaussian", bits=6, public_scale=3.0, random_state=1)
    report = audit_protocol(learned.fit(points), implementation=lambda x, rng: np.zeros(6), trials=100)
    assert {result.check.split()[0] for result in report.violations} >= {"conformance", "each"}


def test_what_has_no_listed_laws_is_refused() -> None:
    family = GaussianFeatures(1)
    with pytest.raises(ValueError, match=r"^users=257 must be an integer in \[1, 256\]"):
        density_subject(density(RandomizedResponse(257, 0.2), family, 1))
    with pytest.raises(ValueError, match="no discrete law"):
        density_subject(density(CentralGaussian(5, 1.0), family, 1))
    with pytest.raises(TypeError, match="must be a KernelDensityProtocol"):
        density_subject(RandomizedResponse(5, 0.2))  # type: ignore[arg-type]
    assert own_density(density(RandomizedResponse(5, 0.2), family, 2)).counts
