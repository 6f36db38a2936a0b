"""Faults of randomized response: its chances, who shares a coin, which runs lean on others, and its analyzer."""

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
    fault,
    implemented,
    rows,
)

__all__ = ["RANDOMIZED_RESPONSE_FAULTS"]


def no_shuffle(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    return messages.symbols


def fixed_permutation(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    return shuffle(messages, np.random.default_rng(0))


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


def _flipped(coins: Callable[[Array, np.random.Generator, int], Array]) -> Views:
    def views(bits: Array, rng: np.random.Generator, trials: int) -> Array:
        ones = (bits ^ coins(bits, rng, trials)).sum(axis=1)
        return np.column_stack([bits.size - ones, ones])

    return views


def _drifting(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, bits.size)) < np.linspace(0.24, 0.26, trials)[:, np.newaxis]


def _in_turn(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.random((trials, bits.size)) < np.where(np.arange(trials) % 2, 0.24, 0.26)[:, np.newaxis]


def _chance(p: float) -> Views:
    return _flipped(lambda bits, rng, trials: rng.random((trials, bits.size)) < p)


RANDOMIZED_RESPONSE_FAULTS: tuple[Fault, ...] = (
    fault("rr-noise-5-percent-low", "rr", "flip probability 5 % too small",
          "a parameter rounded in a configuration file", C, RR, _rr(0.2375)),
    fault("rr-pairs-share-coins", "rr", "pairs of users draw the same coins",
          "clients cloned together with their seed", "common", RR, implemented(PairsShareCoins(20, 0.25))),
    fault("rr-seeded-by-user", "rr", "each user's generator is seeded with her index",
          "made reproducible for a test", D, RR, implemented(SeededByUser(20, 0.25))),
    fault("rr-silent-zeros", "rr", "users whose report is 0 send nothing",
          "saves messages where only ones are counted", M, RR, implemented(SendsOnlyOnes(20, 0.25))),
    fault("rr-no-shuffle", "rr", "messages arrive in the users' order", "the shuffle was forgotten", M, RR,
          implemented(RR, shuffler=no_shuffle)),
    fault("rr-fixed-permutation", "rr", "every run is shuffled by the same permutation",
          "the shuffler has a fixed seed", M, RR, implemented(RR, shuffler=fixed_permutation)),
    fault("rr-256-runs", "rr", "one of 256 runs", "a seed of a byte", D, RR, _flips(_few_states)),
    fault("rr-covert-channel", "rr", "estimates carry 1e-7 times the sum", "a channel below the digits shown", C, RR,
          _row(_covert, 3)),
    fault("rr-2-percent-low", "rr", "flip probability 2 % too small", "a rounded constant", C, RR,
          altered(RR, flip_probability=0.245)),
    fault("rr-drifting", "rr", "p grows from .24 to .26 over the runs", "a generator that warms up", D, RR,
          rows(RR, _flipped(_drifting))),
    fault("rr-in-turn", "rr", "p is .24 and .26 in turn", "two servers behind a balancer", D, RR,
          rows(RR, _flipped(_in_turn))),
    fault("rr-divided-by-participants", "rr", "p is .2502", "a rounded probability: too little", C, RR,
          rows(RR, _chance(0.2502))),
)  # fmt: skip
