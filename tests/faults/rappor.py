"""Faults of RAPPOR clients."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.audit.subjects.rappor import rappor_subject
from protocols.rappor.response import Rappor
from tests.faults.fault import Fault
from tests.faults.making import Array, local_faults

__all__ = ["RAPPOR_FAULTS"]

REPORTS = 40
KEPT = Rappor(16, 2, cohorts=3, f=0.5, p=0.3, q=0.7, reports=REPORTS)


def _other_rappor(**changes: Any) -> Callable[[str, np.random.Generator], Array]:
    options = {"cohorts": 3, "f": 0.5, "p": 0.3, "q": 0.7, "reports": REPORTS, "hashes": 2} | changes
    hashes, cohort = options.pop("hashes"), options.pop("cohort", 0)
    other = Rappor(16, hashes, **options)
    return lambda value, rng: other.randomize([value], rng, cohorts=[cohort]).bits[0]


def _forgets_halfway(value: str, rng: np.random.Generator) -> Array:
    halves = [KEPT.randomize([value], rng, cohorts=[0]).bits[0][: REPORTS // 2] for _ in range(2)]
    return np.concatenate(halves)


Client = Callable[[str, np.random.Generator], Array]


RAPPOR_FAULTS: tuple[Fault, ...] = (
    *local_faults(
        "rappor", rappor_subject, KEPT,
        ("rappor-f-10-percent-low", "f is .45", "a rounded constant", _other_rappor(f=0.45)),
        ("rappor-other-cohort", "hashes of the next cohort", "cohorts counted from 1", _other_rappor(cohort=1)),
        ("rappor-one-hash", "one hash function", "a loop left early", _other_rappor(hashes=1)),
        ("rappor-forgets-halfway", "the permanent response is drawn anew after 20 reports", "an update",
         _forgets_halfway),
    ),
)  # fmt: skip
