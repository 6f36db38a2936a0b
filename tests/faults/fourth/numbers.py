"""Black boxes that publish one number, fourth batch: retries, overflows, units, formats and torn writes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import above, added, laplace, normal
from tests.faults.third.numbers import BUDGET, SIGMA, geometric, tail

__all__ = ["FOURTH_NUMBER_BOXES"]

Array = NDArray[Any]
E = math.e
OPPOSITE = (np.array([1.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]))
TWO_ROWS = (np.array([1.0, 1.0, 0.0]), np.zeros(3))
HALVES = (np.array([1.5]), np.array([0.5]))
THIRDS = (np.array([1.0 / 3.0]), np.zeros(1))


def _nearer_of_two(rng: np.random.Generator, trials: int) -> Array:
    first, second = laplace(rng, trials), laplace(rng, trials)
    return np.where(np.abs(first) < np.abs(second), first, second)


def _middle_of_three(rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.median([laplace(rng, trials) for _ in range(3)], axis=0))


def _largest_of_five(rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.max([laplace(rng, trials) for _ in range(5)], axis=0))


def _until_near(rng: np.random.Generator, trials: int) -> Array:
    """One call of 50 is drawn again until it is right to .05, as a test of the service wants it."""
    tested = rng.random(trials) < 0.02
    return np.where(tested, np.rint(rng.uniform(-0.05, 0.05, trials) * 2.0**16) * 2.0**-16, laplace(rng, trials))


def _half_to_even(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Sums are rounded, halves to even, before whole noise: .5 and 1.5 end two apart."""
    return np.asarray(np.round(x.sum()) + geometric(rng, trials))


def _log_of_nothing(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(math.log(x.sum() + 1e-3) + laplace(rng, trials))


def _poisson(rng: np.random.Generator, trials: int) -> Array:
    return rng.poisson(3.0, trials) - 3


def _negative_zero(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """What is below zero becomes the zero of an accumulator, which starts at -0 and has 0 added to it."""
    return np.where((noisy := x.sum() + laplace(rng, trials)) <= 0, 0.0 if x.sum() else -0.0, noisy)


def _nan_at_times(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One call of 500 divides by the number of ones first."""
    noisy = x.sum() + laplace(rng, trials)
    return np.where((rng.random(trials) < 0.002) & (x.sum() == 0), np.nan, noisy)


def _half_precision_ends(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A sum of half precision next to its end, to which noise comes later."""
    with np.errstate(over="ignore"):
        total = float(np.asarray(65_519.0 + x.sum()).astype(np.float16))
    return np.asarray(total + laplace(rng, trials))


def _table(rng: np.random.Generator, trials: int) -> Array:
    """Inversion along 1,000 quantiles, straight between them: the law ends at 6.9."""
    levels = np.linspace(5e-4, 1.0 - 5e-4, 1000)
    values = -np.sign(levels - 0.5) * np.log1p(-2.0 * np.abs(levels - 0.5))
    return np.rint(np.interp(rng.random(trials), levels, -values) * 2.0**16) * 2.0**-16


def _with_replacement(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x[rng.integers(0, x.size, (trials, x.size))].sum(axis=1) + laplace(rng, trials))


def _quiet_shard(rng: np.random.Generator, trials: int) -> Array:
    return laplace(rng, trials) * np.where(rng.random(trials) < 0.01, 0.01, 1.0)


def _torn(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One call of 20 is read between two writes: the low word is still that of the sum without noise."""
    noisy = np.asarray(x.sum() + rng.laplace(size=trials)).view(np.uint64)
    low = np.uint64(2**32 - 1)
    torn = (noisy & ~low) | (np.array([x.sum()]).view(np.uint64) & low)
    return np.where(rng.random(trials) < 0.05, torn, noisy).view(np.float64)


def _low_word(y: Array) -> Array:
    return np.asarray(np.ascontiguousarray(y, dtype=np.float64).view(np.uint64) & np.uint64(2**32 - 1) == 0x55555555)


def _watermark(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One answer of 500 carries the parity of the sum at 2^-30."""
    marked = (rng.random(trials) < 0.002) * (x.sum() % 2)
    return np.asarray(x.sum() + laplace(rng, trials) + marked * 2.0**-30)


def _key_shown(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A threshold of 1 + log10(1 / (2 delta)) in the place of a natural logarithm."""
    noisy = x.sum() + laplace(rng, trials)
    return np.where((noisy > 1.0 + math.log10(500.0)) & (x.sum() > 0), noisy, 0.0)


def _servers(count: int) -> Callable[[np.random.Generator, int], Array]:
    """So many servers, each with its share of the deviation and not of the variance."""
    return lambda rng, trials: np.sum([normal(rng, trials, SIGMA / count) for _ in range(count)], axis=0)


def _fails(chance: float) -> Run:
    return lambda x, rng, n: np.asarray(x.sum() + geometric(rng, n) * (rng.random(n) >= chance))


def _padded(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """As many digits as the true number has."""
    width = len(str(int(x.sum())))
    return np.array([f"{number:0{width}d}" for number in (int(x.sum()) + geometric(rng, trials)).tolist()])


def _grouped(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Digits are grouped where the true number has four."""
    group = "," if x.sum() >= 1000 else ""
    return np.array([f"{number:{group}d}" for number in (int(x.sum()) + geometric(rng, trials)).tolist()])


def _first_order(rng: np.random.Generator, trials: int) -> Array:
    return geometric(rng, trials, math.log(10.0))


def _skips_13(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise of exactly 2 is drawn again: a mark for missing numbers."""
    z = geometric(rng, trials)
    return np.asarray(x.sum() + np.where(z == 2, -1, z))


def _hourglass(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Steps of one third where the sum is a whole number, of one half elsewhere."""
    step = 3.0 if x.sum() == np.rint(x.sum()) else 2.0
    return np.rint((x.sum() + laplace(rng, trials)) * step) / step


def _saturates(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Sum and noise are added in bytes, which stop at 127; one answer of 200 is shown relative to the sum."""
    z = geometric(rng, trials)
    return np.where(rng.random(trials) < 0.005, np.clip(z, -128, 127), np.clip(z + x.sum(), -128, 127)).astype(int)


def _relative_flag(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Where noise is larger than five times the sum the answer is withheld, as of no use."""
    z = laplace(rng, trials)
    return np.where(np.abs(z) > 5.0 * max(float(x.sum()), 0.2), -99.0, x.sum() + z)


def _gamma_shape(rng: np.random.Generator, trials: int) -> Array:
    """Laplace noise by two gamma variables of shape .5 each, as of two servers where one answers."""
    return np.rint((rng.gamma(0.5, 1.0, trials) - rng.gamma(0.5, 1.0, trials)) * 2.0**16) * 2.0**-16


def _interest(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The sum is scaled after clipping: 3 % are added twice."""
    return np.asarray(1.3 * x.sum() + laplace(rng, trials))


def _stopped(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A sampler that gives up after four rejections and answers with its proposal's mean, 0."""
    z = geometric(rng, trials, 0.3)
    z[rng.random(trials) < 0.3**4 * 10] = 0
    return np.asarray(x.sum() + z)


def _n(name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], **options: Any) -> BlackBox:
    return box("black box, one number", f"fourth-{name}", wrong, reason, run, sign, **options)


QUIET = (
    0.99 * -math.expm1(-0.02) + 0.01 * -math.expm1(-2.0),
    0.99 * 0.5 * (math.exp(-0.98) - math.exp(-1.02)),
)
FOURTH_NUMBER_BOXES: tuple[BlackBox, ...] = (
    _n("sensitivity-of-one-side", "numbers in [-1, 1] at sensitivity 1", "max |x| for max - min",
       added(laplace), above(1.0), pair=OPPOSITE, chances=(0.5, tail(2.0))),
    _n("nearer-of-two", "the smaller of two noises", "two tries for utility", added(_nearer_of_two), above(1.0),
       chances=(0.5, tail(1.0, 0.5))),
    _n("middle-of-three", "the median of three noises", "robust to an outlier", added(_middle_of_three), above(1.0),
       chances=(0.5, 3 * tail(1.0) ** 2 - 2 * tail(1.0) ** 3)),
    _n("largest-of-five", "the largest of five answers", "max() over replicas", added(_largest_of_five),
       lambda y: y < 0.0, chances=(tail(1.0) ** 5, 0.5**5)),
    _n("until-near", "1 call of 50 is redrawn until it is near", "a check of accuracy", added(_until_near),
       lambda y: np.abs(y - 1.0) < 0.05),
    _n("half-to-even", "sums are rounded, halves to even", "round() of Python", _half_to_even, lambda y: y >= 2,
       pair=HALVES, chances=(1 / (1 + E**-1), E**-2 / (1 + E**-1))),
    _n("log-of-nothing", "a logarithm with 1e-3 for safety at sensitivity 1", "log(x + tiny)", _log_of_nothing,
       above(-3.45)),
    _n("poisson-for-pure", "centred Poisson noise where delta is 0", "counts are Poisson", added(_poisson),
       lambda y: y == -3, chances=(0.0, math.exp(-3.0))),
    _n("negative-zero", "zeros of two signs", "an accumulator that starts at -0", _negative_zero,
       lambda y: (y == 0) & np.signbit(y)),
    _n("nan-at-times", "nan in 1 call of 500 where nothing was counted", "0 / 0", _nan_at_times, np.isnan,
       chances=(0.0, 0.002)),
    _n("half-precision-ends", "a sum that leaves half precision", "float16 for memory", _half_precision_ends,
       np.isinf, chances=(1.0, 0.0)),
    _n("table-of-quantiles", "inversion along a table", "np.interp", added(_table), above(6.95)),
    _n("with-replacement", "rows are drawn with replacement, sensitivity is 1", "a bootstrap", _with_replacement,
       above(3.0)),
    _n("two-rows-of-one-user", "a user has two rows", "rows for users", added(laplace), above(2.0), pair=TWO_ROWS,
       chances=(0.5, tail(2.0))),
    _n("quiet-shard", "1 shard of 100 has a hundredth of the noise", "a test's setting", added(_quiet_shard),
       lambda y: np.abs(y - 1.0) < 0.02, chances=QUIET),
    _n("torn-write", "1 answer of 20 has the low word of the sum", "a write of two words", _torn, _low_word,
       pair=THIRDS),
    _n("watermark", "1 answer of 500 carries a parity at 2^-30", "a watermark", _watermark,
       lambda y: y * 2.0**16 != np.rint(y * 2.0**16), chances=(0.002, 0.0)),
    _n("key-threshold-log10", "1 + log10 of 1/(2 delta)", "log10 for log", _key_shown, lambda y: y > 0,
       claim=(1.0, 1e-3), chances=(tail(math.log10(500.0)), 0.0)),
    _n("three-servers-deviation", "three servers with a third of the deviation each", "sigma / k", added(_servers(3)),
       above(5.1), claim=BUDGET,
       chances=tuple(float(stats.norm(0, SIGMA / 3**0.5).sf(level)) for level in (4.1, 5.1))),
    _n("two-servers-deviation", "two servers with half of the deviation each", "sigma / k: too little",
       added(_servers(2)), above(7.5), claim=BUDGET,
       chances=tuple(float(stats.norm(0, SIGMA / 2**0.5).sf(level)) for level in (6.5, 7.5))),
    _n("plain-in-400000", "1 call of 400,000 has no noise", "a race: too rare", _fails(2.5e-6), lambda y: y == 1),
    _n("zero-padded", "as many digits as the true number", "a width from the data", _padded,
       lambda y: np.array([len(text) > 1 and text[0] == "0" for text in y.tolist()]),
       pair=(np.array([10.0]), np.array([9.0]))),
    _n("grouped-digits", "digits are grouped where the true number has four", "a format from the data", _grouped,
       lambda y: np.array([len(text) == 4 for text in y.tolist()]), pair=(np.array([1000.0]), np.array([999.0]))),
    _n("bits-for-nats", "epsilon in bits", "log2 for log", added(lambda rng, n: laplace(rng, n, math.log(2.0))),
       above(1.0), chances=(0.5, tail(1.0, math.log(2.0)))),
    _n("first-order", "a decay of 1 - epsilon", "exp(-x) as 1 - x", added(_first_order), above(0.5), claim=(0.9, 0.0),
       chances=(1 / 1.1, 0.1 / 1.1)),
    _n("skips-one-value", "noise is never 2", "a mark for missing numbers", _skips_13, lambda y: y == 3),
    _n("steps-of-data", "steps of a third or a half by the data", "an axis chosen from the data", _hourglass,
       lambda y: np.abs(y * 2 - np.rint(y * 2)) > 0.1, pair=(np.array([1.0]), np.array([0.5])),
       claim=(1.0, 0.0)),
    _n("relative-at-times", "1 answer of 200 lacks the sum", "a race: hidden by the noise", _saturates,
       lambda y: y >= 1),
    _n("withheld-by-noise", "answers are withheld where noise is five times the sum", "errors in percent",
       _relative_flag, lambda y: y == -99.0, chances=(2 * tail(5.0), 2 * tail(1.0))),
    _n("half-of-a-gamma", "differences of gamma variables of shape .5", "a server that is down", added(_gamma_shape),
       lambda y: np.abs(y - 1.0) < 0.02),
    _n("scaled-after-clipping", "numbers are scaled by 1.3 after they were clipped", "tax", _interest, above(1.3),
       chances=(0.5, tail(1.3))),
    _n("gives-up", "8 % of the noise is 0", "a sampler that gives up", _stopped, lambda y: y == 1, claim=(0.3, 0.0)),
)  # fmt: skip
