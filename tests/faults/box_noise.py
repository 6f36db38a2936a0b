"""Black boxes that publish one number: noise of the wrong size, shape, precision or place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box

__all__ = ["NOISE_BOXES"]

Array = NDArray[Any]
THIRD = (np.array([1.0 / 3.0]), np.zeros(1))
BUDGET = (1.0, 1e-5)
SIGMA = 3.73
"""Normal noise that gives (1, 1e-5) at sensitivity 1."""


def added(noise: Callable[[np.random.Generator, int], Array]) -> Run:
    """Return a mechanism that adds noise to the sum."""
    return lambda x, rng, trials: np.asarray(x.sum() + noise(rng, trials), dtype=np.float64)


def laplace(rng: np.random.Generator, trials: int, scale: float = 1.0) -> Array:
    """Return Laplace noise on a grid of 2^-16, whose low bits say nothing of sums of integers."""
    p = -np.expm1(-(2.0**-16) / scale)
    return np.asarray((rng.geometric(p, trials) - rng.geometric(p, trials)) * 2.0**-16)


def normal(rng: np.random.Generator, trials: int, sigma: float = SIGMA) -> Array:
    return np.rint(rng.normal(0.0, sigma, trials) * 2.0**16) * 2.0**-16


def on_grid(pitch: float) -> Callable[[Array], Array]:
    return lambda y: np.asarray(y / pitch == np.rint(y / pitch))


def above(level: float) -> Callable[[Array], Array]:
    return lambda y: np.asarray(y > level)


def _half(rng: np.random.Generator, trials: int) -> Array:
    return rng.laplace(size=trials).astype(np.float16).astype(np.float64)


def _single(rng: np.random.Generator, trials: int) -> Array:
    return rng.laplace(size=trials).astype(np.float32).astype(np.float64)


def _few_bits(bits: int) -> Callable[[np.random.Generator, int], Array]:
    def noise(rng: np.random.Generator, trials: int) -> Array:
        u = (rng.integers(0, 2**bits, trials) + 0.5) / 2.0**bits - 0.5
        return np.asarray(-np.sign(u) * np.log1p(-2.0 * np.abs(u)))

    return noise


def _of_few_bits(bits: int) -> Callable[[Array], Array]:
    u = (np.arange(2**bits) + 0.5) / 2.0**bits - 0.5
    values = -np.sign(u) * np.log1p(-2.0 * np.abs(u))
    return lambda y: np.isin(y, values)


def _redrawn(limit: float) -> Callable[[np.random.Generator, int], Array]:
    def noise(rng: np.random.Generator, trials: int) -> Array:
        z = laplace(rng, trials)
        while (outside := np.abs(z) > limit).any():
            z[outside] = laplace(rng, int(outside.sum()))
        return z

    return noise


def _difference(rng: np.random.Generator, trials: int) -> Array:
    return rng.exponential(size=trials) - rng.exponential(size=trials)


def _sum_of_uniforms(rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.rint(SIGMA * rng.uniform(-1.0, 1.0, (trials, 3)).sum(axis=1) * 2.0**16) * 2.0**-16)


def _scaled_by_largest(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x.sum() + x.max() * laplace(rng, trials))


def _clipped_to_data(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.clip(x.sum() + laplace(rng, trials), 0.0, 2.0 * x.max() + 2.0)


def _digits_of_data(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.round(x.sum() + laplace(rng, trials), 3 if x.sum() < 1 else 2)


def _skipped(chance: float) -> Run:
    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        return np.asarray(x.sum() + laplace(rng, trials) * (rng.random(trials) >= chance))

    return run


def _bytes(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return float(np.int64(x.sum()).astype(np.int8)) + laplace(rng, trials)


def _mean_of(count: int) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, trials: np.mean([laplace(rng, trials) for _ in range(count)], axis=0)


def _divided(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray((x.sum() + laplace(rng, trials)) / x.size)


def _negatives_redrawn(x: Array, rng: np.random.Generator, trials: int) -> Array:
    y = x.sum() + laplace(rng, trials)
    while (low := y < 0.0).any():
        y[low] = x.sum() + laplace(rng, int(low.sum()))
    return np.asarray(y)


def _residue(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Even numbers a little more often where the sum is even."""
    y = np.rint(x.sum() + 3.0 * rng.standard_normal(trials) * SIGMA)
    turned = rng.random(trials) < 0.75
    return np.asarray(y + ((y + x.sum()) % 2 == 1) * turned)


def _digit(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.floor(laplace(rng, trials, 4.0) * 1e6) / 1e6 + (1 + x.sum()) * 1e-7)


def _jitter(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.median(x) + 1e-9 * rng.standard_normal(trials))


def _rounded_scale(rng: np.random.Generator, trials: int) -> Array:
    return normal(rng, trials, sigma=float(int(SIGMA / 2)))


def _late_shift(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.floor(x.sum() + 0.5) + np.trunc(rng.laplace(0.0, 1.0, trials)))


def _n(name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], **options: Any) -> BlackBox:
    return box("black box, one number", f"box-{name}", wrong, reason, run, sign, **options)


ONES = np.ones(128)
MANY = (ONES, np.append(ONES[:-1], 0.0))
NOISE_BOXES: tuple[BlackBox, ...] = (
    _n("half-precision", "noise in half precision", "graphics cards", added(_half), on_grid(2.0**-24), pair=THIRD),
    _n("single-precision", "noise in single precision on sums in double", "a default dtype", added(_single),
       lambda y: y.astype(np.float32) == y, pair=THIRD),
    _n("noise-in-cents", "noise rounded to cents, data not", "currency", added(lambda rng, n: np.round(
       rng.laplace(size=n), 2)), lambda y: np.abs(100 * y - np.rint(100 * y)) < 1e-6, pair=THIRD),
    _n("coins-of-16-bits", "noise by inversion from 16 bits", "a cheap generator", added(_few_bits(16)),
       _of_few_bits(16)),
    _n("coins-of-12-bits", "noise by inversion from 12 bits", "a table of quantiles", added(_few_bits(12)),
       _of_few_bits(12)),
    _n("sum-of-uniforms", "a sum of three uniforms as normal noise", "an old recipe: no tails", added(_sum_of_uniforms),
       above(3 * SIGMA), claim=BUDGET),
    _n("tails-redrawn-at-6", "noise beyond 6 scales is redrawn", "outliers look wrong", added(_redrawn(6.0)),
       above(6.0)),
    _n("tails-redrawn-at-10", "noise beyond 10 scales is redrawn", "outliers look wrong: too rare to be seen",
       added(_redrawn(10.0)), above(10.0)),
    _n("clipped-to-data", "clipped to twice the largest value", "bounds taken from the data", _clipped_to_data,
       above(2.0)),
    _n("scaled-by-largest", "noise scaled by the largest value", "sensitivity estimated from the data",
       _scaled_by_largest, lambda y: y == 0.0),
    _n("digits-of-data", "as many digits as the sum needs", "pretty printing", _digits_of_data,
       lambda y: np.round(y, 2) == y),
    _n("exponentials-in-floats", "difference of two exponentials in floats", "the textbook recipe",
       added(_difference), lambda y: (np.abs(y) < 0.25) & ~on_grid(2.0**-53)(y)),
    _n("scale-is-epsilon", "scale eps and not 1/eps", "numpy's scale", added(lambda rng, n: laplace(rng, n, 0.5)),
       above(0.8), claim=(0.5, 0.0)),
    _n("classical-sigma", "the classical sigma at eps = 8", "its proof needs eps < 1: delta is 30 % too large",
       added(lambda rng, n: normal(rng, n, 0.472)), above(1.4), claim=(8.0, 1e-3)),
    _n("root-of-sigma", "sqrt(sigma) in place of sigma", "variance and deviation exchanged",
       added(lambda rng, n: normal(rng, n, SIGMA**0.5)), above(5.0), claim=BUDGET),
    _n("integer-sigma", "sigma cut to an integer", "an integer option", added(_rounded_scale), above(2.5),
       claim=BUDGET),
    _n("positive-noise", "the noise's absolute value", "counts must not sink", added(lambda rng, n: np.abs(
       laplace(rng, n))), lambda y: y < 1.0),
    _n("geometric-of-twice-epsilon", "decay exp(-2 eps)", "sensitivity divided twice", added(lambda rng, n:
       rng.geometric(-np.expm1(-2.0), n) - rng.geometric(-np.expm1(-2.0), n)), above(0.5)),
    _n("uniform-noise", "uniform noise on [-3, 3]", "any noise will do", added(lambda rng, n: rng.uniform(-3, 3, n)),
       above(3.0)),
    _n("cauchy-noise", "Cauchy noise of scale 1/2", "the scale for smooth sensitivity is larger", added(lambda rng, n:
       0.5 * rng.standard_cauchy(n)), lambda y: np.abs(y - 1.2) < 0.4),
    _n("logistic-noise", "logistic noise of scale 1/2", "deviation matched with Laplace noise", added(lambda rng, n:
       rng.logistic(0.0, 0.5, n)), above(2.0)),
    _n("triangular-noise", "triangular noise", "a mean of two uniforms", added(lambda rng, n: rng.triangular(
       -4.0, 0.0, 4.0, n)), above(4.0)),
    _n("noise-skipped", "no noise in 1 call of 500", "a fallback when entropy runs out", _skipped(0.002),
       lambda y: y == 0.0),
    _n("noise-skipped-rarely", "no noise in 1 call of 50,000", "a race", _skipped(2e-5), lambda y: y == 1.0),
    _n("bytes", "the sum wraps around in 8 bits", "a column of bytes", _bytes, lambda y: y < 0.0, pair=MANY),
    _n("mean-of-answers", "the mean of nine answers", "accuracy by repetition", added(_mean_of(9)), above(0.5)),
    _n("divided-by-size", "divided by the true number of rows", "a mean under added users", _divided,
       lambda y: np.abs(y) > 2.0, pair=(np.zeros(2), np.zeros(3))),
    _n("negatives-redrawn", "negative answers are redrawn", "counts cannot be negative", _negatives_redrawn,
       lambda y: y < 0.3),
    _n("parity", "parity leaks through the noise", "a sum and its noise are rounded apart", _residue,
       lambda y: y % 2 == 0, claim=(0.5, 0.0)),
    _n("seventh-digit", "the seventh digit is the sum", "a watermark", _digit,
       lambda y: np.rint(y * 1e7) % 10 == 1),
    _n("jitter", "a median with a jitter of 1e-9", "ties broken at random", _jitter, above(0.5),
       pair=(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]))),
    _n("cut-towards-zero", "noise cut towards 0", "an int() around the noise", _late_shift, lambda y: y == 1.0),
)  # fmt: skip
