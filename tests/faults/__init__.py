"""Faulty implementations: where each was seen or why it is likely, and which check should see it.

`FAULTS` were there while the tests were built; `LATE_FAULTS` and `BOXES`, the black boxes, were written after those
were frozen, by someone who had not read them, and none was taken out, or a test mended for it, before they were
counted: see `benchmarks/audit_faults.py`. `THIRD_FAULTS` and `THIRD_BOXES` were written the same way against the tests
that were frozen after these; `FOURTH_FAULTS` and `FOURTH_BOXES` once more.
"""

from __future__ import annotations

from tests.faults.bitsums import BITSUM_FAULTS
from tests.faults.black_box import BlackBox
from tests.faults.box_correct import CORRECT_BOXES, CorrectBox
from tests.faults.box_memory import MEMORY_BOXES
from tests.faults.box_noise import NOISE_BOXES
from tests.faults.box_reports import REPORT_BOXES
from tests.faults.box_vectors import VECTOR_BOXES
from tests.faults.counts import CORRECT_COUNTS, COUNT_FAULTS
from tests.faults.densities import CORRECT_DENSITIES, DENSITY_FAULTS
from tests.faults.fault import Fault
from tests.faults.fourth import FOURTH_BOXES, FOURTH_FAULTS
from tests.faults.late_bitsums import LATE_BITSUM_FAULTS
from tests.faults.late_local import LATE_LOCAL_FAULTS
from tests.faults.learners import CORRECT_LEARNERS, LEARNER_FAULTS
from tests.faults.means import CORRECT_MEANS, MEAN_FAULTS
from tests.faults.noises import NOISE_FAULTS
from tests.faults.third import THIRD_BOXES, THIRD_FAULTS

__all__ = [
    "BOXES",
    "CORRECT_BOXES",
    "CORRECT_OTHERS",
    "FAULTS",
    "FOURTH_BOXES",
    "FOURTH_FAULTS",
    "LATE_FAULTS",
    "THIRD_BOXES",
    "THIRD_FAULTS",
    "BlackBox",
    "CorrectBox",
    "Fault",
]

CORRECT_OTHERS = {**CORRECT_COUNTS, **CORRECT_DENSITIES, **CORRECT_LEARNERS, **CORRECT_MEANS}
"""Correct implementations of what is no bitsum, run through the same subjects as the faults."""
FAULTS: tuple[Fault, ...] = (
    *BITSUM_FAULTS,
    *NOISE_FAULTS,
    *COUNT_FAULTS,
    *DENSITY_FAULTS,
    *LEARNER_FAULTS,
    *MEAN_FAULTS,
)
LATE_FAULTS: tuple[Fault, ...] = (*LATE_BITSUM_FAULTS, *LATE_LOCAL_FAULTS)
BOXES: tuple[BlackBox, ...] = (*NOISE_BOXES, *VECTOR_BOXES, *MEMORY_BOXES, *REPORT_BOXES)
