"""The averaging attack as an audit: it succeeds where a client forgets, and not where she remembers."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import TargetError
from dpverify.audit.subjects.rappor import alike_law, rappor_subject
from dpverify.statistics.family import Verdict
from protocols.rappor.response import PermanentResponse, Rappor
from tests.samples import assert_law, rows

REPORTS = 40
KEPT = Rappor(16, 2, cohorts=3, f=0.5, p=0.3, q=0.7, reports=REPORTS)
ONCE = Rappor(16, 2, cohorts=3, f=0.5, p=0.3, q=0.7)
LIMIT = ("4.39444915467244", "0")
"""What the permanent response of two hash functions and f = 1/2 gives."""
Bits = NDArray[np.bool_]


def remembers(value: str, rng: np.random.Generator) -> Bits:
    return KEPT.randomize([value], rng, cohorts=[0]).bits[0]


def forgets(value: str, rng: np.random.Generator) -> Bits:
    return ONCE.randomize([value] * REPORTS, rng, cohorts=np.zeros(REPORTS, dtype=int)).bits[:, 0]


@pytest.mark.long
def test_averaging_is_within_the_limit_of_who_remembers() -> None:
    for implementation in (None, remembers):
        report = audit_protocol(KEPT, LIMIT, implementation=implementation, trials=3000, level=1e-3, seed=2)
        assert report.verdict is Verdict.CONSISTENT


@pytest.mark.long
def test_averaging_tells_the_value_of_who_forgets() -> None:
    report = audit_protocol(KEPT, LIMIT, implementation=forgets, trials=4000, level=1e-3, seed=2)
    assert report.verdict is Verdict.VIOLATES
    # By the attack itself, and not only as the law is another one.
    refuted = [result for result in report.results if result.check.startswith("privacy of the view")]
    assert {result.verdict for result in refuted} == {Verdict.VIOLATES}


def test_one_report_without_memory_keeps_its_own_promise() -> None:
    assert audit_protocol(ONCE, ("1.63", "0"), trials=3000, level=1e-3).verdict is Verdict.CONSISTENT
    too_small = audit_protocol(ONCE, ("1.62", "0"), trials=200, level=0.1)
    assert [result.check for result in too_small.results if result.verdict is Verdict.VIOLATES] == [
        "privacy of the parameters"
    ]


@pytest.mark.long
def test_the_permanent_response_is_audited_too() -> None:
    response = PermanentResponse(16, 2, f=0.5)
    assert audit_protocol(response, LIMIT, trials=3000, level=1e-3).verdict is Verdict.CONSISTENT
    too_often = PermanentResponse(16, 2, f=0.4)
    report = audit_protocol(
        response,
        LIMIT,
        implementation=lambda value, rng: too_often.randomize([value], rng, cohorts=[0]).bits,
        trials=3000,
        level=1e-3,
    )
    assert report.verdict is Verdict.VIOLATES


def last_bit_plain(value: str, rng: np.random.Generator) -> np.ndarray:
    kept = permanent(value, rng, 1)
    kept[-1] = signal(value, rng)[-1]
    return instant(kept, rng)


def two_bits_at_a_time(value: str, rng: np.random.Generator) -> np.ndarray:
    return instant(permanent(value, rng, 2), rng)


def signal(value: str, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(KEPT.signal([value], rng, cohorts=[0])[1][0])


def permanent(value: str, rng: np.random.Generator, together: int) -> np.ndarray:
    return signal(value, rng) ^ np.repeat(rng.random(16 // together) < KEPT.f / 2.0, together)


def instant(kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random((REPORTS, 16)) < np.where(kept, KEPT.q, KEPT.p)


@pytest.mark.parametrize(
    ("client", "check"), [(last_bit_plain, "each instance"), (two_bits_at_a_time, "pairs of instances")]
)
def test_every_bit_and_every_pair_of_bits_is_looked_at(client: Any, check: str) -> None:
    report = audit_protocol(KEPT, implementation=client, trials=500, level=1e-3)
    assert any(result.check.startswith(check) for result in report.violations)


@pytest.mark.long
@pytest.mark.parametrize(
    "protocol", [KEPT, ONCE, Rappor(3, 2, f=0.5, p=0.1, q=0.4, reports=3), PermanentResponse(5, 1, f=0.3)]
)
def test_what_is_seen_has_the_stated_laws(protocol: Any) -> None:
    subject = rappor_subject(protocol)
    for dataset in subject.datasets:
        outputs = subject.target(dataset.inputs, np.random.default_rng(3), 20_000, "the test").astype(np.int64)
        for column, (_, law) in dataset.laws.items():
            pooled = dict(zip(law.points.tolist(), law.pmf.tolist(), strict=True))
            assert_law(outputs[:, column].tolist(), pooled)
        columns, law = dataset.view
        joint = {tuple(point): float(mass) for point, mass in zip(law.points.tolist(), law.pmf, strict=True)}
        assert_law(rows(outputs[:, columns]), joint)
        columns, laws = dataset.independent
        for bit, law in zip(outputs[:, columns].T, laws, strict=True):
            assert_law(bit.tolist(), dict(zip(law.points.tolist(), law.pmf.tolist(), strict=True)))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((REPORTS, 15)), r"returned the shape \(40, 15\), but must return \(40, 16\): reports and bits"),
        (np.full((REPORTS, 16), 2), "returned other entries than zeros and ones"),
    ],
)
def test_what_is_no_report_is_refused(answer: Any, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        audit_protocol(KEPT, implementation=lambda value, rng: answer, trials=100)


def test_what_is_no_rappor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^reference=3 must be a Rappor or a PermanentResponse\.$"):
        rappor_subject(3)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize(("first", "again"), [(0, 1), (0, 7), (20, 21)])
def test_a_report_that_is_sent_again_is_found(first: int, again: int) -> None:
    def repeats(value: str, rng: np.random.Generator) -> Bits:
        bits = remembers(value, rng).copy()
        bits[again] = bits[first]
        return bits

    report = audit_protocol(KEPT, implementation=repeats, trials=600)
    found = [result.check for result in report.violations if "bits alike" in result.check]
    # Between reports that are in no common pair nothing is compared.
    assert bool(found) is ((first, again) != (0, 7))


def test_the_law_of_bits_that_are_alike() -> None:
    one = Rappor(5, 2, cohorts=1, f=0.4, p=0.2, q=0.9, reports=4)
    law = alike_law(one, 2, 2)
    assert law.sum() == pytest.approx(1.0, abs=1e-14)
    # In a pair a bit that was kept as 1 is alike with .82, as 0 with .68; a set bit was kept as 1 with .8.
    mean = 2 * (2 * (0.8 * 0.82 + 0.2 * 0.68) + 3 * (0.2 * 0.82 + 0.8 * 0.68))
    assert law @ np.arange(law.size) == pytest.approx(mean, abs=1e-12)
    reports = one.randomize(["value"] * 20_000, np.random.default_rng(1), cohorts=np.zeros(20_000, dtype=int)).bits
    alike = (reports[:, ::2] == reports[:, 1::2]).sum(axis=(1, 2))
    held = len(set(one.filter.positions(["value"])[0, 0].tolist()))
    assert_law(alike.tolist(), dict(enumerate(alike_law(one, held, 2).tolist())))
