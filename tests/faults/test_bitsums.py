"""Audits catch faults of bitsums and shufflers by the check that should."""

import pytest

from dpverify.audit.engine import audit
from dpverify.statistics.family import Verdict
from tests.faults import FAULTS, Fault
from tests.faults.caught import audited, is_caught


@pytest.mark.long
@pytest.mark.parametrize("fault", audited(bitsums=True), ids=lambda fault: fault.name)
def test_the_fault_is_caught_by_the_check_that_should(fault: Fault) -> None:
    assert is_caught(fault)


@pytest.mark.long
def test_a_pass_of_a_hard_fault_claims_no_more_than_it_may() -> None:
    (rounded,) = (fault for fault in FAULTS if fault.name == "gaussian-rounded")
    # Rounding adds 1/12 to a variance of 4, so 1 % of standard deviation: a fault of 10 % is rightly excluded ...
    assert audit(rounded.build(), trials=4_000, seed=1).verdict is Verdict.CONSISTENT
    # ... and one of 1 % is not.
    assert audit(rounded.build(), trials=4_000, seed=1, detect=0.01).verdict is Verdict.UNDECIDED
