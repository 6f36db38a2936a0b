"""What an audit says of its own limits follows from what ran."""

import numpy as np
import pytest

from dpverify.audit.limits import Look, scope
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import Target
from dpverify.audit.subject import Dataset, Subject
from dpverify.audit.subjects.bitsum import Implementation
from dpverify.statistics.family import AuditResult
from protocols.bitsum import RandomizedResponse

RR = RandomizedResponse(10, 0.3)


@pytest.mark.long
def test_every_test_of_an_audit_is_a_look_with_its_fault() -> None:
    report = audit_protocol(RR, ("2", "1e-3"), trials=400)
    looks = {look.aspect: look for look in report.limits.tested}
    assert set(looks) >= {"parameters", "outputs", "calls", "neighbours", "order", "users", "datasets", "tails"}
    assert looks["datasets"].where.startswith("no ones, a single one, the last user's one")
    assert looks["tails"].where == "down to probabilities of 0.013; what is rarer is pooled"
    assert not any("by a test of another package" in look.where for look in report.limits.tested)
    assert "fewer users than announced" in report.limits.not_tested
    assert not any("a privacy claim" in gap or "single messages" in gap for gap in report.limits.not_tested)


def test_what_did_not_run_is_not_tested() -> None:
    blind = Implementation(Target(lambda bits, rng: float(RR.analyze(RR.sample_view(int(bits.sum()), rng)))))
    report = audit_protocol(RR, implementation=blind, trials=200, fewer_users=True)
    missing = " ".join(report.limits.not_tested)
    assert "a privacy claim: none was made" in missing
    assert "single messages" in missing
    assert "the messages behind the estimate" in missing
    assert "fewer users" not in missing
    assert "half the users gone" in str(report.limits.tested[0])


def test_a_weak_test_would_have_shown_nothing() -> None:
    subject = Subject("x", Target(print), (Dataset("one", np.zeros(1)),))
    weak = AuditResult("message order, somewhere", 0.5, 100, "exact", "nothing", "sorted messages", 0.1)
    other = AuditResult("smell", 0.5, 100, "exact", "nothing", "an odd one", 0.99)
    limits = scope(subject, (weak, other), 100)
    assert [str(look) for look in limits.tested[1:]] == [
        "order: trend, common order and equal neighbours",
        "smell: by a test of another package (would have shown an odd one)",
    ]


def test_runs_beyond_those_that_are_compared_are_named() -> None:
    subject = Subject("x", Target(print), (Dataset("one", np.zeros(1)),))
    few, many = (" ".join(scope(subject, (), trials).not_tested) for trials in (500_000, 500_001))
    assert "after the first 500,000" in many
    assert "after the first" not in few


def test_a_look_says_what_it_would_have_shown() -> None:
    assert str(Look("order", "sorted messages", "one left in place")).endswith(
        "sorted messages (would have shown one left in place)"
    )
    assert str(Look("view", "the counts")) == "view: the counts"
