"""Faults of local mechanisms, means and RAPPOR, third batch."""

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
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.rappor.response import Rappor
from protocols.shuffled_mean import ShuffledMean
from tests.faults.fault import Fault
from tests.faults.runs import Run

__all__ = ["THIRD_LOCAL_FAULTS"]

Array = NDArray[Any]
LABELS, LEVELS = LabelRandomizedResponse(5, 1.0), RandomizedResponseMean(1.0, 3)
ONE_BIT, LAPLACE, STEPS = OneBitMean(1.0), LaplaceMean(1.0), DiscreteLaplaceMean(1.0, 2.0, 2)
CURATOR, SHUFFLED = CentralLaplaceMean(9, 0.7, 2.0), ShuffledMean(12, 0.4)
REPORTS = 40
KEPT = Rappor(16, 2, cohorts=3, f=0.5, p=0.3, q=0.7, reports=REPORTS)
KEEP = LABELS.keep_probability


def _labels(x: Array, kept: Array, offset: Array) -> Array:
    """Reports of a label out of five: kept, or moved by an offset."""
    return np.where(kept, x[0], (x[0] + offset) % 5)


def _never_the_one_before(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return _labels(x, rng.random(trials) < KEEP, rng.integers(1, 4, trials))


def _offset_of_the_last(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Where two reports in a row are moved, both are moved alike: each report has its law."""
    kept, offset = rng.random(trials) < KEEP, rng.integers(1, 5, trials)
    for at in np.flatnonzero(~kept[1:] & ~kept[:-1]) + 1:
        offset[at] = offset[at - 1]
    return _labels(x, kept, offset)


def _one_uniform(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The number that decides to keep picks the offset as well, scaled as if it were fresh."""
    uniform = rng.random(trials)
    return _labels(x, uniform < KEEP, 1 + np.floor(4 * uniform).astype(int))


def _two_versions(x: Array, rng: np.random.Generator, trials: int) -> Array:
    keep = np.where(np.arange(trials) % 3 == 0, KEEP + 0.04, KEEP - 0.02)
    return _labels(x, rng.random(trials) < keep, rng.integers(1, 5, trials))


def _plain_sundays(x: Array, rng: np.random.Generator, trials: int) -> Array:
    plain = (np.arange(trials) + rng.integers(10_000)) // 100 % 100 == 0
    return _labels(x, plain | (rng.random(trials) < KEEP), rng.integers(1, 5, trials))


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
    return np.asarray(x[0] + signs * rng.exponential(LAPLACE.scale, trials))


def _two_tails(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One of 40 draws has thrice the scale: a mixture against outliers."""
    return np.asarray(x[0] + rng.laplace(0.0, LAPLACE.scale, trials) * np.where(rng.random(trials) < 0.025, 3.0, 1.0))


def _split_by_variance(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x[0] + rng.laplace(0.0, LAPLACE.scale / math.sqrt(2.0), (trials, 2)).sum(axis=1))


def _inverted(bits: int) -> Run:
    """Inversion from so many bits: the law has a gap at 0 and an end."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        u = (rng.integers(0, 2**bits, trials) + 0.5) / 2.0**bits - 0.5
        return np.asarray(x[0] - LAPLACE.scale * np.sign(u) * np.log1p(-2.0 * np.abs(u)))

    return run


def _steps(noise: Callable[[np.random.Generator, int, float], Array]) -> Run:
    """The value on its grid of steps, rounded at random, and noise of the decay that it should have."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        steps = x[0] / STEPS.largest * STEPS.steps
        rounded = np.floor(steps) + (rng.random(trials) < steps - np.floor(steps))
        return np.asarray(rounded + noise(rng, trials, math.exp(-STEPS.epsilon / STEPS.steps)))

    return run


def _geometrics(rng: np.random.Generator, trials: int, decay: float) -> Array:
    return rng.geometric(1 - decay, trials) - rng.geometric(1 - decay, trials)


def _on_even_steps(rng: np.random.Generator, trials: int, decay: float) -> Array:
    return 2 * _geometrics(rng, trials, decay**2)


def _without_tail(rng: np.random.Generator, trials: int, decay: float) -> Array:
    noise = _geometrics(rng, trials, decay)
    return np.where(np.abs(noise) > 15, 0, noise)


def _mean(noise: Callable[[Array, np.random.Generator, int], Array]) -> Run:
    return lambda x, rng, trials: np.asarray(x.mean() + noise(x, rng, trials))


def _at_times(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.laplace(0.0, CURATOR.scale, trials) * (rng.random(trials) >= 0.001)


def _for_the_others(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.laplace(0.0, CURATOR.scale * 9 / max(1, np.count_nonzero(x) + 8), trials)


def _smoothed(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Half of the runs answer with the last run's noise mirrored: each has its law."""
    noise = rng.laplace(0.0, CURATOR.scale, trials)
    return np.where(rng.random(trials) < 0.02, -np.roll(noise, 1), noise)


def _reports(x: Array, rng: np.random.Generator, trials: int, flips: Callable[[Array], Array]) -> Array:
    ones = (x.astype(int) ^ flips(rng.random((trials, x.size)))).sum(axis=1)
    return np.asarray((ones - 12 * 0.2) / 0.6 / 12)


def _half_of_the_users(uniform: Array) -> Array:
    return uniform < np.where(np.arange(uniform.shape[1]) < 6, 0.2, 0.0)


def _two_of_a_kind(uniform: Array) -> Array:
    uniform[:, 0] = uniform[:, -1]
    return uniform < 0.2


Client = Callable[[str, np.random.Generator], Array]


def _rappor(change: Callable[[Array, np.random.Generator], Array]) -> Client:
    """Return a client of cohort 0 that makes its reports of the Bloom filter by this function."""

    def client(value: str, rng: np.random.Generator) -> Array:
        _, signal = KEPT.signal([value], rng, cohorts=[0])
        return change(signal[0], rng)

    return client


def _permanent(signal: Array, rng: np.random.Generator) -> Array:
    return signal ^ (rng.random(signal.size) < 0.25)


def _sent(kept: Array, rng: np.random.Generator, uniform: Array | None = None) -> Array:
    drawn = rng.random((REPORTS, kept.size)) if uniform is None else uniform
    return np.asarray(drawn < np.where(kept, 0.7, 0.3))


def _reversed_bits(signal: Array, rng: np.random.Generator) -> Array:
    return _sent(_permanent(signal, rng)[::-1], rng)


def _only_ones_permanent(signal: Array, rng: np.random.Generator) -> Array:
    return _sent(np.where(signal, _permanent(signal, rng), signal), rng)


def _twice_each(signal: Array, rng: np.random.Generator) -> Array:
    uniform = np.repeat(rng.random((REPORTS // 2, signal.size)), 2, axis=0)
    return _sent(_permanent(signal, rng), rng, uniform)


def _one_number_per_report(signal: Array, rng: np.random.Generator) -> Array:
    return _sent(_permanent(signal, rng), rng, np.tile(rng.random((REPORTS, 1)), (1, signal.size)))


def _first_report_plain(signal: Array, rng: np.random.Generator) -> Array:
    sent = _sent(_permanent(signal, rng), rng)
    sent[0] = signal
    return sent


def _last_bit_plain(signal: Array, rng: np.random.Generator) -> Array:
    kept = _permanent(signal, rng)
    kept[-1] = signal[-1]
    return _sent(kept, rng)


def _pairs_of_bits(signal: Array, rng: np.random.Generator) -> Array:
    """Two bits next to each other are flipped for good together."""
    return _sent(signal ^ np.repeat(rng.random(signal.size // 2) < 0.25, 2), rng)


def _of(kind: str, subject: Callable[..., Any], reference: Any, *entries: tuple[str, str, str, Any]) -> list[Fault]:
    batch = kind != "rappor"

    def build(run: Any) -> Callable[[], Any]:
        return lambda: subject(reference, implementation=Target(run, True, (), "target") if batch else run)

    return [
        Fault(name, kind, wrong, reason, by, build(run), True if name in BETWEEN_REPORTS | EXACT else None)
        for name, wrong, reason, run in entries
        for by in ["dependence" if name in BETWEEN_REPORTS else "conformance"]
    ]


BETWEEN_REPORTS = {
    "labels-offset-of-the-last",
    "labels-two-versions",
    "one-bit-rounded-once",
    "laplace-mean-signs-that-stay",
    "mean-mirrored-at-times",
}
"""Faults whose outputs have their law, or nearly: they show in what reports have in common."""
EXACT = {"mean-plain-at-times", "laplace-mean-of-16-bits"}
"""Faults that show between the cells that outputs are counted in: numbers that a continuous law has never twice."""

THIRD_LOCAL_FAULTS: tuple[Fault, ...] = (
    *_of(
        "labels", local_subject, LABELS,
        ("labels-never-the-one-before", "the label before the own one is never drawn", "an exclusive end of offsets",
         _never_the_one_before),
        ("labels-offset-of-the-last", "moved reports in a row are moved alike", "a buffer", _offset_of_the_last),
        ("labels-one-uniform", "one number keeps and picks the other label", "a draw used twice", _one_uniform),
        ("labels-two-versions", "every third report keeps oftener, the others less", "two versions of a client",
         _two_versions),
        ("labels-plain-hundreds", "100 reports in 10,000 are plain", "a server that is down by the hour",
         _plain_sundays),
    ),
    *_of(
        "levels", local_subject, LEVELS,
        ("levels-near-ones-oftener", "nearer levels are drawn oftener", "noise on an ordinal scale",
         _level(_neighbouring_levels)),
        ("levels-as-two", "keeps as for two levels", "the formula of the binary case",
         _level(lambda level: [0.731 if other == level else 0.1345 for other in range(3)])),
    ),
    *_of(
        "one bit", local_subject, ONE_BIT,
        ("one-bit-one-number", "one number rounds and flips", "a draw used twice", _one_number_for_both),
        ("one-bit-rounded-once", "rounded once for ten reports", "a client that stores the bit", _rounded_once),
    ),
    *_of(
        "laplace", local_subject, LAPLACE,
        ("laplace-mean-signs-that-stay", "the noise's sign stays with .8", "a sign of few states", _signs_that_stay),
        ("laplace-mean-two-tails", "1 draw of 40 has thrice the scale", "a robust mixture", _two_tails),
        ("laplace-mean-split", "two draws of half the variance", "noise of two servers", _split_by_variance),
        ("laplace-mean-of-8-bits", "inversion from a byte", "a cheap generator", _inverted(8)),
        ("laplace-mean-of-16-bits", "inversion from 16 bits", "a cheap generator", _inverted(16)),
    ),
    *_of(
        "discrete laplace", local_subject, STEPS,
        ("discrete-laplace-mean-even-steps", "noise of even steps", "a grid of twice the pitch",
         _steps(_on_even_steps)),
        ("discrete-laplace-mean-no-tail", "noise beyond 15 becomes 0", "outliers removed", _steps(_without_tail)),
    ),
    *_of(
        "mean", mean_subject, CURATOR,
        ("mean-plain-at-times", "1 run of 1,000 has no noise", "a race", _mean(_at_times)),
        ("mean-noise-by-ones", "noise for the users who hold something", "n of a filtered table",
         _mean(_for_the_others)),
        ("mean-mirrored-at-times", "1 run of 50 has the last noise with the other sign", "variance reduction",
         _mean(_smoothed)),
    ),
    *_of(
        "shuffled mean", mean_subject, SHUFFLED,
        ("shuffled-mean-half-of-the-users", "the second half throws no coins", "a rollout",
         lambda x, rng, n: _reports(x, rng, n, _half_of_the_users)),
        ("shuffled-mean-two-alike", "two users share their coin", "one person, two accounts",
         lambda x, rng, n: _reports(x, rng, n, _two_of_a_kind)),
    ),
    *_of(
        "rappor", rappor_subject, KEPT,
        ("rappor-bits-reversed", "bits come in the other order", "endianness", _rappor(_reversed_bits)),
        ("rappor-zeros-not-permanent", "only ones get a permanent response", "sparse filters",
         _rappor(_only_ones_permanent)),
        ("rappor-each-report-twice", "each report's noise serves twice", "a retry", _rappor(_twice_each)),
        ("rappor-one-number-per-report", "one number decides on all bits of a report", "a scalar draw",
         _rappor(_one_number_per_report)),
        ("rappor-first-report-plain", "the first report is the Bloom filter", "memory not yet written",
         _rappor(_first_report_plain)),
        ("rappor-last-bit-plain", "the last bit has no permanent response", "range(n - 1)", _rappor(_last_bit_plain)),
        ("rappor-pairs-of-bits", "permanent flips come in pairs", "two bits per draw", _rappor(_pairs_of_bits)),
    ),
)  # fmt: skip
