"""Faulty implementations by kind: what is wrong, where it was seen or why it is likely, and which check should see it.

`FAULTS` have a known law or messages to watch, `BOXES` are black boxes. Each is there once: what another fault of its
kind shows already is left out. Most were written in batches against audits that were frozen before; what was found of
them then stands in `benchmarks/README.md`.
"""

from tests.faults.boxes.black_box import BlackBox
from tests.faults.boxes.calls import CALL_BOXES
from tests.faults.boxes.clients import CLIENT_BOXES
from tests.faults.boxes.correct import CORRECT_BOXES, CorrectBox
from tests.faults.boxes.numbers import NUMBER_BOXES
from tests.faults.boxes.vectors import VECTOR_BOXES
from tests.faults.central import CENTRAL_FAULTS
from tests.faults.counts import CORRECT_COUNTS, COUNT_FAULTS
from tests.faults.densities import CORRECT_DENSITIES, DENSITY_FAULTS
from tests.faults.fault import Fault
from tests.faults.learners import CORRECT_LEARNERS, LEARNER_FAULTS
from tests.faults.local import LOCAL_FAULTS
from tests.faults.means import CORRECT_MEANS, MEAN_FAULTS
from tests.faults.messages import MESSAGE_FAULTS
from tests.faults.noises import NOISE_FAULTS
from tests.faults.randomized_response import RANDOMIZED_RESPONSE_FAULTS
from tests.faults.rappor import RAPPOR_FAULTS
from tests.faults.wholes import CORRECT_WHOLES, WHOLE_FAULTS

__all__ = ["BOXES", "CORRECT_BOXES", "CORRECT_OTHERS", "FAULTS", "BlackBox", "CorrectBox", "Fault"]

CORRECT_OTHERS = {**CORRECT_COUNTS, **CORRECT_DENSITIES, **CORRECT_LEARNERS, **CORRECT_MEANS, **CORRECT_WHOLES}
"""Correct implementations of what is no bitsum, run through the same subjects as the faults."""
FAULTS: tuple[Fault, ...] = (
    *RANDOMIZED_RESPONSE_FAULTS,
    *MESSAGE_FAULTS,
    *NOISE_FAULTS,
    *CENTRAL_FAULTS,
    *COUNT_FAULTS,
    *DENSITY_FAULTS,
    *LEARNER_FAULTS,
    *LOCAL_FAULTS,
    *MEAN_FAULTS,
    *RAPPOR_FAULTS,
    *WHOLE_FAULTS,
)
BOXES: tuple[BlackBox, ...] = (*NUMBER_BOXES, *VECTOR_BOXES, *CALL_BOXES, *CLIENT_BOXES)
