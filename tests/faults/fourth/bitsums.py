"""Faults of bitsums, fourth batch: coins of few bits, parts that stay, lags, cut tables and counts that steer noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tests.faults.bitsums import fault
from tests.faults.fault import Fault
from tests.faults.noises import analyzer_of, views_of
from tests.faults.third.bitsums import (
    GAUSSIAN,
    LAPLACE,
    NB,
    POISSON,
    PURE,
    RR,
    RR_OF_30,
    THREE_NB,
    Views,
    _central,
    _fair,
    _flipped,
    _geometrics,
    _right,
    _rows,
)

__all__ = ["FOURTH_BITSUM_FAULTS"]

Array = NDArray[Any]
C, D = "conformance", "dependence"


def _chance(p: float) -> Views:
    return _flipped(lambda bits, rng, trials: rng.random((trials, bits.size)) < p)


def _majority(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return (rng.random((trials, bits.size, 3)) < 0.25).sum(axis=2) >= 2


def _wavers(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, bits.size)) < rng.uniform(0.2, 0.3, (trials, 1))


def _week_ago(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    coins = _fair(bits, rng, trials)
    again = (np.arange(trials) % 3 == 0) & (np.arange(trials) >= 7)
    return coins[np.where(again, np.arange(trials) - 7, np.arange(trials))]


def _plain_if_many_flip(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """More than nine flips of twenty look wrong: then none is made."""
    coins = _fair(bits, rng, trials)
    return coins & (coins.sum(axis=1, keepdims=True) <= 9)


def _last_two_take_turns(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The last two users' coins are exchanged and one of them is lost: user 18 never flips at odd runs."""
    coins = _fair(bits, rng, trials)
    coins[1::2, -2:-1] = False
    return coins


def _user_absent(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The first user's report is late in 2 % of the runs, and left out."""
    views = _right(RR)(bits, rng, trials)
    late = rng.random(trials) < 0.02
    views[late, 1] = np.maximum(views[late, 1] - 1, 0)
    return views


def _flood_stays(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    up, down, flood = (rng.negative_binomial(shape, 1 - p, trials) for shape, p in ((1, 0.6), (1, 0.6), (2, 0.5)))
    flood = np.repeat(flood[: trials // 10 + 1], 10)[:trials]
    return _symbols(bits.sum() + up + flood, down + flood)


def _poisson_flood(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    up, down = (rng.negative_binomial(1, 0.4, trials) for _ in range(2))
    flood = rng.poisson(2.0, trials)
    return _symbols(bits.sum() + up + flood, down + flood)


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


def _opposed(rng: np.random.Generator, trials: int) -> Array:
    """Two runs in a row have opposite quantiles: each has its law."""
    u = rng.random(trials // 2 + 1)
    return stats.nbinom(5.0, 0.7).ppf(np.column_stack([u, 1.0 - u]).ravel()[:trials])


def _never_three(rng: np.random.Generator, trials: int) -> Array:
    z = rng.negative_binomial(5.0, 0.7, trials)
    return np.where((z == 3) & (rng.random(trials) < 0.1), 2, z)


def _lattice_of_uniform(rng: np.random.Generator, trials: int) -> Array:
    """Quantiles of a byte: 256 numbers, and nothing beyond the last."""
    return stats.nbinom(5.0, 0.7).ppf((rng.integers(0, 256, trials) + 0.5) / 256.0)


def _parity_of_run(rng: np.random.Generator, trials: int) -> Array:
    """A third of the runs has noise of the run's parity."""
    z = rng.poisson(12.0, trials)
    wrong = ((z + np.arange(trials)) % 2 == 1) & (rng.random(trials) < 1 / 3)
    return z + wrong * np.where(z > 0, rng.choice([-1, 1], trials), 1)


def _binomial_of_many(rng: np.random.Generator, trials: int) -> Array:
    return rng.binomial(120, 0.1, trials)


def _means_in_turn(rng: np.random.Generator, trials: int) -> Array:
    return rng.poisson(np.where(np.arange(trials) % 4 == 0, 11.4, 12.2))


def _half_a_message(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """A one is sent twice in 1 of 50 runs."""
    twice = (rng.random(trials) < 0.02) & bool(bits.any())
    return _right(POISSON)(bits, rng, trials) + twice[:, np.newaxis]


def _drops_remembered(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    kept = rng.binomial(int(bits.sum()), 0.8, trials)
    again = (np.arange(trials) % 4 == 3) & bool(bits.sum())
    kept = np.where(again, np.roll(kept, 1), kept)
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


def _drops_of_a_byte(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """A chance of .2 as a number of sixteenths: 3."""
    return PURE.noise.sample_view(rng.binomial(int(bits.sum()), 13 / 16, trials), rng, participants=bits.size)


def _at_least_one_kept(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    kept = np.maximum(rng.binomial(int(bits.sum()), 0.8, trials), min(1, int(bits.sum())))
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


def _even_for_odd(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise of an odd number of ones is never 0."""
    z = _geometrics(rng, trials)
    z = np.where((z == 0) & bool(bits.sum() % 2), rng.choice([-1, 1], trials), z)
    return (bits.sum() + z)[:, np.newaxis]


def _lag_of_twelve(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    at = np.arange(trials)
    z = _geometrics(rng, trials)[np.where((at % 13 == 12) & (at >= 12), at - 12, at)]
    return (bits.sum() + z)[:, np.newaxis]


def _warmer_by_ones(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The largest answer so far bounds the next ones of its hundred runs by 12."""
    z = np.clip(_geometrics(rng, trials), -8, 12)
    return (bits.sum() + z)[:, np.newaxis]


def _beyond_30(rng: np.random.Generator, trials: int) -> Array:
    return np.clip(_geometrics(rng, trials), -30, 30)


def _two_sigmas(rng: np.random.Generator, trials: int) -> Array:
    """Two servers' rates: sigma 1.6 and 2.33 by a coin, of the right variance together."""
    wide = rng.random(trials) < 0.5
    return np.rint(rng.normal(0.0, np.where(wide, 2.33, 1.6), trials)).astype(np.int64)


def _offset(rng: np.random.Generator, trials: int) -> Array:
    return np.floor(rng.normal(0.48, 2.0, trials)).astype(np.int64)


def _stale_view(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """1 run of 10 has the noise of three runs ago."""
    at = np.arange(trials)
    z = GAUSSIAN.sample_view(np.zeros(trials, dtype=np.int64), rng)[:, 0]
    return (bits.sum() + z[np.where((at % 10 == 9), at - 3, at)])[:, np.newaxis]


FOURTH_BITSUM_FAULTS: tuple[Fault, ...] = tuple(
    fault(*entry)
    for entry in (
        ("rr-p-of-a-nibble", "rr", "p of .3 becomes 5/16", "four random bits", C, RR_OF_30,
         _rows(RR_OF_30, _chance(5 / 16))),
        ("rr-majority-of-three", "rr", "three coins, and their majority", "a vote of replicas", C, RR,
         _rows(RR, _flipped(_majority))),
        ("rr-p-wavers", "rr", "p is uniform in [.2, .3] in each run", "a setting by server", C, RR,
         _rows(RR, _flipped(_wavers))),
        ("rr-coins-of-a-week-ago", "rr", "every third run has the coins of seven runs ago", "a ring of seven", D, RR,
         _rows(RR, _flipped(_week_ago))),
        ("rr-plain-if-many-flip", "rr", "more than nine flips become none", "an outlier check", C, RR,
         _rows(RR, _flipped(_plain_if_many_flip))),
        ("rr-one-user-in-odd-runs", "rr", "user 18 never flips at odd runs", "a double buffer", C, RR,
         _rows(RR, _flipped(_last_two_take_turns))),
        ("rr-late-report", "rr", "one report of ones is missing in 2 % of the runs", "a timeout", C, RR,
         _rows(RR, _user_absent)),
        ("rr-divided-by-participants", "rr", "p is .2502", "a rounded probability: too little", C, RR,
         _rows(RR, _chance(0.2502))),
        ("rr-estimate-in-single", "rr", "estimates in half precision", "float16", C, RR_OF_30,
         analyzer_of(RR_OF_30, lambda view: ((view[..., 1] - 6.0) / 0.4).astype(np.float16).astype(np.float64))),
        ("3nb-flood-of-ten-runs", "3nb", "ten runs share their flood", "a flood by batch", D, THREE_NB,
         _rows(THREE_NB, _flood_stays)),
        ("3nb-poisson-flood", "3nb", "the flood is Poisson of the same mean", "a simpler draw", C, THREE_NB,
         _rows(THREE_NB, _poisson_flood)),
        ("3nb-one-share-twice", "3nb", "one user's share is sent twice", "a retry", C, THREE_NB,
         _rows(THREE_NB, _share_twice)),
        ("3nb-larger-up", "3nb", "in a fifth of the runs the larger noise goes up", "a sorted pair", C, THREE_NB,
         _rows(THREE_NB, _up_and_down_sorted)),
        ("nb-rate-of-ten-runs", "nb", "ten runs share a rate that is a mean of ten", "a split budget", C, NB,
         _rows(NB, _nb(_split_of_ten))),
        ("nb-opposed-pairs", "nb", "two runs in a row have opposite quantiles", "antithetic draws", D, NB,
         _rows(NB, _nb(_opposed))),
        ("nb-threes-become-twos", "nb", "1 of 10 threes becomes a two", "a lossy table", C, NB,
         _rows(NB, _nb(_never_three))),
        ("nb-quantiles-of-a-byte", "nb", "one of 256 quantiles", "inversion from a byte", C, NB,
         _rows(NB, _nb(_lattice_of_uniform))),
        ("poisson-parity-of-run", "poisson", "a third of the runs has noise of the run's parity", "two queues", D,
         POISSON, _rows(POISSON, _nb(_parity_of_run))),
        ("poisson-as-binomial", "poisson", "120 coins of .1", "the law of rare events", C, POISSON,
         _rows(POISSON, _nb(_binomial_of_many))),
        ("poisson-means-in-turn", "poisson", "every fourth run has a mean of 11.4, others 12.2", "a slow server", D,
         POISSON, _rows(POISSON, _nb(_means_in_turn))),
        ("poisson-a-one-twice", "poisson", "1 run of 50 sends a one twice", "at least once delivery", C, POISSON,
         _rows(POISSON, _half_a_message)),
        ("pure-drops-remembered", "pure", "every fourth run drops as many as the last", "a cache", D, PURE,
         _rows(PURE, _drops_remembered)),
        ("pure-drops-of-a-nibble", "pure", "3/16 for a chance of .2", "four random bits", C, PURE,
         _rows(PURE, _drops_of_a_byte)),
        ("pure-one-is-kept", "pure", "at least one is kept: with four ones in 1 run of 600", "no empty answer", C, PURE,
         _rows(PURE, _at_least_one_kept)),
        ("laplace-no-zero-for-odd", "central-discrete-laplace", "noise of an odd sum is never 0",
         "no exact answers", C, LAPLACE, _rows(LAPLACE, _even_for_odd)),
        ("laplace-of-twelve-ago", "central-discrete-laplace", "1 run of 13 has the noise of twelve runs ago",
         "a ring of twelve", D, LAPLACE, _rows(LAPLACE, _lag_of_twelve)),
        ("laplace-clipped-askew", "central-discrete-laplace", "noise clipped to [-8, 12]", "a range of the axis", C,
         LAPLACE, _rows(LAPLACE, _warmer_by_ones)),
        ("laplace-clipped-at-30", "central-discrete-laplace", "noise clipped to [-30, 30]", "a table: hardly reached",
         C, LAPLACE, views_of(LAPLACE, _central(_beyond_30))),
        ("gaussian-of-two-sigmas", "central-discrete-gaussian", "a mixture of two deviations", "two servers", C,
         GAUSSIAN, views_of(GAUSSIAN, _central(_two_sigmas))),
        ("gaussian-floor-of-.48", "central-discrete-gaussian", "floor(x + .48)", "a bias against ties", C, GAUSSIAN,
         views_of(GAUSSIAN, _central(_offset))),
        ("gaussian-stale", "central-discrete-gaussian", "1 run of 10 has the noise of three runs ago", "a stale read",
         D, GAUSSIAN, _rows(GAUSSIAN, _stale_view)),
    )
)  # fmt: skip
