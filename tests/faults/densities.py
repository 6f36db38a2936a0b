"""Faults of kernel density estimation and of its features.

Outputs are continuous, so they are reduced to something with an exact law: features to random signs with their
product's mean, density estimates to the bitsum below them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subject import Dataset, Subject
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import RandomizedResponse
from protocols.kde import KernelDensityProtocol
from protocols.lsq import ExponentialTessellation, GaussianFeatures, LaplacianBinning, LSQFamily, RandomSigns
from tests.faults.fault import Fault
from tests.faults.runs import Run, bernoulli_sum, faults_of, subject_of

__all__ = ["CORRECT_DENSITIES", "DENSITY_FAULTS", "correct_bits", "densities", "density_subject"]

# Kernel density with public features that are known to the audit, one pair: F~ is affine in one bitsum.

FEATURES = GaussianFeatures(2).sample(1, np.random.default_rng(5))
DENSITY = KernelDensityProtocol(RandomizedResponse(12, 0.2), FEATURES)
POINTS = np.random.default_rng(6).normal(size=(12, 2))


def density_subject(run: Run) -> Subject:
    probability = 0.5 + FEATURES.f(POINTS)[:, 0, 0] / (2.0 * math.sqrt(2.0))
    reports = bernoulli_sum(0.2 + 0.6 * probability)
    published = reports.image(lambda ones: np.round((2.0 * (ones - 12 * 0.2) / 0.6 - 12) * math.sqrt(2.0), 9))
    return subject_of("kernel density", run, [Dataset("twelve points", POINTS, {0: ("published sum", published)})])


def densities(bits: Callable[..., NDArray[Any]], scale: float = math.sqrt(2.0), users: int = 12) -> Run:
    def run(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
        drawn = bits(FEATURES.f(inputs)[:, 0, 0], rng, trials)
        flips = rng.random(drawn.shape) < 0.2
        estimates = ((drawn ^ flips).sum(axis=1) - 12 * 0.2) / 0.6
        return np.round((2.0 * estimates - users) * scale, 9)[:, np.newaxis]

    return run


def correct_bits(f: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
    return np.asarray(rng.random((trials, f.size)) < 0.5 + f / (2.0 * math.sqrt(2.0)))


# Features: random signs with means f / R and g / R have the product's mean k(x, y) / R^2.

PAIR = np.array([[0.3, 0.1], [-0.2, 0.4]])
UNIT_PAIR = np.array([[0.6, 0.8], [1.0, 0.0]])


def _feature_subject(family: LSQFamily, run: Run) -> Subject:
    pair = UNIT_PAIR if family.requires_unit_vectors else PAIR
    kernel = float(family.kernel(pair[:1], pair[1:])[0, 0])
    positive = 0.5 + kernel / (2.0 * family.R**2)
    law = DiscreteLaw.of([-1, 1], [1.0 - positive, positive])
    return subject_of(type(family).__name__, run, [Dataset("two points", pair, {0: ("sign of the product", law)})])


Product = Callable[[NDArray[Any], np.random.Generator, int], tuple[NDArray[Any], NDArray[Any]]]


def _signs(product: Product) -> Run:
    """Turn features f(x), g(y), each divided by the range, into the product of two random signs."""

    def run(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
        f, g = product(inputs, rng, trials)
        signs = [np.where(rng.random(trials) < 0.5 + 0.5 * np.clip(x, -1.0, 1.0), 1, -1) for x in (f, g)]
        return (signs[0] * signs[1])[:, np.newaxis]

    return run


def _of_family(family: LSQFamily) -> Product:
    def product(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> tuple[NDArray[Any], NDArray[Any]]:
        features = family.sample(trials, rng)
        return features.f(inputs[:1])[0, :, 0] / family.R, features.g(inputs[1:])[0, :, 0] / family.R

    return product


def _cosines(scale: float, phase: float) -> Product:
    def product(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> tuple[NDArray[Any], NDArray[Any]]:
        angle = scale * rng.standard_normal((trials, 2)) @ inputs.T + rng.uniform(0.0, phase, (trials, 1))
        return np.cos(angle[:, 0]), np.cos(angle[:, 1])

    return product


def _unpaired(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> tuple[NDArray[Any], NDArray[Any]]:
    first, second = GAUSSIAN.sample(trials, rng), GAUSSIAN.sample(trials, rng)
    return first.f(inputs[:1])[0, :, 0] / GAUSSIAN.R, second.g(inputs[1:])[0, :, 0] / GAUSSIAN.R


def _binary_signs(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Signs in {0, 1}, as from a generator of bits."""
    signs = rng.integers(0, 2, (trials, 2))
    values = signs @ inputs.T / math.sqrt(2.0)
    return values[:, 0], values[:, 1]


def _grid(pitch: Callable[[np.random.Generator, int], NDArray[Any]], shifted: bool = True) -> Product:
    def product(inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> tuple[NDArray[Any], NDArray[Any]]:
        same = np.ones(trials, dtype=bool)
        for column in inputs.T:
            width = pitch(rng, trials)
            shift = rng.random(trials) if shifted else np.zeros(trials)
            same &= np.floor(column[0] / width + shift) == np.floor(column[1] / width + shift)
        first = 2.0 * rng.integers(0, 2, trials) - 1.0
        return first, np.where(same, first, 2.0 * rng.integers(0, 2, trials) - 1.0)

    return product


GAUSSIAN, LAPLACIAN = GaussianFeatures(2), LaplacianBinning(2, buckets=1, signed=True)
EXPONENTIAL, SIGNS = ExponentialTessellation(2, buckets=1, signed=True), RandomSigns(2)

CORRECT_DENSITIES: dict[str, Callable[[], Subject]] = {
    "kernel density": lambda: density_subject(densities(correct_bits)),
    **{
        type(family).__name__: functools.partial(_feature_subject, family, _signs(_of_family(family)))
        for family in (GAUSSIAN, LAPLACIAN, EXPONENTIAL, SIGNS)
    },
}
"""Correct implementations, run through the same subjects: what the faults are faults of."""

DENSITY_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "kde",
        density_subject,
        (
            "kde-rounds-to-sign",
            "features are rounded to their sign",
            "deterministic rounding seems more precise",
            densities(lambda f, rng, trials: np.tile(f > 0, (trials, 1))),
        ),
        (
            "kde-probability-without-offset",
            "a bit is 1 with probability f/R",
            "the +1 of (1 + f/R)/2 forgotten",
            densities(lambda f, rng, trials: rng.random((trials, f.size)) < f / math.sqrt(2.0)),
        ),
        (
            "kde-range-mismatched",
            "users round with R = 1",
            "cosines are in [-1, 1], times sqrt 2 they are not",
            densities(lambda f, rng, trials: rng.random((trials, f.size)) < 0.5 + f / 2.0),
        ),
        (
            "kde-range-missing",
            "the analyzer leaves R out",
            "half of the scaling forgotten",
            densities(correct_bits, scale=1.0),
        ),
        (
            "kde-n-mismatched",
            "2 B - (n + 1)",
            "the query point counted as a user",
            densities(correct_bits, users=13),
        ),
        (
            "kde-one-coin-per-run",
            "all users round with one uniform number",
            "a scalar draw broadcast over users",
            densities(lambda f, rng, trials: rng.random((trials, 1)) < 0.5 + f / (2.0 * math.sqrt(2.0))),
        ),
    ),
    *faults_of(
        "lsq-gaussian",
        functools.partial(_feature_subject, GAUSSIAN),
        (
            "lsq-gaussian-bandwidth",
            "frequencies without the factor sqrt 2",
            "exp(-|x-y|^2) and exp(-|x-y|^2 / 2) confused",
            _signs(_cosines(1.0, 2.0 * math.pi)),
        ),
        (
            "lsq-gaussian-no-offset",
            "no random phase",
            "the phase seems to cancel",
            _signs(_cosines(math.sqrt(2.0), 0.0)),
        ),
        (
            "lsq-gaussian-phase-below-1",
            "phases in [0, 1)",
            "a uniform variable without the factor 2 pi",
            _signs(_cosines(math.sqrt(2.0), 1.0)),
        ),
        (
            "lsq-gaussian-unpaired",
            "users and analyzer draw their own features",
            "public randomness from two seeds",
            _signs(_unpaired),
        ),
    ),
    *faults_of(
        "lsq-laplacian",
        functools.partial(_feature_subject, LAPLACIAN),
        (
            "lsq-laplacian-exponential-pitch",
            "pitches are exponential, not Gamma(2)",
            "rahimi2007's p(delta) = delta k''(delta) without the delta",
            _signs(_grid(lambda rng, trials: rng.exponential(1.0, trials))),
        ),
        (
            "lsq-laplacian-no-shift",
            "grids are not shifted",
            "the shift forgotten",
            _signs(_grid(lambda rng, trials: rng.gamma(2.0, 1.0, trials), shifted=False)),
        ),
    ),
    *faults_of(
        "lsq-inner-product",
        functools.partial(_feature_subject, SIGNS),
        ("lsq-signs-of-bits", "signs in {0, 1}", "bits used as signs", _signs(_binary_signs)),
    ),
)
