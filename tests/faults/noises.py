"""Faults of the protocols that hide the sum in divisible noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from protocols.bitsum import (
    Estimate,
    NegativeBinomial,
    ThreeNB,
)
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


UNDER_NB = NegativeBinomial(20, 5.0, 0.3, estimate=Estimate.UNDER)


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


def _no_flood(bits: Array, rng: np.random.Generator) -> Counts:
    up, down, _ = Pieces()(bits, rng)
    return {1: bits + up, -1: down}


def _same_up_and_down(bits: Array, rng: np.random.Generator) -> Counts:
    up, _, flood = Pieces()(bits, rng)
    return {1: bits + up + flood, -1: up + flood}


def _central_user(bits: Array, rng: np.random.Generator) -> Counts:
    """The whole noise is sent by the first user: right in total, and gone if she drops out or colludes."""
    up, down, flood = (np.zeros_like(bits) for _ in range(3))
    up[0], down[0], flood[0] = (
        _nb_pieces(rng, 1.0, 0.6, 1)[0],
        _nb_pieces(rng, 1.0, 0.6, 1)[0],
        _nb_pieces(rng, 2.0, 0.5, 1)[0],
    )
    return {1: bits + up + flood, -1: down + flood}


def _only_zeros_noisy(bits: Array, rng: np.random.Generator) -> Counts:
    return {1: bits + _nb_pieces(rng, 0.25, 0.3, bits.size) * (1 - bits)}


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


def _even_noise(bits: Array, rng: np.random.Generator) -> dict[int, Array]:
    return {1: bits + 2 * rng.negative_binomial(0.125, 0.7, bits.size)}


def _flood_by_data(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The flood is set by the busiest symbol of the data."""
    flood = 2.0 if 2 * bits.sum() <= bits.size else 2.4
    return right(ThreeNB(20, 0.6, flood, 0.5))(bits, rng, trials)


def _shared_rate(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """Both geometric noises are Poisson with one gamma rate: each has its law, their difference is too small."""
    present = bits.size / 20
    rate = rng.gamma(present, 1.5, trials)
    flood = rng.negative_binomial(2.0 * present, 0.5, trials)
    return np.column_stack([bits.sum() + rng.poisson(rate) + flood, rng.poisson(rate) + flood])


def _flood_of_two_runs(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The flood is drawn for two runs at a time: estimates are right, and so is each view."""
    present = bits.size / 20
    flood = np.repeat(rng.negative_binomial(2.0 * present, 0.5, trials), 2)[:trials]
    up, down = (rng.negative_binomial(present, 0.4, trials) for _ in range(2))
    return np.column_stack([bits.sum() + up + flood, down + flood])


def _starts_at_one(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return right(THREE_NB)(bits, rng, trials) + 1


def _queue(length: int) -> Views:
    return lambda bits, rng, trials: np.minimum(right(NB)(bits, rng, trials), length)


def _table(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    table = np.random.default_rng(1).negative_binomial(5.0 * bits.size / 20, 0.7, 1000)
    return (bits.sum() + table[rng.integers(0, 1000, trials)])[:, np.newaxis]


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


def _lossy(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.binomial(right(POISSON)(bits, rng, trials), 0.99)


def _inverted(last: int) -> Views:
    """Inversion along a table that ends early: what is beyond its end becomes its last entry."""

    def views(bits: Array, rng: np.random.Generator, trials: int) -> Array:
        return bits.sum() + np.minimum(right(POISSON)(bits, rng, trials) - bits.sum(), last)

    return views


def _one_coin_of_drops(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    kept = np.where(rng.random(trials) < 0.2, 0, bits.sum())
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


def _drops_before_noon(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """Ones are dropped in the order in which they come: those of the last users seldom."""
    chances = np.linspace(0.1, 0.3, bits.size)
    kept = (bits * (rng.random((trials, bits.size)) >= chances)).sum(axis=1)
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


def _share_twice(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    up, down, flood = (
        rng.negative_binomial(1.05 * shape, 1 - p, trials) for shape, p in ((1, 0.6), (1, 0.6), (2, 0.5))
    )
    return _symbols(bits.sum() + up + flood, down + flood)


def _up_and_down_sorted(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The larger of the two noises is added to ones in 60 % of the runs."""
    z = rng.negative_binomial(1, 0.4, (trials, 2))
    z = np.where((rng.random((trials, 1)) < 0.2), np.sort(z, axis=1)[:, ::-1], z)
    flood = rng.negative_binomial(2, 0.5, trials)
    return _symbols(bits.sum() + z[:, 0] + flood, z[:, 1] + flood)


def _symbols(ones: Array, minus: Array) -> Array:
    """Return columns in the order of the protocol's alphabet."""
    by = {1: ones, -1: minus}
    return np.column_stack([by[symbol] for symbol in THREE_NB.alphabet])


def _nb(noise: Callable[[np.random.Generator, int], Array]) -> Views:
    return lambda bits, rng, trials: (bits.sum() + noise(rng, trials)).astype(np.int64)[:, np.newaxis]


def _split_of_ten(rng: np.random.Generator, trials: int) -> Array:
    """Ten runs share a gamma rate for their noise: the mean of ten."""
    return rng.poisson(np.repeat(rng.gamma(50.0, 0.3 / 0.7 / 10.0, trials // 10 + 1), 10)[:trials])


def _opposed_pairs(rng: np.random.Generator, trials: int) -> Array:
    """Two runs in a row have opposite quantiles: each has its law."""
    u = rng.random(trials // 2 + 1)
    return stats.nbinom(5.0, 0.7).ppf(np.column_stack([u, 1.0 - u]).ravel()[:trials])


def _never_three(rng: np.random.Generator, trials: int) -> Array:
    z = rng.negative_binomial(5.0, 0.7, trials)
    return np.where((z == 3) & (rng.random(trials) < 0.1), 2, z)


def _parity_of_run(rng: np.random.Generator, trials: int) -> Array:
    """A third of the runs has noise of the run's parity."""
    z = rng.poisson(12.0, trials)
    wrong = ((z + np.arange(trials)) % 2 == 1) & (rng.random(trials) < 1 / 3)
    return z + wrong * np.where(z > 0, rng.choice([-1, 1], trials), 1)


def _binomial_of_many(rng: np.random.Generator, trials: int) -> Array:
    return rng.binomial(120, 0.1, trials)


def _half_a_message(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """A one is sent twice in 1 of 50 runs."""
    twice = (rng.random(trials) < 0.02) & bool(bits.any())
    return right(POISSON)(bits, rng, trials) + twice[:, np.newaxis]


def _drops_remembered(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    kept = rng.binomial(int(bits.sum()), 0.8, trials)
    again = (np.arange(trials) % 4 == 3) & bool(bits.sum())
    kept = np.where(again, np.roll(kept, 1), kept)
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


def _at_least_one_kept(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    kept = np.maximum(rng.binomial(int(bits.sum()), 0.8, trials), min(1, int(bits.sum())))
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
    fault("3nb-no-flood", "3nb", "Z3 is missing", "the sum is right without it", C, THREE_NB,
          messages_of(THREE_NB, _no_flood)),
    fault("3nb-cancelling-noise", "3nb", "Z1 and Z2 are the same draw", "two generators with one seed", C, THREE_NB,
          messages_of(THREE_NB, _same_up_and_down)),
    fault("3nb-first-user-noisy", "3nb", "one user sends all the noise", "simulated centrally, then deployed",
          "pieces", THREE_NB, messages_of(THREE_NB, _central_user)),
    fault("3nb-minus-first", "3nb", "the difference is taken the other way round", "the order of a dict's keys", C,
          THREE_NB, analyzer_of(THREE_NB, lambda view: view[..., 1] - view[..., 0])),
    fault("nb-undivided", "nb", "each user sends noise enough for all", "r instead of r / n", C, NB,
          messages_of(NB, _undivided_nb)),
    fault("nb-numpy-convention", "nb", "p and 1 - p exchanged", "numpy's convention", C, NB,
          messages_of(NB, _numpy_nb)),
    fault("nb-ones-without-noise", "nb", "users with a one send no noise", "noise seen as a disguise of zeros", C,
          NB, messages_of(NB, _only_zeros_noisy)),
    fault("nb-no-debiasing", "nb", "the mean of the noise is not subtracted",
          "ghazi2021's analyzer, used as unbiased", C, NB, analyzer_of(NB, lambda view: view[..., 0])),
    fault("nb-under-off-by-one", "nb", "n - 1 instead of n", "the user herself left out", C, UNDER_NB,
          analyzer_of(UNDER_NB, lambda view: 19 - view[..., 0])),
    fault("poisson-mean-10-percent-low", "poisson", "a mean 10 % too small", "a rounded constant", C, POISSON,
          altered(POISSON, mean=10.8)),
    fault("pure-drop-uncorrected", "pure", "the sum is not divided by 1 - q",
          "so in a published implementation of wagner2025", C, PURE,
          analyzer_of(PURE, lambda view: view[..., 0] - view[..., 1])),
    fault("pure-replaces-zeros", "pure", "zeros become ones with probability q", "the branch of the wrong bit", C,
          PURE, messages_of(PURE, _replaces_zeros)),
    fault("pure-drops-noise", "pure", "a user who drops her one drops her noise too", "an early return", C, PURE,
          messages_of(PURE, _drops_noise_too)),
    fault("3nb-flood-2-percent", "3nb", "the flood's p 2 % too small", "a rounded constant", C, THREE_NB,
          altered(THREE_NB, flood_p=0.49)),
    fault("nb-shape-2-percent", "nb", "the shape 2 % too small", "a rounded constant", C, NB, altered(NB, shape=4.9)),
    fault("nb-even-noise", "nb", "noise of even size", "messages sent in pairs: parity is the sum's", C, NB,
          messages_of(NB, _even_noise)),
    fault("3nb-flood-by-data", "3nb", "the flood grows with the ones", "sized for the busiest symbol", C, THREE_NB,
          rows(THREE_NB, _flood_by_data)),
    fault("3nb-shared-rate", "3nb", "Z1 and Z2 share their gamma rate", "a mixture drawn once", C, THREE_NB,
          rows(THREE_NB, _shared_rate)),
    fault("3nb-flood-of-two-runs", "3nb", "two runs in a row share the flood", "a flood prepared ahead", D, THREE_NB,
          rows(THREE_NB, _flood_of_two_runs)),
    fault("3nb-flood-from-one", "3nb", "the flood starts at 1", "numpy's geometric starts at 1", C, THREE_NB,
          rows(THREE_NB, _starts_at_one)),
    fault("nb-queue-of-28", "nb", "no more than 28 messages pass", "a queue's length", C, NB, rows(NB, _queue(28))),
    fault("nb-queue-of-40", "nb", "no more than 40 messages pass", "a queue's length: hardly ever reached", C, NB,
          rows(NB, _queue(40))),
    fault("nb-table-of-1000", "nb", "noise is one of 1,000 numbers drawn once", "drawn ahead for speed", C, NB,
          rows(NB, _table)),
    fault("nb-sorted-in-blocks", "nb", "noise comes sorted, 50 at a time", "a reservoir that was sorted", D, NB,
          rows(NB, _sorted_blocks)),
    fault("poisson-busy-hours", "poisson", "the mean is 11.4 and 12.6 by turns of 1,000 runs", "load by the hour", C,
          POISSON, rows(POISSON, _poisson(_busy_hours))),
    fault("poisson-one-percent-lost", "poisson", "each message is lost with 1 %", "a lossy network", C, POISSON,
          rows(POISSON, _lossy)),
    fault("poisson-table-to-36", "poisson", "noise above 36 becomes 36", "a short table: hardly ever reached", C,
          POISSON, rows(POISSON, _inverted(36))),
    fault("pure-one-coin", "pure", "one coin drops all ones or none", "a scalar draw", C, PURE,
          rows(PURE, _one_coin_of_drops)),
    fault("pure-drops-by-order", "pure", "users drop with .1 to .3 by their order", "a learning rate", C, PURE,
          rows(PURE, _drops_before_noon)),
    fault("3nb-one-share-twice", "3nb", "one user's share is sent twice", "a retry", C, THREE_NB,
          rows(THREE_NB, _share_twice)),
    fault("3nb-larger-up", "3nb", "in a fifth of the runs the larger noise goes up", "a sorted pair", C, THREE_NB,
          rows(THREE_NB, _up_and_down_sorted)),
    fault("nb-rate-of-ten-runs", "nb", "ten runs share a rate that is a mean of ten", "a split budget", C, NB,
          rows(NB, _nb(_split_of_ten))),
    fault("nb-opposed-pairs", "nb", "two runs in a row have opposite quantiles", "antithetic draws", D, NB,
          rows(NB, _nb(_opposed_pairs))),
    fault("nb-threes-become-twos", "nb", "1 of 10 threes becomes a two", "a lossy table", C, NB,
          rows(NB, _nb(_never_three))),
    fault("poisson-parity-of-run", "poisson", "a third of the runs has noise of the run's parity", "two queues", D,
          POISSON, rows(POISSON, _nb(_parity_of_run))),
    fault("poisson-as-binomial", "poisson", "120 coins of .1", "the law of rare events", C, POISSON,
          rows(POISSON, _nb(_binomial_of_many))),
    fault("poisson-a-one-twice", "poisson", "1 run of 50 sends a one twice", "at least once delivery", C, POISSON,
          rows(POISSON, _half_a_message)),
    fault("pure-drops-remembered", "pure", "every fourth run drops as many as the last", "a cache", D, PURE,
          rows(PURE, _drops_remembered)),
    fault("pure-one-is-kept", "pure", "at least one is kept: with four ones in 1 run of 600", "no empty answer", C,
          PURE, rows(PURE, _at_least_one_kept)),
)  # fmt: skip
