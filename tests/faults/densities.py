"""Faults of kernel densities and of their shared features."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpverify.audit.running.target import Target
from dpverify.audit.subject import Dataset, Subject
from dpverify.audit.subjects.bitsum import Implementation
from dpverify.audit.subjects.kde import density_subject as whole_density
from dpverify.audit.subjects.kde import own_density
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import RandomizedResponse
from protocols.kde import KernelDensityProtocol
from protocols.lsq import ExponentialTessellation, GaussianFeatures, LaplacianBinning, LSQFamily, RandomSigns
from tests.faults.fault import Fault
from tests.faults.making import Array, M, Run, bernoulli_sum, faults_of, subject_of

__all__ = ["CORRECT_DENSITIES", "DENSITY_FAULTS"]

FEATURES = GaussianFeatures(2).sample(1, np.random.default_rng(5))
POINTS = np.random.default_rng(6).normal(size=(12, 2))


def density_subject(run: Run) -> Subject:
    probability = 0.5 + FEATURES.f(POINTS)[:, 0, 0] / (2.0 * math.sqrt(2.0))
    reports = bernoulli_sum(0.2 + 0.6 * probability)
    published = reports.image(lambda ones: np.round((2.0 * (ones - 12 * 0.2) / 0.6 - 12) * math.sqrt(2.0), 9))
    return subject_of("kernel density", run, [Dataset("twelve points", POINTS, {0: ("published sum", published)})])


def densities(bits: Callable[..., Array], scale: float = math.sqrt(2.0), users: int = 12) -> Run:
    def run(inputs: Array, rng: np.random.Generator, trials: int) -> Array:
        drawn = bits(FEATURES.f(inputs)[:, 0, 0], rng, trials)
        flips = rng.random(drawn.shape) < 0.2
        estimates = ((drawn ^ flips).sum(axis=1) - 12 * 0.2) / 0.6
        return np.round((2.0 * estimates - users) * scale, 9)[:, np.newaxis]

    return run


def correct_bits(f: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(rng.random((trials, f.size)) < 0.5 + f / (2.0 * math.sqrt(2.0)))


ESTIMATOR = KernelDensityProtocol(RandomizedResponse(6, 0.2), FEATURES.family.sample(4, np.random.default_rng(1)))


def estimator_subject(implementation: Run | Implementation) -> Subject:
    """Return a whole estimator on two datasets, by what it publishes or with its messages."""
    given = implementation if isinstance(implementation, Implementation) else Target(implementation, True, (4,))
    subject = whole_density(ESTIMATOR, implementation=given)
    return replace(subject, datasets=subject.datasets[:2], neighbours=subject.neighbours[:1])


Uniform = Callable[[np.random.Generator, int], Array]


def _uniform(rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, 6, 4))


def _common(rng: np.random.Generator, trials: int) -> Array:
    return np.repeat(rng.random((trials, 6, 1)), 4, axis=2)


def _last_is_quiet(rng: np.random.Generator, trials: int) -> Array:
    return np.where(np.arange(4) == 3, 1.0, _uniform(rng, trials))


def estimators(rounding: Uniform = _uniform, flips: Uniform = _uniform, *, slope: float = 0.6, users: int = 6) -> Run:
    """Return Algorithm 1 in a few lines that share no code with `protocols`, but for the public features."""

    def run(points: Array, rng: np.random.Generator, trials: int) -> Array:
        chances = 0.5 + ESTIMATOR.features.f(points)[:, :, 0] / (2.0 * math.sqrt(2.0))
        sent = (rounding(rng, trials) < chances) ^ (flips(rng, trials) < 0.2)
        return np.asarray((2.0 * (sent.sum(axis=1) - 6 * 0.2) / slope - users) * math.sqrt(2.0))

    return run


PAIR = np.array([[0.3, 0.1], [-0.2, 0.4]])
UNIT_PAIR = np.array([[0.6, 0.8], [1.0, 0.0]])


def _feature_subject(family: LSQFamily, run: Run) -> Subject:
    pair = UNIT_PAIR if family.requires_unit_vectors else PAIR
    kernel = float(family.kernel(pair[:1], pair[1:])[0, 0])
    positive = 0.5 + kernel / (2.0 * family.R**2)
    law = DiscreteLaw.of([-1, 1], [1.0 - positive, positive])
    return subject_of(type(family).__name__, run, [Dataset("two points", pair, {0: ("sign of the product", law)})])


Product = Callable[[Array, np.random.Generator, int], tuple[Array, Array]]


def _signs(product: Product) -> Run:
    """Turn features f(x), g(y), each divided by the range, into the product of two random signs."""

    def run(inputs: Array, rng: np.random.Generator, trials: int) -> Array:
        f, g = product(inputs, rng, trials)
        signs = [np.where(rng.random(trials) < 0.5 + 0.5 * np.clip(x, -1.0, 1.0), 1, -1) for x in (f, g)]
        return (signs[0] * signs[1])[:, np.newaxis]

    return run


def _of_family(family: LSQFamily) -> Product:
    def product(inputs: Array, rng: np.random.Generator, trials: int) -> tuple[Array, Array]:
        features = family.sample(trials, rng)
        return features.f(inputs[:1])[0, :, 0] / family.R, features.g(inputs[1:])[0, :, 0] / family.R

    return product


def _cosines(scale: float, phase: float) -> Product:
    def product(inputs: Array, rng: np.random.Generator, trials: int) -> tuple[Array, Array]:
        angle = scale * rng.standard_normal((trials, 2)) @ inputs.T + rng.uniform(0.0, phase, (trials, 1))
        return np.cos(angle[:, 0]), np.cos(angle[:, 1])

    return product


def _unpaired_features(inputs: Array, rng: np.random.Generator, trials: int) -> tuple[Array, Array]:
    first, second = GAUSSIAN_FAMILY.sample(trials, rng), GAUSSIAN_FAMILY.sample(trials, rng)
    return first.f(inputs[:1])[0, :, 0] / GAUSSIAN_FAMILY.R, second.g(inputs[1:])[0, :, 0] / GAUSSIAN_FAMILY.R


def _binary_signs(inputs: Array, rng: np.random.Generator, trials: int) -> tuple[Array, Array]:
    """Signs in {0, 1}, as from a generator of bits."""
    signs = rng.integers(0, 2, (trials, 2))
    values = signs @ inputs.T / math.sqrt(2.0)
    return values[:, 0], values[:, 1]


def _grid(pitch: Callable[[np.random.Generator, int], Array], shifted: bool = True) -> Product:
    def product(inputs: Array, rng: np.random.Generator, trials: int) -> tuple[Array, Array]:
        same = np.ones(trials, dtype=bool)
        for column in inputs.T:
            width = pitch(rng, trials)
            shift = rng.random(trials) if shifted else np.zeros(trials)
            same &= np.floor(column[0] / width + shift) == np.floor(column[1] / width + shift)
        first = 2.0 * rng.integers(0, 2, trials) - 1.0
        return first, np.where(same, first, 2.0 * rng.integers(0, 2, trials) - 1.0)

    return product


GAUSSIAN_FAMILY = GaussianFeatures(2)
LAPLACIAN = LaplacianBinning(2, buckets=1, signed=True)
EXPONENTIAL = ExponentialTessellation(2, buckets=1, signed=True)
SIGNS = RandomSigns(2)
CORRECT_DENSITIES: dict[str, Callable[[], Subject]] = {
    "kernel density": lambda: density_subject(densities(correct_bits)),
    "whole density": lambda: estimator_subject(estimators()),
    **{
        type(family).__name__: functools.partial(_feature_subject, family, _signs(_of_family(family)))
        for family in (GAUSSIAN_FAMILY, LAPLACIAN, EXPONENTIAL, SIGNS)
    },
}
"""Correct implementations, run through the same subjects: what the faults are faults of."""


def _bits_of_neighbours(f: Array, rng: np.random.Generator, trials: int) -> Array:
    """The second half of the users rounds with the uniform numbers of the first."""
    uniform = rng.random((trials, f.size))
    uniform[:, f.size // 2 :] = uniform[:, : f.size - f.size // 2]
    return np.asarray(uniform < 0.5 + f / (2.0 * math.sqrt(2.0)))


DENSITY_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "kde", density_subject,
        ("kde-probability-without-offset", "a bit is 1 with probability f/R", "the +1 of (1 + f/R)/2 forgotten",
         densities(lambda f, rng, trials: rng.random((trials, f.size)) < f / math.sqrt(2.0))),
        ("kde-range-mismatched", "users round with R = 1", "cosines are in [-1, 1], times sqrt 2 they are not",
         densities(lambda f, rng, trials: rng.random((trials, f.size)) < 0.5 + f / 2.0)),
        ("kde-n-mismatched", "2 B - (n + 1)", "the query point counted as a user", densities(correct_bits, users=13)),
        ("kde-halves-round-alike", "two halves of the users share their uniform numbers", "a seed by shard",
         densities(_bits_of_neighbours)),
    ),
    *faults_of(
        "density", estimator_subject,
        ("density-flips-for-all", "one flip for all bits of a user", "a mask drawn once per user",
         estimators(flips=_common)),
        ("density-rounds-for-all", "one uniform number for all features of a user",
         "every feature has its law, and all of them together say where in it", estimators(_common)), by="pairs",
    ),
    *faults_of(
        "density", estimator_subject,
        ("density-last-without-noise", "the last feature is not randomized", "off by one",
         estimators(flips=_last_is_quiet)),
        ("density-one-user-less", "2 B - (n - 1)", "the analyst is not a user", estimators(users=5)),
        ("density-by-threshold", "bits are 1 where the feature is positive", "rounded to the nearest",
         estimators(lambda rng, trials: np.full((trials, 6, 4), 0.5))),
        ("density-slope", "divided by 1 - p for 1 - 2 p", "a dropped bit and a flipped one confused",
         estimators(slope=0.8)),
    ),
    Fault("density-unshuffled", "density", "messages stay in the order of users", "no shuffler between tests", M,
          lambda: estimator_subject(own_density(ESTIMATOR, shuffler=lambda messages, rng: messages.symbols))),
    *faults_of(
        "lsq-gaussian", functools.partial(_feature_subject, GAUSSIAN_FAMILY),
        ("lsq-gaussian-bandwidth", "frequencies without the factor sqrt 2",
         "exp(-|x-y|^2) and exp(-|x-y|^2 / 2) confused", _signs(_cosines(1.0, 2.0 * math.pi))),
        ("lsq-gaussian-no-offset", "no random phase", "the phase seems to cancel",
         _signs(_cosines(math.sqrt(2.0), 0.0))),
        ("lsq-gaussian-phase-below-1", "phases in [0, 1)", "a uniform variable without the factor 2 pi",
         _signs(_cosines(math.sqrt(2.0), 1.0))),
        ("lsq-gaussian-unpaired", "users and analyzer draw their own features", "public randomness from two seeds",
         _signs(_unpaired_features)),
    ),
    *faults_of(
        "lsq-laplacian", functools.partial(_feature_subject, LAPLACIAN),
        ("lsq-laplacian-exponential-pitch", "pitches are exponential, not Gamma(2)",
         "rahimi2007's p(delta) = delta k''(delta) without the delta",
         _signs(_grid(lambda rng, trials: rng.exponential(1.0, trials)))),
        ("lsq-laplacian-no-shift", "grids are not shifted", "the shift forgotten",
         _signs(_grid(lambda rng, trials: rng.gamma(2.0, 1.0, trials), shifted=False))),
    ),
    *faults_of(
        "lsq-inner-product", functools.partial(_feature_subject, SIGNS),
        ("lsq-signs-of-bits", "signs in {0, 1}", "bits used as signs", _signs(_binary_signs)),
    ),
)  # fmt: skip
