"""Faults of randomized response: its chances, who shares a coin, which runs lean on others, and its analyzer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import Target
from dpverify.audit.subjects.bitsum import Implementation
from protocols.bitsum import (
    BitsumProtocol,
    RandomizedResponse,
)
from protocols.bitsum.base import messages_by_symbol
from protocols.shuffler import UserMessages, shuffle
from tests.faults.fault import Fault
from tests.faults.making import (
    RR,
    Array,
    C,
    D,
    M,
    Views,
    altered,
    analyzer_of,
    fault,
    implemented,
    right,
    rows,
    views_of,
)

__all__ = ["RANDOMIZED_RESPONSE_FAULTS"]


def no_shuffle(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    return messages.symbols


def fixed_permutation(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    return shuffle(messages, np.random.default_rng(0))


def one_transposition(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rotate by a random offset, which is no shuffle."""
    return np.roll(messages.symbols, rng.integers(max(1, messages.symbols.size)))


RR_OF_600 = RandomizedResponse(600, 0.25)


@dataclass(frozen=True)
class FlipsOnlyOnes(RandomizedResponse):
    def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
        sent = super()._randomize(bits, rng)
        return UserMessages(bits & sent.symbols, sent.senders)


@dataclass(frozen=True)
class ResamplesOverBoth(RandomizedResponse):
    """Replaces by a fair coin with probability p where it should flip with probability p."""

    def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
        replaced = rng.random(bits.size) < self.flip_probability
        return UserMessages(np.where(replaced, rng.integers(0, 2, bits.size), bits), np.arange(bits.size))


@dataclass(frozen=True)
class PairsShareCoins(RandomizedResponse):
    """Clients come in pairs that started from one seed, as after copying a virtual machine."""

    def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
        coins = np.repeat(rng.random((bits.size + 1) // 2), 2)[: bits.size]
        return UserMessages(bits ^ (coins < self.flip_probability), np.arange(bits.size))


@dataclass(frozen=True)
class SeededByUser(RandomizedResponse):
    def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
        coins = np.array([np.random.default_rng(user).random() for user in range(bits.size)])
        return UserMessages(bits ^ (coins < self.flip_probability), np.arange(bits.size))


@dataclass(frozen=True)
class SendsOnlyOnes(RandomizedResponse):
    def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
        reports = super()._randomize(bits, rng).symbols
        return messages_by_symbol({1: reports})


@dataclass(frozen=True)
class NoDebiasing(RandomizedResponse):
    def _analyze(self, view: Array) -> Array:
        return view[..., 1].astype(np.float64)


@dataclass(frozen=True)
class RescaledByKeeping(RandomizedResponse):
    def _analyze(self, view: Array) -> Array:
        return np.asarray((view[..., 1] - view.sum(axis=-1) * self.flip_probability) / (1.0 - self.flip_probability))


@dataclass(frozen=True)
class DebiasedForAllUsers(RandomizedResponse):
    def _analyze(self, view: Array) -> Array:
        return np.asarray((view[..., 1] - self.users * self.flip_probability) / (1.0 - 2.0 * self.flip_probability))


@dataclass(frozen=True)
class ClippedAtZero(RandomizedResponse):
    def _analyze(self, view: Array) -> Array:
        return np.maximum(super()._analyze(view), 0.0)


@dataclass(frozen=True)
class CountsInBytes(RandomizedResponse):
    def _analyze(self, view: Array) -> Array:
        return super()._analyze(view.astype(np.uint8).astype(np.int64))


def _rr(p: float) -> Callable[[], Implementation]:
    """Randomize with another p, and analyze with the right one."""

    @dataclass(frozen=True)
    class Mixed(RandomizedResponse):
        def _sample_view(self, ones: Array, participants: int, rng: np.random.Generator) -> Array:
            return RandomizedResponse(self.users, p)._sample_view(ones, participants, rng)

    return lambda: Implementation.of(Mixed(RR.users, RR.flip_probability), aggregated=True)


Coins = Callable[[Array, np.random.Generator], Array]


@dataclass(frozen=True)
class Flips(RandomizedResponse):
    """Randomized response whose coins, and whose users' bits, are whatever these functions make of them."""

    coins: Coins = lambda bits, rng: rng.random(bits.size) < 0.25
    read: Callable[[Array], Array] = lambda bits: bits

    def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
        return UserMessages(self.read(bits) ^ self.coins(bits, rng), np.arange(bits.size))


def _flips(coins: Coins | None = None, **options: Any) -> Callable[[], Implementation]:
    given = options if coins is None else {"coins": coins, **options}
    return lambda: Implementation.of(Flips(20, 0.25, **given))


def _exactly_a_quarter(bits: Array, rng: np.random.Generator) -> Array:
    return rng.permutation(bits.size) < bits.size // 4


def _biased_bytes(bits: Array, rng: np.random.Generator) -> Array:
    return rng.integers(0, 256, bits.size) % 100 >= 75


def _user_7_plain(bits: Array, rng: np.random.Generator) -> Array:
    return (rng.random(bits.size) < 0.25) & (np.arange(bits.size) != 7)


def _halves(bits: Array, rng: np.random.Generator) -> Array:
    return rng.random(bits.size) < np.where(np.arange(bits.size) % 2, 0.2, 0.3)


def _few_states(bits: Array, rng: np.random.Generator) -> Array:
    return np.random.default_rng(int(rng.integers(256))).random(bits.size) < 0.25


def _row(outputs: Callable[[Array, np.random.Generator, int], Array], columns: int) -> Any:
    return lambda: Implementation(Target(outputs, True, (columns,), "target"), True)


def _right_rows(protocol: BitsumProtocol, bits: Array, rng: np.random.Generator, trials: int) -> Array:
    views = protocol.sample_view(np.full(trials, int(bits.sum())), rng, participants=bits.size)
    return np.column_stack([protocol.analyze(views), views])


def _covert(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    rows = _right_rows(RR, bits, rng, trials)
    rows[:, 0] += 1e-7 * bits.sum()
    return rows


def _sums_redrawn(ones: Array, participants: int, rng: np.random.Generator) -> Array:
    views = RR._sample_view(ones, participants, rng)
    centre = 0.25 * participants + 0.5 * ones
    for _ in range(60):
        far = np.abs(views[..., 1] - centre) > 4
        views[far] = RR._sample_view(ones[far], participants, rng)
    return views


def _normal_sums(ones: Array, participants: int, rng: np.random.Generator) -> Array:
    centre, deviation = 0.25 * participants + 0.5 * ones, (0.1875 * participants) ** 0.5
    found = np.clip(np.rint(rng.normal(centre, deviation)), 0, participants).astype(np.int64)
    return np.stack([participants - found, found], axis=-1)


RR_OF_30 = RandomizedResponse(20, 0.3)


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
    first, second = (right(RR)(bits, rng, trials) for _ in range(2))
    return np.column_stack([first[:, 0], second[:, 1]])


def _exchanged_at_times(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    views = right(RR)(bits, rng, trials)
    return np.where(rng.random((trials, 1)) < 1e-3, views[:, ::-1], views)


def _chance(p: float) -> Views:
    return _flipped(lambda bits, rng, trials: rng.random((trials, bits.size)) < p)


def _wavers(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, bits.size)) < rng.uniform(0.2, 0.3, (trials, 1))


def _plain_if_many_flip(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """More than nine flips of twenty look wrong: then none is made."""
    coins = _fair(bits, rng, trials)
    return coins & (coins.sum(axis=1, keepdims=True) <= 9)


def _user_absent(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """The first user's report is late in 2 % of the runs, and left out."""
    views = right(RR)(bits, rng, trials)
    late = rng.random(trials) < 0.02
    views[late, 1] = np.maximum(views[late, 1] - 1, 0)
    return views


RANDOMIZED_RESPONSE_FAULTS: tuple[Fault, ...] = (
    fault("rr-noise-5-percent-low", "rr", "flip probability 5 % too small",
          "a parameter rounded in a configuration file", C, RR, _rr(0.2375)),
    fault("rr-resamples", "rr", "replaces by a fair coin with probability p: flips with p/2",
          "cheu2019 states resampling with lambda/n, wagner2025 flipping with lambda/2n", C, RR,
          implemented(ResamplesOverBoth(20, 0.25))),
    fault("rr-flips-only-ones", "rr", "zeros are never flipped", "noise added in the branch of the rare value only",
          C, RR, implemented(FlipsOnlyOnes(20, 0.25))),
    fault("rr-pairs-share-coins", "rr", "pairs of users draw the same coins",
          "clients cloned together with their seed", "common", RR, implemented(PairsShareCoins(20, 0.25))),
    fault("rr-seeded-by-user", "rr", "each user's generator is seeded with her index",
          "made reproducible for a test", D, RR, implemented(SeededByUser(20, 0.25))),
    fault("rr-silent-zeros", "rr", "users whose report is 0 send nothing",
          "saves messages where only ones are counted", M, RR, implemented(SendsOnlyOnes(20, 0.25))),
    fault("rr-no-debiasing", "rr", "the analyzer returns the number of reported ones",
          "wagner2025 B.1 states the analyzer so", C, RR, implemented(NoDebiasing(20, 0.25))),
    fault("rr-rescaled-by-keeping", "rr", "divides by 1 - p", "confuses 1 - 2p with the probability of keeping", C,
          RR, implemented(RescaledByKeeping(20, 0.25), aggregated=True)),
    fault("rr-debiased-for-all-users", "rr", "subtracts n p although only m < n users took part",
          "n and m agree in every test without dropouts", C, RR,
          implemented(DebiasedForAllUsers(20, 0.25), aggregated=True)),
    fault("rr-clipped-at-zero", "rr", "negative estimates are set to 0",
          "counts cannot be negative, one thinks; it biases every sum built on them", C, RR,
          implemented(ClippedAtZero(20, 0.25), aggregated=True)),
    fault("rr-counts-in-bytes", "rr", "counts wrap around at 256", "numpy sums uint8 bits into uint8 where asked to",
          C, RR_OF_600, implemented(CountsInBytes(600, 0.25), aggregated=True)),
    fault("rr-no-shuffle", "rr", "messages arrive in the users' order", "the shuffle was forgotten", M, RR,
          implemented(RR, shuffler=no_shuffle)),
    fault("rr-fixed-permutation", "rr", "every run is shuffled by the same permutation",
          "the shuffler has a fixed seed", M, RR, implemented(RR, shuffler=fixed_permutation)),
    fault("rr-rotated", "rr", "messages are rotated by a random offset",
          "a ring buffer with a random start mistaken for a shuffle", M, RR,
          implemented(RR, shuffler=one_transposition)),
    fault("rr-exactly-a-quarter", "rr", "exactly a quarter flips", "variance reduction", C, RR,
          _flips(_exactly_a_quarter)),
    fault("rr-biased-bytes", "rr", "coins are bytes modulo 100", "the usual modulus", C, RR, _flips(_biased_bytes)),
    fault("rr-one-user-plain", "rr", "user 7 never flips", "a debugging exception", M, RR, _flips(_user_7_plain)),
    fault("rr-two-kinds-of-users", "rr", "even users flip with .3, odd ones with .2", "two versions of the client",
          M, RR, _flips(_halves)),
    fault("rr-256-runs", "rr", "one of 256 runs", "a seed of a byte", D, RR, _flips(_few_states)),
    fault("rr-last-user-ignored", "rr", "the last user reports a zero's report", "range(n - 1)", M, RR,
          _flips(read=lambda bits: np.append(bits[:-1], 0))),
    fault("rr-covert-channel", "rr", "estimates carry 1e-7 times the sum", "a channel below the digits shown", C, RR,
          _row(_covert, 3)),
    fault("rr-outliers-redrawn", "rr", "sums 4 off their mean are redrawn", "outliers look wrong", C, RR,
          views_of(RR, _sums_redrawn)),
    fault("rr-normal-sums", "rr", "a rounded normal sum", "a fast simulation left in", C, RR,
          views_of(RR, _normal_sums)),
    fault("rr-2-percent-low", "rr", "flip probability 2 % too small", "a rounded constant", C, RR,
          altered(RR, flip_probability=0.245)),
    fault("rr-two-users-together", "rr", "the first and the last user share their coin", "one person, two accounts",
          C, RR, rows(RR, _flipped(_two_users_together))),
    fault("rr-every-fifth-honest", "rr", "only every fifth user flips", "a rollout to 20 % of clients", C, RR,
          rows(RR, _flipped(_every_fifth))),
    fault("rr-coins-handed-on", "rr", "a quarter uses the last run's coins of others", "a pool of coins", D, RR,
          rows(RR, _flipped(_handed_on))),
    fault("rr-drifting", "rr", "p grows from .24 to .26 over the runs", "a generator that warms up", D, RR,
          rows(RR, _flipped(_drifting))),
    fault("rr-in-turn", "rr", "p is .24 and .26 in turn", "two servers behind a balancer", D, RR,
          rows(RR, _flipped(_in_turn))),
    fault("rr-fewer-flips-for-many-ones", "rr", "p is .24 where three quarters are ones", "p tuned to the data", C,
          RR, rows(RR, _flipped(_fewer_for_many_ones))),
    fault("rr-not-after-a-one", "rr", "the user after a one does not flip", "a mask shifted by one", C, RR,
          rows(RR, _flipped(_not_after_a_one))),
    fault("rr-every-64th-plain", "rr", "every 64th run has no coins", "a buffer of 63", C, RR,
          rows(RR, _flipped(_every_64th_without))),
    fault("rr-one-coin-for-ever", "rr", "user 0 throws her coin once", "a coin in a constructor", C, RR,
          rows(RR, _flipped(_once_for_all_runs))),
    fault("rr-counted-in-two-passes", "rr", "zeros and ones are counted in two runs", "a lazy table is read twice",
          C, RR, rows(RR, _counted_in_two_passes)),
    fault("rr-exchanged-at-times", "rr", "1 run of 1,000 exchanges zeros and ones", "a race between two keys", C, RR,
          rows(RR, _exchanged_at_times)),
    fault("rr-stale-estimate", "rr", "estimates are those of the last view", "read before it was written", D, RR,
          rows(RR, right(RR), late=1)),
    fault("rr-half-to-even", "rr", "estimates are rounded, halves to even", "round() around the result", C, RR_OF_30,
          analyzer_of(RR_OF_30, lambda view: np.round((view[..., 1] - 0.3 * view.sum(axis=-1)) / 0.4))),
    fault("rr-p-wavers", "rr", "p is uniform in [.2, .3] in each run", "a setting by server", C, RR,
          rows(RR, _flipped(_wavers))),
    fault("rr-plain-if-many-flip", "rr", "more than nine flips become none", "an outlier check", C, RR,
          rows(RR, _flipped(_plain_if_many_flip))),
    fault("rr-late-report", "rr", "one report of ones is missing in 2 % of the runs", "a timeout", C, RR,
          rows(RR, _user_absent)),
    fault("rr-divided-by-participants", "rr", "p is .2502", "a rounded probability: too little", C, RR,
          rows(RR, _chance(0.2502))),
    fault("rr-estimate-in-single", "rr", "estimates in half precision", "float16", C, RR_OF_30,
          analyzer_of(RR_OF_30, lambda view: ((view[..., 1] - 6.0) / 0.4).astype(np.float16).astype(np.float64))),
)  # fmt: skip
