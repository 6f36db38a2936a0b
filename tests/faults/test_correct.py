"""Audits let correct implementations pass."""

import pytest
from scipy import stats

from dpverify.audit.engine import audit
from dpverify.audit.subjects.bitsum import Implementation, bitsum_subject
from dpverify.statistics.family import Verdict
from protocols.bitsum import BitsumProtocol, NegativeBinomial, Poisson, Pure, RandomizedResponse, ThreeNB
from tests.faults import CORRECT_OTHERS
from tests.faults.caught import LEVEL

CORRECT: tuple[BitsumProtocol, ...] = (
    RandomizedResponse(20, 0.25),
    ThreeNB(20, 0.6, 2.0, 0.5),
    NegativeBinomial(20, 5.0, 0.3),
    Poisson(20, 12.0),
    Pure(20, 0.6, 0.2, 2.0, 0.5),
)


@pytest.mark.long
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


@pytest.mark.long
@pytest.mark.parametrize("protocol", CORRECT, ids=lambda protocol: type(protocol).__name__)
def test_correct_messages_pass(protocol: BitsumProtocol) -> None:
    # A false alarm in three audits at level 0.01: probability 1e-6.
    subject = bitsum_subject(protocol)
    assert any(not audit(subject, trials=150, seed=seed).violations for seed in range(3))
