import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dpverify.audit.outcome import AuditReport
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.bitsum import Implementation
from dpverify.claims.bitsum import claims_of
from dpverify.guarantee import Budget
from dpverify.laws.discrete import NoLawError
from dpverify.planning.account import account
from dpverify.statistics.family import Verdict
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteLaplace,
    CentralGaussian,
    LocalRandomizedResponse,
    NegativeBinomial,
    Pure,
    RandomizedResponse,
    ThreeNB,
)

RR = RandomizedResponse(20, 0.25)


def first_without_alarm(run: Callable[[int], AuditReport]) -> AuditReport:
    """Return the first of three audits at level 0.01 that finds nothing: with probability 1e-6 there is none."""
    for seed in range(3):
        report = run(seed)
        if not report.violations:
            return report
    raise AssertionError(report.statement)


THREE_NB = ThreeNB(20, 0.6, 2.0, 0.5)


@pytest.mark.parametrize("protocol", [THREE_NB, Pure(20, 0.6, 0.2, 2.0, 0.5)])
@pytest.mark.parametrize(("ones", "participants"), [(0, 20), (7, 20), (2, 5), (0, 0)])
def test_marginals_are_those_of_the_joint_law(protocol: BitsumProtocol, ones: int, participants: int) -> None:
    joint = claims_of(protocol).view_law(protocol, ones, participants)
    found = claims_of(protocol).marginals(protocol, ones, participants)
    images = {
        "estimate": joint.image(protocol.analyze),
        "count of +1": joint.image(lambda rows: rows[:, 0]),
        "count of -1": joint.image(lambda rows: rows[:, 1]),
    }
    assert set(found) == set(images)
    for name, law in images.items():
        assert_allclose(found[name].probabilities(law.points), law.pmf, atol=1e-13)


def test_a_correct_protocol_is_consistent_with_its_exact_claim() -> None:
    claim, sampled = Budget("0.78", "1e-3"), Implementation.of(RR, aggregated=True)
    report = first_without_alarm(lambda k: audit_protocol(RR, claim, implementation=sampled, trials=10_000, seed=k))
    assert report.verdict is Verdict.CONSISTENT
    assert report.exit_code == 0
    checks = [result.check for result in report.results]
    assert "privacy of the parameters" in checks
    assert "privacy of the view, no ones against a single one" in checks
    assert all(result.power is not None and result.fault for result in report.results)


@pytest.mark.long
@pytest.mark.parametrize("delta", ["1e-3", "3e-7"])
@pytest.mark.parametrize("p", [0.21, 0.25, 0.3])
def test_what_account_prints_is_a_claim_that_holds(p: float, delta: str) -> None:
    protocol = RandomizedResponse(20, p)
    printed = account(protocol, delta=Fraction(delta)).to_dict()["epsilon"]["upper"]
    report = audit_protocol(protocol, Budget(repr(printed), delta), trials=100, implementation=estimate)
    assert report.results[0].verdict is Verdict.CONSISTENT


def test_a_claim_that_no_trials_decide_says_what_would() -> None:
    protocol, delta = Implementation.of(RR, aggregated=True), "1e-3"
    interval = account(RR, delta=Fraction(delta)).epsilon
    report = audit_protocol(RR, Budget(interval.midpoint, delta), implementation=protocol, trials=100, seed=2)
    assert report.verdict is Verdict.UNDECIDED
    assert "lies inside, which no number of trials can decide" in report.statement
    decidable = re.search(r"claim (\S+) or more to have it proved", report.statement)
    assert float(decidable[1]) == pytest.approx(interval.upper, rel=1e-9)
    proved = audit_protocol(RR, Budget(decidable[1], delta), implementation=protocol, trials=100, seed=2)
    assert proved.results[0].verdict is Verdict.CONSISTENT


def test_few_trials_leave_it_undecided_and_say_so() -> None:
    sampled = Implementation.of(RR, aggregated=True)
    report = first_without_alarm(lambda seed: audit_protocol(RR, trials=100, implementation=sampled, seed=seed))
    assert report.verdict is Verdict.UNDECIDED
    assert report.exit_code == 3
    assert "power against" in report.statement
    assert "standard deviation 10 % smaller" in report.statement


def test_pure_claims_and_local_protocols_have_exact_rows() -> None:
    laplace = CentralDiscreteLaplace(20, math.exp(-0.5))
    first_without_alarm(lambda seed: audit_protocol(laplace, Budget(0.5001, 0), trials=100, seed=seed))
    refuted = audit_protocol(laplace, Budget(0.4, 0), trials=100)
    assert refuted.violations[0].check == "privacy of the parameters"
    first_without_alarm(lambda seed: audit_protocol(LocalRandomizedResponse(20, 0.25), trials=100, seed=seed))
    with pytest.raises(NoLawError, match="no discrete law"):
        audit_protocol(CentralGaussian(20, 1.0), trials=100)


def estimate(bits: np.ndarray, rng: np.random.Generator) -> float:
    return float((np.sum(bits ^ (rng.random(bits.size) < 0.25)) - 0.25 * bits.size) / 0.5)


def test_any_callable_is_audited_by_its_estimates_alone() -> None:
    report = first_without_alarm(lambda seed: audit_protocol(RR, implementation=estimate, trials=300, seed=seed))
    other = audit_protocol(RandomizedResponse(20, 0.3), implementation=estimate, trials=300)
    assert other.verdict is Verdict.VIOLATES
    assert not any("count" in result.check or "message" in result.check for result in report.results)


class Quiet(RandomizedResponse):
    def randomize(self, bits: Any, rng: np.random.Generator) -> Any:
        return RandomizedResponse(self.users, 0.05).randomize(bits, rng)


def test_a_subclass_is_watched_message_by_message() -> None:
    report = audit_protocol(RandomizedResponse(6, 0.25), implementation=Quiet(6, 0.25), trials=100)
    assert "Quiet" in report.subject
    assert any("count of +1" in result.check for result in report.violations)
    with pytest.raises(TypeError, match=r"target=<.*ThreeNBClaims.* must be a callable"):
        audit_protocol(RR, implementation=claims_of(THREE_NB), trials=100)


def off_its_mean(bits: np.ndarray, rng: np.random.Generator) -> float:
    return estimate(bits, rng) - 10.0


def too_narrow(bits: np.ndarray, rng: np.random.Generator) -> float:
    flipped = rng.random(bits.size) < 0.05
    return (np.count_nonzero(bits ^ flipped) - 0.25 * bits.size) / 0.5


def repeating(bits: np.ndarray, rng: np.random.Generator) -> float:
    return 7.0


@pytest.mark.long
@pytest.mark.parametrize(("wrong", "dependent"), [(off_its_mean, False), (too_narrow, False), (repeating, True)])
def test_a_wrong_law_of_independent_runs_is_not_called_dependence(wrong: Callable[..., float], dependent: bool) -> None:
    report = audit_protocol(RR, implementation=wrong, trials=4_000)
    found = {result.check.split(",")[0] for result in report.violations}
    assert "conformance of estimate" in found
    assert bool(found & {"dependence of runs", "repeated outputs"}) == dependent


def test_the_same_arguments_give_the_same_report(tmp_path: Path) -> None:
    implementation = Implementation.of(NegativeBinomial(20, 5.0, 0.3))
    arguments: dict[str, Any] = {"implementation": implementation, "trials": 200, "seed": 5}
    first = audit_protocol(NegativeBinomial(20, 5.0, 0.3), **arguments)
    again = audit_protocol(NegativeBinomial(20, 5.0, 0.3), workers=2, checkpoint=tmp_path / "a.npz", **arguments)
    assert first.to_dict() == again.to_dict()
    assert json.loads(json.dumps(first.to_dict(), allow_nan=False))["trials"] == 200


def test_rows_carry_the_estimate_and_the_counts() -> None:
    for aggregated in (True, False):
        target = Implementation.of(THREE_NB, aggregated=aggregated).target
        rows = target(np.array([1, 0, 1]), np.random.default_rng(0), 5, "")
        assert rows.shape == (5, 3)
        assert_array_equal(rows[:, 0], rows[:, 1] - rows[:, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"implementation": "no-colon"}, "'no-colon' must be a callable, 'module:callable' or"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit_protocol(RR, **{"trials": 100, **arguments})
