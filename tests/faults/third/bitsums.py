"""Faults of bitsums, third batch: users and runs that lean on each other, queues, tables and clocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import Target
from dpverify.audit.subjects.bitsum import Implementation
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from tests.faults.bitsums import fault
from tests.faults.fault import Fault
from tests.faults.noises import analyzer_of, views_of

__all__ = ["THIRD_BITSUM_FAULTS"]

Array = NDArray[Any]
Views = Callable[[Array, np.random.Generator, int], Array]
"""(bits, rng, trials) -> the views of that many runs in a row, shape (trials, symbols)."""
C, D = "conformance", "dependence"

RR = RandomizedResponse(20, 0.25)
RR_OF_30 = RandomizedResponse(20, 0.3)
THREE_NB = ThreeNB(20, 0.6, 2.0, 0.5)
NB = NegativeBinomial(20, 5.0, 0.3)
POISSON = Poisson(20, 12.0)
LARGE_POISSON = Poisson(20, 800.0)
PURE = Pure(20, 0.6, 0.2, 2.0, 0.5)
LAPLACE = CentralDiscreteLaplace(20, 0.6)
GAUSSIAN = CentralDiscreteGaussian(20, 2.0)


def _rows(protocol: BitsumProtocol, views: Views, late: int = 0) -> Any:
    """Return an implementation with these views, whose estimates are those of the view so many runs ago."""

    def run(bits: Array, rng: np.random.Generator, trials: int) -> Array:
        seen = views(bits, rng, trials)
        return np.column_stack([np.roll(protocol.analyze(seen), late), seen])

    return lambda: Implementation(Target(run, True, (1 + max(1, len(protocol.alphabet)),), "target"), True)


def _right(protocol: BitsumProtocol) -> Views:
    return lambda bits, rng, trials: protocol.sample_view(np.full(trials, int(bits.sum())), rng, participants=bits.size)


# Randomized response by its coins, shape (trials, users).


def _flipped(coins: Callable[[Array, np.random.Generator, int], Array]) -> Views:
    def views(bits: Array, rng: np.random.Generator, trials: int) -> Array:
        ones = (bits ^ coins(bits, rng, trials)).sum(axis=1)
        return np.column_stack([bits.size - ones, ones])

    return views


def _fair(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, bits.size)) < 0.25


def _two_users_together(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    coins = _fair(bits, rng, trials)
    coins[:, -1] = coins[:, 0]
    return coins


def _two_users_opposed(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    uniform = rng.random((trials, bits.size))
    uniform[:, -1] = 1.0 - uniform[:, 0]
    return uniform < 0.25


def _every_fifth(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return _fair(bits, rng, trials) & (np.arange(bits.size) % 5 == 0)


def _handed_on(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """A quarter of the users take the coins that the next quarter threw in the last run."""
    coins, share = _fair(bits, rng, trials + 1), bits.size // 4
    return np.concatenate([coins[:-1, share : 2 * share], coins[1:, share:]], axis=1)


def _drifting(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, bits.size)) < np.linspace(0.24, 0.26, trials)[:, np.newaxis]


def _in_turn(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, bits.size)) < np.where(np.arange(trials) % 2, 0.24, 0.26)[:, np.newaxis]


def _fewer_for_many_ones(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, bits.size)) < (0.24 if bits.mean() > 0.75 else 0.25)


def _not_after_a_one(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return _fair(bits, rng, trials) & (np.append(0, bits[:-1]) == 0)


def _every_64th_without(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return _fair(bits, rng, trials) & (np.arange(trials) % 64 != 63)[:, np.newaxis]


def _once_for_all_runs(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """User 0 threw her coin when the service was set up."""
    coins = _fair(bits, rng, trials)
    coins[:, 0] = coins[0, 0]
    return coins


def _counted_in_two_passes(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    first, second = (_right(RR)(bits, rng, trials) for _ in range(2))
    return np.column_stack([first[:, 0], second[:, 1]])


def _exchanged_at_times(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    views = _right(RR)(bits, rng, trials)
    return np.where(rng.random((trials, 1)) < 1e-3, views[:, ::-1], views)


# Noise of one symbol or two.


def _geometrics(rng: np.random.Generator, trials: int, up: float = 0.6, down: float = 0.6) -> Array:
    return rng.geometric(1 - up, trials) - rng.geometric(1 - down, trials)


def _flood_by_data(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The flood is set by the busiest symbol of the data."""
    flood = 2.0 if 2 * bits.sum() <= bits.size else 2.4
    return _right(ThreeNB(20, 0.6, flood, 0.5))(bits, rng, trials)


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
    return _right(THREE_NB)(bits, rng, trials) + 1


def _queue(length: int) -> Views:
    return lambda bits, rng, trials: np.minimum(_right(NB)(bits, rng, trials), length)


def _floor_of_gamma(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    share = 5.0 * bits.size / 20
    return (bits.sum() + np.floor(rng.gamma(share, 0.3 / 0.7, trials)).astype(np.int64))[:, np.newaxis]


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
    return rng.binomial(_right(POISSON)(bits, rng, trials), 0.99)


def _silent_at_times(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.where(rng.random((trials, 1)) < 0.003, bits.sum(), _right(POISSON)(bits, rng, trials))


def _inverted(last: int) -> Views:
    """Inversion along a table that ends early: what is beyond its end becomes its last entry."""

    def views(bits: Array, rng: np.random.Generator, trials: int) -> Array:
        return bits.sum() + np.minimum(_right(POISSON)(bits, rng, trials) - bits.sum(), last)

    return views


def _one_coin_of_drops(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    kept = np.where(rng.random(trials) < 0.2, 0, bits.sum())
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


def _share_of_drops(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """A fifth of the ones is dropped, rounded at random, and not each by its coin."""
    kept = np.floor(0.8 * bits.sum() + rng.random(trials)).astype(np.int64)
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


def _drops_before_noon(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """Ones are dropped in the order in which they come: those of the last users seldom."""
    chances = np.linspace(0.1, 0.3, bits.size)
    kept = (bits * (rng.random((trials, bits.size)) >= chances)).sum(axis=1)
    return PURE.noise.sample_view(kept, rng, participants=bits.size)


def _central(noise: Callable[[np.random.Generator, int], Array]) -> Any:
    def sample(ones: Array, participants: int, rng: np.random.Generator) -> Array:
        return (ones + noise(rng, ones.size).reshape(ones.shape))[..., np.newaxis]

    return sample


def _zero_redrawn(rng: np.random.Generator, trials: int) -> Array:
    noise = _geometrics(rng, trials)
    again = (noise == 0) & (rng.random(trials) < 0.05)
    return np.where(again, _geometrics(rng, trials), noise)


def _wraps_at_16(rng: np.random.Generator, trials: int) -> Array:
    return (_geometrics(rng, trials) + 16) % 32 - 16


def _alternating_signs(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    noise = np.abs(_geometrics(rng, trials)) * np.where(np.arange(trials) % 2, 1, -1)
    return (bits.sum() + noise)[:, np.newaxis]


def _sum_of_twelve(rng: np.random.Generator, trials: int) -> Array:
    return np.rint(2.0 * (rng.random((trials, 12)).sum(axis=1) - 6.0)).astype(np.int64)


def _of_normal_pairs(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two draws in one: the second of each pair is the first with the other sign, in 1 of 20 pairs."""
    noise = GAUSSIAN.sample_view(np.zeros(trials, dtype=np.int64), rng)[:, 0]
    mirrored = (np.arange(trials) % 2 == 1) & (rng.random(trials) < 0.05)
    return (bits.sum() + np.where(mirrored, -np.roll(noise, 1), noise))[:, np.newaxis]


def _asymmetric(rng: np.random.Generator, trials: int) -> Array:
    return _geometrics(rng, trials, up=0.59)


THIRD_BITSUM_FAULTS: tuple[Fault, ...] = tuple(
    fault(*entry)
    for entry in (
        ("rr-two-users-together", "rr", "the first and the last user share their coin", "one person, two accounts", C,
         RR, _rows(RR, _flipped(_two_users_together))),
        ("rr-two-users-opposed", "rr", "the last user flips where the first would least", "antithetic coins", C, RR,
         _rows(RR, _flipped(_two_users_opposed))),
        ("rr-every-fifth-honest", "rr", "only every fifth user flips", "a rollout to 20 % of clients", C, RR,
         _rows(RR, _flipped(_every_fifth))),
        ("rr-coins-handed-on", "rr", "a quarter uses the last run's coins of others", "a pool of coins", D, RR,
         _rows(RR, _flipped(_handed_on))),
        ("rr-drifting", "rr", "p grows from .24 to .26 over the runs", "a generator that warms up", D, RR,
         _rows(RR, _flipped(_drifting))),
        ("rr-in-turn", "rr", "p is .24 and .26 in turn", "two servers behind a balancer", D, RR,
         _rows(RR, _flipped(_in_turn))),
        ("rr-fewer-flips-for-many-ones", "rr", "p is .24 where three quarters are ones", "p tuned to the data", C, RR,
         _rows(RR, _flipped(_fewer_for_many_ones))),
        ("rr-not-after-a-one", "rr", "the user after a one does not flip", "a mask shifted by one", C, RR,
         _rows(RR, _flipped(_not_after_a_one))),
        ("rr-every-64th-plain", "rr", "every 64th run has no coins", "a buffer of 63", C, RR,
         _rows(RR, _flipped(_every_64th_without))),
        ("rr-one-coin-for-ever", "rr", "user 0 throws her coin once", "a coin in a constructor", C, RR,
         _rows(RR, _flipped(_once_for_all_runs))),
        ("rr-counted-in-two-passes", "rr", "zeros and ones are counted in two runs", "a lazy table is read twice", C,
         RR, _rows(RR, _counted_in_two_passes)),
        ("rr-exchanged-at-times", "rr", "1 run of 1,000 exchanges zeros and ones", "a race between two keys", C, RR,
         _rows(RR, _exchanged_at_times)),
        ("rr-stale-estimate", "rr", "estimates are those of the last view", "read before it was written", D, RR,
         _rows(RR, _right(RR), late=1)),
        ("rr-half-to-even", "rr", "estimates are rounded, halves to even", "round() around the result", C, RR_OF_30,
         analyzer_of(RR_OF_30, lambda view: np.round((view[..., 1] - 0.3 * view.sum(axis=-1)) / 0.4))),
        ("3nb-flood-by-data", "3nb", "the flood grows with the ones", "sized for the busiest symbol", C, THREE_NB,
         _rows(THREE_NB, _flood_by_data)),
        ("3nb-shared-rate", "3nb", "Z1 and Z2 share their gamma rate", "a mixture drawn once", C, THREE_NB,
         _rows(THREE_NB, _shared_rate)),
        ("3nb-flood-of-two-runs", "3nb", "two runs in a row share the flood", "a flood prepared ahead", D, THREE_NB,
         _rows(THREE_NB, _flood_of_two_runs)),
        ("3nb-flood-from-one", "3nb", "the flood starts at 1", "numpy's geometric starts at 1", C, THREE_NB,
         _rows(THREE_NB, _starts_at_one)),
        ("3nb-stale-estimate", "3nb", "estimates are those of the last view", "read before it was written", D,
         THREE_NB, _rows(THREE_NB, _right(THREE_NB), late=1)),
        ("nb-queue-of-28", "nb", "no more than 28 messages pass", "a queue's length", C, NB, _rows(NB, _queue(28))),
        ("nb-queue-of-40", "nb", "no more than 40 messages pass", "a queue's length: hardly ever reached", C, NB,
         _rows(NB, _queue(40))),
        ("nb-floor-of-gamma", "nb", "a gamma variable cut to an integer", "the Poisson step forgotten", C, NB,
         _rows(NB, _floor_of_gamma)),
        ("nb-table-of-1000", "nb", "noise is one of 1,000 numbers drawn once", "drawn ahead for speed", C, NB,
         _rows(NB, _table)),
        ("nb-sorted-in-blocks", "nb", "noise comes sorted, 50 at a time", "a reservoir that was sorted", D, NB,
         _rows(NB, _sorted_blocks)),
        ("poisson-busy-hours", "poisson", "the mean is 11.4 and 12.6 by turns of 1,000 runs", "load by the hour", C,
         POISSON, _rows(POISSON, _poisson(_busy_hours))),
        ("poisson-one-percent-lost", "poisson", "each message is lost with 1 %", "a lossy network", C, POISSON,
         _rows(POISSON, _lossy)),
        ("poisson-silent-at-times", "poisson", "3 runs of 1,000 have no noise", "a service that is down", C, POISSON,
         _rows(POISSON, _silent_at_times)),
        ("poisson-table-to-22", "poisson", "noise above 22 becomes 22", "inversion along a short table", C, POISSON,
         _rows(POISSON, _inverted(22))),
        ("poisson-table-to-36", "poisson", "noise above 36 becomes 36", "a short table: hardly ever reached", C,
         POISSON, _rows(POISSON, _inverted(36))),
        ("poisson-underflow", "poisson", "a mean of 745 in place of 800", "exp(-800) is 0 in Knuth's product", C,
         LARGE_POISSON, _rows(LARGE_POISSON, _poisson(lambda trials, rng: 745.0))),
        ("pure-one-coin", "pure", "one coin drops all ones or none", "a scalar draw", C, PURE,
         _rows(PURE, _one_coin_of_drops)),
        ("pure-share-dropped", "pure", "exactly a fifth of the ones is dropped", "variance reduction", C, PURE,
         _rows(PURE, _share_of_drops)),
        ("pure-drops-by-order", "pure", "users drop with .1 to .3 by their order", "a learning rate", C, PURE,
         _rows(PURE, _drops_before_noon)),
        ("pure-rounded", "pure", "estimates are cut to an integer", "an integer division", C, PURE,
         analyzer_of(PURE, lambda view: np.floor((view[..., 0] - view[..., 1]) / 0.8))),
        ("laplace-asymmetric", "central-discrete-laplace", "the upper tail decays as .59", "one constant of two", C,
         LAPLACE, views_of(LAPLACE, _central(_asymmetric))),
        ("laplace-zero-redrawn", "central-discrete-laplace", "1 zero of 20 is drawn again", "no noise looks wrong", C,
         LAPLACE, views_of(LAPLACE, _central(_zero_redrawn))),
        ("laplace-wraps-at-16", "central-discrete-laplace", "noise wraps around at 16", "five bits for the noise", C,
         LAPLACE, views_of(LAPLACE, _central(_wraps_at_16))),
        ("laplace-alternating-signs", "central-discrete-laplace", "noise is positive in every second run",
         "signs by parity", D, LAPLACE, _rows(LAPLACE, _alternating_signs)),
        ("gaussian-of-twelve", "central-discrete-gaussian", "twelve uniforms in place of a normal variable",
         "an old recipe", C, GAUSSIAN, views_of(GAUSSIAN, _central(_sum_of_twelve))),
        ("gaussian-mirrored-at-times", "central-discrete-gaussian", "1 of 20 pairs of runs is mirrored",
         "the second of two draws is read before it was written", D, GAUSSIAN,
         _rows(GAUSSIAN, _of_normal_pairs)),
    )
)  # fmt: skip
