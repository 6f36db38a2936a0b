"""Faulty implementations: where each was seen or why it is likely, and which check should see it."""

from __future__ import annotations

from tests.faults.bitsums import BITSUM_FAULTS
from tests.faults.fault import Fault
from tests.faults.noises import NOISE_FAULTS
from tests.faults.others import CORRECT_OTHERS, OTHER_FAULTS

__all__ = ["CORRECT_OTHERS", "FAULTS", "Fault"]

FAULTS: tuple[Fault, ...] = (*BITSUM_FAULTS, *NOISE_FAULTS, *OTHER_FAULTS)
