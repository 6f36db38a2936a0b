import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from scipy import stats

from dpverify.audit.anytime import AnytimeReport
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.runner import Trials, run
from dpverify.audit.running.target import TargetError
from dpverify.audit.subject import narrowed
from dpverify.audit.subjects.bitsum import Implementation, bitsum_subject
from dpverify.claims.bitsum.negative_binomial import NegativeBinomialClaims
from dpverify.guarantee import Budget
from dpverify.statistics.bounds.eprocess import ConformanceProcess, evidence_power
from dpverify.statistics.conformance import choose_bins
from dpverify.statistics.family import Verdict
from protocols.bitsum import CentralGaussian, LocalRandomizedResponse, NegativeBinomial, RandomizedResponse
from tests.samples import FALSE_ALARM

RR = RandomizedResponse(10, 0.25)
LOCAL = LocalRandomizedResponse(1, 0.25)


class LessNoise(NegativeBinomial):
    """Noise of 0.7 times the shape; all else is as it should be, so that no outcome is new."""

    def _noise(self, share: float, rng: np.random.Generator, size: Any) -> NDArray[np.int64]:
        return super()._noise(0.7 * share, rng, size)


def fast(protocol: Any) -> Implementation:
    return Implementation.of(protocol, aggregated=True)


def audit(reference: Any = RR, running: Any = None, claim: Budget | None = None, **options: Any) -> AnytimeReport:
    return audit_protocol(reference, claim, implementation=fast(running or reference), anytime=True, **options)


def test_faults_are_found_before_the_draws_are_spent() -> None:
    report = audit(NegativeBinomial(10, 2.0, 0.5), LessNoise(10, 2.0, 0.5), block_size=25)
    assert report.verdict is Verdict.VIOLATES
    assert 25 < report.trials < 5_000
    # It stopped at the first block after which a test had enough, and not before.
    peaks = [max(value for name, value in row.items() if name != "draws") for row in report.evidence_rows]
    needed = math.log(len(report.results) / report.level)
    assert max(peaks[:-1]) < needed <= peaks[-1]
    assert report.evidence_rows[-1]["draws"] == report.trials


def test_an_outcome_that_the_law_does_not_have_decides_at_once() -> None:
    wrong = {"implementation": lambda bits, rng: float(bits.sum()) + 0.123, "anytime": True}
    report = audit_protocol(RR, (1, "1e-3"), block_size=50, trials=2_000, **wrong)
    assert "privacy of the estimate, no ones against a single one, anytime" in {one.check for one in report.results}
    assert report.verdict is Verdict.VIOLATES
    assert report.trials == 50
    assert math.isfinite(report.to_dict()["evidence_rows"][0]["conformance of estimate, no ones, anytime"])


def test_a_correct_implementation_is_consistent() -> None:
    # Level 0.01 whatever the stopping rule: three alarms in three audits have probability 1e-6.
    reports = (audit(claim=Budget(1.5, 1e-3), seed=seed, detect=0.2, trials=5_000) for seed in range(3))
    report = next(report for report in reports if report.verdict is not Verdict.VIOLATES)
    assert report.verdict is Verdict.CONSISTENT, report.statement
    assert report.trials == 5_000


def test_a_false_privacy_claim_is_refuted() -> None:
    # One user who flips with probability 1/4 has epsilon ln 3 = 1.0986 exactly; her output keeps to its law.
    report = audit(LOCAL, claim=Budget(0.9, 0.0), trials=20_000)
    assert [result.check.split(" ")[0] for result in report.violations] == ["privacy"]
    assert report.trials < 20_000


@pytest.mark.long
def test_the_level_holds_over_many_audits() -> None:
    # Looks after every 25 draws at level 0.2, with a claim that is exactly true: the edge of the hypothesis.
    claim, audits = Budget(math.log(3.0), 0.0), 40
    alarms = sum(
        audit(LOCAL, claim=claim, level=0.2, trials=300, block_size=25, seed=seed).verdict is Verdict.VIOLATES
        for seed in range(audits)
    )
    assert alarms <= stats.binom.isf(FALSE_ALARM, audits, 0.2)


def test_too_few_draws_are_undecided() -> None:
    reports = (audit(seed=seed, trials=100) for seed in range(3))
    report = next(report for report in reports if report.verdict is not Verdict.VIOLATES)
    assert report.verdict is Verdict.UNDECIDED


def test_a_claim_about_events_that_are_never_seen_is_undecided() -> None:
    reports = (audit(claim=Budget(6.0, 1e-9), seed=seed, trials=5_000, detect=0.2) for seed in range(3))
    report = next(report for report in reports if report.verdict is not Verdict.VIOLATES)
    undecided = [result.check.split(" ")[0] for result in report.results if result.verdict is Verdict.UNDECIDED]
    assert set(undecided) == {"privacy"}


def test_an_interrupt_returns_what_there_is() -> None:
    def progress(draws: int, most: int) -> None:
        if draws == 500:
            raise KeyboardInterrupt

    report = audit(progress=progress, trials=5_000, detect=0.2)
    assert report.interrupted
    assert report.trials == 500
    assert [row["draws"] for row in report.evidence_rows] == [250, 500]
    # The power is that of 500 draws, not of the 5,000 that were planned.
    assert report.verdict is Verdict.UNDECIDED
    assert audit(trials=5_000, detect=0.2).evidence_rows[:2] == report.evidence_rows


def test_an_interrupt_before_the_first_block_is_passed_on() -> None:
    def interrupted(bits: NDArray[Any], rng: np.random.Generator) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit_protocol(RR, implementation=interrupted, anytime=True)


def test_the_draws_are_those_of_the_runner() -> None:
    seen: list[NDArray[np.float64]] = []

    def recorded(bits: NDArray[Any], rng: np.random.Generator) -> float:
        seen.append(RR.analyze(RR.sample_view(np.array(int(bits.sum())), rng, participants=bits.size)))
        return float(seen[-1])

    audit_protocol(RR, implementation=recorded, anytime=True, trials=100, block_size=100, seed=3)
    drawn = np.array(seen)
    subject = bitsum_subject(RR, implementation=recorded)
    outputs = run(Trials(subject.target, [dataset.inputs for dataset in subject.datasets], 100, 3, 100))
    assert_array_equal(drawn, np.concatenate(outputs))


def test_the_stated_power_of_conformance_is_reached() -> None:
    law = NegativeBinomialClaims().estimate_law(NegativeBinomial(10, 2.0, 0.5), 3)
    narrow = narrowed(law, 0.2)
    trials, level, rng = 500, 0.01, np.random.default_rng(8)
    bins = choose_bins(law, trials)
    stated = evidence_power(bins, narrow[0], trials, level, rng)
    found = 0
    for _ in range(300):
        process = ConformanceProcess(bins)
        found += process.update(narrow[0].sample(trials, rng)) >= -math.log(level)
    assert 0.05 < stated < 0.95
    # 1000 and 300 simulations: 5 standard deviations at the worst.
    assert stated == pytest.approx(found / 300, abs=5 * math.sqrt(0.25 / 1000 + 0.25 / 300))


def test_bad_input() -> None:
    with pytest.raises(TargetError, match=r"^target=.* returned nan in trials \[0, 250\) of dataset 0"):
        audit_protocol(RR, implementation=lambda bits, rng: math.nan, anytime=True)
    with pytest.raises((TypeError, ValueError), match="has no discrete law"):
        audit(CentralGaussian(10, 2.0))
