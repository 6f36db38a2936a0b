"""Faulty implementations: where each was seen or why it is likely, and which check should see it."""

from __future__ import annotations

from tests.faults.bitsums import BITSUM_FAULTS
from tests.faults.counts import CORRECT_COUNTS, COUNT_FAULTS
from tests.faults.densities import CORRECT_DENSITIES, DENSITY_FAULTS
from tests.faults.fault import Fault
from tests.faults.learners import CORRECT_LEARNERS, LEARNER_FAULTS
from tests.faults.noises import NOISE_FAULTS

__all__ = ["CORRECT_OTHERS", "FAULTS", "Fault"]

CORRECT_OTHERS = {**CORRECT_COUNTS, **CORRECT_DENSITIES, **CORRECT_LEARNERS}
"""Correct implementations of what is no bitsum, run through the same subjects as the faults."""
FAULTS: tuple[Fault, ...] = (*BITSUM_FAULTS, *NOISE_FAULTS, *COUNT_FAULTS, *DENSITY_FAULTS, *LEARNER_FAULTS)
