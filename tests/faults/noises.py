"""Faults of the protocols that hide the sum in divisible noise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from protocols.bitsum.three_nb import negative_binomial
from protocols.shuffler import UserMessages
from tests.faults.fault import Fault
from tests.faults.making import (
    NB,
    POISSON,
    PURE,
    THREE_NB,
    Array,
    C,
    Counts,
    D,
    M,
    Views,
    altered,
    analyzer_of,
    fault,
    implemented,
    messages_of,
    right,
    rows,
)

__all__ = ["NOISE_FAULTS"]


def users_shuffled(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    """Shuffle users, and leave each user's messages together."""
    users = int(messages.senders.max(initial=0)) + 1
    return messages.symbols[np.argsort(rng.permutation(users)[messages.senders], kind="stable")]


def _nb_pieces(rng: np.random.Generator, shape: float, p: float, size: int) -> Array:
    return negative_binomial(rng, shape, p, size)


def with_deviation(factor: float) -> float:
    """Return the p at which `sqrt(2 p) / (1 - p)`, discrete Laplace noise's deviation, is so many times that at 0.6."""
    half = 1.0 + (0.4 / factor) ** 2 / 1.2
    return half - (half * half - 1.0) ** 0.5


@dataclass(frozen=True)
class Pieces:
    """The three pieces of 3NB noise of each user, with knobs for what can go wrong."""

    p: float = 0.6
    flood_p: float = 0.5
    divide: float = 20.0

    def __call__(self, bits: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        up, down = (_nb_pieces(rng, 1.0 / self.divide, self.p, bits.size) for _ in range(2))
        return up, down, _nb_pieces(rng, 2.0 / self.divide, self.flood_p, bits.size)


def _one_term_missing(bits: Array, rng: np.random.Generator) -> Counts:
    up, _, flood = Pieces()(bits, rng)
    return {1: bits + up + flood, -1: flood}


def _by_participants(bits: Array, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces(divide=float(bits.size))(bits, rng)
    return {1: bits + up + flood, -1: down + flood}


def _unpaired(bits: Array, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces()(bits, rng)
    return {1: bits + up + flood, -1: down + _nb_pieces(rng, 0.1, 0.5, bits.size)}


def _central_user(bits: Array, rng: np.random.Generator) -> Counts:
    """The whole noise is sent by the first user: right in total, and gone if she drops out or colludes."""
    up, down, flood = (np.zeros_like(bits) for _ in range(3))
    up[0], down[0], flood[0] = (
        _nb_pieces(rng, 1.0, 0.6, 1)[0],
        _nb_pieces(rng, 1.0, 0.6, 1)[0],
        _nb_pieces(rng, 2.0, 0.5, 1)[0],
    )
    return {1: bits + up + flood, -1: down + flood}


def _undivided_nb(bits: Array, rng: np.random.Generator) -> Counts:
    return {1: bits + _nb_pieces(rng, 5.0, 0.3, bits.size)}


def _numpy_nb(bits: Array, rng: np.random.Generator) -> Counts:
    return {1: bits + _nb_pieces(rng, 0.25, 0.7, bits.size)}


def _correct_three_nb(bits: Array, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces()(bits, rng)
    return {1: bits + up + flood, -1: down + flood}


def _replaces_zeros(bits: Array, rng: np.random.Generator) -> Counts:
    return _correct_three_nb(np.where(rng.random(bits.size) < 0.2, 1, bits), rng)


def _drops_noise_too(bits: Array, rng: np.random.Generator) -> Counts:
    kept = rng.random(bits.size) >= 0.2
    return {symbol: count * kept for symbol, count in _correct_three_nb(bits, rng).items()}


def _flood_of_two_runs(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The flood is drawn for two runs at a time: estimates are right, and so is each view."""
    present = bits.size / 20
    flood = np.repeat(rng.negative_binomial(2.0 * present, 0.5, trials), 2)[:trials]
    up, down = (rng.negative_binomial(present, 0.4, trials) for _ in range(2))
    return np.column_stack([bits.sum() + up + flood, down + flood])


def _queue(length: int) -> Views:
    return lambda bits, rng, trials: np.minimum(right(NB)(bits, rng, trials), length)


def _sorted_blocks(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise is taken from a reservoir of 50 draws that was sorted: each draw has its law over time."""
    blocks = rng.negative_binomial(5.0 * bits.size / 20, 0.7, (trials // 50 + 1, 50))
    start = rng.integers(50)
    return (bits.sum() + np.sort(blocks, axis=1).ravel()[start : start + trials])[:, np.newaxis]


def _poisson(mean: Callable[[int, np.random.Generator], Any]) -> Views:
    return lambda bits, rng, trials: (bits.sum() + rng.poisson(mean(trials, rng) * bits.size / 20, trials))[
        :, np.newaxis
    ]


def _busy_hours(trials: int, rng: np.random.Generator) -> Array:
    return np.where(np.arange(trials) // 1000 % 2, 11.4, 12.6)


def _inverted(last: int) -> Views:
    """Inversion along a table that ends early: what is beyond its end becomes its last entry."""

    def views(bits: Array, rng: np.random.Generator, trials: int) -> Array:
        return bits.sum() + np.minimum(right(POISSON)(bits, rng, trials) - bits.sum(), last)

    return views


def _nb(noise: Callable[[np.random.Generator, int], Array]) -> Views:
    return lambda bits, rng, trials: (bits.sum() + noise(rng, trials)).astype(np.int64)[:, np.newaxis]


def _opposed_pairs(rng: np.random.Generator, trials: int) -> Array:
    """Two runs in a row have opposite quantiles: each has its law."""
    u = rng.random(trials // 2 + 1)
    return stats.nbinom(5.0, 0.7).ppf(np.column_stack([u, 1.0 - u]).ravel()[:trials])


def _parity_of_run(rng: np.random.Generator, trials: int) -> Array:
    """A third of the runs has noise of the run's parity."""
    z = rng.poisson(12.0, trials)
    wrong = ((z + np.arange(trials)) % 2 == 1) & (rng.random(trials) < 1 / 3)
    return z + wrong * np.where(z > 0, rng.choice([-1, 1], trials), 1)


def _half_a_message(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """A one is sent twice in 1 of 50 runs."""
    twice = (rng.random(trials) < 0.02) & bool(bits.any())
    return right(POISSON)(bits, rng, trials) + twice[:, np.newaxis]


def _drops_remembered(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    kept = rng.binomial(int(bits.sum()), 0.8, trials)
    again = (np.arange(trials) % 4 == 3) & bool(bits.sum())
    kept = np.where(again, np.roll(kept, 1), kept)
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


NOISE_FAULTS: tuple[Fault, ...] = (
    fault("3nb-users-shuffled", "3nb", "each user's messages stay together", "users, not messages, were shuffled", M,
          THREE_NB, implemented(THREE_NB, shuffler=users_shuffled)),
    fault("3nb-scale-5-percent-low", "3nb", "noise of 5 % less standard deviation", "a rounded constant", C,
          THREE_NB, altered(THREE_NB, p=with_deviation(0.95))),
    fault("3nb-one-term-missing", "3nb", "Z2 is missing: the noise is one-sided", "dropped in refactoring", C,
          THREE_NB, messages_of(THREE_NB, _one_term_missing)),
    fault("3nb-n-from-participants", "3nb", "pieces divided by those who take part, not by the public n",
          "n = len(data)", C, THREE_NB, messages_of(THREE_NB, _by_participants)),
    fault("3nb-flood-not-in-pairs", "3nb", "Z3 drawn apart for the two symbols", "one function called twice", C,
          THREE_NB, messages_of(THREE_NB, _unpaired)),
    fault("3nb-first-user-noisy", "3nb", "one user sends all the noise", "simulated centrally, then deployed",
          "pieces", THREE_NB, messages_of(THREE_NB, _central_user)),
    fault("nb-undivided", "nb", "each user sends noise enough for all", "r instead of r / n", C, NB,
          messages_of(NB, _undivided_nb)),
    fault("nb-numpy-convention", "nb", "p and 1 - p exchanged", "numpy's convention", C, NB,
          messages_of(NB, _numpy_nb)),
    fault("poisson-mean-10-percent-low", "poisson", "a mean 10 % too small", "a rounded constant", C, POISSON,
          altered(POISSON, mean=10.8)),
    fault("pure-drop-uncorrected", "pure", "the sum is not divided by 1 - q",
          "so in a published implementation of wagner2025", C, PURE,
          analyzer_of(PURE, lambda view: view[..., 0] - view[..., 1])),
    fault("pure-replaces-zeros", "pure", "zeros become ones with probability q", "the branch of the wrong bit", C,
          PURE, messages_of(PURE, _replaces_zeros)),
    fault("pure-drops-noise", "pure", "a user who drops her one drops her noise too", "an early return", C, PURE,
          messages_of(PURE, _drops_noise_too)),
    fault("3nb-flood-of-two-runs", "3nb", "two runs in a row share the flood", "a flood prepared ahead", D, THREE_NB,
          rows(THREE_NB, _flood_of_two_runs)),
    fault("nb-queue-of-40", "nb", "no more than 40 messages pass", "a queue's length: hardly ever reached", C, NB,
          rows(NB, _queue(40))),
    fault("nb-sorted-in-blocks", "nb", "noise comes sorted, 50 at a time", "a reservoir that was sorted", D, NB,
          rows(NB, _sorted_blocks)),
    fault("poisson-busy-hours", "poisson", "the mean is 11.4 and 12.6 by turns of 1,000 runs", "load by the hour", C,
          POISSON, rows(POISSON, _poisson(_busy_hours))),
    fault("poisson-table-to-36", "poisson", "noise above 36 becomes 36", "a short table: hardly ever reached", C,
          POISSON, rows(POISSON, _inverted(36))),
    fault("nb-opposed-pairs", "nb", "two runs in a row have opposite quantiles", "antithetic draws", D, NB,
          rows(NB, _nb(_opposed_pairs))),
    fault("poisson-parity-of-run", "poisson", "a third of the runs has noise of the run's parity", "two queues", D,
          POISSON, rows(POISSON, _nb(_parity_of_run))),
    fault("poisson-a-one-twice", "poisson", "1 run of 50 sends a one twice", "at least once delivery", C, POISSON,
          rows(POISSON, _half_a_message)),
    fault("pure-drops-remembered", "pure", "every fourth run drops as many as the last", "a cache", D, PURE,
          rows(PURE, _drops_remembered)),
)  # fmt: skip
