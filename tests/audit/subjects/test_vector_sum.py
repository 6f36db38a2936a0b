"""Audits of vector sums: right ones pass, and each planted fault is found by the check that should."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.bitsum import Implementation
from dpverify.audit.subjects.vector_sum import own_vector_sum, vector_sum_subject
from dpverify.statistics.family import Verdict
from protocols.bitsum import NegativeBinomial, Poisson, RandomizedResponse
from protocols.shuffler import UserMessages
from protocols.sums.vectors import UnaryVectorSum
from protocols.vector_sum import VectorSum

SUM, SUBSETS = VectorSum(6, 2, 1, 0.3), VectorSum(6, 3, 1, 0.4, 2, centre=0.5)
Array = NDArray[Any]


def outputs(protocol: VectorSum) -> Implementation:
    """Return estimates and reports, without the messages of single users."""
    return dataclasses.replace(own_vector_sum(protocol), sent=None, arrived=None)


def audited(reference: VectorSum, implementation: Any, trials: int = 400, level: float = 0.05) -> set[str]:
    subject = vector_sum_subject(reference, implementation=implementation)
    report = audit_protocol(subject, trials=trials, level=level, seed=3, block_size=250)
    return {result.check.replace(",", " ").split()[0] for result in report.violations}


@pytest.mark.long
@pytest.mark.parametrize("protocol", [SUM, SUBSETS], ids=repr)
def test_right_protocols_are_not_refuted(protocol: VectorSum) -> None:
    assert audited(protocol, outputs(protocol), 500, 0.01) == set()


@pytest.mark.long
def test_enough_trials_make_a_pass_with_messages() -> None:
    report = audit_protocol(VectorSum(4, 1, 1, 0.4), trials=1_500, detect=0.5, level=0.05)
    assert report.verdict is Verdict.CONSISTENT


def faulty(reference: VectorSum, **methods: Callable[..., Any]) -> VectorSum:
    fields = {field.name: getattr(reference, field.name) for field in dataclasses.fields(reference)}
    made: VectorSum = type("Faulty", (VectorSum,), methods)(**fields)
    return made


def other(**changes: Any) -> dict[str, Any]:
    """Return users with other parameters than the analyzer."""
    return {"randomize": lambda self, vectors, rng: dataclasses.replace(SUM, **changes).randomize(vectors, rng)}


def rounded(how: Callable[[Array], Array]) -> dict[str, Any]:
    """Return users who round to a level in another way."""
    return {"randomize": lambda self, vectors, rng: SUM.randomize(how(vectors), rng)}


def last_user_plain(self: VectorSum, vectors: Array, rng: np.random.Generator) -> UserMessages:
    noisy, plain = SUM.randomize(vectors[:-1], rng), dataclasses.replace(SUM, blanket_probability=0.0)
    one = plain.randomize(vectors[-1:], rng)
    last = np.full(one.senders.size, len(vectors) - 1)
    return UserMessages(np.concatenate([noisy.symbols, one.symbols]), np.concatenate([noisy.senders, last]))


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "a third of the blanket": (other(blanket_probability=0.1), "conformance"),
    "rounds to the nearest": (rounded(np.rint), "conformance"),
    "coordinates exchanged": ({"randomize": lambda self, x, rng: SUM.randomize(x[:, ::-1], rng)}, "conformance"),
    "clipped at 0": ({"analyze": lambda self, view: np.maximum(SUM.analyze(view), 0.0)}, "conformance"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_caught_by_the_check_that_should(name: str) -> None:
    methods, check = FAULTS[name]
    assert check in audited(SUM, outputs(faulty(SUM, **methods)))


@pytest.mark.long
def test_messages_that_are_not_shuffled_are_seen() -> None:
    kept = own_vector_sum(SUM, shuffler=lambda messages, rng: messages.symbols)
    assert "message" in audited(SUM, kept, 150)


@pytest.mark.long
def test_a_user_without_blanket_is_named() -> None:
    assert "noise" in audited(SUM, own_vector_sum(faulty(SUM, randomize=last_user_plain)), 250)


def test_code_from_elsewhere_is_held_against_the_law_of_its_estimate() -> None:
    report = audit_protocol(SUM, (1, 0), implementation=lambda x, rng: x.sum(axis=0), trials=200, level=0.05)
    assert {"conformance", "privacy"} <= {result.check.split()[0] for result in report.violations}
    assert any("which are what the adversary sees" in each for each in report.limits.not_tested)


def test_what_has_no_listed_law_is_refused() -> None:
    large = VectorSum(3_000, 1, 64, 0.3)
    with pytest.raises(ValueError, match="audit fewer users"):
        vector_sum_subject(large, implementation=lambda x, rng: x.sum(axis=0))
    with pytest.raises(TypeError, match="must be a VectorSum"):
        vector_sum_subject(RandomizedResponse(9, 0.1))  # type: ignore[arg-type]


UNARY = UnaryVectorSum(Poisson(6, 9.0), 2, 2.3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("run", "check"),
    [
        (UnaryVectorSum(Poisson(6, 5.0), 2, 2.3), "conformance"),
        (UnaryVectorSum(Poisson(6, 9.0), 2, 2.3, seed=4), "conformance"),
        (UnaryVectorSum(Poisson(6, 9.0), 2, 2.0), "conformance"),
        (lambda vectors, rng: np.nextafter(UNARY.run(vectors, rng), 9e9 * vectors[0, 0]), "lowest"),
        (lambda vectors, rng: UNARY.run(0.7 * vectors, rng), "conformance"),
    ],
    ids=["less noise", "another rotation", "another scale", "told by digits", "shrunk"],
)
def test_faults_of_sums_of_unary_vectors_are_found(run: Any, check: str) -> None:
    report = audit_protocol(UNARY, (3, "1e-2"), implementation=run, trials=500, level=0.01, seed=3)
    assert check in {result.check.split()[0] for result in report.violations}


@pytest.mark.long
def test_a_right_sum_of_unary_vectors_is_not_refuted() -> None:
    large = UnaryVectorSum(NegativeBinomial(201, 20.0, 0.7), 6, 4.0)
    for protocol, silent in (
        (UNARY, "what several counts tell together"),
        (large, "coordinates other than 0, 1, 2, 5"),
    ):
        # At most 1e-4 for each of two seeds: both with probability 1e-8.
        reports = (audit_protocol(protocol, (9, "1e-2"), trials=300, level=1e-4, seed=seed) for seed in (3, 4))
        report = next((each for each in reports if not each.violations), None)
        assert silent in str(report)
