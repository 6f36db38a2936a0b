"""Faults of histogram, selection, vector sum, density and shared randomness, third batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.histogram import Histogram
from protocols.selection import Selection
from tests.faults.counts import UNDER, VECTOR, bucket_subject, buckets, vector_subject, vectors
from tests.faults.densities import correct_bits, densities, density_subject
from tests.faults.fault import Fault
from tests.faults.learners import LOCAL, local_subject, reported
from tests.faults.runs import Run, faults_of

__all__ = ["THIRD_TABLE_FAULTS"]

Array = NDArray[Any]
HISTOGRAM, SELECTION = Histogram(UNDER, 2), Selection(UNDER, 2)


def _noise(rng: np.random.Generator, *shape: int) -> Array:
    return rng.negative_binomial(4.0, 0.6, shape)


def _viewed(noise: Callable[[np.random.Generator, int], Array]) -> Run:
    return buckets(lambda counts, rng, trials: np.asarray(10 - counts + noise(rng, trials)))


def _handed_on(rng: np.random.Generator, trials: int) -> Array:
    """The second bucket gets what the first had in the last run: both have their laws, and so has the difference."""
    noise = _noise(rng, trials + 1)
    return np.column_stack([noise[1:], noise[:-1]])


def _one_bucket_in_turn(rng: np.random.Generator, trials: int) -> Array:
    """One fresh draw per run, and the other bucket keeps its last."""
    noise, at = _noise(rng, trials + 2), np.arange(trials)
    return np.column_stack([noise[at - at % 2 + 2 * (at % 2)], noise[at + 1 - at % 2]])


def _sorted(rng: np.random.Generator, trials: int) -> Array:
    return np.sort(_noise(rng, trials, 2), axis=1)


def _shared_rate(rng: np.random.Generator, trials: int) -> Array:
    return rng.poisson(rng.gamma(4.0, 0.4 / 0.6, (trials, 1)), (trials, 2))


def _missing_at_times(rng: np.random.Generator, trials: int) -> Array:
    noise = _noise(rng, trials, 2)
    noise[:, 1] *= rng.random(trials) >= 0.002
    return noise


def _in_batches(rng: np.random.Generator, trials: int) -> Array:
    return np.repeat(_noise(rng, trials // 5 + 1, 2), 5, axis=0)[:trials]


def _of_ties(view: Array) -> Array:
    """Ties go to a coin, which is the parity of the counts."""
    tied = view[..., 0] == view[..., 1]
    return np.where(tied, view[..., 0] % 2, SELECTION.analyze(view))


def _normalised(view: Array) -> Array:
    estimates = np.maximum(10 - view, 0)
    return np.rint(10 * estimates / np.maximum(estimates.sum(axis=-1, keepdims=True), 1))


# Vector sum: `values(point, rng, reports)` are the values that would be reported of both coordinates.


def _one_uniform(point: Array, rng: np.random.Generator, reports: int) -> Array:
    """The uniform number that decides on the blanket rounds the value as well."""
    scaled = np.tile(point * 2.0, (reports, 1))
    uniform = rng.random(scaled.shape)
    rounded = np.floor(scaled) + (uniform < scaled - np.floor(scaled))
    return np.where(uniform < 0.3, rng.integers(0, 3, scaled.shape), rounded)


def _by_run(point: Array, rng: np.random.Generator, reports: int, *, blanket: bool) -> Array:
    """All 12 users of a run throw one coin: for the blanket, or to round."""
    scaled = np.tile(point * 2.0, (reports, 1))
    shared = np.repeat(rng.random((reports // 12, 2)), 12, axis=0)
    own = rng.random(scaled.shape)
    rounding, blanketed = (own, shared) if blanket else (shared, own)
    rounded = np.floor(scaled) + (rounding < scaled - np.floor(scaled))
    return np.where(blanketed < 0.3, rng.integers(0, 3, scaled.shape), rounded)


def _truncated_normal(point: Array, rng: np.random.Generator, reports: int) -> Array:
    """The blanket is a rounded normal variable around the middle."""
    scaled = np.tile(point * 2.0, (reports, 1))
    rounded = np.floor(scaled) + (rng.random(scaled.shape) < scaled - np.floor(scaled))
    normal = np.clip(np.rint(rng.normal(1.0, 0.8, scaled.shape)), 0, 2)
    return np.where(rng.random(scaled.shape) < 0.3, normal, rounded)


def _later(run: Run, column: int, by: int = 1) -> Run:
    """Return the run with one column of a run before: each column has its law."""

    def late(inputs: Array, rng: np.random.Generator, trials: int) -> Array:
        outputs = run(inputs, rng, trials)
        outputs[:, column] = np.roll(outputs[:, column], by)
        return outputs

    return late


# Density and selection of one user.


def _bits_of_neighbours(f: Array, rng: np.random.Generator, trials: int) -> Array:
    """The second half of the users rounds with the uniform numbers of the first."""
    uniform = rng.random((trials, f.size))
    uniform[:, f.size // 2 :] = uniform[:, : f.size - f.size // 2]
    return np.asarray(uniform < 0.5 + f / (2.0 * math.sqrt(2.0)))


def _clipped_features(f: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(rng.random((trials, f.size)) < 0.5 + np.clip(f, -1.0, 1.0) / (2.0 * math.sqrt(2.0)))


def _rows_in_turn(values: Array, rng: np.random.Generator, trials: int) -> Array:
    """Rows of the matrix are taken in turn: each report has its law, and the next row is known."""
    at = (rng.integers(8) + np.arange(trials)) % 8
    flips = rng.random(trials) < LOCAL.flip_probability
    return (2 * at + (LOCAL.signs(np.full(trials, values[0]), at) ^ flips))[:, np.newaxis]


def _own_row_plain(values: Array, rng: np.random.Generator, trials: int) -> Array:
    at = rng.integers(0, 8, trials)
    flips = (rng.random(trials) < LOCAL.flip_probability) & (at != values[0] + 1)
    return (2 * at + (LOCAL.signs(np.full(trials, values[0]), at) ^ flips))[:, np.newaxis]


def _third(protocol: str, subject: Callable[[Run], Any], joint: bool, *entries: Any) -> tuple[Fault, ...]:
    """Faults of marginal laws, or of what columns and runs have in common: of these, 200,000 draws show each."""
    return tuple(
        Fault(fault.name, protocol, fault.wrong, fault.reason, "dependence" if joint else "conformance", fault.build)
        for fault in faults_of(protocol, subject, *entries)
    )


THIRD_TABLE_FAULTS: tuple[Fault, ...] = (
    *_third(
        "histogram", bucket_subject, True,
        ("histogram-noise-handed-on", "bucket 1 gets the noise that bucket 0 had", "a buffer shifted by one",
         _viewed(_handed_on)),
        ("histogram-one-bucket-fresh", "each run draws for one bucket, in turn", "an incremental update",
         _viewed(_one_bucket_in_turn)),
        ("histogram-noise-for-five-runs", "five runs share their noise", "drawn by batch", _viewed(_in_batches)),
        ("histogram-stale-estimate", "estimates of bucket 0 are those of the last run", "read before written",
         _later(buckets(), 2)),
        ("selection-stale", "the selection is that of the last run", "read before written", _later(buckets(), 4)),
    ),
    *_third(
        "histogram", bucket_subject, False,
        ("histogram-noise-sorted", "the second bucket gets the larger noise", "np.sort on the wrong array",
         _viewed(_sorted)),
        ("histogram-shared-rate", "buckets share their gamma rate", "a mixture drawn once", _viewed(_shared_rate)),
        ("histogram-missing-at-times", "2 runs of 1,000 have no noise in bucket 1", "a race",
         _viewed(_missing_at_times)),
        ("histogram-normalised", "estimates are scaled to the total", "shares must add up",
         buckets(estimate=_normalised)),
        ("selection-ties-by-parity", "ties go to the parity of the count", "a coin from the data",
         buckets(select=_of_ties)),
    ),
    *_third(
        "vector-sum", vector_subject, False,
        ("vector-one-uniform", "one uniform number for blanket and rounding", "a draw used twice",
         vectors(_one_uniform)),
        ("vector-blanket-by-run", "one coin puts all users of a run under the blanket", "a scalar draw",
         vectors(lambda point, rng, reports: _by_run(point, rng, reports, blanket=True))),
        ("vector-rounds-by-run", "one coin rounds all users of a run", "a scalar draw",
         vectors(lambda point, rng, reports: _by_run(point, rng, reports, blanket=False))),
        ("vector-normal-blanket", "the blanket is a rounded normal variable", "all noise is normal",
         vectors(_truncated_normal)),
        ("vector-estimate-rounded", "estimates are rounded to one digit", "pretty printing",
         vectors(analyze=lambda view: np.round(VECTOR.analyze(view), 1))),
        ("vector-true-reports", "divided by the reports seen, not by those expected", "an average",
         vectors(analyze=lambda view: 6.0 * VECTOR.analyze(view) / np.maximum(view.sum(axis=-1), 1))),
    ),
    *_third(
        "vector-sum", vector_subject, True,
        ("vector-stale-estimate", "estimates are those of the run before the last", "a double buffer",
         _later(vectors(), 6, 2)),
    ),
    *_third(
        "kde", density_subject, False,
        ("kde-halves-round-alike", "two halves of the users share their uniform numbers", "a seed by shard",
         densities(_bits_of_neighbours)),
        ("kde-features-clipped", "features are clipped to [-1, 1]", "a safe range", densities(_clipped_features)),
        ("kde-n-of-other-shard", "2 B - (n - 1)", "n of another table",
         densities(correct_bits, users=11)),
    ),
    *_third(
        "hadamard selection", local_subject, True,
        ("hadamard-rows-in-turn", "rows are taken in turn", "a counter for a random row", _rows_in_turn),
    ),
    *_third(
        "hadamard selection", local_subject, False,
        ("hadamard-own-row-plain", "the row of the value itself is never flipped", "an exception for the diagonal",
         _own_row_plain),
        ("hadamard-first-row-twice", "the first row is drawn twice as often", "a modulus of 9",
         lambda values, rng, trials: np.where(
             rng.random((trials, 1)) < 1 / 9, reported(LOCAL.flip_probability, rows=1)(values, rng, trials),
             reported(LOCAL.flip_probability)(values, rng, trials))),
    ),
)  # fmt: skip
