"""Audits catch the fault library, and let the correct implementations pass."""

from __future__ import annotations

import pytest
from scipy import stats

from dpverify.audit.engine import audit
from dpverify.audit.subjects.bitsum import Implementation, bitsum_subject
from dpverify.statistics.family import Verdict
from protocols.bitsum import BitsumProtocol, NegativeBinomial, Poisson, Pure, RandomizedResponse, ThreeNB
from tests.faults import CORRECT_OTHERS, FAULTS, Fault

MESSAGES, VIEWS = 150, 20_000
LEVEL = 0.05
"""Larger than the 0.01 of `benchmarks/audit_faults.py`, as permutation tests at a small level take long."""

HARD = {"rr-coarse-coins": 2_000, "gaussian-rounded": 80_000}
"""Faults that need more trials than the others: those at which `benchmarks/audit_faults.py` catches them."""


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.name not in HARD], ids=lambda fault: fault.name)
def test_the_fault_is_caught_by_the_check_that_should(fault: Fault) -> None:
    subject = fault.build()
    report = audit(subject, trials=VIEWS if subject.target.batch else MESSAGES, level=LEVEL, seed=1)
    assert report.verdict is Verdict.VIOLATES
    assert fault.caught_by in {result.check.replace(",", " ").split()[0] for result in report.violations}
    assert report.exit_code == 1


def test_a_pass_of_a_hard_fault_claims_no_more_than_it_may() -> None:
    (rounded,) = (fault for fault in FAULTS if fault.name == "gaussian-rounded")
    # Rounding adds 1/12 to a variance of 4, so 1 % of standard deviation: a fault of 10 % is rightly excluded ...
    assert audit(rounded.build(), trials=4_000, seed=1).verdict is Verdict.CONSISTENT
    # ... and one of 1 % is not.
    assert audit(rounded.build(), trials=4_000, seed=1, detect=0.01).verdict is Verdict.UNDECIDED


def test_the_library_is_large_and_its_records_are_complete() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names)) >= 100
    assert len({fault.protocol for fault in FAULTS}) >= 12
    assert all(fault.wrong and fault.reason and fault.caught_by for fault in FAULTS)
    assert set(HARD) <= set(names)
    # At least 95 % are caught without more trials.
    assert len(HARD) <= 0.05 * len(names)


CORRECT: tuple[BitsumProtocol, ...] = (
    RandomizedResponse(20, 0.25),
    ThreeNB(20, 0.6, 2.0, 0.5),
    NegativeBinomial(20, 5.0, 0.3),
    Poisson(20, 12.0),
    Pure(20, 0.6, 0.2, 2.0, 0.5),
)


def test_correct_implementations_pass() -> None:
    subjects = [
        *(
            bitsum_subject(protocol, implementation=Implementation.of(protocol, aggregated=True))
            for protocol in CORRECT
        ),
        *(build() for build in CORRECT_OTHERS.values()),
    ]
    audits = 28
    alarms = sum(
        audit(subjects[seed % len(subjects)], trials=500, level=LEVEL, seed=seed).verdict is Verdict.VIOLATES
        for seed in range(audits)
    )
    assert alarms <= stats.binom.ppf(1 - 1e-6, audits, LEVEL)


@pytest.mark.parametrize("protocol", CORRECT, ids=lambda protocol: type(protocol).__name__)
def test_correct_messages_pass(protocol: BitsumProtocol) -> None:
    # A false alarm in three audits at level 0.01: probability 1e-6.
    subject = bitsum_subject(protocol)
    assert any(not audit(subject, trials=150, seed=seed).violations for seed in range(3))
