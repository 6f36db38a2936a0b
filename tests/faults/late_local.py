"""Faults of local mechanisms, means and RAPPOR that were written after the tests were frozen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import Target
from dpverify.audit.subjects.local import local_subject
from dpverify.audit.subjects.means import mean_subject
from dpverify.audit.subjects.rappor import rappor_subject
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.one_bit import OneBitMean
from protocols.rappor.response import Rappor
from protocols.shuffled_mean import ShuffledMean
from tests.faults.fault import Fault
from tests.faults.runs import Run

__all__ = ["LATE_LOCAL_FAULTS"]

Array = NDArray[Any]
LABELS = LabelRandomizedResponse(5, 1.0)
ONE_BIT, LAPLACE, STEPS = OneBitMean(1.0), LaplaceMean(1.0), DiscreteLaplaceMean(1.0, 2.0, 2)
CURATOR, SHUFFLED = CentralLaplaceMean(9, 0.7, 2.0), ShuffledMean(12, 0.4)
BETWEEN_REPORTS = {"labels-hundredth-again", "labels-even-coins"}
HIDDEN = {*BETWEEN_REPORTS, "laplace-mean-half-precision"}
REPORTS = 40
KEPT = Rappor(16, 2, cohorts=3, f=0.5, p=0.3, q=0.7, reports=REPORTS)


def _labels(x: Array, rng: np.random.Generator, trials: int, keep: float = LABELS.keep_probability) -> Array:
    other = (x[0] + rng.integers(1, 5, trials)) % 5
    return np.where(rng.random(trials) < keep, x[0], other)


def _last_label_never(x: Array, rng: np.random.Generator, trials: int) -> Array:
    keep = rng.random(trials) < LABELS.keep_probability
    return np.where(keep, x[0], (x[0] + rng.integers(1, 5, trials)) % 5 % 4)


def _label_3_plain(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.full(trials, 3) if x[0] == 3 else _labels(x, rng, trials)


def _next_labels(x: Array, rng: np.random.Generator, trials: int) -> Array:
    keep = rng.random(trials) < LABELS.keep_probability
    return np.where(keep, x[0], (x[0] + rng.choice([-1, 1], trials)) % 5)


def _bytes_modulo(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The other label is a nibble modulo 5: 0 is drawn oftener."""
    keep = rng.random(trials) < LABELS.keep_probability
    other = rng.integers(0, 16, trials) % 5
    while (same := ~keep & (other == x[0])).any():
        other[same] = rng.integers(0, 16, int(same.sum())) % 5
    return np.where(keep, x[0], other)


def _hundredth_again(x: Array, rng: np.random.Generator, trials: int) -> Array:
    at = np.arange(trials)
    return _labels(x, rng, trials)[at - ((at % 100 == 99) & (at > 0))]


def _alternating(x: Array, rng: np.random.Generator, trials: int) -> Array:
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
    return np.clip(x[0] + rng.laplace(0.0, LAPLACE.scale, trials), -3.0, 4.0)


def _rounded_steps(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.rint(x[0] + rng.laplace(0.0, 2.0, trials))


def _mean(noise: Callable[[np.random.Generator, int], Array], limit: float = math.inf) -> Run:
    return lambda x, rng, trials: np.clip(x.mean() + noise(rng, trials), -limit, limit)


def _without_coins(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The analyzer corrects coins that nobody throws."""
    return np.full(trials, (x.sum() - 12 * 0.2) / 0.6 / 12)


def _coins_of_zeros_only(x: Array, rng: np.random.Generator, trials: int) -> Array:
    ones = int(x.sum())
    reports = ones + rng.binomial(12 - ones, 0.2, trials)
    return np.asarray((reports - 12 * 0.2) / 0.6 / 12)


def _other_rappor(**changes: Any) -> Callable[[str, np.random.Generator], Array]:
    options = {"cohorts": 3, "f": 0.5, "p": 0.3, "q": 0.7, "reports": REPORTS, "hashes": 2} | changes
    hashes, cohort = options.pop("hashes"), options.pop("cohort", 0)
    other = Rappor(16, hashes, **options)
    return lambda value, rng: other.randomize([value], rng, cohorts=[cohort]).bits[0]


def _no_second_noise(value: str, rng: np.random.Generator) -> Array:
    _, signal = KEPT.signal([value], rng, cohorts=[0])
    return np.repeat(KEPT.permanent(signal, rng), REPORTS, axis=0)


def _forgets_halfway(value: str, rng: np.random.Generator) -> Array:
    halves = [KEPT.randomize([value], rng, cohorts=[0]).bits[0][: REPORTS // 2] for _ in range(2)]
    return np.concatenate(halves)


def _forgets(value: str, rng: np.random.Generator) -> Array:
    bits = KEPT.randomize([value] * REPORTS, rng, cohorts=np.zeros(REPORTS, dtype=np.int64)).bits
    return bits[:, 0]


def _of(kind: str, subject: Callable[..., Any], reference: Any, *entries: tuple[str, str, str, Any]) -> list[Fault]:
    batch = kind != "rappor"

    def build(run: Any) -> Callable[[], Any]:
        return lambda: subject(reference, implementation=Target(run, True, (), "target") if batch else run)

    return [
        # What is wrong with these shows between the cells that outputs are counted in, or between reports.
        Fault(name, kind, wrong, reason, by, build(run), True if name in HIDDEN else None)
        for name, wrong, reason, run in entries
        for by in ["dependence" if name in BETWEEN_REPORTS else "conformance"]
    ]


LATE_LOCAL_FAULTS: tuple[Fault, ...] = (
    *_of(
        "labels", local_subject, LABELS,
        ("labels-last-never-drawn", "the last label is never drawn for another", "an exclusive end",
         _last_label_never),
        ("labels-one-plain", "label 3 is never changed", "a default branch", _label_3_plain),
        ("labels-next-only", "only the next labels are drawn", "noise on an ordinal scale", _next_labels),
        ("labels-nibbles", "the other label is a nibble modulo 5", "the usual modulus", _bytes_modulo),
        ("labels-two-digits", "keeps with .41", "a constant of two digits",
         lambda x, rng, n: _labels(x, rng, n, 0.41)),
        ("labels-tenth-of-epsilon", "keeps as for epsilon 1.1", "a rounded constant",
         lambda x, rng, n: _labels(x, rng, n, math.exp(1.1) / (math.exp(1.1) + 4))),
        ("labels-hundredth-again", "every 100th report is the last one again", "a cache", _hundredth_again),
        ("labels-even-coins", "coins of a low-discrepancy sequence", "faster convergence", _alternating),
    ),
    *_of(
        "one bit", local_subject, ONE_BIT,
        ("one-bit-nearest", "values are rounded to the nearest bit", "a missing coin",
         _bit(lambda x: np.rint(x))),
        ("one-bit-root", "rounds with the root of the value", "a gamma correction", _bit(np.sqrt)),
        ("one-bit-flips-5-percent-rarer", "flips 5 % too rarely", "a rounded constant",
         _bit(lambda x: x, 0.95 * ONE_BIT.flip_probability)),
    ),
    *_of(
        "laplace", local_subject, LAPLACE,
        ("laplace-mean-5-percent-low", "scale 5 % too small", "a rounded constant",
         _noisy(lambda rng, n: rng.laplace(0.0, 0.95 * LAPLACE.scale, n))),
        ("laplace-mean-clipped", "reports clipped to [-3, 4]", "an allowed range", _clipped_report),
        ("laplace-mean-normal", "normal noise of the same deviation", "all noise is normal",
         _noisy(lambda rng, n: rng.normal(0.0, 2**0.5 * LAPLACE.scale, n))),
        ("laplace-mean-half-precision", "noise in half precision", "graphics cards",
         _noisy(lambda rng, n: rng.laplace(0.0, LAPLACE.scale, n).astype(np.float16))),
    ),
    *_of(
        "discrete laplace", local_subject, STEPS,
        ("discrete-laplace-mean-rounded", "continuous noise, rounded to whole numbers", "the usual shortcut",
         _rounded_steps),
    ),
    *_of(
        "mean", mean_subject, CURATOR,
        ("mean-noise-of-one-value", "noise for a range of 1 where it is 2", "normalised data assumed",
         _mean(lambda rng, n: rng.laplace(0.0, CURATOR.scale / 2, n))),
        ("mean-divided-twice", "noise divided by n twice", "a mean of means",
         _mean(lambda rng, n: rng.laplace(0.0, CURATOR.scale / 9, n))),
        ("mean-clipped", "means clipped to the range of values", "impossible values removed",
         _mean(lambda rng, n: rng.laplace(0.0, CURATOR.scale, n), 2.0)),
    ),
    *_of(
        "shuffled mean", mean_subject, SHUFFLED,
        ("shuffled-mean-without-coins", "nobody throws a coin", "only the analyzer was written", _without_coins),
        ("shuffled-mean-coins-of-zeros", "only zeros throw coins", "the branch of the wrong bit",
         _coins_of_zeros_only),
    ),
    *_of(
        "rappor", rappor_subject, KEPT,
        ("rappor-f-10-percent-low", "f is .45", "a rounded constant", _other_rappor(f=0.45)),
        ("rappor-p-and-q-exchanged", "p and q exchanged", "papers differ",
         lambda value, rng: ~_other_rappor()(value, rng)),
        ("rappor-other-cohort", "hashes of the next cohort", "cohorts counted from 1", _other_rappor(cohort=1)),
        ("rappor-one-hash", "one hash function", "a loop left early", _other_rappor(hashes=1)),
        ("rappor-no-second-noise", "the permanent response is sent", "a step forgotten", _no_second_noise),
        ("rappor-forgets-halfway", "the permanent response is drawn anew after 20 reports", "an update",
         _forgets_halfway),
        ("rappor-forgets", "the permanent response is drawn anew each time", "memory not stored", _forgets),
    ),
)  # fmt: skip
