"""Faults of RAPPOR clients."""

from __future__ import annotations

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


def _rappor(change: Callable[[Array, np.random.Generator], Array]) -> Client:
    """Return a client of cohort 0 that makes its reports of the Bloom filter by this function."""

    def client(value: str, rng: np.random.Generator) -> Array:
        _, signal = KEPT.signal([value], rng, cohorts=[0])
        return change(signal[0], rng)

    return client


def _permanent(signal: Array, rng: np.random.Generator) -> Array:
    return signal ^ (rng.random(signal.size) < 0.25)


def _sent(kept: Array, rng: np.random.Generator, uniform: Array | None = None) -> Array:
    drawn = rng.random((REPORTS, kept.size)) if uniform is None else uniform
    return np.asarray(drawn < np.where(kept, 0.7, 0.3))


def _only_ones_permanent(signal: Array, rng: np.random.Generator) -> Array:
    return _sent(np.where(signal, _permanent(signal, rng), signal), rng)


def _twice_each(signal: Array, rng: np.random.Generator) -> Array:
    uniform = np.repeat(rng.random((REPORTS // 2, signal.size)), 2, axis=0)
    return _sent(_permanent(signal, rng), rng, uniform)


def _one_number_per_report(signal: Array, rng: np.random.Generator) -> Array:
    return _sent(_permanent(signal, rng), rng, np.tile(rng.random((REPORTS, 1)), (1, signal.size)))


def _first_report_plain(signal: Array, rng: np.random.Generator) -> Array:
    sent = _sent(_permanent(signal, rng), rng)
    sent[0] = signal
    return sent


def _last_bit_plain(signal: Array, rng: np.random.Generator) -> Array:
    kept = _permanent(signal, rng)
    kept[-1] = signal[-1]
    return _sent(kept, rng)


def _pairs_of_bits(signal: Array, rng: np.random.Generator) -> Array:
    """Two bits next to each other are flipped for good together."""
    return _sent(signal ^ np.repeat(rng.random(signal.size // 2) < 0.25, 2), rng)


def _neighbours_share(signal: Array, rng: np.random.Generator) -> Array:
    """The first two bits share their instantaneous noise."""
    uniform = rng.random((REPORTS, signal.size))
    uniform[:, 1] = uniform[:, 0]
    return _sent(_permanent(signal, rng), rng, uniform)


def _second_as_first(signal: Array, rng: np.random.Generator) -> Array:
    sent = _sent(_permanent(signal, rng), rng)
    sent[1] = sent[0]
    return sent


def _fades(signal: Array, rng: np.random.Generator) -> Array:
    """Late reports have less noise: .3 falls to .2."""
    p = np.linspace(0.3, 0.2, REPORTS)[:, np.newaxis]
    kept = _permanent(signal, rng)
    return np.asarray(rng.random((REPORTS, signal.size)) < np.where(kept, 1.0 - p, p))


RAPPOR_FAULTS: tuple[Fault, ...] = (
    *local_faults(
        "rappor", rappor_subject, KEPT,
        ("rappor-f-10-percent-low", "f is .45", "a rounded constant", _other_rappor(f=0.45)),
        ("rappor-other-cohort", "hashes of the next cohort", "cohorts counted from 1", _other_rappor(cohort=1)),
        ("rappor-one-hash", "one hash function", "a loop left early", _other_rappor(hashes=1)),
        ("rappor-forgets-halfway", "the permanent response is drawn anew after 20 reports", "an update",
         _forgets_halfway),
        ("rappor-zeros-not-permanent", "only ones get a permanent response", "sparse filters",
         _rappor(_only_ones_permanent)),
        ("rappor-each-report-twice", "each report's noise serves twice", "a retry", _rappor(_twice_each)),
        ("rappor-one-number-per-report", "one number decides on all bits of a report", "a scalar draw",
         _rappor(_one_number_per_report)),
        ("rappor-first-report-plain", "the first report is the Bloom filter", "memory not yet written",
         _rappor(_first_report_plain)),
        ("rappor-last-bit-plain", "the last bit has no permanent response", "range(n - 1)", _rappor(_last_bit_plain)),
        ("rappor-pairs-of-bits", "permanent flips come in pairs", "two bits per draw", _rappor(_pairs_of_bits)),
        ("rappor-two-bits-share", "two bits share their instantaneous noise", "a word of two bits",
         _rappor(_neighbours_share)),
        ("rappor-second-as-first", "the second report is the first one again", "a retry", _rappor(_second_as_first)),
        ("rappor-noise-fades", "p falls from .3 to .2 over forty reports", "a budget by report", _rappor(_fades)),
    ),
)  # fmt: skip
