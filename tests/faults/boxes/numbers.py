"""Black boxes that publish one number: noise of the wrong size, shape, precision or place."""

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from tests.faults.boxes.black_box import BlackBox, Run, box
from tests.faults.boxes.noise import BUDGET, SIGMA, E, geometric, laplace, normal, tail
from tests.faults.fault import Array

__all__ = ["NUMBER_BOXES"]

_n = functools.partial(box, "black box, one number")

THIRD = (np.array([1.0 / 3.0]), np.zeros(1))


def added(noise: Callable[[np.random.Generator, int], Array]) -> Run:
    """Return a mechanism that adds noise to the sum."""
    return lambda x, rng, trials: np.asarray(x.sum() + noise(rng, trials), dtype=np.float64)


def on_grid(pitch: float) -> Callable[[Array], Array]:
    return lambda y: np.asarray(y / pitch == np.rint(y / pitch))


def above(level: float) -> Callable[[Array], Array]:
    return lambda y: np.asarray(y > level)


def _half(rng: np.random.Generator, trials: int) -> Array:
    return rng.laplace(size=trials).astype(np.float16).astype(np.float64)


def _few_bits(bits: int) -> Callable[[np.random.Generator, int], Array]:
    def noise(rng: np.random.Generator, trials: int) -> Array:
        u = (rng.integers(0, 2**bits, trials) + 0.5) / 2.0**bits - 0.5
        return np.asarray(-np.sign(u) * np.log1p(-2.0 * np.abs(u)))

    return noise


def _of_few_bits(bits: int) -> Callable[[Array], Array]:
    u = (np.arange(2**bits) + 0.5) / 2.0**bits - 0.5
    values = -np.sign(u) * np.log1p(-2.0 * np.abs(u))
    return lambda y: np.isin(y, values)


def _difference(rng: np.random.Generator, trials: int) -> Array:
    return rng.exponential(size=trials) - rng.exponential(size=trials)


def _sum_of_uniforms(rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.rint(SIGMA * rng.uniform(-1.0, 1.0, (trials, 3)).sum(axis=1) * 2.0**16) * 2.0**-16)


def _scaled_by_largest(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x.sum() + x.max() * laplace(rng, trials))


def _clipped_to_data(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.clip(x.sum() + laplace(rng, trials), 0.0, 2.0 * x.max() + 2.0)


def _skipped(chance: float) -> Run:
    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        return np.asarray(x.sum() + laplace(rng, trials) * (rng.random(trials) >= chance))

    return run


def _divided(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray((x.sum() + laplace(rng, trials)) / x.size)


def _parity_leak(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Even numbers a little more often where the sum is even."""
    y = np.rint(x.sum() + 3.0 * rng.standard_normal(trials) * SIGMA)
    turned = rng.random(trials) < 0.75
    return np.asarray(y + ((y + x.sum()) % 2 == 1) * turned)


def _jitter(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.median(x) + 1e-9 * rng.standard_normal(trials))


def _rounded_scale(rng: np.random.Generator, trials: int) -> Array:
    return normal(rng, trials, sigma=float(int(SIGMA / 2)))


REALS = (np.array([0.3]), np.array([0.7]))


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


def _sampled_sum(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x[0] * (rng.random(trials) < 0.1) + laplace(rng, trials))


def _byte_wraps(rng: np.random.Generator, trials: int) -> Array:
    """The noise is kept in a signed byte, the sum is not."""
    return (geometric(rng, trials, 0.05) + 128) % 256 - 128


def _threshold_too_low(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A key with one user is shown above log(1 / (2 delta)) = 6.2, where it must be one more."""
    noisy = x.sum() + laplace(rng, trials)
    return np.where((noisy > 6.2146) & (x.sum() > 0), noisy, 0.0)


def _quantised_epsilon(rng: np.random.Generator, trials: int) -> Array:
    return geometric(rng, trials, 1.002)


def _mixed_units(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Thousandths for the sum, whole numbers for the noise."""
    return np.asarray((1000.0 * x.sum() + np.rint(1000.0 * laplace(rng, trials)) * 1000.0) / 1000.0)


NORMAL = stats.norm(0.0, SIGMA)
PHI = stats.norm.sf
REDRAWN = np.array([[E ** -abs(y - x) for y in range(6)] for x in (0, 1)])
REDRAWN /= REDRAWN.sum(axis=1, keepdims=True)
STUDENT = stats.t(3)


def _largest_of_five(rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.max([laplace(rng, trials) for _ in range(5)], axis=0))


NUMBER_BOXES: tuple[BlackBox, ...] = (
    _n("half-precision", "noise in half precision", "graphics cards", added(_half), on_grid(2.0**-24), pair=THIRD),
    _n("coins-of-16-bits", "noise by inversion from 16 bits", "a cheap generator", added(_few_bits(16)),
       _of_few_bits(16)),
    _n("sum-of-uniforms", "a sum of three uniforms as normal noise", "an old recipe: no tails",
       added(_sum_of_uniforms), above(3 * SIGMA), claim=BUDGET),
    _n("clipped-to-data", "clipped to twice the largest value", "bounds taken from the data", _clipped_to_data,
       above(2.0)),
    _n("scaled-by-largest", "noise scaled by the largest value", "sensitivity estimated from the data",
       _scaled_by_largest, lambda y: y == 0.0),
    _n("exponentials-in-floats", "difference of two exponentials in floats", "the textbook recipe",
       added(_difference), lambda y: (np.abs(y) < 0.25) & ~on_grid(2.0**-53)(y)),
    _n("classical-sigma", "the classical sigma at eps = 8", "its proof needs eps < 1: delta is 30 % too large",
       added(lambda rng, n: normal(rng, n, 0.472)), above(1.4), claim=(8.0, 1e-3)),
    _n("integer-sigma", "sigma cut to an integer", "an integer option", added(_rounded_scale), above(2.5),
       claim=BUDGET),
    _n("positive-noise", "the noise's absolute value", "counts must not sink",
       added(lambda rng, n: np.abs(laplace(rng, n))), lambda y: y < 1.0),
    _n("cauchy-noise", "Cauchy noise of scale 1/2", "the scale for smooth sensitivity is larger",
       added(lambda rng, n: 0.5 * rng.standard_cauchy(n)), lambda y: np.abs(y - 1.2) < 0.4),
    _n("noise-skipped", "no noise in 1 call of 500", "a fallback when entropy runs out", _skipped(0.002),
       lambda y: y == 0.0),
    _n("divided-by-size", "divided by the true number of rows", "a mean under added users", _divided,
       lambda y: np.abs(y) > 2.0, pair=(np.zeros(2), np.zeros(3))),
    _n("parity", "parity leaks through the noise", "a sum and its noise are rounded apart", _parity_leak,
       lambda y: y % 2 == 0, claim=(0.5, 0.0)),
    _n("jitter", "a median with a jitter of 1e-9", "ties broken at random", _jitter, above(0.5),
       pair=(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]))),
    _n("asymmetric", "half the scale below 0", "two constants", added(_two_scales(1.0, 0.5)), lambda y: y < 0.0,
       chances=(0.5 * E**-2, 0.5)),
    _n("two-servers", "two draws of half the variance", "noise of two servers", added(_of_servers(2)), above(4.0),
       chances=(_of_two_servers_above(3.0), _of_two_servers_above(4.0))),
    _n("student", "Student's law with 3 degrees at scale 1", "the scale of Cauchy noise", added(_student),
       lambda y: (y > 1.5) & (y < 4.5),
       chances=(STUDENT.cdf(3.5) - STUDENT.cdf(0.5), STUDENT.cdf(4.5) - STUDENT.cdf(1.5))),
    _n("normal-for-pure", "normal noise of deviation 2 where delta is 0", "delta forgotten",
       added(lambda rng, n: normal(rng, n, 2.0)), above(5.5), chances=(PHI(2.25), PHI(2.75))),
    _n("normal-redrawn-at-3.4", "noise beyond 3.4 deviations is redrawn", "outliers look wrong",
       added(_tails_redrawn(3.4)), above(3.4 * SIGMA), claim=BUDGET,
       chances=((NORMAL.sf(3.4 * SIGMA - 1) - PHI(3.4)) / (1 - 2 * PHI(3.4)), 0.0)),
    _n("amplified-too-much", "epsilon .1 for a sample of a tenth", "epsilon times the rate; .159 is right",
       _sampled_sum, above(1.0), claim=(0.1, 0.0), chances=(0.1 * tail(0.0) + 0.9 * tail(1.0), tail(1.0))),
    _n("noise-of-a-byte", "noise of scale 20 in a signed byte", "int8", added(_byte_wraps), lambda y: y == 128,
       claim=(0.05, 0.0)),
    _n("threshold-one-too-low", "keys are shown above log(1/(2 delta))", "1 + was forgotten", _threshold_too_low,
       lambda y: y > 0, claim=(1.0, 1e-3), chances=(tail(5.2146), 0.0)),
    _n("epsilon-of-1.002", "decay exp(-1.002)", "a rounded constant: too little", added(_quantised_epsilon),
       above(0.5), chances=(1 / (1 + math.exp(-1.002)), math.exp(-1.002) / (1 + math.exp(-1.002)))),
    _n("mixed-units", "noise in whole units, data in thousandths", "two units", _mixed_units,
       lambda y: np.abs(y % 1 - 0.3) < 0.1, pair=REALS, chances=(1.0, 0.0)),
    _n("largest-of-five", "the largest of five answers", "max() over replicas", added(_largest_of_five),
       lambda y: y < 0.0, chances=(tail(1.0) ** 5, 0.5**5)),
    _n("plain-in-400000", "1 call of 400,000 has no noise", "a race: too rare", _fails(2.5e-6), lambda y: y == 1),
)  # fmt: skip
