"""Black boxes that publish several numbers, third batch: trees, selections, quantiles, releases and side columns."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import laplace, normal
from tests.faults.box_vectors import noises
from tests.faults.third.numbers import geometric, tail

__all__ = ["THIRD_VECTOR_BOXES"]

Array = NDArray[Any]
BUDGET = (1.0, 1e-5)
COUNTS = (np.array([5.0, 3.0, 2.0, 2.0]), np.array([4.0, 3.0, 2.0, 2.0]))
"""Two histograms that differ by one user of the first bucket."""
LEFT = (np.array([5, 4, 4, 3]), np.array([4, 4, 4, 3]))
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


def _sums_of_neighbours(rng: np.random.Generator, trials: int) -> Array:
    """Each bucket gets its draw and the next one's, the last one the first one's: alternate sums have no noise."""
    z = geometric(rng, trials * 4, 1.0).reshape(trials, 4)
    return z + np.roll(z, -1, axis=1)


def _tree(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """All seven nodes of a tree over four buckets, each at the whole budget: three of them change."""
    pairs = x.reshape(2, 2).sum(axis=1)
    nodes = np.concatenate([x, pairs, [x.sum()]])
    return np.asarray(nodes + noises(rng, trials, 7))


def _two_tables(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """All users, and all but the first: 1 call of 10 takes both noises from a cache with one entry."""
    z = geometric(rng, trials * 2, 0.5).reshape(trials, 2)
    z[:, 1] = np.where(rng.random(trials) < 0.1, z[:, 0], z[:, 1])
    return np.column_stack([x.sum() + z[:, 0], x[1:].sum() + z[:, 1]])


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


def _top_three(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The three first of a race that is private for the winner alone."""
    return np.argsort(-(x / 2.0 + rng.gumbel(size=(trials, x.size))), axis=1)[:, :3]


def _bounds_of_data(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A median by the exponential mechanism between the smallest and the largest row."""
    grid = np.linspace(x.min(), x.max(), 33)
    weights = np.exp(-0.5 * np.abs((x[:, np.newaxis] < grid).sum(axis=0) - x.size / 2))
    return rng.choice(grid, trials, p=weights / weights.sum())


def _gaps_unweighted(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A median by ranks that forgets the width of gaps: between equal rows it answers just these."""
    rows = np.concatenate([[0.0], np.sort(x), [10.0]])
    ranks = np.arange(rows.size - 1)
    weights = np.exp(-0.5 * np.abs(ranks - x.size / 2))
    at = rng.choice(ranks, trials, p=weights / weights.sum())
    return np.round(rows[at] + (rows[at + 1] - rows[at]) * rng.random(trials), 3)


def _layers(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Four layers are clipped to 1 each, and the noise is for a norm of 1 of all."""
    return np.asarray(np.clip(x, -1, 1) + normal(rng, trials * 4).reshape(trials, 4))


def _delta_each(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Each of 16 columns fails with delta."""
    fails = rng.random((trials, 16)) < 1e-3
    return np.asarray(x + noises(rng, trials, 16, 16.0) * ~fails)


def _square_root(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Twenty answers of epsilon 1 / sqrt(20): advanced composition without its logarithm."""
    return np.asarray(x.sum() + noises(rng, trials, 20, math.sqrt(20.0)))


def _above_half(y: Array) -> Array:
    return np.asarray(np.clip(y, 0.0, 1.0).sum(axis=1) > 12.0)


def _hits_unpaid(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The sparse vector technique: up to ten hits with the noise for one."""
    threshold = laplace(rng, trials, 2.0)[:, np.newaxis]
    hits = x + noises(rng, trials, x.size, 4.0) > threshold
    return (hits & (np.cumsum(hits, axis=1) <= 10)).astype(int)


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


def _half_width(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A mean and the half of its confidence interval, from the data's own deviation, printed to two digits."""
    return np.column_stack([x.mean() + laplace(rng, trials), np.full(trials, round(1.96 * float(x.std()), 2))])


def _noise_by_rank(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Larger buckets get the larger of the draws, by an argsort that was meant for the labels."""
    z = np.sort(noises(rng, trials, x.size), axis=1)
    return np.asarray(x + z[:, np.argsort(np.argsort(x, kind="stable"), kind="stable")])


def _by_label(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Ties between noisy counts go to the bucket with more users: an unstable sort that sees both columns."""
    noisy = x + geometric(rng, trials * x.size, 2.0).reshape(trials, x.size)
    return np.argmax(noisy + x / 1000.0, axis=1)


def _two_of_three(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Three shares of the sum modulo 1,009, of which two and their sum are published."""
    shares = rng.integers(0, 1009, (trials, 2))
    return np.column_stack([shares, (x.sum() - shares.sum(axis=1)) % 1009]).astype(int)


def _moments(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Mean and variance, whose difference to the mean of squares is exact."""
    z = laplace(rng, trials)
    return np.column_stack([x.sum() + z, (x**2).sum() + z**2])


def _buckets_merged(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Buckets below 5 are merged into the last by their true counts."""
    small = x < 5
    merged = np.where(small, 0.0, x)
    merged[-1] += x[small].sum()
    return np.asarray(merged + noises(rng, trials, x.size))


def _scaled_columns(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Columns are standardised by the data before the noise."""
    return np.asarray((x - x.mean()) / max(float(x.std()), 1e-3) + noises(rng, trials, x.size))


def _one_column_in_turn(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A column drawn at random has no noise, for a seed of the row's number modulo the columns."""
    z = noises(rng, trials, x.size)
    z[np.arange(trials), rng.integers(0, x.size, trials)] = 0.0
    return np.asarray(x + z)


def _linked(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two columns with a draw of their own each, and the third with both: their sum is exact."""
    z = geometric(rng, trials * 2, 0.5).reshape(trials, 2)
    return np.column_stack([x[0] + z[:, 0], x[1] + z[:, 1], x[2] - z.sum(axis=1)])


def _v(
    name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], columns: int = 0, **options: Any
) -> BlackBox:
    shape = (columns,) if columns else ()
    return box("black box, several numbers", f"third-{name}", wrong, reason, run, sign, shape=shape, **options)


EDGE = (np.array([0.0, 4.0, 5.0, 6.0, 10.0]), np.array([0.0, 4.0, 5.0, 6.0, 6.0]))
TIES = (np.array([2.0, 5.0, 5.0, 7.0, 9.0]), np.array([2.0, 4.0, 5.0, 7.0, 9.0]))
SMALL = (np.array([5.0, 9.0, 2.0, 1.0]), np.array([4.0, 9.0, 2.0, 1.0]))
HITS = (np.tile([1.0, 0.0], 10), np.tile([0.0, 1.0], 10))
BOTH_TIE = (np.array([4.0, 4.0, 0.0]), np.array([3.0, 4.0, 0.0]))
THIRD_VECTOR_BOXES: tuple[BlackBox, ...] = (
    _v("period-of-two", "buckets 0 and 2 share their noise", "an array that was tiled", _columns(_period_of_two),
       lambda y: np.abs(y[:, 0] - y[:, 2] - 3) < 1e-9, 4, pair=COUNTS, chances=(1.0, 0.0)),
    _v("in-a-plane", "noise without one direction", "a covariance of deficient rank", _columns(_in_a_plane),
       lambda y: y @ np.array([1.0, 2.0, -2.0, 0.0]) > 6.5, 4, pair=COUNTS, claim=(4.0, 1e-5), chances=(1.0, 0.0)),
    _v("sums-of-neighbours", "noises are sums of neighbouring draws", "a moving average over buckets",
       _columns(_sums_of_neighbours), lambda y: y @ np.array([1.0, -1.0, 1.0, -1.0]) == 2, 4, pair=COUNTS,
       chances=(1.0, 0.0)),
    _v("tree-of-one-budget", "each level of a tree at the whole budget", "levels not counted", _tree,
       lambda y: y[:, 0] + y[:, 4] + y[:, 6] > 24.5, 7, pair=COUNTS),
    _v("cache-of-one-entry", "1 call of 10 uses one noise for two queries", "a cache without a key", _two_tables,
       lambda y: y[:, 0] - y[:, 1] == 1, 2, claim=(0.5, 0.0)),
    _v("permute-and-flip", "permute and flip without the half", "sensitivity of a count", _gumbel_choice,
       lambda y: y == 0, pair=MOVED),
    _v("top-three", "three winners for the budget of one", "the rest of the race shown", _top_three,
       lambda y: (y != 0).all(axis=1), 3, pair=LEFT, claim=(0.5, 0.0)),
    _v("bounds-of-data", "a median between the data's own ends", "a range taken from the data", _bounds_of_data,
       lambda y: y > 6.0, pair=EDGE),
    _v("gaps-unweighted", "a median that forgets the width of gaps", "ranks for values", _gaps_unweighted,
       lambda y: y == 5.0, pair=TIES),
    _v("clipped-by-layer", "each of four layers clipped to the whole norm", "a loop over layers", _layers,
       lambda y: y.sum(axis=1) > 16.0, 4, pair=(np.ones(4), np.zeros(4)), claim=BUDGET),
    _v("delta-for-each", "each of 16 columns fails with delta", "delta not split", _delta_each,
       lambda y: (y == 1.0).any(axis=1), 16, pair=ALL_ONES, claim=(1.0, 1e-3)),
    _v("root-of-twenty", "twenty answers of epsilon 1 / sqrt 20", "advanced composition without its logarithm",
       _square_root, _above_half, 20, claim=(1.0, 1e-6)),
    _v("hits-unpaid", "the sparse vector technique, ten hits for one", "lyu2017: the noise needs the cutoff",
       _hits_unpaid, lambda y: y[:, ::2].sum(axis=1) - y[:, 1::2].sum(axis=1) > 4, 20, pair=HITS),
    _v("checksum", "a checksum of the data", "a cache's version", _etag,
       lambda y: y[:, 1] == zlib.crc32(np.array([1.0, 0.0, 0.0]).tobytes()) % 65_536, 2, chances=(1.0, 0.0)),
    _v("nonce-shown", "the number that the noise was made of", "made reproducible", _nonce, _nonce_tells, 2,
       chances=(1.0, 0.0)),
    _v("interval-shown", "the half of a confidence interval from the data", "an error bar", _half_width,
       lambda y: y[:, 1] > 0.5, 2, chances=(1.0, 0.0)),
    _v("noise-by-rank", "larger buckets get larger noise", "an argsort at the wrong place", _noise_by_rank,
       lambda y: (y[:, 1] < y[:, 0]) & (y[:, 2] < y[:, 0]), 4, pair=(np.array([3.0, 2.5, 2, 0]), np.array(
           [2.0, 2.5, 2, 0]))),
    _v("ties-by-truth", "ties go to the bucket with more users", "a sort that sees both columns", _by_label,
       lambda y: y == 0, pair=BOTH_TIE, claim=(2.0, 0.0)),
    _v("shares-of-three", "all three shares of a secret", "one too many", _two_of_three,
       lambda y: y.sum(axis=1) % 1009 == 1, 3, chances=(1.0, 0.0)),
    _v("squared-noise", "the second column has the square of the first one's noise", "computed from noisy rows",
       _moments, lambda y: np.abs((y[:, 0] - 1.0) ** 2 - y[:, 1] + 1.0) < 1e-6, 2, pair=(np.array([1.0]), np.zeros(1)),
       claim=(2.0, 0.0), chances=(1.0, 0.0)),
    _v("merged-by-truth", "buckets below 5 are merged by their true counts", "small cells", _buckets_merged,
       lambda y: y[:, 0] > 2.0, 4, pair=SMALL, chances=(tail(-3.0), tail(2.0))),
    _v("standardised", "columns are standardised before the noise", "a scaler of a library", _scaled_columns,
       lambda y: y[:, 0] > 0.5, 3),
    _v("one-column-exact", "one column drawn at random has no noise", "an index off its end", _one_column_in_turn,
       lambda y: y[:, 0] == 5.0, 4, pair=COUNTS, claim=(1.0, 0.0)),
    _v("linked-columns", "three columns with two draws: their sum is exact", "totals kept", _linked,
       lambda y: y.sum(axis=1) == 1, 3, chances=(1.0, 0.0)),
)  # fmt: skip
