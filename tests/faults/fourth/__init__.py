"""The fourth batch of faults: written without sight of the audits, and run once on what was frozen before.

None was taken out, and no test was mended for one, before they were counted. What can be found of them is decided from
chances (`BlackBox.power`), or by an oracle that has learned the fault, never by the audit.
"""

from __future__ import annotations

from tests.faults.black_box import BlackBox
from tests.faults.fault import Fault
from tests.faults.fourth.bitsums import FOURTH_BITSUM_FAULTS
from tests.faults.fourth.calls import FOURTH_CALL_BOXES
from tests.faults.fourth.clients import FOURTH_CLIENT_BOXES
from tests.faults.fourth.local import FOURTH_LOCAL_FAULTS
from tests.faults.fourth.numbers import FOURTH_NUMBER_BOXES
from tests.faults.fourth.vectors import FOURTH_VECTOR_BOXES

__all__ = ["FOURTH_BOXES", "FOURTH_FAULTS"]

FOURTH_FAULTS: tuple[Fault, ...] = (*FOURTH_BITSUM_FAULTS, *FOURTH_LOCAL_FAULTS)
FOURTH_BOXES: tuple[BlackBox, ...] = (
    *FOURTH_NUMBER_BOXES,
    *FOURTH_VECTOR_BOXES,
    *FOURTH_CALL_BOXES,
    *FOURTH_CLIENT_BOXES,
)
