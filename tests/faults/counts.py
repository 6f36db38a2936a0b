"""Faults of labels, histogram, selection and vector sum, and of noise in floats on counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import Estimate, NegativeBinomial
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.selection import Selection
from protocols.vector_sum import VectorSum
from tests.faults.fault import Fault
from tests.faults.runs import Run, bernoulli_sum, faults_of, integers, subject_of

__all__ = [
    "CORRECT_COUNTS",
    "COUNT_FAULTS",
    "UNDER",
    "VECTOR",
    "bucket_subject",
    "buckets",
    "vector_subject",
    "vectors",
]

# Labels: three users' reports, one column each, and the debiased count of class 0.

LABELS = LabelRandomizedResponse(4, 1.0)


def _label_subject(run: Run) -> Subject:
    users = np.array([0, 1, 3])
    reports = {i: (f"report of label {c}", integers(LABELS.transition[c])) for i, c in enumerate(users.tolist())}
    zeros = bernoulli_sum(LABELS.transition[users, 0])
    debiased = {int(k): float(LABELS.debias([k, 3 - k, 0, 0])[0]) for k in zeros.points}
    estimate = zeros.image(lambda counts: np.array([debiased[int(count)] for count in counts]))
    return subject_of(
        "labels", run, [Dataset("three labels", users, {**reports, 3: ("estimated count of 0", estimate)})]
    )


def _labels(randomize: Callable[[NDArray[Any], np.random.Generator], NDArray[Any]], debias: Any = None) -> Run:
    def run(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
        reports = randomize(np.tile(inputs, trials), rng).reshape(trials, -1)
        counts = (reports == 0).sum(axis=1)
        estimates = [float((debias or LABELS.debias)([k, 3 - k, 0, 0])[0]) for k in range(4)]
        return np.column_stack([reports, np.array(estimates)[counts]])

    return run


def _other_labels(keep: float) -> Callable[[NDArray[Any], np.random.Generator], NDArray[Any]]:
    """Keep with another probability, and else report one of the others."""

    def randomize(labels: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        leave = rng.random(labels.size) >= keep
        return (labels + leave * rng.integers(1, 4, labels.size)) % 4

    return randomize


def _over_all(labels: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    leave = rng.random(labels.size) >= LABELS.keep_probability
    return np.where(leave, rng.integers(0, 4, labels.size), labels)


E1 = math.exp(1.0)

# Histogram and selection: two buckets, UNDER estimates.

UNDER = NegativeBinomial(10, 4.0, 0.4, estimate=Estimate.UNDER)
HISTOGRAM, SELECTION = Histogram(UNDER, 2), Selection(UNDER, 2)
VALUES = np.array([0] * 6 + [1] * 4)


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
    return subject_of("buckets", run, [Dataset("six and four", VALUES, columns)])


def buckets(
    view: Callable[[NDArray[Any], np.random.Generator, int], NDArray[Any]] | None = None,
    estimate: Callable[[NDArray[Any]], NDArray[Any]] = HISTOGRAM.analyze,
    select: Callable[[NDArray[Any]], NDArray[Any]] = SELECTION.analyze,
) -> Run:
    def run(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
        counts = np.bincount(inputs, minlength=2)
        views = HISTOGRAM.sample_view(np.tile(counts, (trials, 1)), rng) if view is None else view(counts, rng, trials)
        difference = views[:, 0] - views[:, 1]
        return np.column_stack([views, estimate(views), select(views), difference])

    return run


def _noise(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    return rng.negative_binomial(4.0, 0.6, shape)


def _counts_plus(counts: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(10 - counts + noise)


# Vector sum: one coordinate for t = d = 1, so that the estimate has an exact law, and two for what sampling does.

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
    sample: Callable[[NDArray[Any], np.random.Generator, int], NDArray[Any]] | None = None,
    analyze: Callable[[NDArray[Any]], NDArray[Any]] = VECTOR.analyze,
) -> Run:
    """`sample(point, rng, reports)` draws values for that many reports of each coordinate: shape (reports, 2)."""

    def run(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
        values = (sample or _values)(inputs, rng, trials * 12).reshape(trials, 12, 2)
        chosen = rng.integers(0, 2, (trials, 12))
        views = np.zeros((trials, 2, 3), dtype=np.int64)
        for j in range(2):
            for v in range(3):
                views[:, j, v] = ((chosen == j) & (values[:, :, j] == v)).sum(axis=1)
        estimate = np.round(analyze(views)[:, 0], 9)
        return np.column_stack([views.reshape(trials, 6), estimate, views[:, 0].sum(axis=1)])

    return run


def _values(
    point: NDArray[Any], rng: np.random.Generator, reports: int, blanket: int = 3, gamma: float = 0.3
) -> NDArray[Any]:
    scaled = np.tile(point * 2.0, (reports, 1))
    rounded = np.floor(scaled) + (rng.random(scaled.shape) < scaled - np.floor(scaled))
    return np.where(rng.random(scaled.shape) < gamma, rng.integers(0, blanket, scaled.shape), rounded)


def _nearest(point: NDArray[Any], rng: np.random.Generator, reports: int) -> NDArray[Any]:
    nearest = np.tile(np.floor(point * 2.0 + 0.5), (reports, 1))
    return np.where(rng.random(nearest.shape) < 0.3, rng.integers(0, 3, nearest.shape), nearest)


def _towards_zero(point: NDArray[Any], rng: np.random.Generator, reports: int) -> NDArray[Any]:
    below = np.tile(np.floor(point * 2.0), (reports, 1))
    return np.where(rng.random(below.shape) < 0.3, rng.integers(0, 3, below.shape), below)


# A privacy claim alone: black boxes, of which only two neighbouring inputs are known.


def _claim_subject(run: Run, zero: NDArray[Any], one: NDArray[Any], law: Callable[[NDArray[Any]], Any]) -> Subject:
    datasets = [Dataset("one dataset", zero, law(zero)), Dataset("its neighbour", one, law(one))]
    return subject_of("histogram with central noise", run, datasets, [Neighbours(0, 1)])


def _histogram_law(scale: float) -> Callable[[NDArray[Any]], Any]:
    noise = laws.discrete_laplace(scale, 1e-20)
    difference = np.convolve(noise.pmf, noise.pmf[::-1])

    def law(counts: NDArray[Any]) -> Any:
        start = int(counts[0] - counts[1]) - (noise.pmf.size - 1)
        return {0: ("difference of two buckets", integers(difference, start))}

    return law


def _histogram(scale: float) -> Run:
    def run(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
        p = -math.expm1(-scale)
        noise = rng.geometric(p, (trials, 2)) - rng.geometric(p, (trials, 2))
        return (inputs + noise) @ np.array([[1], [-1]])

    return run


CORRECT_COUNTS: dict[str, Callable[[], Subject]] = {
    "labels": lambda: _label_subject(_labels(LABELS.randomize)),
    "buckets": lambda: bucket_subject(buckets()),
    "vector sum": lambda: vector_subject(vectors()),
    "histogram with central noise": lambda: _claim_subject(
        _histogram(0.5), np.array([5, 5]), np.array([6, 4]), _histogram_law(0.5)
    ),
}
"""Correct implementations, run through the same subjects: what the faults are faults of."""

COUNT_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "labels",
        _label_subject,
        (
            "labels-off-by-one",
            "reports count from 1",
            "classes named 1..m",
            _labels(lambda labels, rng: (LABELS.randomize(labels, rng) + 1) % 4),
        ),
        (
            "labels-over-all",
            "a label that is not kept is resampled over all m",
            "k-RR has both forms",
            _labels(_over_all),
        ),
        (
            "labels-keep-without-minus-one",
            "keeps with e^eps / (e^eps + m)",
            "a slip in the formula",
            _labels(_other_labels(E1 / (E1 + 4.0))),
        ),
        (
            "labels-binary-formula",
            "keeps with e^eps / (e^eps + 1)",
            "the formula of two classes",
            _labels(_other_labels(E1 / (E1 + 1.0))),
        ),
        (
            "labels-epsilon-5-percent-high",
            "keeps as for 1.05 epsilon",
            "a rounded constant",
            _labels(_other_labels(LabelRandomizedResponse(4, 1.05).keep_probability)),
        ),
        (
            "labels-debias-missing",
            "the reported counts are used as they are",
            "the correction forgotten",
            _labels(LABELS.randomize, lambda counts: np.asarray(counts, dtype=float)),
        ),
        (
            "labels-true-counts",
            "n of each class from the true labels",
            "n taken from private data: the class sizes of the table at hand",
            _labels(lambda labels, rng: labels),
        ),
    ),
    *faults_of(
        "histogram",
        bucket_subject,
        (
            "histogram-noise-in-own-bucket",
            "noise only in the bucket that is held most",
            "sparse noise saves messages",
            buckets(lambda counts, rng, trials: _counts_plus(counts, _noise(rng, (trials, 2)) * np.array([1, 0]))),
        ),
        (
            "histogram-one-noise-for-all",
            "all buckets share one draw",
            "a scalar draw broadcast over buckets",
            buckets(lambda counts, rng, trials: _counts_plus(counts, _noise(rng, (trials, 1)))),
        ),
        (
            "histogram-counts-ones",
            "users count their own bucket instead of the others",
            "labels exchanged",
            buckets(lambda counts, rng, trials: counts + _noise(rng, (trials, 2))),
        ),
        (
            "histogram-off-by-one",
            "buckets rotated by one",
            "buckets named 1..D",
            buckets(lambda counts, rng, trials: _counts_plus(counts[::-1], _noise(rng, (trials, 2)))),
        ),
        (
            "histogram-not-clipped",
            "negative estimates are published",
            "the last line of the analyzer forgotten",
            buckets(estimate=lambda view: 10 - view),
        ),
        (
            "histogram-n-mismatched",
            "the analyzer subtracts from n - 1",
            "n of another table",
            buckets(estimate=lambda view: np.maximum(9 - view, 0)),
        ),
    ),
    *faults_of(
        "selection",
        bucket_subject,
        (
            "selection-of-least",
            "the bucket with most messages",
            "messages count those not in the bucket",
            buckets(select=lambda view: np.argmax(view, axis=-1)),
        ),
        (
            "selection-last-of-ties",
            "the largest index among equals",
            "a comparison with >= in a loop",
            buckets(select=lambda view: (view[..., 1] <= view[..., 0]).astype(int)),
        ),
        (
            "selection-after-clipping",
            "selects among estimates clipped at 0",
            "the histogram's analyzer reused: ties at 0 go to the first bucket",
            buckets(select=lambda view: np.argmax(HISTOGRAM.analyze(view), axis=-1)),
        ),
    ),
    *faults_of(
        "vector-sum",
        vector_subject,
        (
            "vector-k-values",
            "the blanket has k instead of k + 1 values",
            "levels and intervals confused",
            vectors(functools.partial(_values, blanket=2)),
        ),
        ("vector-nearest-rounding", "rounds to the nearest level", "np.rint in place of a coin", vectors(_nearest)),
        ("vector-rounds-down", "rounds down", "an integer cast", vectors(_towards_zero)),
        (
            "vector-gamma-10-percent-low",
            "the blanket is 10 % thinner",
            "a rounded constant",
            vectors(functools.partial(_values, gamma=0.27)),
        ),
        (
            "vector-debias-missing",
            "the analyzer does not remove the blanket",
            "half of the correction forgotten",
            vectors(analyze=lambda view: view @ np.arange(3) / 2.0 / 0.5),
        ),
        (
            "vector-sampling-uncorrected",
            "not divided by the sampling probability",
            "scott2022's DeBias estimates the sum over those who sampled the coordinate",
            vectors(analyze=lambda view: 0.5 * VECTOR.analyze(view)),
        ),
        (
            "vector-debias-of-k-values",
            "removes a blanket with the mean of 1..k",
            "levels counted from 1",
            vectors(analyze=lambda view: (view @ np.arange(3) / 2.0 - 0.3 * 0.75 * view.sum(axis=-1)) / 0.7 / 0.5),
        ),
    ),
    Fault(
        "histogram-add-remove-for-replace",
        "central-histogram",
        "noise for one changed bucket where a replacement changes two",
        "add/remove and replace-one adjacency confused; in many libraries the former is the default",
        "conformance",
        lambda: _claim_subject(_histogram(1.0), np.array([5, 5]), np.array([6, 4]), _histogram_law(0.5)),
    ),
)
