"""Audits catch faults of what is no bitsum by the check that should; each fault is there once."""

import pytest

from tests.faults import BOXES, FAULTS, Fault
from tests.faults.caught import MORE, SMALL, audited, is_caught


@pytest.mark.long
@pytest.mark.parametrize("fault", audited(bitsums=False), ids=lambda fault: fault.name)
def test_the_fault_is_caught_by_the_check_that_should(fault: Fault) -> None:
    assert is_caught(fault)


def test_each_fault_is_there_once_and_its_record_is_complete() -> None:
    names = [fault.name for fault in (*FAULTS, *BOXES)]
    assert len(names) == len(set(names)) >= 230
    assert len({fault.protocol for fault in FAULTS} | {fault.kind for fault in BOXES}) >= 25
    assert all(fault.wrong and fault.reason for fault in (*FAULTS, *BOXES))
    assert SMALL | set(MORE) <= set(names)
