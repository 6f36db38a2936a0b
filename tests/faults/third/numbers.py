"""Black boxes that publish one number, third batch: tails, failures, amplification and numbers that are not real."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import above, added, laplace, normal

__all__ = ["THIRD_NUMBER_BOXES", "geometric", "tail"]

Array = NDArray[Any]
SIGMA = 3.73
"""Normal noise that gives (1, 1e-5) at sensitivity 1."""
BUDGET = (1.0, 1e-5)
REALS = (np.array([0.3]), np.array([0.7]))


def tail(level: float, scale: float = 1.0) -> float:
    """Return the chance that Laplace noise is above a level."""
    return 0.5 * math.exp(-level / scale) if level >= 0 else 1.0 - 0.5 * math.exp(level / scale)


def geometric(rng: np.random.Generator, trials: int, epsilon: float = 1.0) -> Array:
    p = -math.expm1(-epsilon)
    return rng.geometric(p, trials) - rng.geometric(p, trials)


def _ratio_with_one_noise(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Sum and number of users get the same noise before they are divided."""
    z = laplace(rng, trials)
    return np.asarray((x.sum() + z) / (x.size + np.where(z == -x.size, 1.0, z)))


def _staircase(width: float) -> Callable[[np.random.Generator, int], Array]:
    """The staircase mechanism of epsilon 1 with steps of this width, uniform on each."""

    def noise(rng: np.random.Generator, trials: int) -> Array:
        step = rng.geometric(-math.expm1(-1.0), trials) - 1
        size = np.rint((step + rng.random(trials)) * width * 2.0**16) * 2.0**-16
        return np.where(rng.random(trials) < 0.5, -size, size)

    return noise


def _two_scales(up: float, down: float) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, trials: np.maximum(z := laplace(rng, trials), 0.0) * up + np.minimum(z, 0.0) * down


def _of_servers(count: int) -> Callable[[np.random.Generator, int], Array]:
    """So many servers add noise whose variances make up what one would add."""
    return lambda rng, trials: np.sum([laplace(rng, trials, count**-0.5) for _ in range(count)], axis=0)


def _of_two_servers_above(level: float) -> float:
    """The sum of two Laplace variables of scale b is above t with chance (2 + t / b) e^(-t / b) / 4."""
    ratio = level * math.sqrt(2.0)
    return (2.0 + ratio) * math.exp(-ratio) / 4.0


def _student(rng: np.random.Generator, trials: int) -> Array:
    return np.rint(rng.standard_t(3, trials) * 2.0**16) * 2.0**-16


def _tails_redrawn(limit: float) -> Callable[[np.random.Generator, int], Array]:
    def noise(rng: np.random.Generator, trials: int) -> Array:
        z = normal(rng, trials)
        while (outside := np.abs(z) > limit * SIGMA).any():
            z[outside] = normal(rng, int(outside.sum()))
        return z

    return noise


def _fails(chance: float) -> Run:
    """Right but for failures, which are rarer than delta or not."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        return np.asarray(x.sum() + laplace(rng, trials) * (rng.random(trials) >= chance))

    return run


def _sampled(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x[0] * (rng.random(trials) < 0.1) + laplace(rng, trials))


def _always_sampled(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Every tenth row, from the first on."""
    return np.asarray(x[::10].sum() + laplace(rng, trials))


def _never_zero(rng: np.random.Generator, trials: int) -> Array:
    return rng.geometric(-math.expm1(-1.0), trials) * rng.choice([-1, 1], trials)


def _binomial(rng: np.random.Generator, trials: int) -> Array:
    return rng.binomial(16, 0.5, trials) - 8


def _wraps(rng: np.random.Generator, trials: int) -> Array:
    """The noise is kept in a signed byte, the sum is not."""
    return (geometric(rng, trials, 0.05) + 128) % 256 - 128


def _unclamped(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Numbers outside [0, 5] are drawn again."""
    y = x.sum() + geometric(rng, trials)
    while (outside := (y < 0) | (y > 5)).any():
        y[outside] = x.sum() + geometric(rng, int(outside.sum()))
    return np.asarray(y)


def _flag_scaled(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise is larger for a dataset with a member of the small group, who is the second user."""
    return np.asarray(x[0] + laplace(rng, trials, 3.0 if x[1] else 1.0))


def _median(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.median(x) + laplace(rng, trials, 1.0 / x.size))


def _test_without_delta(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Propose, test, release: the exact answer where a noisy distance passes 3, and not log(1 / (2 delta)) = 6.2."""
    distance = 1.0 if x.sum() else 0.0
    return np.where(distance + laplace(rng, trials) > 3.0, x.sum(), -1.0)


def _truncated(limit: float) -> Callable[[np.random.Generator, int], Array]:
    def noise(rng: np.random.Generator, trials: int) -> Array:
        z = laplace(rng, trials)
        while (outside := np.abs(z) > limit).any():
            z[outside] = laplace(rng, int(outside.sum()))
        return z

    return noise


def _threshold_too_low(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A key with one user is shown above log(1 / (2 delta)) = 6.2, where it must be one more."""
    noisy = x.sum() + laplace(rng, trials)
    return np.where((noisy > 6.2146) & (x.sum() > 0), noisy, 0.0)


def _printed(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return (x.sum() + rng.laplace(size=trials)).astype(str)


def _needs_more_bits(y: Array) -> Array:
    """0 + noise may need more binary digits near 0 than 1 + noise has."""
    values = y.astype(np.float64)
    return (np.abs(values) < 0.25) & (values * 2.0**53 != np.rint(values * 2.0**53))


def _missing_word(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Where nothing was counted, negative answers are shown as missing."""
    noisy = x.sum() + geometric(rng, trials)
    return np.where((noisy < 0) & (x.sum() == 0), "n/a", np.maximum(noisy, 0).astype(str))


def _unit_of_data(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Answers are rounded to a unit that is chosen from the largest value: 1 or 5."""
    unit = 5.0 if x.max() > 0.5 else 1.0
    return np.asarray(unit * np.rint((x.sum() + laplace(rng, trials, 8.0)) / unit))


def _masked(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A mask of secure aggregation without the modulus."""
    return np.asarray(x.sum() + rng.integers(0, 100, trials)).astype(int)


def _biased_mask(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A mask of 16 bits modulo 1,000: numbers below 536 are drawn 1.5 % oftener."""
    return np.asarray((x.sum() + rng.integers(0, 2**16, trials) % 1000) % 1000).astype(int)


def _count_of_bits(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A sum of bits and of coins for all users from the first one on: leading zeros get none."""
    first = int(np.argmax(x)) if x.any() else x.size
    return np.asarray(x[first:].sum() + rng.binomial(x.size - first, 0.25, trials)).astype(int)


def _quantised_epsilon(rng: np.random.Generator, trials: int) -> Array:
    return geometric(rng, trials, 1.002)


def _at_most_all(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise is clipped to the size of the sum: no answer may be off by more than 100 %."""
    return np.asarray(x.sum() + np.clip(geometric(rng, trials), -x.sum(), x.sum()))


def _mixed_units(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Thousandths for the sum, whole numbers for the noise."""
    return np.asarray((1000.0 * x.sum() + np.rint(1000.0 * laplace(rng, trials)) * 1000.0) / 1000.0)


def _n(name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], **options: Any) -> BlackBox:
    return box("black box, one number", f"third-{name}", wrong, reason, run, sign, **options)


E = math.e
NORMAL = stats.norm(0.0, SIGMA)
PHI = stats.norm.sf
TEN = (np.append(1.0, np.zeros(19)), np.zeros(20))
FLAGS = (np.array([1.0, 1.0]), np.array([1.0, 0.0]))
MEDIANS = (np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 1.0, 1.0]))
LEADING = (np.append(1, np.zeros(29, dtype=int)), np.zeros(30, dtype=int))
REDRAWN = np.array([[E ** -abs(y - x) for y in range(6)] for x in (0, 1)])
REDRAWN /= REDRAWN.sum(axis=1, keepdims=True)
STUDENT = stats.t(3)
THIRD_NUMBER_BOXES: tuple[BlackBox, ...] = (
    _n("whole-noise-on-reals", "whole noise on real sums", "a counter's noise for amounts",
       lambda x, rng, n: np.asarray(x.sum() + geometric(rng, n)), lambda y: np.abs(y % 1 - 0.3) < 0.1, pair=REALS,
       chances=(1.0, 0.0)),
    _n("ratio-with-one-noise", "one noise for both parts of a mean", "a draw used twice", _ratio_with_one_noise,
       lambda y: (y > 0.6) & (y < 1.0), chances=(tail(2.0), tail(4.5))),
    _n("staircase-too-narrow", "steps of .7 for a sensitivity of 1", "a width tuned for error",
       added(_staircase(0.7)), above(2.1)),
    _n("log10", "scale from a decimal logarithm", "log10 for log: the scale is .43", added(lambda rng, n: laplace(
       rng, n, 1 / math.log(10.0))), above(1.0), chances=(0.5, 0.05)),
    _n("asymmetric", "half the scale below 0", "two constants", added(_two_scales(1.0, 0.5)), lambda y: y < 0.0,
       chances=(0.5 * E**-2, 0.5)),
    _n("two-servers", "two draws of half the variance", "noise of two servers", added(_of_servers(2)), above(4.0),
       chances=(_of_two_servers_above(3.0), _of_two_servers_above(4.0))),
    _n("five-servers", "five draws of a fifth of the variance", "noise of five servers", added(_of_servers(5)),
       above(3.5)),
    _n("student", "Student's law with 3 degrees at scale 1", "the scale of Cauchy noise", added(_student),
       lambda y: (y > 1.5) & (y < 4.5),
       chances=(STUDENT.cdf(3.5) - STUDENT.cdf(0.5), STUDENT.cdf(4.5) - STUDENT.cdf(1.5))),
    _n("normal-for-pure", "normal noise of deviation 2 where delta is 0", "delta forgotten", added(lambda rng, n:
       normal(rng, n, 2.0)), above(5.5), chances=(PHI(2.25), PHI(2.75))),
    _n("wide-normal-for-pure", "normal noise of deviation 3.73 where delta is 0", "delta forgotten: too far out",
       added(normal), above(15.0), chances=(NORMAL.sf(14.0), NORMAL.sf(15.0))),
    _n("normal-redrawn-at-3.4", "noise beyond 3.4 deviations is redrawn", "outliers look wrong",
       added(_tails_redrawn(3.4)), above(3.4 * SIGMA), claim=BUDGET,
       chances=((NORMAL.sf(3.4 * SIGMA - 1) - PHI(3.4)) / (1 - 2 * PHI(3.4)), 0.0)),
    _n("normal-redrawn-at-4.3", "noise beyond 4.3 deviations is redrawn", "outliers look wrong: too far out",
       added(_tails_redrawn(4.3)), above(4.3 * SIGMA), claim=BUDGET,
       chances=((NORMAL.sf(4.3 * SIGMA - 1) - PHI(4.3)) / (1 - 2 * PHI(4.3)), 0.0)),
    _n("fails-five-times-delta", "5 failures of 1,000 at delta .001", "two delta confused", _fails(0.005),
       lambda y: y == 1.0, claim=(1.0, 1e-3), chances=(0.005, 0.0)),
    _n("fails-a-little-oftener", "11 failures of 10,000 at delta .001", "delta rounded: too little",
       _fails(0.0011), lambda y: y == 1.0, claim=(1.0, 1e-3), chances=(0.0011, 0.0)),
    _n("amplified-too-much", "epsilon .1 for a sample of a tenth", "epsilon times the rate; .159 is right", _sampled,
       above(1.0), claim=(0.1, 0.0), chances=(0.1 * tail(0.0) + 0.9 * tail(1.0), tail(1.0))),
    _n("every-tenth-row", "the sample is every tenth row", "systematic sampling", _always_sampled, above(1.0), pair=TEN,
       claim=(0.16, 0.0), chances=(tail(0.0), tail(1.0))),
    _n("never-zero", "noise is never 0", "a sign on a geometric variable from 1", added(_never_zero),
       lambda y: y == 1, chances=(0.0, 0.5 * -math.expm1(-1.0))),
    _n("binomial-noise", "a centred binomial variable of 16 coins", "a cheap bell curve", added(_binomial),
       lambda y: y >= 6, chances=(stats.binom(16, 0.5).sf(12), stats.binom(16, 0.5).sf(13))),
    _n("noise-of-a-byte", "noise of scale 20 in a signed byte", "int8", added(_wraps), lambda y: y == 128,
       claim=(0.05, 0.0)),
    _n("redrawn-into-range", "answers outside [0, 5] are redrawn", "impossible values", _unclamped,
       lambda y: y == 0, chances=(REDRAWN[1, 0], REDRAWN[0, 0])),
    _n("scale-of-group", "thrice the noise where the small group is present", "care for a minority", _flag_scaled,
       lambda y: np.abs(y - 1) > 5, pair=FLAGS, chances=(2 * tail(5.0, 3.0), 2 * tail(5.0))),
    _n("median-as-mean", "a median with the noise of a mean", "1/n for every statistic", _median, above(0.5),
       pair=MEDIANS, chances=(tail(-0.5, 0.2), tail(0.5, 0.2))),
    _n("test-without-delta", "a test that passes too often before the exact answer", "a constant of 3",
       _test_without_delta, lambda y: y == 1.0, claim=(1.0, 1e-3), chances=(tail(2.0), 0.0)),
    _n("truncated-too-early", "truncated noise ends at 4", "6.8 is right for this delta", added(_truncated(4.0)),
       above(4.0), claim=(1.0, 1e-3), chances=((tail(3.0) - tail(4.0)) / (1 - 2 * tail(4.0)), 0.0)),
    _n("threshold-one-too-low", "keys are shown above log(1/(2 delta))", "1 + was forgotten", _threshold_too_low,
       lambda y: y > 0, claim=(1.0, 1e-3), chances=(tail(5.2146), 0.0)),
    _n("printed-floats", "noise in floats, printed with all digits", "repr()", _printed, _needs_more_bits),
    _n("negative-is-missing", "negative answers are missing where nothing was counted", "a check for empty groups",
       _missing_word, lambda y: y == "n/a", chances=(0.0, E**-1 / (1 + E**-1))),
    _n("unit-of-data", "rounded to fives where a value is above .5", "pretty axes", _unit_of_data,
       lambda y: y % 5 == 0),
    _n("mask-without-modulus", "a mask of secure aggregation without its modulus", "numbers do not wrap in Python",
       _masked, lambda y: y == 100, claim=(0.1, 0.0), chances=(0.01, 0.0)),
    _n("mask-a-little-biased", "a mask of 16 bits modulo 1,000", "the usual modulus: too little", _biased_mask,
       lambda y: y == 536, claim=(0.01, 0.0), chances=(66 / 2**16, 65 / 2**16)),
    _n("leading-zeros-plain", "users before the first one do not flip", "a trimmed array", _count_of_bits,
       lambda y: y > 0, pair=LEADING, chances=(1.0, 0.0)),
    _n("epsilon-of-1.002", "decay exp(-1.002)", "a rounded constant: too little", added(_quantised_epsilon), above(0.5),
       chances=(1 / (1 + math.exp(-1.002)), math.exp(-1.002) / (1 + math.exp(-1.002)))),
    _n("at-most-all", "noise is clipped to the sum", "errors in percent", _at_most_all, lambda y: y == 2,
       chances=(1 / (1 + E), 0.0)),
    _n("mixed-units", "noise in whole units, data in thousandths", "two units", _mixed_units,
       lambda y: np.abs(y % 1 - 0.3) < 0.1, pair=REALS, chances=(1.0, 0.0)),
)  # fmt: skip
