from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import Target
from dpverify.audit.subjects.pipelines import bitsum_calls, density_instances, rappor_client, whole_subject
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.family import Verdict
from protocols.bitsum import CentralDiscreteLaplace, RandomizedResponse
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensityProtocol
from protocols.lsq import GaussianFeatures
from protocols.rappor.response import Rappor

POINTS = np.linspace(-1.0, 1.0, 8)[:, np.newaxis]


def density() -> KernelDensityProtocol:
    return KernelDensityProtocol(RandomizedResponse(8, 0.2), GaussianFeatures(1).sample(12, np.random.default_rng(1)))


@pytest.mark.long
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

    report = audit_protocol(density_instances(protocol, POINTS, [[2.0]], implementation=leaky), trials=300)
    assert report.verdict is Verdict.VIOLATES


@pytest.mark.long
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


@pytest.mark.long
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


CALLS = 6
PROMISED = CentralDiscreteLaplace(20, 0.5)


def laplace(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    return rng.geometric(0.5, count) - rng.geometric(0.5, count)


def correct(bits: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    return np.asarray(bits.sum(axis=0) + laplace(rng, CALLS))


def common(bits: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    return np.asarray(bits.sum(axis=0) + laplace(rng, 1))


def opposite(bits: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    noise = laplace(rng, CALLS)
    noise[5] = -noise[2]
    return np.asarray(bits.sum(axis=0) + noise)


def one_quiet(bits: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    noise = laplace(rng, CALLS)
    noise[3] = 0
    return np.asarray(bits.sum(axis=0) + noise)


@pytest.mark.long
def test_own_calls_and_a_correct_one_are_consistent() -> None:
    for implementation in (None, correct):
        report = audit_protocol(
            bitsum_calls(PROMISED, CALLS, implementation=implementation), (3, "1e-3"), trials=1000, detect=0.2
        )
        assert report.verdict is Verdict.CONSISTENT
        assert len([look for look in report.limits.tested if look.fault]) >= 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("implementation", "check"), [(common, "pairs"), (opposite, "pairs"), (one_quiet, "each instance")]
)
def test_faults_across_calls(implementation: Callable[..., Any], check: str) -> None:
    report = audit_protocol(bitsum_calls(PROMISED, CALLS, implementation=implementation), trials=1000)
    assert report.verdict is Verdict.VIOLATES
    assert any(result.check.startswith(check) for result in report.violations)


def test_noise_that_calls_share_is_seen_by_no_audit_of_one_call() -> None:
    def first(bits: NDArray[Any], rng: np.random.Generator) -> float:
        return float(common(np.repeat(bits[:, np.newaxis], CALLS, axis=1), rng)[0])

    assert audit_protocol(PROMISED, implementation=first, trials=1000).verdict is not Verdict.VIOLATES


@pytest.mark.long
def test_a_claim_that_the_calls_break_together() -> None:
    # One call is ln 2; six of them are not 1, whatever each says.
    report = audit_protocol(bitsum_calls(PROMISED, CALLS), (1, "1e-3"), trials=2000)
    assert [result.check for result in report.violations] == [
        "privacy of summed privacy loss 1, the dataset against a user who changes every call",
        "privacy of summed privacy loss 2, the dataset against a user who changes every second call",
    ]


def test_impossible_outcomes_are_refuted() -> None:
    report = audit_protocol(
        bitsum_calls(PROMISED, 2, implementation=lambda bits, rng: bits.sum(axis=0) + laplace(rng, 2) + 1e-3),
        trials=200,
    )
    assert report.verdict is Verdict.VIOLATES


def test_instances_of_the_callers_own() -> None:
    coin = DiscreteLaw.from_mapping({0: 0.5, 1: 0.5})
    heads = DiscreteLaw.from_mapping({0: 0.25, 1: 0.75})
    target = Target(lambda chance, rng: (rng.random(4) < chance).astype(int), shape=(4,), name="coins")
    whole = whole_subject("coins", target, np.array([0.5]), [coin] * 4, {"bent": (np.array([0.75]), [heads] * 4)})
    assert audit_protocol(whole, (5, 0), trials=2000).verdict is Verdict.CONSISTENT
    with pytest.raises(ValueError, match="neighbours is empty"):
        whole_subject("coins", target, np.array([0.5]), [coin] * 4, {})


def test_membership_is_inferred_as_well_as_the_laws_say() -> None:
    report = audit_protocol(bitsum_calls(PROMISED, 2), trials=2_000)
    (look, _) = (look for look in report.limits.tested if look.aspect == "membership")
    # The best guess between two products of laws is right with (1 + their total variation distance) / 2.
    steps = np.arange(-60, 61)
    noise = 0.5 ** np.abs(steps) / 3.0
    first = np.multiply.outer(noise, noise)
    second = np.roll(np.roll(first, 1, axis=0), -1, axis=1)
    exact = 50.0 + 25.0 * float(np.abs(first - second).sum())
    assert f"{exact:.1f} % by the laws" in look.where
    seen = float(look.where.partition(" right in ")[2].split()[0])
    assert abs(seen - exact) < 100.0 * 5.0 * (0.25 / 4_000) ** 0.5


def test_a_fault_on_the_neighbour_alone_is_found() -> None:
    def clips(bits: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        noise = laplace(rng, CALLS)
        return np.asarray(bits.sum(axis=0) + (0 if bits[-1].all() else noise))

    report = audit_protocol(bitsum_calls(PROMISED, CALLS, implementation=clips), trials=500)
    assert {result.check.rpartition(", ")[2] for result in report.violations} >= {
        "a user who changes every second call"
    }
    assert not any(result.check == "each instance, the dataset" for result in report.violations)


def test_one_call_has_no_pairs() -> None:
    report = audit_protocol(bitsum_calls(PROMISED, 1), trials=500)
    assert any(result.check.startswith("each instance") for result in report.results)
    assert not any(result.check.startswith("pairs") for result in report.results)
