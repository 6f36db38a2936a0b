from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.pipelines import bitsum_calls, density_instances, rappor_client
from dpverify.statistics.family import Verdict
from protocols.bitsum import RandomizedResponse
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensityProtocol
from protocols.lsq import GaussianFeatures
from protocols.rappor.response import Rappor

POINTS = np.linspace(-1.0, 1.0, 8)[:, np.newaxis]


def density() -> KernelDensityProtocol:
    return KernelDensityProtocol(RandomizedResponse(8, 0.2), GaussianFeatures(1).sample(12, np.random.default_rng(1)))


def test_a_density_is_consistent_and_the_farthest_move_is_taken() -> None:
    whole = density_instances(density(), POINTS, [[-1.0], [-0.9], [2.0]])
    assert [dataset.name for dataset in whole.datasets[1:]] == ["the first user at [2.0]"]
    assert audit_protocol(whole, trials=1500, detect=0.2).verdict is Verdict.CONSISTENT


def test_a_density_that_publishes_one_instance_without_noise() -> None:
    protocol = density()

    def leaky(points: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        published = np.array(protocol.simulate(points, rng).published).reshape(-1)
        chances = 0.5 + protocol.features.f(points).reshape(len(points), -1) / (2.0 * protocol.features.family.R)
        bits = rng.random(len(points)) < chances[:, 7]
        published[7] = (2.0 * bits.sum() - len(points)) * protocol.features.family.R
        return published

    report = audit_protocol(density_instances(protocol, POINTS, [[2.0]], implementation=leaky), trials=1000)
    assert report.verdict is Verdict.VIOLATES


def test_a_classifier_is_its_classes_together() -> None:
    labels = np.arange(8) % 2
    model = HighestDensityClassifier(
        bitsum=lambda users: RandomizedResponse(users, 0.2),
        instances=5,
        public_random_state=1,
        random_state=2,
        label_epsilon=None,
    ).fit(POINTS, labels)
    protocols = model.class_protocols()
    ordered = np.concatenate([POINTS[labels == 0], POINTS[labels == 1]])
    whole = density_instances(protocols, ordered, [[2.0]])
    here, there = (laws for _, laws in (dataset.independent or (slice(0), ()) for dataset in whole.datasets))
    assert len(here) == sum(protocol.features.coordinates for protocol in protocols)
    assert there[-1] is here[-1]  # the other class does not see the move
    assert audit_protocol(whole, trials=1000, detect=0.2).verdict is not Verdict.VIOLATES

    def leaky(points: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        first, second = (p.simulate(x, rng).published for p, x in zip(protocols, np.split(points, 2), strict=True))
        second = np.array(second).reshape(-1)
        second[2] = second[1]  # one instance of the second class copies another
        return np.concatenate([np.array(first).reshape(-1), second])

    copied = density_instances(protocols, ordered, [[2.0]], implementation=leaky)
    assert audit_protocol(copied, trials=1000).verdict is Verdict.VIOLATES


def test_calls_differ_in_one_user() -> None:
    whole = bitsum_calls(RandomizedResponse(9, 0.2), 4)
    for dataset in whole.datasets:
        bits, (_, laws) = dataset.inputs, dataset.independent or (slice(0), ())
        assert (np.abs(bits - whole.datasets[0].inputs).sum(axis=0) <= 1).all()
        assert (bits != whole.datasets[0].inputs).any(axis=1).sum() == (dataset is not whole.datasets[0])
        assert [law.mean for law in laws] == pytest.approx(bits.sum(axis=0))


CLIENT = Rappor(16, 2, f=0.5, p=0.3, q=0.7, reports=20)


def test_a_client_who_remembers_and_one_who_does_not() -> None:
    candidates = [f"candidate {index}" for index in range(8)]
    whole = rappor_client(CLIENT, "value", candidates)
    assert audit_protocol(whole, trials=2000, detect=0.2).verdict is not Verdict.VIOLATES

    def forgets(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        once = Rappor(16, 2, f=0.5, p=0.3, q=0.7, reports=1)
        reports = [once.randomize([str(values[0])], rng, cohorts=np.zeros(1, dtype=np.int64)).bits for _ in range(20)]
        return np.asarray(np.sum([bits.reshape(-1) for bits in reports], axis=0))

    found = audit_protocol(rappor_client(CLIENT, "value", candidates, implementation=forgets), trials=300)
    assert found.verdict is Verdict.VIOLATES


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="points and candidates hold 7 and 1 rows"):
        density_instances(density(), POINTS[1:], [[2.0]])
    with pytest.raises(ValueError, match="candidates"):
        rappor_client(CLIENT, "value", [])
    with pytest.raises(ValueError, match="calls"):
        bitsum_calls(RandomizedResponse(9, 0.2), 0)
