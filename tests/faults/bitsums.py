"""Faults of randomized response and of what every bitsum shares: shuffler, generators, analyzer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subjects.bitsum import Implementation, bitsum_subject
from protocols.bitsum import BitsumProtocol, RandomizedResponse, ThreeNB
from protocols.bitsum.base import messages_by_symbol
from protocols.shuffler import UserMessages
from tests.faults.fault import Fault
from tests.faults.shufflers import fixed_permutation, half_shuffled, no_shuffle, one_transposition, users_shuffled

__all__ = ["BITSUM_FAULTS", "fault"]

Bits = NDArray[np.int64]


def fault(
    name: str,
    protocol: str,
    wrong: str,
    reason: str,
    caught_by: str,
    reference: BitsumProtocol,
    implementation: Callable[[], Implementation],
) -> Fault:
    return Fault(
        name,
        protocol,
        wrong,
        reason,
        caught_by,
        lambda: bitsum_subject(reference, implementation=implementation(), fewer_users=True),
    )


RR = RandomizedResponse(20, 0.25)
MANY_RR = RandomizedResponse(600, 0.25)
THREE_NB = ThreeNB(20, 0.6, 2.0, 0.5)


@dataclass(frozen=True)
class FlipsOnlyOnes(RandomizedResponse):
    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        sent = super()._randomize(bits, rng)
        return UserMessages(bits & sent.symbols, sent.senders)


@dataclass(frozen=True)
class KeepsWithFlipProbability(RandomizedResponse):
    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        sent = super()._randomize(bits, rng)
        return UserMessages(1 - sent.symbols, sent.senders)


@dataclass(frozen=True)
class ResamplesOverBoth(RandomizedResponse):
    """Replaces by a fair coin with probability p where it should flip with probability p."""

    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        replaced = rng.random(bits.size) < self.flip_probability
        return UserMessages(np.where(replaced, rng.integers(0, 2, bits.size), bits), np.arange(bits.size))


@dataclass(frozen=True)
class OneCoinForAll(RandomizedResponse):
    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        return UserMessages(bits ^ (rng.random() < self.flip_probability), np.arange(bits.size))


@dataclass(frozen=True)
class PairsShareCoins(RandomizedResponse):
    """Clients come in pairs that started from one seed, as after copying a virtual machine."""

    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        coins = np.repeat(rng.random((bits.size + 1) // 2), 2)[: bits.size]
        return UserMessages(bits ^ (coins < self.flip_probability), np.arange(bits.size))


@dataclass(frozen=True)
class SeededByUser(RandomizedResponse):
    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        coins = np.array([np.random.default_rng(user).random() for user in range(bits.size)])
        return UserMessages(bits ^ (coins < self.flip_probability), np.arange(bits.size))


@dataclass(frozen=True)
class FixedSeed(RandomizedResponse):
    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        return super()._randomize(bits, np.random.default_rng(42))


@dataclass(frozen=True)
class SendsOnlyOnes(RandomizedResponse):
    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        reports = super()._randomize(bits, rng).symbols
        return messages_by_symbol({1: reports})


@dataclass(frozen=True)
class NoDebiasing(RandomizedResponse):
    def _analyze(self, view: Bits) -> NDArray[np.float64]:
        return view[..., 1].astype(np.float64)


@dataclass(frozen=True)
class NotRescaled(RandomizedResponse):
    def _analyze(self, view: Bits) -> NDArray[np.float64]:
        return np.asarray(view[..., 1] - view.sum(axis=-1) * self.flip_probability)


@dataclass(frozen=True)
class RescaledByKeeping(RandomizedResponse):
    def _analyze(self, view: Bits) -> NDArray[np.float64]:
        return np.asarray((view[..., 1] - view.sum(axis=-1) * self.flip_probability) / (1.0 - self.flip_probability))


@dataclass(frozen=True)
class DebiasedForAllUsers(RandomizedResponse):
    def _analyze(self, view: Bits) -> NDArray[np.float64]:
        return np.asarray((view[..., 1] - self.users * self.flip_probability) / (1.0 - 2.0 * self.flip_probability))


@dataclass(frozen=True)
class ClippedAtZero(RandomizedResponse):
    def _analyze(self, view: Bits) -> NDArray[np.float64]:
        return np.maximum(super()._analyze(view), 0.0)


@dataclass(frozen=True)
class RoundedDown(RandomizedResponse):
    def _analyze(self, view: Bits) -> NDArray[np.float64]:
        return np.floor(super()._analyze(view))


@dataclass(frozen=True)
class CountsInBytes(RandomizedResponse):
    def _analyze(self, view: Bits) -> NDArray[np.float64]:
        return super()._analyze(view.astype(np.uint8).astype(np.int64))


@dataclass(frozen=True)
class SinglePrecisionFlips(RandomizedResponse):
    """Flips where a byte is below the rounded 256 p, at p = 0.001 never."""

    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        flips = rng.integers(0, 256, bits.size) < round(256 * self.flip_probability)
        return UserMessages(bits ^ flips, np.arange(bits.size))


def _of(protocol: BitsumProtocol, **options: Any) -> Callable[[], Implementation]:
    return lambda: Implementation.of(protocol, **options)


def _rr(p: float) -> Callable[[], Implementation]:
    """Randomize with another p, and analyze with the right one."""

    @dataclass(frozen=True)
    class Mixed(RandomizedResponse):
        def _sample_view(self, ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
            return RandomizedResponse(self.users, p)._sample_view(ones, participants, rng)

    return lambda: Implementation.of(Mixed(RR.users, RR.flip_probability), aggregated=True)


BITSUM_FAULTS: tuple[Fault, ...] = (
    fault(
        "rr-noise-10-percent-low",
        "rr",
        "flip probability 10 % too small",
        "a constant tuned for accuracy and left in",
        "conformance",
        RR,
        _rr(0.225),
    ),
    fault(
        "rr-noise-5-percent-low",
        "rr",
        "flip probability 5 % too small",
        "a parameter rounded in a configuration file",
        "conformance",
        RR,
        _rr(0.2375),
    ),
    fault(
        "rr-keeps-with-p",
        "rr",
        "keeps the bit with probability p and flips it otherwise",
        "papers differ in what p means",
        "conformance",
        RR,
        _of(KeepsWithFlipProbability(20, 0.25)),
    ),
    fault(
        "rr-resamples",
        "rr",
        "replaces by a fair coin with probability p: flips with p/2",
        "cheu2019 states resampling with lambda/n, wagner2025 flipping with lambda/2n",
        "conformance",
        RR,
        _of(ResamplesOverBoth(20, 0.25)),
    ),
    fault(
        "rr-flips-only-ones",
        "rr",
        "zeros are never flipped",
        "noise added in the branch of the rare value only",
        "conformance",
        RR,
        _of(FlipsOnlyOnes(20, 0.25)),
    ),
    fault(
        "rr-one-coin-for-all",
        "rr",
        "one coin decides for all users",
        "a scalar draw broadcast over an array",
        "conformance",
        RR,
        _of(OneCoinForAll(20, 0.25)),
    ),
    fault(
        "rr-pairs-share-coins",
        "rr",
        "pairs of users draw the same coins",
        "clients cloned together with their seed",
        "common",
        RR,
        _of(PairsShareCoins(20, 0.25)),
    ),
    fault(
        "rr-seeded-by-user",
        "rr",
        "each user's generator is seeded with her index",
        "made reproducible for a test",
        "dependence",
        RR,
        _of(SeededByUser(20, 0.25)),
    ),
    fault(
        "rr-fixed-seed",
        "rr",
        "the generator starts anew in every run",
        "a seed left in after debugging",
        "dependence",
        RR,
        _of(FixedSeed(20, 0.25)),
    ),
    fault(
        "rr-silent-zeros",
        "rr",
        "users whose report is 0 send nothing",
        "saves messages where only ones are counted",
        "message",
        RR,
        _of(SendsOnlyOnes(20, 0.25)),
    ),
    fault(
        "rr-no-debiasing",
        "rr",
        "the analyzer returns the number of reported ones",
        "wagner2025 B.1 states the analyzer so",
        "conformance",
        RR,
        _of(NoDebiasing(20, 0.25)),
    ),
    fault(
        "rr-not-rescaled",
        "rr",
        "subtracts n p and does not divide by 1 - 2p",
        "half of the correction forgotten",
        "conformance",
        RR,
        _of(NotRescaled(20, 0.25), aggregated=True),
    ),
    fault(
        "rr-rescaled-by-keeping",
        "rr",
        "divides by 1 - p",
        "confuses 1 - 2p with the probability of keeping",
        "conformance",
        RR,
        _of(RescaledByKeeping(20, 0.25), aggregated=True),
    ),
    fault(
        "rr-debiased-for-all-users",
        "rr",
        "subtracts n p although only m < n users took part",
        "n and m agree in every test without dropouts",
        "conformance",
        RR,
        _of(DebiasedForAllUsers(20, 0.25), aggregated=True),
    ),
    fault(
        "rr-clipped-at-zero",
        "rr",
        "negative estimates are set to 0",
        "counts cannot be negative, one thinks; it biases every sum built on them",
        "conformance",
        RR,
        _of(ClippedAtZero(20, 0.25), aggregated=True),
    ),
    fault(
        "rr-rounded-down",
        "rr",
        "the estimate is cut to an integer",
        "an int() around the result",
        "conformance",
        RandomizedResponse(20, 0.1),
        _of(RoundedDown(20, 0.1), aggregated=True),
    ),
    fault(
        "rr-counts-in-bytes",
        "rr",
        "counts wrap around at 256",
        "numpy sums uint8 bits into uint8 where asked to",
        "conformance",
        MANY_RR,
        _of(CountsInBytes(600, 0.25), aggregated=True),
    ),
    fault(
        "rr-coarse-coins",
        "rr",
        "coins are bytes: p = 0.021 becomes 5/256, 7 % less",
        "few random bits per user on small devices",
        "conformance",
        RandomizedResponse(20, 0.021),
        _of(SinglePrecisionFlips(20, 0.021)),
    ),
    fault(
        "rr-no-shuffle",
        "rr",
        "messages arrive in the users' order",
        "the shuffle was forgotten",
        "message",
        RR,
        _of(RR, shuffler=no_shuffle),
    ),
    fault(
        "rr-fixed-permutation",
        "rr",
        "every run is shuffled by the same permutation",
        "the shuffler has a fixed seed",
        "message",
        RR,
        _of(RR, shuffler=fixed_permutation),
    ),
    fault(
        "rr-shuffled-in-halves",
        "rr",
        "two batches are shuffled apart",
        "a shuffler with a buffer",
        "message",
        RR,
        _of(RR, shuffler=half_shuffled),
    ),
    fault(
        "rr-rotated",
        "rr",
        "messages are rotated by a random offset",
        "a ring buffer with a random start mistaken for a shuffle",
        "message",
        RR,
        _of(RR, shuffler=one_transposition),
    ),
    fault(
        "3nb-users-shuffled",
        "3nb",
        "each user's messages stay together",
        "users, not messages, were shuffled",
        "message",
        THREE_NB,
        _of(THREE_NB, shuffler=users_shuffled),
    ),
    fault(
        "3nb-no-shuffle",
        "3nb",
        "messages arrive symbol by symbol",
        "the shuffle was forgotten",
        "message",
        THREE_NB,
        _of(THREE_NB, shuffler=no_shuffle),
    ),
)
