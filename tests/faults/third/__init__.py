"""The third batch of faults: written before the tests of the day were frozen, and run on them only afterwards.

None was taken out, and no test was mended for one, before they were counted. What can be found of them is decided from
chances (`BlackBox.power`) or by an oracle that has learned the fault, never by the audit.
"""

from __future__ import annotations

from tests.faults.black_box import BlackBox
from tests.faults.fault import Fault
from tests.faults.third.bitsums import THIRD_BITSUM_FAULTS
from tests.faults.third.calls import THIRD_CALL_BOXES
from tests.faults.third.clients import THIRD_CLIENT_BOXES
from tests.faults.third.local import THIRD_LOCAL_FAULTS
from tests.faults.third.messages import THIRD_MESSAGE_FAULTS
from tests.faults.third.numbers import THIRD_NUMBER_BOXES
from tests.faults.third.tables import THIRD_TABLE_FAULTS
from tests.faults.third.vectors import THIRD_VECTOR_BOXES

__all__ = ["THIRD_BOXES", "THIRD_FAULTS"]

THIRD_FAULTS: tuple[Fault, ...] = (
    *THIRD_BITSUM_FAULTS,
    *THIRD_TABLE_FAULTS,
    *THIRD_LOCAL_FAULTS,
    *THIRD_MESSAGE_FAULTS,
)
THIRD_BOXES: tuple[BlackBox, ...] = (
    *THIRD_NUMBER_BOXES,
    *THIRD_VECTOR_BOXES,
    *THIRD_CALL_BOXES,
    *THIRD_CLIENT_BOXES,
)
