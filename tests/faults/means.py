"""Faults of means of users' values: of single reports, of estimates from all reports, shuffled and central."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import Target
from dpverify.audit.subject import Subject
from dpverify.audit.subjects.local import local_subject
from dpverify.audit.subjects.means import mean_subject
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.means import LocalMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.shuffled_mean import ShuffledMean
from tests.faults.fault import Fault
from tests.faults.runs import Run, faults_of

__all__ = ["CORRECT_MEANS", "MEAN_FAULTS"]

Array = NDArray[Any]
LEVELS, ONE_BIT = RandomizedResponseMean(1.0, 4), OneBitMean(1.0, 3.0)
LAPLACE, STEPS = LaplaceMean(1.0, 2.0), DiscreteLaplaceMean(1.0, 2.0, 4)
CURATOR, SHUFFLED = CentralLaplaceMean(8, 0.8, 2.0), ShuffledMean(10, 0.4)


def _subject(of: Callable[..., Subject], reference: Any, run: Run) -> Subject:
    return of(reference, implementation=Target(run, True, (), "target"))


def _report(mechanism: LocalMean, value: Callable[[float], float] = float) -> Run:
    """Reports of this mechanism, on what becomes of the value."""
    return lambda x, rng, trials: mechanism.randomize(np.full(trials, value(x[0]), dtype=x.dtype), rng)


def _seeded(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A generator of its own for every user, with the same seed at every start: one coin for all trials."""
    return np.full(trials, ONE_BIT.randomize(x, np.random.default_rng(5))[0])


def _estimate(mechanism: LocalMean, read: Callable[[Array], Array]) -> Run:
    """Estimates from reports of this mechanism by another analyzer; all reports of a trial are a row."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        reports = mechanism.randomize(np.tile(x, trials), rng).reshape(trials, x.size)
        return np.asarray(read(reports))

    return run


def _published_analyzer(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Equation 9.5 as it is printed."""
    p, n = SHUFFLED.coin_probability, SHUFFLED.users
    ones = int(x.sum())
    reports = rng.binomial(ones, 1 - p / 2, trials) + rng.binomial(n - ones, p / 2, trials)
    return np.asarray((reports - p / 2) / (n * (1 - p)))


def _coins_for_flips(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A fair coin with probability p is taken for a flip with probability p; corrected for the coin."""
    p, n, ones = SHUFFLED.coin_probability, SHUFFLED.users, int(x.sum())
    reports = rng.binomial(ones, 1 - p, trials) + rng.binomial(n - ones, p, trials)
    return np.asarray((reports - n * p / 2) / (n * (1 - p)))


def _central(noise: Callable[[np.random.Generator, int], Array]) -> Run:
    return lambda x, rng, trials: np.asarray(x.mean() + noise(rng, trials))


def _debiased(reports: Array) -> Array:
    return np.asarray(ONE_BIT.debias(reports).mean(axis=1))


MEAN_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "levels", functools.partial(_subject, local_subject, LEVELS),
        ("rr-mean-epsilon-doubled", "keeps the level as for 2 epsilon", "a budget split twice",
         _report(RandomizedResponseMean(2.0, 4))),
        ("rr-mean-one-level-short", "levels 1, 2, 3 become 0, 1, 2 before noise", "levels counted from 1",
         _report(LEVELS, lambda value: max(value - 1, 0))),
    ),
    *faults_of(
        "one bit", functools.partial(_subject, local_subject, ONE_BIT),
        ("one-bit-epsilon-halved", "flips as for epsilon / 2: private, and biased", "two reports planned",
         _report(OneBitMean(0.5, 3.0))),
        ("one-bit-wrong-range", "values are divided by 4, where the largest is 3", "another unit",
         _report(OneBitMean(1.0, 4.0))),
        ("one-bit-seeded", "every user starts with the same seed", "a reproducible client", _seeded),
        ("one-bit-no-flips", "the rounded value is sent as it is", "rounding taken for privacy",
         lambda x, rng, n: (rng.random(n) < x[0] / 3.0).astype(int)),
    ),
    *faults_of(
        "laplace", functools.partial(_subject, local_subject, LAPLACE),
        ("laplace-mean-scale-of-epsilon", "scale eps / m", "a quotient upside down",
         lambda x, rng, n: x[0] + rng.laplace(0.0, 0.5, n)),
        ("laplace-mean-one-sided", "exponential noise", "the wrong generator",
         lambda x, rng, n: x[0] + rng.exponential(2.0, n)),
        ("laplace-mean-values-centred", "half of the range is subtracted", "normalised features",
         _report(LAPLACE, lambda value: 0.5 * value)),
    ),
    *faults_of(
        "discrete laplace", functools.partial(_subject, local_subject, STEPS),
        ("discrete-laplace-truncated", "noise of more than eight steps is drawn again", "a bounded table",
         lambda x, rng, n: np.floor(2.0 * x[0] + rng.random(n)) + _bounded(rng, n)),
        ("discrete-laplace-rounds-down", "values are rounded down to the grid", "integer division",
         _report(STEPS, lambda value: np.floor(2.0 * value) / 2.0)),
    ),
    *faults_of(
        "mean of bits", functools.partial(_subject, mean_subject, ONE_BIT),
        ("one-bit-not-debiased", "the mean of the reports times m", "a missing step",
         _estimate(ONE_BIT, lambda reports: 3.0 * reports.mean(axis=1))),
        ("one-bit-debiased-for-other-epsilon", "debiased with epsilon 1.2", "two configurations",
         _estimate(ONE_BIT, lambda reports: OneBitMean(1.2, 3.0).debias(reports).mean(axis=1))),
        ("one-bit-means-clipped", "estimates clipped to [0, m]: biased at the ends", "impossible values removed",
         _estimate(ONE_BIT, lambda reports: np.clip(_debiased(reports), 0.0, 3.0))),
        ("one-bit-last-user-forgotten", "the last report is left out", "an exclusive end",
         _estimate(ONE_BIT, lambda reports: _debiased(reports[:, :-1]))),
    ),
    *faults_of(
        "shuffled mean", functools.partial(_subject, mean_subject, SHUFFLED),
        ("shuffled-mean-as-printed", "p / 2 is subtracted once, not n times", "wang_lecture9, equation 9.5",
         _published_analyzer),
        ("shuffled-mean-flips", "bits are flipped with probability p", "a coin taken for a flip", _coins_for_flips),
    ),
    *faults_of(
        "mean", functools.partial(_subject, mean_subject, CURATOR),
        ("mean-noise-of-every-user", "each of n users' noise is averaged, at the curator's scale", "moved to clients",
         _central(lambda rng, n: rng.laplace(0.0, CURATOR.scale, (n, CURATOR.users)).mean(axis=1))),
        ("mean-noise-biased", "a tenth of the scale is added", "a rounded sampler",
         _central(lambda rng, n: rng.laplace(0.1 * CURATOR.scale, CURATOR.scale, n))),
    ),
)  # fmt: skip


def _bounded(rng: np.random.Generator, trials: int) -> Array:
    decay = np.exp(-STEPS.decay)
    table = np.arange(-8, 9)
    chances = decay ** np.abs(table)
    return np.asarray(rng.choice(table, trials, p=chances / chances.sum()))


CORRECT_MEANS: dict[str, Callable[[], Subject]] = {
    "levels": functools.partial(_subject, local_subject, LEVELS, _report(LEVELS)),
    "mean of bits": functools.partial(_subject, mean_subject, ONE_BIT, _estimate(ONE_BIT, _debiased)),
    "mean": functools.partial(
        _subject, mean_subject, CURATOR, _central(lambda rng, n: rng.laplace(0.0, CURATOR.scale, n))
    ),
}
