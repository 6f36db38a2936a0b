"""Black boxes that publish several numbers, fourth batch: batches, trees, transforms, scales and lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import laplace, normal
from tests.faults.box_vectors import noises
from tests.faults.third.numbers import BUDGET, geometric, tail

__all__ = ["FOURTH_VECTOR_BOXES"]

Array = NDArray[Any]
COUNTS = (np.array([5.0, 3.0, 2.0, 2.0]), np.array([4.0, 3.0, 2.0, 2.0]))
SECOND = (np.array([5.0, 3.0, 2.0, 2.0]), np.array([5.0, 2.0, 2.0, 2.0]))
LAST = (np.array([5.0, 3.0, 2.0, 2.0]), np.array([5.0, 3.0, 2.0, 1.0]))


def _symmetric(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A matrix of two rows whose noise is that of a symmetric one."""
    z = noises(rng, trials, 3)
    return np.asarray(x + z[:, [0, 1, 1, 2]])


def _symmetrised(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The mean of a matrix and its transpose, each with noise: entries off the diagonal have less."""
    z = laplace(rng, trials * 4).reshape(trials, 4)
    return np.asarray(x + (z + z[:, [0, 2, 1, 3]]) / 2.0)


def _no_constant(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise on frequencies, from the second on: sums stay what they are."""
    z = noises(rng, trials, 4)
    return np.asarray(x + z - z.mean(axis=1, keepdims=True))


def _lengths(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A list of the buckets with someone, filled up with -1."""
    some = int((x > 0).sum())
    out = np.full((trials, x.size), -1.0)
    out[:, :some] = np.maximum(noises(rng, trials, some), 0.0)
    return out


def _both_ends(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """An interval whose ends are drawn apart, each at the whole budget."""
    return np.asarray(x.sum() + laplace(rng, trials * 2).reshape(trials, 2) + np.array([-2.0, 2.0]))


def _leaf_again(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Running sums by a tree: the third step's leaf has the noise of the first's."""
    leaf, pair = (geometric(rng, trials, 0.5) for _ in range(2))
    return np.column_stack([x[0] + leaf, x[:2].sum() + pair, x.sum() + pair + leaf])


def _microbatches(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise for each of four parts of a batch, and then their mean."""
    return np.asarray(x + normal(rng, trials * 8).reshape(trials, 4, 2).mean(axis=1))


def _large_plain(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Signs of noisy gradients; those above 2.5 are thought to be sure."""
    noisy = x + noises(rng, trials, x.size)
    return np.where(np.abs(x) > 2.5, np.sign(x), np.sign(noisy))


def _overflows(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The exponential mechanism with weights that leave the floats: then the largest is taken."""
    with np.errstate(over="ignore"):
        weights = np.exp(0.5 * x)
    if np.isinf(weights).any():
        return np.full(trials, int(np.argmax(x)))
    return rng.choice(x.size, trials, p=weights / weights.sum())


def _race(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Exponential noise of scale 1 on scores of which one may rise while another falls."""
    return np.argmax(x + rng.exponential(size=(trials, x.size)), axis=1)


def _short_batch(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The last column is a batch of a quarter, and gets a quarter of the noise."""
    return np.asarray(x + noises(rng, trials, 4) * np.array([1.0, 1.0, 1.0, 0.25]))


def _swapped_scales(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Columns of ranges 1 and 10, with each other's noise."""
    return np.asarray(x + normal(rng, trials * 2).reshape(trials, 2) * np.array([10.0, 1.0]))


def _recycled(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Five draws for eight columns: the other three are means of two neighbours."""
    z = geometric(rng, trials * 5, 0.5).reshape(trials, 5)
    return np.asarray(x + np.column_stack([z, z[:, 0] + z[:, 1], z[:, 1] + z[:, 2], z[:, 2] + z[:, 3]]))


def _product(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A low-rank noise: outer products of two draws for the four cells of a table."""
    first, second = (1.0 + rng.exponential(3.0, (2, trials, 2))) * rng.choice([-1.0, 1.0], (2, trials, 2))
    return np.column_stack([x[i * 2 + j] + first[:, i] * second[:, j] for i in range(2) for j in range(2)])


def _exchanged(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """1 call of 20 gives true and noisy counts in the wrong fields."""
    z = noises(rng, trials, 4)
    wrong = rng.random(trials) < 0.05
    z[wrong] = np.roll(z[wrong] * np.array([1.0, 1.0, 1.0, 0.0]), 1, axis=1)
    return np.asarray(x + z)


def _error_column(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The error of the answer is published to a tenth."""
    z = laplace(rng, trials)
    return np.column_stack([x.sum() + z, np.round(np.abs(z), 1)])


def _early_stop(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noisy sums until the sum is passed: the number of tries is shown with the last."""
    tries = rng.geometric(0.5 if x.sum() else 0.3, trials)
    return np.column_stack([x.sum() + laplace(rng, trials), tries + rng.integers(0, 3, trials)])


def _norm(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Each column gets its noise, and all are scaled to the true norm."""
    noisy = x + noises(rng, trials, x.size)
    norm = np.sqrt((noisy**2).sum(axis=1, keepdims=True))
    return np.asarray(noisy / np.maximum(norm, 1e-9) * math.sqrt(float((x**2).sum())))


def _plane(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise of a random direction has one length: answers lie on a sphere around the truth."""
    z = rng.normal(size=(trials, 3))
    return np.asarray(x + 6.0 * z / np.sqrt((z**2).sum(axis=1, keepdims=True)))


def _v(
    name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], columns: int = 0, **options: Any
) -> BlackBox:
    shape = (columns,) if columns else ()
    return box("black box, several numbers", f"fourth-{name}", wrong, reason, run, sign, shape=shape, **options)


SUM_OF_TWO = (2.0 + 2.0) * math.exp(-2.0) / 4.0
"""The chance that the mean of two Laplace variables is above 1: (2 + t) e^(-t) / 4 for their sum above t = 2."""
FOURTH_VECTOR_BOXES: tuple[BlackBox, ...] = (
    _v("symmetric-noise", "two cells share their noise", "a symmetric matrix for one that is not", _symmetric,
       lambda y: np.abs(y[:, 1] - y[:, 2] - 1.0) < 1e-9, 4, pair=SECOND, chances=(1.0, 0.0)),
    _v("symmetrised", "the mean of two noises off the diagonal", "A + A' for a symmetric result", _symmetrised,
       lambda y: y[:, 1] > 3.0, 4, pair=SECOND, chances=(0.5, SUM_OF_TWO)),
    _v("constant-without-noise", "noise whose sum is 0", "frequencies from 1 on", _no_constant,
       lambda y: np.abs(y.sum(axis=1) - 12.0) < 1e-6, 4, pair=COUNTS, claim=(2.0, 0.0), chances=(1.0, 0.0)),
    _v("length-of-data", "as many entries as there are buckets in use", "a list for a table", _lengths,
       lambda y: y[:, 3] >= 0.0, 4, pair=(np.ones(4), np.array([1.0, 1.0, 1.0, 0.0])), chances=(1.0, 0.0)),
    _v("both-ends", "each end of an interval at the whole budget", "two calls", _both_ends,
       lambda y: (y[:, 0] > -1.0) & (y[:, 1] > 3.0), 2, chances=(0.25, tail(1.0) ** 2)),
    _v("leaf-again", "two leaves of a tree share their noise", "a memory of one leaf", _leaf_again,
       lambda y: y[:, 0] + y[:, 1] - y[:, 2] == 1, 3, chances=(1.0, 0.0)),
    _v("microbatches", "the mean of four parts, each with the noise of one", "gradient accumulation", _microbatches,
       lambda y: y[:, 0] > 4.0, 2, pair=(np.array([1.0, 0.0]), np.zeros(2)), claim=BUDGET),
    _v("large-gradients-plain", "signs above 2.5 are sure", "a shortcut", _large_plain, lambda y: y[:, 0] < 0, 3,
       pair=(np.array([3.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.0])), claim=(1.0, 0.0), chances=(0.0, tail(2.0))),
    _v("weights-overflow", "weights that leave the floats", "exp(1,500)", _overflows, lambda y: y == 0,
       pair=(np.array([1500.0, 1499.0]), np.array([1499.0, 1500.0])), chances=(1.0, 0.0)),
    _v("race-of-moves", "exponential noise of scale 1 where two scores move", "the scale of counts", _race,
       lambda y: y == 0, pair=(np.array([5.0, 4.0]), np.array([4.0, 5.0])), chances=(1 - tail(1.0), tail(1.0))),
    _v("short-last-batch", "a quarter of the noise for the last batch", "a mean over its rows", _short_batch,
       lambda y: y[:, 3] > 2.0, 4, pair=LAST),
    _v("scales-swapped", "two columns have each other's scale", "a transposed covariance", _swapped_scales,
       lambda y: y[:, 1] > 5.0, 2, pair=(np.array([0.0, 10.0]), np.zeros(2)), claim=BUDGET),
    _v("recycled-draws", "five draws for eight columns", "a pool that is too small", _recycled,
       lambda y: y[:, 5] - y[:, 0] - y[:, 1] == -1, 8, pair=(np.append(np.ones(1), np.zeros(7)), np.zeros(8)),
       claim=(1.0, 0.0), chances=(1.0, 0.0)),
    _v("outer-product", "noise of rank one in a table", "a compressed noise", _product,
       lambda y: np.abs((y[:, 0] - 1.0) * y[:, 3] - y[:, 1] * y[:, 2]) < 1e-6, 4,
       pair=(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(4)), chances=(1.0, 0.0)),
    _v("fields-exchanged", "1 call of 20 gives noise to the next field", "a race between threads", _exchanged,
       lambda y: y[:, 0] == 5.0, 4, pair=COUNTS),
    _v("error-shown", "the size of the noise, to a tenth", "an error bar", _error_column,
       lambda y: np.abs(np.abs(y[:, 0] - 1.0) - y[:, 1]) < 0.0501, 2),
    _v("tries-shown", "a number of tries that depends on the sum", "a log", _early_stop, lambda y: y[:, 1] > 5, 2,
       claim=(1.05, 0.0)),
    _v("true-norm", "noisy vectors are scaled to the true norm", "unit vectors", _norm,
       lambda y: np.abs((y**2).sum(axis=1) - 42.0) < 1e-6, 4, pair=COUNTS, chances=(1.0, 0.0)),
    _v("on-a-sphere", "noise of one length", "a random direction", _plane,
       lambda y: np.abs(((y - np.array([1.0, 0, 0])) ** 2).sum(axis=1) - 36.0) < 1e-6, 3, chances=(1.0, 0.0)),
)  # fmt: skip
