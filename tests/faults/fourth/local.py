"""Faults of histogram, vector sum, local reports, means and RAPPOR, fourth batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subjects.local import local_subject
from dpverify.audit.subjects.means import mean_subject
from dpverify.audit.subjects.rappor import rappor_subject
from tests.faults.counts import bucket_subject, buckets, vector_subject, vectors
from tests.faults.fault import Fault
from tests.faults.third.local import (
    CURATOR,
    KEEP,
    KEPT,
    LABELS,
    LAPLACE,
    ONE_BIT,
    REPORTS,
    SHUFFLED,
    _labels,
    _mean,
    _of,
    _permanent,
    _rappor,
    _reports,
    _sent,
)
from tests.faults.third.tables import _later, _noise, _third, _viewed

__all__ = ["FOURTH_LOCAL_FAULTS"]

Array = NDArray[Any]


def _exchanged(rng: np.random.Generator, trials: int) -> Array:
    """1 run of 100 takes both noises from the same place."""
    z = _noise(rng, trials, 2)
    same = rng.random(trials) < 0.01
    z[same, 1] = z[same, 0]
    return z


def _opposed(rng: np.random.Generator, trials: int) -> Array:
    """In half of the runs the bucket that had less noise in the last run gets more."""
    z = np.sort(_noise(rng, trials, 2), axis=1)
    up = np.cumsum(rng.random(trials) < 0.8) % 2
    return np.column_stack([np.where(up, z[:, 1], z[:, 0]), np.where(up, z[:, 0], z[:, 1])])


def _six_runs_ago(rng: np.random.Generator, trials: int) -> Array:
    z, at = _noise(rng, trials, 2), np.arange(trials)
    z[:, 1] = z[np.where((at % 8 == 7), at - 6, at), 1]
    return z


def _level_of_the_last(point: Array, rng: np.random.Generator, reports: int) -> Array:
    """The blanket of a user is the value of the user before in 1 of 5 cases."""
    scaled = np.tile(point * 2.0, (reports, 1))
    values = np.floor(scaled) + (rng.random(scaled.shape) < scaled - np.floor(scaled))
    blanket = rng.integers(0, 3, scaled.shape)
    again = rng.random(scaled.shape) < 0.2
    blanket = np.where(again, np.roll(values, 1, axis=0), blanket)
    return np.where(rng.random(scaled.shape) < 0.3, blanket, values)


def _one_user_plain(point: Array, rng: np.random.Generator, reports: int) -> Array:
    """The first of the twelve users has no blanket."""
    scaled = np.tile(point * 2.0, (reports, 1))
    values = np.floor(scaled) + (rng.random(scaled.shape) < scaled - np.floor(scaled))
    under = (rng.random(scaled.shape) < 0.3) & (np.arange(reports) % 12 > 0)[:, np.newaxis]
    return np.where(under, rng.integers(0, 3, scaled.shape), values)


def _steps_by_counter(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Other labels come in turn."""
    return _labels(x, rng.random(trials) < KEEP, 1 + np.arange(trials) % 4)


def _larger_oftener(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The largest label is kept 3 % oftener: thresholds from a table with an end of 1."""
    return _labels(x, rng.random(trials) < KEEP + 0.015 * (x[0] == 4), rng.integers(1, 5, trials))


def _retry(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two moved reports in a row: the second is drawn again."""
    kept = rng.random(trials) < KEEP
    again = np.append(False, ~kept[1:] & ~kept[:-1]) & (rng.random(trials) < 0.2)
    return _labels(x, kept | (again & (rng.random(trials) < KEEP)), rng.integers(1, 5, trials))


def _flips_in_turn(x: Array, rng: np.random.Generator, trials: int) -> Array:
    rounded = rng.random(trials) < x[0]
    chance = ONE_BIT.flip_probability + np.where(np.arange(trials) % 2, 0.02, -0.02)
    return (rounded ^ (rng.random(trials) < chance)).astype(int)


def _rounded_to_quarters(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The chance is a number of eighths."""
    rounded = rng.random(trials) < x[0]
    return (rounded ^ (rng.random(trials) < np.rint(8 * ONE_BIT.flip_probability) / 8)).astype(int)


def _scale_by_value(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise is 4 % larger for values in the upper half."""
    return np.asarray(x[0] + rng.laplace(0.0, LAPLACE.scale * (1.04 if x[0] > 0.5 else 1.0), trials))


def _gap_at_zero(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = rng.laplace(0.0, LAPLACE.scale, trials)
    small = np.abs(z) < 0.02 * LAPLACE.scale
    z[small] = rng.laplace(0.0, LAPLACE.scale, int(small.sum()))
    return np.asarray(x[0] + z)


def _sixteen_ago(x: Array, rng: np.random.Generator, trials: int) -> Array:
    at, z = np.arange(trials), rng.laplace(0.0, CURATOR.scale, trials)
    return z[np.where((at % 32 == 31), at - 16, at)]


def _stepwise(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A quarter of the noise is left out where the mean is a whole number."""
    return rng.laplace(0.0, CURATOR.scale * (0.75 if float(x.mean()).is_integer() else 1.0), trials)


def _a_user_twice(uniform: Array) -> Array:
    """In 1 run of 20 all coins are those of the first user."""
    same = uniform[:, -1] * 997.0 % 1.0 < 0.05
    uniform[same] = uniform[same, :1]
    return uniform < 0.2


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


ARGUED = {
    "labels-steps-in-turn",
    "one-bit-flips-in-turn",
    "mean-sixteen-ago",
    "laplace-mean-no-small-noise",
}
"""Faults that no law of one report on its cells shows: the first three show between runs (`between_runs`), and of the
last 4,000 of 200,000 reports should lie where hardly any does."""

_FAULTS: tuple[Fault, ...] = (
    *_third(
        "histogram", bucket_subject, True,
        ("histogram-opposed", "noises change their order from run to run with .8", "a sorted pair that is swapped",
         _viewed(_opposed)),
        ("histogram-six-runs-ago", "1 run of 8 has bucket 1's noise of six runs ago", "a ring", _viewed(_six_runs_ago)),
        ("histogram-stale-difference", "differences are those of three runs ago", "a report that is late",
         _later(buckets(), 5, 3)),
    ),
    *_third(
        "histogram", bucket_subject, False,
        ("histogram-same-at-times", "1 run of 100 has one noise for both buckets", "a race", _viewed(_exchanged)),
        ("selection-second-at-times", "1 run of 100 selects the other bucket", "a race",
         buckets(select=lambda view: (view[..., 0] > view[..., 1] + 7).astype(int))),
    ),
    *_third(
        "vector-sum", vector_subject, False,
        ("vector-blanket-of-the-last", "a fifth of the blanket is the last user's value", "memory that is reused",
         vectors(_level_of_the_last)),
        ("vector-one-user-plain", "the first user has no blanket", "range(1, n)", vectors(_one_user_plain)),
    ),
    *_of(
        "labels", local_subject, LABELS,
        ("labels-steps-in-turn", "other labels come in turn", "a counter for a random step", _steps_by_counter),
        ("labels-last-kept-oftener", "the last label is kept .015 oftener", "a table that ends at 1", _larger_oftener),
        ("labels-drawn-again", "the second of two moved reports may be drawn again", "an alarm", _retry),
    ),
    *_of(
        "one bit", local_subject, ONE_BIT,
        ("one-bit-flips-in-turn", "flips .02 oftener and more rarely in turn", "two servers", _flips_in_turn),
        ("one-bit-eighths", "the chance is a number of eighths", "three random bits", _rounded_to_quarters),
    ),
    *_of(
        "laplace", local_subject, LAPLACE,
        ("laplace-mean-scale-by-value", "4 % more noise for larger values", "a relative error", _scale_by_value),
        ("laplace-mean-no-small-noise", "noise below .02 scales is drawn again", "no exact answers", _gap_at_zero),
    ),
    *_of(
        "mean", mean_subject, CURATOR,
        ("mean-sixteen-ago", "1 run of 32 has the noise of 16 runs ago", "a ring of 16", _mean(_sixteen_ago)),
        ("mean-less-for-whole-numbers", "a quarter less noise for whole means", "a shortcut", _mean(_stepwise)),
    ),
    *_of(
        "shuffled mean", mean_subject, SHUFFLED,
        ("shuffled-mean-one-coin-at-times", "1 run of 20 has one coin for all", "a scalar draw in a rare branch",
         lambda x, rng, n: _reports(x, rng, n, _a_user_twice)),
    ),
    *_of(
        "rappor", rappor_subject, KEPT,
        ("rappor-two-bits-share", "two bits share their instantaneous noise", "a word of two bits",
         _rappor(_neighbours_share)),
        ("rappor-second-as-first", "the second report is the first one again", "a retry", _rappor(_second_as_first)),
        ("rappor-noise-fades", "p falls from .3 to .2 over forty reports", "a budget by report", _rappor(_fades)),
    ),
)  # fmt: skip
FOURTH_LOCAL_FAULTS: tuple[Fault, ...] = tuple(
    replace(fault, detectable=True) if fault.name in ARGUED else fault for fault in _FAULTS
)
