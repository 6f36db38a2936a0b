"""Black boxes that publish several numbers: what columns share, selections, thresholds, trees and side columns."""

import functools
import zlib
from collections.abc import Callable

import numpy as np

from tests.faults.boxes.black_box import BlackBox, box
from tests.faults.boxes.noise import BUDGET, geometric, laplace, normal
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


def _whole(limit: float) -> Callable[[Array], Array]:
    return lambda y: y.sum(axis=1) > limit


BOTH = (np.array([0.0, 1.0]), np.array([1.0, 0.0]))
COUNTS = (np.array([5.0, 3.0, 2.0, 2.0]), np.array([4.0, 3.0, 2.0, 2.0]))
"""Two histograms that differ by one user of the first bucket."""


def _etag(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The answer with a short checksum of the data, as caches want it."""
    mark = zlib.crc32(x.tobytes()) % 65_536
    return np.column_stack([x.sum() + laplace(rng, trials), np.full(trials, mark)])


SECOND = (np.array([5.0, 3.0, 2.0, 2.0]), np.array([5.0, 2.0, 2.0, 2.0]))


def _leaf_again(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Running sums by a tree: the third step's leaf has the noise of the first's."""
    leaf, pair = (geometric(rng, trials, 0.5) for _ in range(2))
    return np.column_stack([x[0] + leaf, x[:2].sum() + pair, x.sum() + pair + leaf])


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
    _v("checksum", "a checksum of the data", "a cache's version", _etag,
       lambda y: y[:, 1] == zlib.crc32(np.array([1.0, 0.0, 0.0]).tobytes()) % 65_536, 2, chances=(1.0, 0.0)),
    _v("leaf-again", "two leaves of a tree share their noise", "a memory of one leaf", _leaf_again,
       lambda y: y[:, 0] + y[:, 1] - y[:, 2] == 1, 3, chances=(1.0, 0.0)),
)  # fmt: skip
