"""Faults of local reports: labels, levels, single bits and Laplace noise."""

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


def _two_versions(x: Array, rng: np.random.Generator, trials: int) -> Array:
    keep = np.where(np.arange(trials) % 3 == 0, KEEP + 0.04, KEEP - 0.02)
    return _moved(x, rng.random(trials) < keep, rng.integers(1, 5, trials))


def _level(chance: Callable[[int], list[float]]) -> Run:
    return lambda x, rng, trials: rng.choice(3, trials, p=chance(int(x[0])))


def _neighbouring_levels(level: int) -> list[float]:
    """Other levels by their distance: 2 to 1 from the ends."""
    keep = LEVELS.labels.keep_probability
    weights = np.array([0.0 if other == level else 1.0 / abs(other - level) for other in range(3)])
    return ((1 - keep) * weights / weights.sum() + keep * (np.arange(3) == level)).tolist()


def _rounded_once(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The value is rounded once for ten reports, as a client that stores it would."""
    rounded = np.repeat(rng.random(trials // 10 + 1) < x[0], 10)[:trials]
    return (rounded ^ (rng.random(trials) < ONE_BIT.flip_probability)).astype(int)


def _signs_that_stay(x: Array, rng: np.random.Generator, trials: int) -> Array:
    signs = np.cumsum(rng.random(trials) < 0.2) % 2 * 2 - 1
    return np.asarray(x[0] + signs * rng.exponential(LAPLACE_MEAN.scale, trials))


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


def _flips_in_turn(x: Array, rng: np.random.Generator, trials: int) -> Array:
    rounded = rng.random(trials) < x[0]
    chance = ONE_BIT.flip_probability + np.where(np.arange(trials) % 2, 0.02, -0.02)
    return (rounded ^ (rng.random(trials) < chance)).astype(int)


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
        ("labels-even-coins", "coins of a low-discrepancy sequence", "faster convergence", _even_coins, D, True),
        ("labels-offset-of-the-last", "moved reports in a row are moved alike", "a buffer", _offset_of_the_last,
         D, True),
        ("labels-two-versions", "every third report keeps oftener, the others less", "two versions of a client",
         _two_versions, D, True),
        ("labels-steps-in-turn", "other labels come in turn", "a counter for a random step", _steps_by_counter,
         C, True),
    ),
    *local_faults(
        "one bit", local_subject, ONE_BIT,
        ("one-bit-nearest", "values are rounded to the nearest bit", "a missing coin", _bit(lambda x: np.rint(x))),
        ("one-bit-rounded-once", "rounded once for ten reports", "a client that stores the bit", _rounded_once,
         D, True),
        ("one-bit-flips-in-turn", "flips .02 oftener and more rarely in turn", "two servers", _flips_in_turn, C, True),
    ),
    *local_faults(
        "laplace", local_subject, LAPLACE_MEAN,
        ("laplace-mean-clipped", "reports clipped to [-3, 4]", "an allowed range", _clipped_report),
        ("laplace-mean-half-precision", "noise in half precision", "graphics cards",
         _noisy(lambda rng, n: rng.laplace(0.0, LAPLACE_MEAN.scale, n).astype(np.float16)), C, True),
        ("laplace-mean-signs-that-stay", "the noise's sign stays with .8", "a sign of few states", _signs_that_stay,
         D, True),
        ("laplace-mean-of-16-bits", "inversion from 16 bits", "a cheap generator", _inverted_bits(16), C, True),
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
