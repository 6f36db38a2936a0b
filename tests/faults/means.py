"""Faults of means: from local reports, shuffled and central."""

import functools
import math
from collections.abc import Callable

import numpy as np

from dpverify.audit.subject import Subject
from dpverify.audit.subjects.mechanisms import local_subject, mean_subject
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.means import LocalMean
from protocols.shuffled_mean import ShuffledMean
from tests.faults.fault import Fault
from tests.faults.making import (
    LEVELS_OF_4,
    ONE_BIT_OF_3,
    Array,
    C,
    D,
    Run,
    faults_of,
    local_faults,
    of_reference,
    report,
)

__all__ = ["CORRECT_MEANS", "MEAN_FAULTS"]

CURATOR_OF_8 = CentralLaplaceMean(8, 0.8, 2.0)
SHUFFLED_OF_10 = ShuffledMean(10, 0.4)


def _estimate(mechanism: LocalMean, read: Callable[[Array], Array]) -> Run:
    """Estimates from reports of this mechanism by another analyzer; all reports of a trial are a row."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        reports = mechanism.randomize(np.tile(x, trials), rng).reshape(trials, x.size)
        return np.asarray(read(reports))

    return run


def _published_analyzer(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Equation 9.5 as it is printed."""
    p, n = SHUFFLED_OF_10.coin_probability, SHUFFLED_OF_10.users
    ones = int(x.sum())
    reports = rng.binomial(ones, 1 - p / 2, trials) + rng.binomial(n - ones, p / 2, trials)
    return np.asarray((reports - p / 2) / (n * (1 - p)))


def _coins_for_flips(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A fair coin with probability p is taken for a flip with probability p; corrected for the coin."""
    p, n, ones = SHUFFLED_OF_10.coin_probability, SHUFFLED_OF_10.users, int(x.sum())
    reports = rng.binomial(ones, 1 - p, trials) + rng.binomial(n - ones, p, trials)
    return np.asarray((reports - n * p / 2) / (n * (1 - p)))


def _curator_noise(noise: Callable[[np.random.Generator, int], Array]) -> Run:
    return lambda x, rng, trials: np.asarray(x.mean() + noise(rng, trials))


def _debiased(reports: Array) -> Array:
    return np.asarray(ONE_BIT_OF_3.debias(reports).mean(axis=1))


CORRECT_MEANS: dict[str, Callable[[], Subject]] = {
    "levels": functools.partial(of_reference, local_subject, LEVELS_OF_4, report(LEVELS_OF_4)),
    "mean of bits": functools.partial(of_reference, mean_subject, ONE_BIT_OF_3, _estimate(ONE_BIT_OF_3, _debiased)),
    "mean": functools.partial(
        of_reference, mean_subject, CURATOR_OF_8, _curator_noise(lambda rng, n: rng.laplace(0.0, CURATOR_OF_8.scale, n))
    ),
}
CURATOR = CentralLaplaceMean(9, 0.7, 2.0)
SHUFFLED = ShuffledMean(12, 0.4)


def _mean_clipped(noise: Callable[[np.random.Generator, int], Array], limit: float = math.inf) -> Run:
    return lambda x, rng, trials: np.clip(x.mean() + noise(rng, trials), -limit, limit)


def _coins_of_zeros_only(x: Array, rng: np.random.Generator, trials: int) -> Array:
    ones = int(x.sum())
    reports = ones + rng.binomial(12 - ones, 0.2, trials)
    return np.asarray((reports - 12 * 0.2) / 0.6 / 12)


def _mean(noise: Callable[[Array, np.random.Generator, int], Array]) -> Run:
    return lambda x, rng, trials: np.asarray(x.mean() + noise(x, rng, trials))


def _at_times(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.laplace(0.0, CURATOR.scale, trials) * (rng.random(trials) >= 0.001)


def _smoothed(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Half of the runs answer with the last run's noise mirrored: each has its law."""
    noise = rng.laplace(0.0, CURATOR.scale, trials)
    return np.where(rng.random(trials) < 0.02, -np.roll(noise, 1), noise)


def _reports(x: Array, rng: np.random.Generator, trials: int, flips: Callable[[Array], Array]) -> Array:
    ones = (x.astype(int) ^ flips(rng.random((trials, x.size)))).sum(axis=1)
    return np.asarray((ones - 12 * 0.2) / 0.6 / 12)


def _two_of_a_kind(uniform: Array) -> Array:
    uniform[:, 0] = uniform[:, -1]
    return uniform < 0.2


def _sixteen_ago(x: Array, rng: np.random.Generator, trials: int) -> Array:
    at, z = np.arange(trials), rng.laplace(0.0, CURATOR.scale, trials)
    return z[np.where((at % 32 == 31), at - 16, at)]


MEAN_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "mean of bits", functools.partial(of_reference, mean_subject, ONE_BIT_OF_3),
        ("one-bit-not-debiased", "the mean of the reports times m", "a missing step",
         _estimate(ONE_BIT_OF_3, lambda reports: 3.0 * reports.mean(axis=1))),
        ("one-bit-means-clipped", "estimates clipped to [0, m]: biased at the ends", "impossible values removed",
         _estimate(ONE_BIT_OF_3, lambda reports: np.clip(_debiased(reports), 0.0, 3.0))),
        ("one-bit-last-user-forgotten", "the last report is left out", "an exclusive end",
         _estimate(ONE_BIT_OF_3, lambda reports: _debiased(reports[:, :-1]))),
    ),
    *faults_of(
        "shuffled mean", functools.partial(of_reference, mean_subject, SHUFFLED_OF_10),
        ("shuffled-mean-as-printed", "p / 2 is subtracted once, not n times", "wang_lecture9, equation 9.5",
         _published_analyzer),
        ("shuffled-mean-flips", "bits are flipped with probability p", "a coin taken for a flip", _coins_for_flips),
    ),
    *faults_of(
        "mean", functools.partial(of_reference, mean_subject, CURATOR_OF_8),
        ("mean-noise-of-every-user", "each of n users' noise is averaged, at the curator's scale",
         "moved to clients",
         _curator_noise(lambda rng, n: rng.laplace(0.0, CURATOR_OF_8.scale, (n, CURATOR_OF_8.users)).mean(axis=1))),
        ("mean-noise-biased", "a tenth of the scale is added", "a rounded sampler",
         _curator_noise(lambda rng, n: rng.laplace(0.1 * CURATOR_OF_8.scale, CURATOR_OF_8.scale, n))),
    ),
    *local_faults(
        "mean", mean_subject, CURATOR,
        ("mean-clipped", "means clipped to the range of values", "impossible values removed",
         _mean_clipped(lambda rng, n: rng.laplace(0.0, CURATOR.scale, n), 2.0)),
        ("mean-plain-at-times", "1 run of 1,000 has no noise", "a race", _mean(_at_times), C, True),
        ("mean-mirrored-at-times", "1 run of 50 has the last noise with the other sign", "variance reduction",
         _mean(_smoothed), D, True),
        ("mean-sixteen-ago", "1 run of 32 has the noise of 16 runs ago", "a ring of 16", _mean(_sixteen_ago), C, True),
    ),
    *local_faults(
        "shuffled mean", mean_subject, SHUFFLED,
        ("shuffled-mean-coins-of-zeros", "only zeros throw coins", "the branch of the wrong bit",
         _coins_of_zeros_only),
        ("shuffled-mean-two-alike", "two users share their coin", "one person, two accounts",
         lambda x, rng, n: _reports(x, rng, n, _two_of_a_kind)),
    ),
)  # fmt: skip
