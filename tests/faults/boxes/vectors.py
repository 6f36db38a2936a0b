"""Black boxes that publish several numbers: what columns share, selections, thresholds, trees and side columns."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable

import numpy as np

from tests.faults.boxes.black_box import BlackBox, Run, box
from tests.faults.boxes.noise import BUDGET, geometric, laplace, normal, tail
from tests.faults.fault import Array

__all__ = ["VECTOR_BOXES"]

_v = functools.partial(box, "black box, several numbers")

FIVES = (np.array([5.0, 5.0, 0.0, 0.0]), np.array([4.0, 5.0, 0.0, 0.0]))
"""Two histograms that differ by one user."""
SPARSE = (np.array([5.0, 1.0, 0.0, 0.0]), np.array([5.0, 0.0, 0.0, 0.0]))


def noises(rng: np.random.Generator, trials: int, columns: int, scale: float = 1.0) -> Array:
    return laplace(rng, trials * columns, scale).reshape(trials, columns)


def _sparse(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.where(x > 0, x + noises(rng, trials, x.size), 0.0))


def _thresholded(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.where(x >= 5, x + noises(rng, trials, x.size), 0.0))


def _sorted_by_truth(x: Array, rng: np.random.Generator, trials: int) -> Array:
    order = np.argsort(-x, kind="stable")
    return np.column_stack([(x + noises(rng, trials, x.size))[:, order], np.tile(order, (trials, 1))])


def _true_argmax(x: Array, rng: np.random.Generator, trials: int) -> Array:
    noisy = x + noises(rng, trials, x.size)
    return np.column_stack([noisy.max(axis=1), np.full(trials, np.argmax(x))])


def _true_total(x: Array, rng: np.random.Generator, trials: int) -> Array:
    noisy = x + noises(rng, trials, x.size)
    return noisy - ((noisy.sum(axis=1) - x.sum()) / x.size)[:, np.newaxis]


def _near_copies(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z, other = laplace(rng, trials), laplace(rng, trials)
    return np.column_stack([x[0] + z, np.rint((0.99 * z + 0.1 * other) * 2.0**16) * 2.0**-16])


def _opposite(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = laplace(rng, trials)
    return np.column_stack([x[0] + z, x[0] - z])


def _clipped_by_entry(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Each of 16 entries is clipped to [-1, 1]: the norm is up to 4."""
    return np.asarray(np.clip(x, -1, 1) + normal(rng, trials * x.size).reshape(trials, x.size))


def _duration(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.column_stack([x.sum() + laplace(rng, trials), rng.normal(1.0 + 0.2 * x.sum(), 0.05, trials)])


def _subsample(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray((x * (rng.random((trials, x.size)) < 0.5)).sum(axis=1))


def _scaled_by_deviation(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x.sum() + 3.0 * x.std() * laplace(rng, trials))


def _vector_without_query_noise(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x > (0.5 + laplace(rng, trials, 2.0))[:, np.newaxis]).astype(int)


def _vector_without_cutoff(x: Array, rng: np.random.Generator, trials: int) -> Array:
    threshold = laplace(rng, trials, 2.0)[:, np.newaxis]
    return (x + noises(rng, trials, x.size, 2.0) > threshold).astype(int)


def _quantile_of_rows(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The exponential mechanism over the rows themselves, not over a range."""
    return x[rng.integers(0, x.size, trials)]


def _whole(limit: float) -> Callable[[Array], Array]:
    return lambda y: y.sum(axis=1) > limit


BOTH = (np.array([0.0, 1.0]), np.array([1.0, 0.0]))
LONG = (np.append(np.ones(8), np.zeros(8)), np.append(np.zeros(8), np.ones(8)))
COUNTS = (np.array([5.0, 3.0, 2.0, 2.0]), np.array([4.0, 3.0, 2.0, 2.0]))
"""Two histograms that differ by one user of the first bucket."""
MOVED = (np.array([5, 4, 4, 3]), np.array([4, 5, 4, 3]))
ALL_ONES = (np.ones(16), np.zeros(16))


def _columns(noise: Callable[[np.random.Generator, int], Array]) -> Run:
    return lambda x, rng, trials: np.asarray(x + noise(rng, trials))


def _period_of_two(rng: np.random.Generator, trials: int) -> Array:
    """Four buckets get two draws, in turn."""
    return np.tile(noises(rng, trials, 2), (1, 2))


def _in_a_plane(rng: np.random.Generator, trials: int) -> Array:
    """Noise of a covariance that was estimated from few points: the direction (1, 2, -2, 0) has none."""
    away = np.array([1.0, 2.0, -2.0, 0.0]) / 3.0
    z = normal(rng, trials * 4, 2.0).reshape(trials, 4)
    return z - np.outer(z @ away, away)


def _tree(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """All seven nodes of a tree over four buckets, each at the whole budget: three of them change."""
    pairs = x.reshape(2, 2).sum(axis=1)
    nodes = np.concatenate([x, pairs, [x.sum()]])
    return np.asarray(nodes + noises(rng, trials, 7))


def _gumbel_choice(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Permute and flip with exp(eps (q - best)), where eps / 2 is right for scores that move both ways."""
    best, left = x.max(), np.ones(trials, dtype=bool)
    chosen = np.zeros(trials, dtype=np.int64)
    order = np.argsort(rng.random((trials, x.size)), axis=1)
    for place in range(x.size):
        at = order[:, place]
        heads = left & (rng.random(trials) < np.exp(x[at] - best))
        chosen[heads] = at[heads]
        left &= ~heads
    return chosen


def _bounds_of_data(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A median by the exponential mechanism between the smallest and the largest row."""
    grid = np.linspace(x.min(), x.max(), 33)
    weights = np.exp(-0.5 * np.abs((x[:, np.newaxis] < grid).sum(axis=0) - x.size / 2))
    return rng.choice(grid, trials, p=weights / weights.sum())


def _delta_each(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Each of 16 columns fails with delta."""
    fails = rng.random((trials, 16)) < 1e-3
    return np.asarray(x + noises(rng, trials, 16, 16.0) * ~fails)


def _square_root(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Twenty answers of epsilon 1 / sqrt(20): advanced composition without its logarithm."""
    return np.asarray(x.sum() + noises(rng, trials, 20, math.sqrt(20.0)))


def _above_half(y: Array) -> Array:
    return np.asarray(np.clip(y, 0.0, 1.0).sum(axis=1) > 12.0)


def _etag(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The answer with a short checksum of the data, as caches want it."""
    mark = zlib.crc32(x.tobytes()) % 65_536
    return np.column_stack([x.sum() + laplace(rng, trials), np.full(trials, mark)])


def _nonce(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The answer with the uniform number that its noise was made of."""
    u = (rng.integers(0, 2**20, trials) + 0.5) / 2.0**20
    z = -np.sign(u - 0.5) * np.log1p(-2.0 * np.abs(u - 0.5))
    return np.column_stack([np.rint((x.sum() + z) * 2.0**16) * 2.0**-16, u])


def _nonce_tells(y: Array) -> Array:
    z = -np.sign(y[:, 1] - 0.5) * np.log1p(-2.0 * np.abs(y[:, 1] - 0.5))
    return np.asarray(y[:, 0] - z > 0.5)


def _by_label(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Ties between noisy counts go to the bucket with more users: an unstable sort that sees both columns."""
    noisy = x + geometric(rng, trials * x.size, 2.0).reshape(trials, x.size)
    return np.argmax(noisy + x / 1000.0, axis=1)


def _two_of_three(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Three shares of the sum modulo 1,009, of which two and their sum are published."""
    shares = rng.integers(0, 1009, (trials, 2))
    return np.column_stack([shares, (x.sum() - shares.sum(axis=1)) % 1009]).astype(int)


def _one_column_in_turn(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A column drawn at random has no noise, for a seed of the row's number modulo the columns."""
    z = noises(rng, trials, x.size)
    z[np.arange(trials), rng.integers(0, x.size, trials)] = 0.0
    return np.asarray(x + z)


def _linked(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two columns with a draw of their own each, and the third with both: their sum is exact."""
    z = geometric(rng, trials * 2, 0.5).reshape(trials, 2)
    return np.column_stack([x[0] + z[:, 0], x[1] + z[:, 1], x[2] - z.sum(axis=1)])


EDGE = (np.array([0.0, 4.0, 5.0, 6.0, 10.0]), np.array([0.0, 4.0, 5.0, 6.0, 6.0]))
BOTH_TIE = (np.array([4.0, 4.0, 0.0]), np.array([3.0, 4.0, 0.0]))
SECOND = (np.array([5.0, 3.0, 2.0, 2.0]), np.array([5.0, 2.0, 2.0, 2.0]))


def _symmetrised(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The mean of a matrix and its transpose, each with noise: entries off the diagonal have less."""
    z = laplace(rng, trials * 4).reshape(trials, 4)
    return np.asarray(x + (z + z[:, [0, 2, 1, 3]]) / 2.0)


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


def _fields_exchanged(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """1 call of 20 gives true and noisy counts in the wrong fields."""
    z = noises(rng, trials, 4)
    wrong = rng.random(trials) < 0.05
    z[wrong] = np.roll(z[wrong] * np.array([1.0, 1.0, 1.0, 0.0]), 1, axis=1)
    return np.asarray(x + z)


def _error_column(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The error of the answer is published to a tenth."""
    z = laplace(rng, trials)
    return np.column_stack([x.sum() + z, np.round(np.abs(z), 1)])


def _plane(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise of a random direction has one length: answers lie on a sphere around the truth."""
    z = rng.normal(size=(trials, 3))
    return np.asarray(x + 6.0 * z / np.sqrt((z**2).sum(axis=1, keepdims=True)))


SUM_OF_TWO = (2.0 + 2.0) * math.exp(-2.0) / 4.0
"""The chance that the mean of two Laplace variables is above 1: (2 + t) e^(-t) / 4 for their sum above t = 2."""


VECTOR_BOXES: tuple[BlackBox, ...] = (
    _v("empty-buckets-exact", "empty buckets get no noise", "a sparse table", _sparse, lambda y: y[:, 1] == 0, 4,
       pair=SPARSE),
    _v("true-threshold", "buckets are shown where their true count is 5", "small cells suppressed", _thresholded,
       lambda y: y[:, 0] == 0, 4, pair=FIVES),
    _v("sorted-by-truth", "buckets in the order of their true counts", "a sort before the noise", _sorted_by_truth,
       lambda y: y[:, 4] == 0, 8, pair=FIVES),
    _v("true-argmax", "the noisy maximum with the true winner", "argmax of the wrong array", _true_argmax,
       lambda y: y[:, 1] == 0, 2, pair=FIVES),
    _v("true-total", "counts adjusted to the true total", "consistency, under added users", _true_total,
       lambda y: np.abs(y.sum(axis=1) - 10) < 1e-6, 4, pair=FIVES),
    _v("near-copies", "two noises with correlation .99", "an autoregressive generator", _near_copies,
       lambda y: y[:, 0] - y[:, 1] > 4.5, 2, pair=FIVES),
    _v("opposite-draws", "antithetic noise", "variance reduction", _opposite, lambda y: y[:, 0] + y[:, 1] > 9, 2,
       pair=FIVES),
    _v("clipped-by-entry", "clipped by entry, not by norm", "np.clip", _clipped_by_entry, _whole(30.0), 16,
       pair=(np.full(16, 1.0), np.zeros(16)), claim=BUDGET),
    _v("duration", "the duration depends on the data", "timings in a log", _duration, lambda y: y[:, 1] > 1.1, 2),
    _v("subsample", "an exact count of a random half", "sampling taken for noise", _subsample, lambda y: y > 0),
    _v("scaled-by-deviation", "noise scaled by the data's deviation", "standardised first", _scaled_by_deviation,
       lambda y: y == 0),
    _v("threshold-noise-only", "the sparse vector technique without noise on queries", "lyu2017 lists it",
       _vector_without_query_noise, lambda y: (y[:, 0] == 0) & (y[:, 1] == 1), 2, pair=BOTH),
    _v("no-cutoff", "the sparse vector technique without cutoff", "lyu2017 lists it", _vector_without_cutoff,
       lambda y: (y[:, :8].sum(axis=1) >= 6) & (y[:, 8:].sum(axis=1) <= 2), 16, pair=LONG),
    _v("quantile-of-rows", "a quantile among the rows", "candidates from the data", _quantile_of_rows,
       lambda y: y == 1.0),
    _v("period-of-two", "buckets 0 and 2 share their noise", "an array that was tiled", _columns(_period_of_two),
       lambda y: np.abs(y[:, 0] - y[:, 2] - 3) < 1e-9, 4, pair=COUNTS, chances=(1.0, 0.0)),
    _v("in-a-plane", "noise without one direction", "a covariance of deficient rank", _columns(_in_a_plane),
       lambda y: y @ np.array([1.0, 2.0, -2.0, 0.0]) > 6.5, 4, pair=COUNTS, claim=(4.0, 1e-5), chances=(1.0, 0.0)),
    _v("tree-of-one-budget", "each level of a tree at the whole budget", "levels not counted", _tree,
       lambda y: y[:, 0] + y[:, 4] + y[:, 6] > 24.5, 7, pair=COUNTS),
    _v("permute-and-flip", "permute and flip without the half", "sensitivity of a count", _gumbel_choice,
       lambda y: y == 0, pair=MOVED),
    _v("bounds-of-data", "a median between the data's own ends", "a range taken from the data", _bounds_of_data,
       lambda y: y > 6.0, pair=EDGE),
    _v("delta-for-each", "each of 16 columns fails with delta", "delta not split", _delta_each,
       lambda y: (y == 1.0).any(axis=1), 16, pair=ALL_ONES, claim=(1.0, 1e-3)),
    _v("root-of-twenty", "twenty answers of epsilon 1 / sqrt 20", "advanced composition without its logarithm",
       _square_root, _above_half, 20, claim=(1.0, 1e-6)),
    _v("checksum", "a checksum of the data", "a cache's version", _etag,
       lambda y: y[:, 1] == zlib.crc32(np.array([1.0, 0.0, 0.0]).tobytes()) % 65_536, 2, chances=(1.0, 0.0)),
    _v("nonce-shown", "the number that the noise was made of", "made reproducible", _nonce, _nonce_tells, 2,
       chances=(1.0, 0.0)),
    _v("ties-by-truth", "ties go to the bucket with more users", "a sort that sees both columns", _by_label,
       lambda y: y == 0, pair=BOTH_TIE, claim=(2.0, 0.0)),
    _v("shares-of-three", "all three shares of a secret", "one too many", _two_of_three,
       lambda y: y.sum(axis=1) % 1009 == 1, 3, chances=(1.0, 0.0)),
    _v("one-column-exact", "one column drawn at random has no noise", "an index off its end", _one_column_in_turn,
       lambda y: y[:, 0] == 5.0, 4, pair=COUNTS, claim=(1.0, 0.0)),
    _v("linked-columns", "three columns with two draws: their sum is exact", "totals kept", _linked,
       lambda y: y.sum(axis=1) == 1, 3, chances=(1.0, 0.0)),
    _v("symmetrised", "the mean of two noises off the diagonal", "A + A' for a symmetric result", _symmetrised,
       lambda y: y[:, 1] > 3.0, 4, pair=SECOND, chances=(0.5, SUM_OF_TWO)),
    _v("leaf-again", "two leaves of a tree share their noise", "a memory of one leaf", _leaf_again,
       lambda y: y[:, 0] + y[:, 1] - y[:, 2] == 1, 3, chances=(1.0, 0.0)),
    _v("microbatches", "the mean of four parts, each with the noise of one", "gradient accumulation", _microbatches,
       lambda y: y[:, 0] > 4.0, 2, pair=(np.array([1.0, 0.0]), np.zeros(2)), claim=BUDGET),
    _v("large-gradients-plain", "signs above 2.5 are sure", "a shortcut", _large_plain, lambda y: y[:, 0] < 0, 3,
       pair=(np.array([3.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.0])), claim=(1.0, 0.0), chances=(0.0, tail(2.0))),
    _v("weights-overflow", "weights that leave the floats", "exp(1,500)", _overflows, lambda y: y == 0,
       pair=(np.array([1500.0, 1499.0]), np.array([1499.0, 1500.0])), chances=(1.0, 0.0)),
    _v("fields-exchanged", "1 call of 20 gives noise to the next field", "a race between threads", _fields_exchanged,
       lambda y: y[:, 0] == 5.0, 4, pair=COUNTS),
    _v("error-shown", "the size of the noise, to a tenth", "an error bar", _error_column,
       lambda y: np.abs(np.abs(y[:, 0] - 1.0) - y[:, 1]) < 0.0501, 2),
    _v("on-a-sphere", "noise of one length", "a random direction", _plane,
       lambda y: np.abs(((y - np.array([1.0, 0, 0])) ** 2).sum(axis=1) - 36.0) < 1e-6, 3, chances=(1.0, 0.0)),
)  # fmt: skip
