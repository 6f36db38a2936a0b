"""Black boxes that publish several numbers: histograms, selections, and whole pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import laplace, normal

__all__ = ["VECTOR_BOXES", "noises"]

Array = NDArray[Any]
FIVES = (np.array([5.0, 5.0, 0.0, 0.0]), np.array([4.0, 5.0, 0.0, 0.0]))
"""Two histograms that differ by one user."""
SPARSE = (np.array([5.0, 1.0, 0.0, 0.0]), np.array([5.0, 0.0, 0.0, 0.0]))
BUDGET = (1.0, 1e-5)


def noises(rng: np.random.Generator, trials: int, columns: int, scale: float = 1.0) -> Array:
    return laplace(rng, trials * columns, scale).reshape(trials, columns)


def _sparse(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.where(x > 0, x + noises(rng, trials, x.size), 0.0))


def _thresholded(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(np.where(x >= 5, x + noises(rng, trials, x.size), 0.0))


def _suppressed(x: Array, rng: np.random.Generator, trials: int) -> Array:
    noisy = x + noises(rng, trials, x.size)
    return np.asarray(np.where((x < 5) & (rng.random((trials, 1)) < 0.01), -1.0, noisy))


def _sorted_by_truth(x: Array, rng: np.random.Generator, trials: int) -> Array:
    order = np.argsort(-x, kind="stable")
    return np.column_stack([(x + noises(rng, trials, x.size))[:, order], np.tile(order, (trials, 1))])


def _true_argmax(x: Array, rng: np.random.Generator, trials: int) -> Array:
    noisy = x + noises(rng, trials, x.size)
    return np.column_stack([noisy.max(axis=1), np.full(trials, np.argmax(x))])


def _winner_with_its_count(x: Array, rng: np.random.Generator, trials: int) -> Array:
    noisy = x + noises(rng, trials, x.size)
    winner = np.argmax(noisy, axis=1)
    return np.column_stack([winner, x[winner]])


def _two_candidates(x: Array, rng: np.random.Generator, trials: int) -> Array:
    weights = np.where(x >= np.sort(x)[-2], np.exp(x / 2), 0.0)
    return rng.choice(x.size, trials, p=weights / weights.sum())


def _true_total(x: Array, rng: np.random.Generator, trials: int) -> Array:
    noisy = x + noises(rng, trials, x.size)
    return noisy - ((noisy.sum(axis=1) - x.sum()) / x.size)[:, np.newaxis]


def _one_draw_for_all(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return x + laplace(rng, trials)[:, np.newaxis]


def _doubled_draw(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = laplace(rng, trials)
    return np.column_stack([x[0] + z, x[1] + 2.0 * z])


def _near_copies(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z, other = laplace(rng, trials), laplace(rng, trials)
    return np.column_stack([x[0] + z, np.rint((0.99 * z + 0.1 * other) * 2.0**16) * 2.0**-16])


def _opposite(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = laplace(rng, trials)
    return np.column_stack([x[0] + z, x[0] - z])


def _ten_answers(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return x.sum() + noises(rng, trials, 10, 1.0 / 0.3)


def _prefix_sums(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.cumsum(x) + noises(rng, trials, x.size)


def _clipped_by_entry(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Each of 16 entries is clipped to [-1, 1]: the norm is up to 4."""
    return np.asarray(np.clip(x, -1, 1) + normal(rng, trials * x.size).reshape(trials, x.size))


def _messages(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Reports in the first columns, and -1 where nothing was sent: only users with a one send."""
    reports = np.full((trials, x.size), -1)
    count = int(x.sum())
    reports[:, :count] = rng.integers(0, 2, (trials, count))
    return reports


def _duration(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.column_stack([x.sum() + laplace(rng, trials), rng.normal(1.0 + 0.2 * x.sum(), 0.05, trials)])


def _subsample(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray((x * (rng.random((trials, x.size)) < 0.5)).sum(axis=1))


def _one_row(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A number, or in 1 of 100 calls an example of the data."""
    example = x[rng.integers(0, x.size, trials)] + 100.0
    return np.asarray(np.where(rng.random(trials) < 0.01, example, x.sum() + laplace(rng, trials)))


def _scaled_by_deviation(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x.sum() + 3.0 * x.std() * laplace(rng, trials))


def _unclipped(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x.sum() + laplace(rng, trials))


def _vector_without_query_noise(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x > (0.5 + laplace(rng, trials, 2.0))[:, np.newaxis]).astype(int)


def _vector_without_cutoff(x: Array, rng: np.random.Generator, trials: int) -> Array:
    threshold = laplace(rng, trials, 2.0)[:, np.newaxis]
    return (x + noises(rng, trials, x.size, 2.0) > threshold).astype(int)


def _vector_with_answers(x: Array, rng: np.random.Generator, trials: int) -> Array:
    noisy, threshold = x + noises(rng, trials, x.size), laplace(rng, trials, 2.0)[:, np.newaxis]
    return np.where(noisy > threshold, noisy, -99.0)


def _quantile_of_rows(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The exponential mechanism over the rows themselves, not over a range."""
    return x[rng.integers(0, x.size, trials)]


def _unsplit(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise for epsilon 1 on each of count and sum, which both change."""
    noisy = np.column_stack([np.full(trials, float(np.count_nonzero(x))), np.full(trials, x.sum())])
    return noisy + noises(rng, trials, 2)


def _minimum_and_maximum(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.column_stack([np.full(trials, x.min()), np.full(trials, x.max()), x.sum() + laplace(rng, trials)])


def _last_column_forgotten(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = noises(rng, trials, x.size)
    z[:, -1] = 0.0
    return np.asarray(x + z)


def _gradient(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The sum is clipped, not each user's gradient: all others together move by one user."""
    total = x.sum() / max(1.0, abs(float(x.sum())) / 3.0)
    return np.asarray(total + normal(rng, trials))


def _whole(limit: float) -> Callable[[Array], Array]:
    return lambda y: y.sum(axis=1) > limit


def _v(
    name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], columns: int = 0, **options: Any
) -> BlackBox:
    shape = (columns,) if columns else ()
    return box("black box, several numbers", f"box-{name}", wrong, reason, run, sign, shape=shape, **options)


BOTH = (np.array([0.0, 1.0]), np.array([1.0, 0.0]))
LONG = (np.append(np.ones(8), np.zeros(8)), np.append(np.zeros(8), np.ones(8)))
VECTOR_BOXES: tuple[BlackBox, ...] = (
    _v("empty-buckets-exact", "empty buckets get no noise", "a sparse table", _sparse, lambda y: y[:, 1] == 0, 4,
       pair=SPARSE),
    _v("true-threshold", "buckets are shown where their true count is 5", "small cells suppressed", _thresholded,
       lambda y: y[:, 0] == 0, 4, pair=FIVES),
    _v("suppressed-at-times", "1 call of 100 marks small cells", "a rare path", _suppressed, lambda y: y[:, 0] == -1,
       4, pair=FIVES),
    _v("sorted-by-truth", "buckets in the order of their true counts", "a sort before the noise", _sorted_by_truth,
       lambda y: y[:, 4] == 0, 8, pair=FIVES),
    _v("true-argmax", "the noisy maximum with the true winner", "argmax of the wrong array", _true_argmax,
       lambda y: y[:, 1] == 0, 2, pair=FIVES),
    _v("winner-with-its-count", "the noisy winner with its true count", "the wrong array indexed",
       _winner_with_its_count, lambda y: (y[:, 0] == 0) & (y[:, 1] == 5), 2, pair=FIVES),
    _v("only-two-candidates", "chooses among the two that lead", "pruned for speed", _two_candidates,
       lambda y: y == 2, pair=(np.array([3.0, 3.0, 2.0]), np.array([2.0, 3.0, 2.0]))),
    _v("true-total", "counts adjusted to the true total", "consistency, under added users", _true_total,
       lambda y: np.abs(y.sum(axis=1) - 10) < 1e-6, 4, pair=FIVES),
    _v("one-draw-for-all", "one draw for all entries", "a scalar broadcast", _one_draw_for_all,
       lambda y: np.abs(y[:, 0] - y[:, 1]) < 1e-9, 4, pair=FIVES),
    _v("doubled-draw", "the second noise is twice the first", "one draw, scaled", _doubled_draw,
       lambda y: np.abs(2 * y[:, 0] - y[:, 1] - 5) < 1e-9, 2, pair=FIVES),
    _v("near-copies", "two noises with correlation .99", "an autoregressive generator", _near_copies,
       lambda y: y[:, 0] - y[:, 1] > 4.5, 2, pair=FIVES),
    _v("opposite-draws", "antithetic noise", "variance reduction", _opposite,
       lambda y: y[:, 0] + y[:, 1] > 9, 2, pair=FIVES),
    _v("ten-answers", "ten answers of epsilon .3 for a budget of 1", "composition forgotten", _ten_answers,
       lambda y: np.clip(y, 0, 1).sum(axis=1) > 8, 10),
    _v("prefix-sums", "each prefix sum at the whole budget", "a stream without a tree", _prefix_sums, _whole(4.0), 8,
       pair=(np.append(1.0, np.zeros(7)), np.zeros(8))),
    _v("clipped-by-entry", "clipped by entry, not by norm", "np.clip", _clipped_by_entry, _whole(30.0), 16,
       pair=(np.full(16, 1.0), np.zeros(16)), claim=BUDGET),
    _v("number-of-messages", "only users with a one send", "saves messages", _messages, lambda y: y[:, 0] >= 0, 3),
    _v("duration", "the duration depends on the data", "timings in a log", _duration, lambda y: y[:, 1] > 1.1, 2),
    _v("subsample", "an exact count of a random half", "sampling taken for noise", _subsample, lambda y: y > 0),
    _v("example-row", "1 call of 100 shows a row", "an example in an error message", _one_row, lambda y: y == 101.0),
    _v("scaled-by-deviation", "noise scaled by the data's deviation", "standardised first", _scaled_by_deviation,
       lambda y: y == 0),
    _v("unclipped", "an outlier of 4 is not clipped", "bounds are documented only", _unclipped, lambda y: y > 2,
       pair=(np.array([4.0]), np.zeros(1))),
    _v("threshold-noise-only", "the sparse vector technique without noise on queries", "lyu2017 lists it",
       _vector_without_query_noise, lambda y: (y[:, 0] == 0) & (y[:, 1] == 1), 2, pair=BOTH),
    _v("no-cutoff", "the sparse vector technique without cutoff", "lyu2017 lists it", _vector_without_cutoff,
       lambda y: (y[:, :8].sum(axis=1) >= 6) & (y[:, 8:].sum(axis=1) <= 2), 16, pair=LONG),
    _v("answers-of-tests", "the sparse vector technique shows the noisy queries", "lyu2017 lists it",
       _vector_with_answers, lambda y: (y[:, :4] == -99).all(axis=1) & (y[:, 4] > -99) & (y[:, 4] < 0), 5,
       pair=(np.zeros(5), np.append(np.ones(4), 0.0))),
    _v("quantile-of-rows", "a quantile among the rows", "candidates from the data", _quantile_of_rows,
       lambda y: y == 1.0),
    _v("budget-not-split", "count and sum at the whole budget each", "a mean of two answers", _unsplit, _whole(1.5),
       2),
    _v("bounds-shown", "smallest and largest value in the answer", "axes of a plot", _minimum_and_maximum,
       lambda y: y[:, 1] == 1, 3),
    _v("last-column-exact", "the last column gets no noise", "range(n - 1)", _last_column_forgotten,
       lambda y: y[:, 2] == 1, 3, pair=(np.array([0.0, 0.0, 1.0]), np.zeros(3))),
    _v("sum-clipped", "the sum is clipped, not each gradient", "clipping per batch", _gradient, lambda y: y > 6,
       pair=(np.array([3.0, 0.0]), np.zeros(2)), claim=BUDGET),
)  # fmt: skip
