"""Faults of local reports: labels, levels, single bits and Laplace noise."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from dpverify.audit.subjects.mechanisms import local_subject
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from tests.faults.fault import Fault
from tests.faults.making import (
    LABELS_OF_4,
    LEVELS_OF_4,
    ONE_BIT_OF_3,
    Array,
    C,
    D,
    Run,
    faults_of,
    label_run,
    label_subject,
    local_faults,
    of_reference,
    report,
)

__all__ = ["LOCAL_FAULTS"]


def _other_labels(keep: float) -> Callable[[Array, np.random.Generator], Array]:
    """Keep with another probability, and else report one of the others."""

    def randomize(labels: Array, rng: np.random.Generator) -> Array:
        leave = rng.random(labels.size) >= keep
        return (labels + leave * rng.integers(1, 4, labels.size)) % 4

    return randomize


def _over_all(labels: Array, rng: np.random.Generator) -> Array:
    leave = rng.random(labels.size) >= LABELS_OF_4.keep_probability
    return np.where(leave, rng.integers(0, 4, labels.size), labels)


LAPLACE_OF_2 = LaplaceMean(1.0, 2.0)
STEPS_OF_4 = DiscreteLaplaceMean(1.0, 2.0, 4)


def _seeded(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A generator of its own for every user, with the same seed at every start: one coin for all trials."""
    return np.full(trials, ONE_BIT_OF_3.randomize(x, np.random.default_rng(5))[0])


def _bounded(rng: np.random.Generator, trials: int) -> Array:
    decay = np.exp(-STEPS_OF_4.decay)
    table = np.arange(-8, 9)
    chances = decay ** np.abs(table)
    return np.asarray(rng.choice(table, trials, p=chances / chances.sum()))


LABELS = LabelRandomizedResponse(5, 1.0)
ONE_BIT = OneBitMean(1.0)
LAPLACE_MEAN = LaplaceMean(1.0)
STEPS = DiscreteLaplaceMean(1.0, 2.0, 2)


def _label_report(x: Array, rng: np.random.Generator, trials: int, keep: float = LABELS.keep_probability) -> Array:
    other = (x[0] + rng.integers(1, 5, trials)) % 5
    return np.where(rng.random(trials) < keep, x[0], other)


def _last_never_drawn(x: Array, rng: np.random.Generator, trials: int) -> Array:
    keep = rng.random(trials) < LABELS.keep_probability
    return np.where(keep, x[0], (x[0] + rng.integers(1, 5, trials)) % 5 % 4)


def _label_3_plain(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.full(trials, 3) if x[0] == 3 else _label_report(x, rng, trials)


def _bytes_modulo(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The other label is a nibble modulo 5: 0 is drawn oftener."""
    keep = rng.random(trials) < LABELS.keep_probability
    other = rng.integers(0, 16, trials) % 5
    while (same := ~keep & (other == x[0])).any():
        other[same] = rng.integers(0, 16, int(same.sum())) % 5
    return np.where(keep, x[0], other)


def _even_coins(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A low-discrepancy sequence of coins: every report has its law, and all together say the input."""
    coins = (rng.random() + np.arange(trials) * 0.6180339887498949) % 1.0
    return np.where(coins < LABELS.keep_probability, x[0], (x[0] + rng.integers(1, 5, trials)) % 5)


def _bit(chance: Callable[[Array], Array], flip: float = ONE_BIT.flip_probability) -> Run:
    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        return ((rng.random(trials) < chance(x)[0]) ^ (rng.random(trials) < flip)).astype(int)

    return run


def _noisy(noise: Callable[[np.random.Generator, int], Array]) -> Run:
    return lambda x, rng, trials: np.asarray(x[0] + noise(rng, trials))


def _clipped_report(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.clip(x[0] + rng.laplace(0.0, LAPLACE_MEAN.scale, trials), -3.0, 4.0)


def _rounded_steps(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.rint(x[0] + rng.laplace(0.0, 2.0, trials))


LEVELS = RandomizedResponseMean(1.0, 3)
KEEP = LABELS.keep_probability


def _moved(x: Array, kept: Array, offset: Array) -> Array:
    """Reports of a label out of five: kept, or moved by an offset."""
    return np.where(kept, x[0], (x[0] + offset) % 5)


def _offset_of_the_last(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Where two reports in a row are moved, both are moved alike: each report has its law."""
    kept, offset = rng.random(trials) < KEEP, rng.integers(1, 5, trials)
    for at in np.flatnonzero(~kept[1:] & ~kept[:-1]) + 1:
        offset[at] = offset[at - 1]
    return _moved(x, kept, offset)


def _one_uniform(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The number that decides to keep picks the offset as well, scaled as if it were fresh."""
    uniform = rng.random(trials)
    return _moved(x, uniform < KEEP, 1 + np.floor(4 * uniform).astype(int))


def _two_versions(x: Array, rng: np.random.Generator, trials: int) -> Array:
    keep = np.where(np.arange(trials) % 3 == 0, KEEP + 0.04, KEEP - 0.02)
    return _moved(x, rng.random(trials) < keep, rng.integers(1, 5, trials))


def _plain_sundays(x: Array, rng: np.random.Generator, trials: int) -> Array:
    plain = (np.arange(trials) + rng.integers(10_000)) // 100 % 100 == 0
    return _moved(x, plain | (rng.random(trials) < KEEP), rng.integers(1, 5, trials))


def _level(chance: Callable[[int], list[float]]) -> Run:
    return lambda x, rng, trials: rng.choice(3, trials, p=chance(int(x[0])))


def _neighbouring_levels(level: int) -> list[float]:
    """Other levels by their distance: 2 to 1 from the ends."""
    keep = LEVELS.labels.keep_probability
    weights = np.array([0.0 if other == level else 1.0 / abs(other - level) for other in range(3)])
    return ((1 - keep) * weights / weights.sum() + keep * (np.arange(3) == level)).tolist()


def _one_number_for_both(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One uniform number rounds the value and throws the coin."""
    uniform = rng.random(trials)
    return ((uniform < x[0]) ^ (uniform < ONE_BIT.flip_probability)).astype(int)


def _rounded_once(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The value is rounded once for ten reports, as a client that stores it would."""
    rounded = np.repeat(rng.random(trials // 10 + 1) < x[0], 10)[:trials]
    return (rounded ^ (rng.random(trials) < ONE_BIT.flip_probability)).astype(int)


def _signs_that_stay(x: Array, rng: np.random.Generator, trials: int) -> Array:
    signs = np.cumsum(rng.random(trials) < 0.2) % 2 * 2 - 1
    return np.asarray(x[0] + signs * rng.exponential(LAPLACE_MEAN.scale, trials))


def _two_tails(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One of 40 draws has thrice the scale: a mixture against outliers."""
    return np.asarray(
        x[0] + rng.laplace(0.0, LAPLACE_MEAN.scale, trials) * np.where(rng.random(trials) < 0.025, 3.0, 1.0)
    )


def _split_by_variance(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x[0] + rng.laplace(0.0, LAPLACE_MEAN.scale / math.sqrt(2.0), (trials, 2)).sum(axis=1))


def _inverted_bits(bits: int) -> Run:
    """Inversion from so many bits: the law has a gap at 0 and an end."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        u = (rng.integers(0, 2**bits, trials) + 0.5) / 2.0**bits - 0.5
        return np.asarray(x[0] - LAPLACE_MEAN.scale * np.sign(u) * np.log1p(-2.0 * np.abs(u)))

    return run


def _steps(noise: Callable[[np.random.Generator, int, float], Array]) -> Run:
    """The value on its grid of steps, rounded at random, and noise of the decay that it should have."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        steps = x[0] / STEPS.largest * STEPS.steps
        rounded = np.floor(steps) + (rng.random(trials) < steps - np.floor(steps))
        return np.asarray(rounded + noise(rng, trials, math.exp(-STEPS.epsilon / STEPS.steps)))

    return run


def _step_geometrics(rng: np.random.Generator, trials: int, decay: float) -> Array:
    return rng.geometric(1 - decay, trials) - rng.geometric(1 - decay, trials)


def _on_even_steps(rng: np.random.Generator, trials: int, decay: float) -> Array:
    return 2 * _step_geometrics(rng, trials, decay**2)


def _steps_by_counter(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Other labels come in turn."""
    return _moved(x, rng.random(trials) < KEEP, 1 + np.arange(trials) % 4)


def _larger_oftener(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The largest label is kept 3 % oftener: thresholds from a table with an end of 1."""
    return _moved(x, rng.random(trials) < KEEP + 0.015 * (x[0] == 4), rng.integers(1, 5, trials))


def _retry(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two moved reports in a row: the second is drawn again."""
    kept = rng.random(trials) < KEEP
    again = np.append(False, ~kept[1:] & ~kept[:-1]) & (rng.random(trials) < 0.2)
    return _moved(x, kept | (again & (rng.random(trials) < KEEP)), rng.integers(1, 5, trials))


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
    return np.asarray(x[0] + rng.laplace(0.0, LAPLACE_MEAN.scale * (1.04 if x[0] > 0.5 else 1.0), trials))


def _gap_at_zero(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = rng.laplace(0.0, LAPLACE_MEAN.scale, trials)
    small = np.abs(z) < 0.02 * LAPLACE_MEAN.scale
    z[small] = rng.laplace(0.0, LAPLACE_MEAN.scale, int(small.sum()))
    return np.asarray(x[0] + z)


LOCAL_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "labels", label_subject,
        ("labels-off-by-one", "reports count from 1", "classes named 1..m",
         label_run(lambda labels, rng: (LABELS_OF_4.randomize(labels, rng) + 1) % 4)),
        ("labels-over-all", "a label that is not kept is resampled over all m", "k-RR has both forms",
         label_run(_over_all)),
        ("labels-epsilon-5-percent-high", "keeps as for 1.05 epsilon", "a rounded constant",
         label_run(_other_labels(LabelRandomizedResponse(4, 1.05).keep_probability))),
        ("labels-debias-missing", "the reported counts are used as they are", "the correction forgotten",
         label_run(LABELS_OF_4.randomize, lambda counts: np.asarray(counts, dtype=float))),
        ("labels-true-counts", "n of each class from the true labels",
         "n taken from private data: the class sizes of the table at hand", label_run(lambda labels, rng: labels)),
    ),
    *faults_of(
        "levels", functools.partial(of_reference, local_subject, LEVELS_OF_4),
        ("rr-mean-one-level-short", "levels 1, 2, 3 become 0, 1, 2 before noise", "levels counted from 1",
         report(LEVELS_OF_4, lambda value: max(value - 1, 0))),
    ),
    *faults_of(
        "one bit", functools.partial(of_reference, local_subject, ONE_BIT_OF_3),
        ("one-bit-wrong-range", "values are divided by 4, where the largest is 3", "another unit",
         report(OneBitMean(1.0, 4.0))),
        ("one-bit-seeded", "every user starts with the same seed", "a reproducible client", _seeded),
    ),
    *faults_of(
        "laplace", functools.partial(of_reference, local_subject, LAPLACE_OF_2),
        ("laplace-mean-values-centred", "half of the range is subtracted", "normalised features",
         report(LAPLACE_OF_2, lambda value: 0.5 * value)),
    ),
    *faults_of(
        "discrete laplace", functools.partial(of_reference, local_subject, STEPS_OF_4),
        ("discrete-laplace-truncated", "noise of more than eight steps is drawn again", "a bounded table",
         lambda x, rng, n: np.floor(2.0 * x[0] + rng.random(n)) + _bounded(rng, n)),
        ("discrete-laplace-rounds-down", "values are rounded down to the grid", "integer division",
         report(STEPS_OF_4, lambda value: np.floor(2.0 * value) / 2.0)),
    ),
    *local_faults(
        "labels", local_subject, LABELS,
        ("labels-last-never-drawn", "the last label is never drawn for another", "an exclusive end",
         _last_never_drawn),
        ("labels-one-plain", "label 3 is never changed", "a default branch", _label_3_plain),
        ("labels-nibbles", "the other label is a nibble modulo 5", "the usual modulus", _bytes_modulo),
        ("labels-even-coins", "coins of a low-discrepancy sequence", "faster convergence", _even_coins, D, True),
        ("labels-offset-of-the-last", "moved reports in a row are moved alike", "a buffer", _offset_of_the_last,
         D, True),
        ("labels-one-uniform", "one number keeps and picks the other label", "a draw used twice", _one_uniform),
        ("labels-two-versions", "every third report keeps oftener, the others less", "two versions of a client",
         _two_versions, D, True),
        ("labels-plain-hundreds", "100 reports in 10,000 are plain", "a server that is down by the hour",
         _plain_sundays),
        ("labels-steps-in-turn", "other labels come in turn", "a counter for a random step", _steps_by_counter,
         C, True),
        ("labels-last-kept-oftener", "the last label is kept .015 oftener", "a table that ends at 1", _larger_oftener),
        ("labels-drawn-again", "the second of two moved reports may be drawn again", "an alarm", _retry),
    ),
    *local_faults(
        "one bit", local_subject, ONE_BIT,
        ("one-bit-nearest", "values are rounded to the nearest bit", "a missing coin", _bit(lambda x: np.rint(x))),
        ("one-bit-flips-5-percent-rarer", "flips 5 % too rarely", "a rounded constant",
         _bit(lambda x: x, 0.95 * ONE_BIT.flip_probability)),
        ("one-bit-one-number", "one number rounds and flips", "a draw used twice", _one_number_for_both),
        ("one-bit-rounded-once", "rounded once for ten reports", "a client that stores the bit", _rounded_once,
         D, True),
        ("one-bit-flips-in-turn", "flips .02 oftener and more rarely in turn", "two servers", _flips_in_turn, C, True),
        ("one-bit-eighths", "the chance is a number of eighths", "three random bits", _rounded_to_quarters),
    ),
    *local_faults(
        "laplace", local_subject, LAPLACE_MEAN,
        ("laplace-mean-clipped", "reports clipped to [-3, 4]", "an allowed range", _clipped_report),
        ("laplace-mean-normal", "normal noise of the same deviation", "all noise is normal",
         _noisy(lambda rng, n: rng.normal(0.0, 2**0.5 * LAPLACE_MEAN.scale, n))),
        ("laplace-mean-half-precision", "noise in half precision", "graphics cards",
         _noisy(lambda rng, n: rng.laplace(0.0, LAPLACE_MEAN.scale, n).astype(np.float16)), C, True),
        ("laplace-mean-signs-that-stay", "the noise's sign stays with .8", "a sign of few states", _signs_that_stay,
         D, True),
        ("laplace-mean-two-tails", "1 draw of 40 has thrice the scale", "a robust mixture", _two_tails),
        ("laplace-mean-split", "two draws of half the variance", "noise of two servers", _split_by_variance),
        ("laplace-mean-of-16-bits", "inversion from 16 bits", "a cheap generator", _inverted_bits(16), C, True),
        ("laplace-mean-scale-by-value", "4 % more noise for larger values", "a relative error", _scale_by_value),
        ("laplace-mean-no-small-noise", "noise below .02 scales is drawn again", "no exact answers", _gap_at_zero,
         C, True),
    ),
    *local_faults(
        "discrete laplace", local_subject, STEPS,
        ("discrete-laplace-mean-rounded", "continuous noise, rounded to whole numbers", "the usual shortcut",
         _rounded_steps),
        ("discrete-laplace-mean-even-steps", "noise of even steps", "a grid of twice the pitch",
         _steps(_on_even_steps)),
    ),
    *local_faults(
        "levels", local_subject, LEVELS,
        ("levels-near-ones-oftener", "nearer levels are drawn oftener", "noise on an ordinal scale",
         _level(_neighbouring_levels)),
        ("levels-as-two", "keeps as for two levels", "the formula of the binary case",
         _level(lambda level: [0.731 if other == level else 0.1345 for other in range(3)])),
    ),
)  # fmt: skip
