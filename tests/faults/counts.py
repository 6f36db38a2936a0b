"""Faults of histogram, selection and vector sum."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import (
    Estimate,
    NegativeBinomial,
)
from protocols.histogram import Histogram
from protocols.selection import Selection
from protocols.vector_sum import VectorSum
from tests.faults.fault import Fault
from tests.faults.making import (
    LABELS_OF_4,
    Array,
    D,
    Run,
    bernoulli_sum,
    faults_of,
    integers,
    label_run,
    label_subject,
    subject_of,
)

__all__ = ["CORRECT_COUNTS", "COUNT_FAULTS"]

UNDER_OF_10 = NegativeBinomial(10, 4.0, 0.4, estimate=Estimate.UNDER)
HISTOGRAM = Histogram(UNDER_OF_10, 2)
SELECTION = Selection(UNDER_OF_10, 2)
HELD = np.array([0] * 6 + [1] * 4)


def bucket_subject(run: Run) -> Subject:
    noise = laws.negative_binomial(4.0, 0.4, 1e-20)
    start, pmf = noise.start, noise.pmf / noise.pmf.sum()
    counts = [6, 4]
    columns: dict[int, Any] = {b: (f"messages of bucket {b}", integers(pmf, start + 10 - counts[b])) for b in range(2)}
    z = np.arange(start, start + pmf.size)
    for b in range(2):
        clipped = DiscreteLaw.of(np.maximum(counts[b] - z, 0), pmf)
        columns[2 + b] = (f"estimate of bucket {b}", clipped)
    # Bucket 0 is selected if 6 - Z0 >= 4 - Z1.
    first = float(pmf @ np.cumsum(np.append(pmf, np.zeros(2)))[np.minimum(z + 2, pmf.size + 1)])
    # P(Z0 - Z1 <= 2), summed over Z1 = z.
    columns[4] = ("selected bucket", DiscreteLaw.of([0, 1], [first, 1.0 - first]))
    difference = np.convolve(pmf, pmf[::-1])
    columns[5] = ("difference of the buckets", integers(difference, start - int(z[-1]) - 2))
    return subject_of("buckets", run, [Dataset("six and four", HELD, columns)])


def buckets(
    view: Callable[[Array, np.random.Generator, int], Array] | None = None,
    estimate: Callable[[Array], Array] = HISTOGRAM.analyze,
    select: Callable[[Array], Array] = SELECTION.analyze,
) -> Run:
    def run(inputs: Array, rng: np.random.Generator, trials: int) -> Array:
        counts = np.bincount(inputs, minlength=2)
        views = HISTOGRAM.sample_view(np.tile(counts, (trials, 1)), rng) if view is None else view(counts, rng, trials)
        difference = views[:, 0] - views[:, 1]
        return np.column_stack([views, estimate(views), select(views), difference])

    return run


def _under_noise(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.negative_binomial(4.0, 0.6, shape)


def _counts_plus(counts: Array, noise: Array) -> Array:
    return np.asarray(10 - counts + noise)


VECTOR = VectorSum(12, 2, 2, 0.3)
POINT = np.array([0.25, 1.0])


def vector_subject(run: Run) -> Subject:
    law = VECTOR.report_law(POINT[np.newaxis])[0] / 2.0
    columns = {
        3 * j + v: (f"reports ({j}, {v})", bernoulli_sum(np.full(12, law[j, v]))) for j in range(2) for v in range(3)
    }
    reports = bernoulli_sum(np.full(12, 0.5))
    # (reports, sum of values) of coordinate 0 over 12 users: a two-dimensional convolution, user by user.
    table = np.zeros((13, 25))
    table[0, 0] = 1.0
    for _ in range(12):
        grown = 0.5 * table
        for value in range(3):
            grown[1:, value:] += law[0, value] * table[:-1, : 25 - value]
        table = grown
    n, s = np.nonzero(table > 0)
    estimates = (s / 2.0 - 0.3 / 2.0 * n) / 0.7 / 0.5
    columns[6] = ("estimate of coordinate 0", DiscreteLaw.of(np.round(estimates, 9), table[n, s]))
    columns[7] = ("reports of coordinate 0", reports)
    return subject_of("vector sum", run, [Dataset("twelve equal vectors", POINT, columns)])


def vectors(
    sample: Callable[[Array, np.random.Generator, int], Array] | None = None,
    analyze: Callable[[Array], Array] = VECTOR.analyze,
) -> Run:
    """`sample(point, rng, reports)` draws values for that many reports of each coordinate: shape (reports, 2)."""

    def run(inputs: Array, rng: np.random.Generator, trials: int) -> Array:
        values = (sample or _blanket_values)(inputs, rng, trials * 12).reshape(trials, 12, 2)
        chosen = rng.integers(0, 2, (trials, 12))
        views = np.zeros((trials, 2, 3), dtype=np.int64)
        for j in range(2):
            for v in range(3):
                views[:, j, v] = ((chosen == j) & (values[:, :, j] == v)).sum(axis=1)
        estimate = np.round(analyze(views)[:, 0], 9)
        return np.column_stack([views.reshape(trials, 6), estimate, views[:, 0].sum(axis=1)])

    return run


def _blanket_values(
    point: Array, rng: np.random.Generator, reports: int, blanket: int = 3, gamma: float = 0.3
) -> Array:
    scaled = np.tile(point * 2.0, (reports, 1))
    rounded = np.floor(scaled) + (rng.random(scaled.shape) < scaled - np.floor(scaled))
    return np.where(rng.random(scaled.shape) < gamma, rng.integers(0, blanket, scaled.shape), rounded)


def _nearest(point: Array, rng: np.random.Generator, reports: int) -> Array:
    nearest = np.tile(np.floor(point * 2.0 + 0.5), (reports, 1))
    return np.where(rng.random(nearest.shape) < 0.3, rng.integers(0, 3, nearest.shape), nearest)


def _claim_subject(run: Run, zero: Array, one: Array, law: Callable[[Array], Any]) -> Subject:
    datasets = [Dataset("one dataset", zero, law(zero)), Dataset("its neighbour", one, law(one))]
    return subject_of("histogram with central noise", run, datasets, [Neighbours(0, 1)])


def _histogram_law(scale: float) -> Callable[[Array], Any]:
    noise = laws.discrete_laplace(scale, 1e-20)
    difference = np.convolve(noise.pmf, noise.pmf[::-1])

    def law(counts: Array) -> Any:
        start = int(counts[0] - counts[1]) - (noise.pmf.size - 1)
        return {0: ("difference of two buckets", integers(difference, start))}

    return law


def _histogram(scale: float) -> Run:
    def run(inputs: Array, rng: np.random.Generator, trials: int) -> Array:
        p = -math.expm1(-scale)
        noise = rng.geometric(p, (trials, 2)) - rng.geometric(p, (trials, 2))
        return (inputs + noise) @ np.array([[1], [-1]])

    return run


CORRECT_COUNTS: dict[str, Callable[[], Subject]] = {
    "labels": lambda: label_subject(label_run(LABELS_OF_4.randomize)),
    "buckets": lambda: bucket_subject(buckets()),
    "vector sum": lambda: vector_subject(vectors()),
    "histogram with central noise": lambda: _claim_subject(
        _histogram(0.5), np.array([5, 5]), np.array([6, 4]), _histogram_law(0.5)
    ),
}
"""Correct implementations, run through the same subjects: what the faults are faults of."""


def _bucket_noise(rng: np.random.Generator, *shape: int) -> Array:
    return rng.negative_binomial(4.0, 0.6, shape)


def _viewed(noise: Callable[[np.random.Generator, int], Array]) -> Run:
    return buckets(lambda counts, rng, trials: np.asarray(10 - counts + noise(rng, trials)))


def _bucket_handed_on(rng: np.random.Generator, trials: int) -> Array:
    """The second bucket gets what the first had in the last run: both have their laws, and so has the difference."""
    noise = _bucket_noise(rng, trials + 1)
    return np.column_stack([noise[1:], noise[:-1]])


def _one_bucket_in_turn(rng: np.random.Generator, trials: int) -> Array:
    """One fresh draw per run, and the other bucket keeps its last."""
    noise, at = _bucket_noise(rng, trials + 2), np.arange(trials)
    return np.column_stack([noise[at - at % 2 + 2 * (at % 2)], noise[at + 1 - at % 2]])


def _missing_at_times(rng: np.random.Generator, trials: int) -> Array:
    noise = _bucket_noise(rng, trials, 2)
    noise[:, 1] *= rng.random(trials) >= 0.002
    return noise


def _later(run: Run, column: int, by: int = 1) -> Run:
    """Return the run with one column of a run before: each column has its law."""

    def late(inputs: Array, rng: np.random.Generator, trials: int) -> Array:
        outputs = run(inputs, rng, trials)
        outputs[:, column] = np.roll(outputs[:, column], by)
        return outputs

    return late


def _buckets_opposed(rng: np.random.Generator, trials: int) -> Array:
    """In half of the runs the bucket that had less noise in the last run gets more."""
    z = np.sort(_bucket_noise(rng, trials, 2), axis=1)
    up = np.cumsum(rng.random(trials) < 0.8) % 2
    return np.column_stack([np.where(up, z[:, 1], z[:, 0]), np.where(up, z[:, 0], z[:, 1])])


COUNT_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "histogram", bucket_subject,
        ("histogram-noise-in-own-bucket", "noise only in the bucket that is held most",
         "sparse noise saves messages",
         buckets(lambda counts, rng, trials: _counts_plus(counts, _under_noise(rng, (trials, 2)) * np.array([1, 0])))),
        ("histogram-counts-ones", "users count their own bucket instead of the others", "labels exchanged",
         buckets(lambda counts, rng, trials: counts + _under_noise(rng, (trials, 2)))),
        ("histogram-not-clipped", "negative estimates are published", "the last line of the analyzer forgotten",
         buckets(estimate=lambda view: 10 - view)),
        ("histogram-missing-at-times", "2 runs of 1,000 have no noise in bucket 1", "a race",
         _viewed(_missing_at_times)),
    ),
    *faults_of(
        "selection", bucket_subject,
        ("selection-last-of-ties", "the largest index among equals", "a comparison with >= in a loop",
         buckets(select=lambda view: (view[..., 1] <= view[..., 0]).astype(int))),
        ("selection-after-clipping", "selects among estimates clipped at 0",
         "the histogram's analyzer reused: ties at 0 go to the first bucket",
         buckets(select=lambda view: np.argmax(HISTOGRAM.analyze(view), axis=-1))),
    ),
    *faults_of(
        "vector-sum", vector_subject,
        ("vector-k-values", "the blanket has k instead of k + 1 values", "levels and intervals confused",
         vectors(functools.partial(_blanket_values, blanket=2))),
        ("vector-nearest-rounding", "rounds to the nearest level", "np.rint in place of a coin", vectors(_nearest)),
        ("vector-gamma-10-percent-low", "the blanket is 10 % thinner", "a rounded constant",
         vectors(functools.partial(_blanket_values, gamma=0.27))),
        ("vector-sampling-uncorrected", "not divided by the sampling probability",
         "scott2022's DeBias estimates the sum over those who sampled the coordinate",
         vectors(analyze=lambda view: 0.5 * VECTOR.analyze(view))),
    ),
    Fault("histogram-add-remove-for-replace", "central-histogram",
          "noise for one changed bucket where a replacement changes two",
          "add/remove and replace-one adjacency confused; in many libraries the former is the default",
          "conformance",
          lambda: _claim_subject(_histogram(1.0), np.array([5, 5]), np.array([6, 4]), _histogram_law(0.5))),
    *faults_of(
        "histogram", bucket_subject,
        ("histogram-noise-handed-on", "bucket 1 gets the noise that bucket 0 had", "a buffer shifted by one",
         _viewed(_bucket_handed_on)),
        ("histogram-one-bucket-fresh", "each run draws for one bucket, in turn", "an incremental update",
         _viewed(_one_bucket_in_turn)),
        ("selection-stale", "the selection is that of the last run", "read before written", _later(buckets(), 4)),
        ("histogram-opposed", "noises change their order from run to run with .8", "a sorted pair that is swapped",
         _viewed(_buckets_opposed)),
        by=D,
    ),
    *faults_of(
        "vector-sum", vector_subject,
        ("vector-stale-estimate", "estimates are those of the run before the last", "a double buffer",
         _later(vectors(), 6, 2)),
        by=D,
    ),
)  # fmt: skip
