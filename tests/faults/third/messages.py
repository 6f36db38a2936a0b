"""Faults of shufflers and clients that are watched message by message, third batch.

To who knows what to look for each shows in 2,000 runs on bits that are sorted or alternate, by 8 standard deviations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subjects.bitsum import Implementation
from protocols.bitsum import NegativeBinomial, Poisson, Pure, RandomizedResponse, ThreeNB
from protocols.shuffler import UserMessages
from tests.faults.bitsums import fault
from tests.faults.fault import Fault
from tests.faults.noises import messages_of

__all__ = ["THIRD_MESSAGE_FAULTS"]

Array = NDArray[Any]
C, M = "conformance", "message"

RR = RandomizedResponse(20, 0.25)
THREE_NB = ThreeNB(20, 0.6, 2.0, 0.5)
NB = NegativeBinomial(20, 5.0, 0.3)
POISSON = Poisson(20, 12.0)
PURE = Pure(20, 0.6, 0.2, 2.0, 0.5)


def _shuffled(shuffler: Callable[[Array, np.random.Generator], Array]) -> Callable[[], Implementation]:
    return lambda: Implementation.of(RR, shuffler=lambda messages, rng: shuffler(messages.symbols.copy(), rng))


def _stops_early(symbols: Array, rng: np.random.Generator) -> Array:
    for at in range(symbols.size - 1, 7, -1):
        other = int(rng.integers(at + 1))
        symbols[[at, other]] = symbols[[other, at]]
    return symbols


def _buffer_of_eight(symbols: Array, rng: np.random.Generator) -> Array:
    """A stream through a buffer: a random one of eight leaves as the next one comes."""
    buffer, left = symbols[:8].tolist(), []
    for symbol in symbols[8:].tolist():
        at = int(rng.integers(8))
        left.append(buffer[at])
        buffer[at] = symbol
    return np.concatenate([np.array(left, dtype=np.int64), rng.permutation(buffer)])


def _random_comparisons(symbols: Array, rng: np.random.Generator) -> Array:
    """Insertion sort with a coin for its comparison."""
    order: list[int] = []
    for symbol in symbols.tolist():
        at = len(order)
        while at and rng.random() < 0.5:
            at -= 1
        order.insert(at, symbol)
    return np.array(order, dtype=np.int64)


def _four_mixers(symbols: Array, rng: np.random.Generator) -> Array:
    """Users in turn go to four mixers, whose outputs are put one after the other: no user of one meets another's."""
    return np.concatenate([rng.permutation(symbols[at::4]) for at in range(4)])


def _delays(symbols: Array, rng: np.random.Generator) -> Array:
    return symbols[np.argsort(np.arange(symbols.size) + rng.normal(0.0, 12.0, symbols.size))]


def _affine(symbols: Array, rng: np.random.Generator) -> Array:
    """Index `a i + b` modulo 20, with a prime to 20."""
    factor, offset = rng.choice([1, 3, 7, 9, 11, 13, 17, 19]), rng.integers(symbols.size)
    return symbols[(factor * np.arange(symbols.size) + offset) % symbols.size]


def _one_moved(symbols: Array, rng: np.random.Generator) -> Array:
    taken = int(rng.integers(symbols.size))
    rest = np.delete(symbols, taken)
    return np.insert(rest, int(rng.integers(rest.size + 1)), symbols[taken])


def _first_in_front(symbols: Array, rng: np.random.Generator) -> Array:
    """The first five users' messages never get beyond the middle."""
    order = rng.random(symbols.size)
    order[:5] /= 2.0
    return symbols[np.argsort(order)]


def _client(
    sent: Callable[[Array, Array, np.random.Generator], tuple[Array, Array]],
) -> Callable[[], Implementation]:
    """Return randomized response whose messages and senders are made of bits and reports by this function."""

    class Faulty(RandomizedResponse):
        def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
            reports = bits ^ (rng.random(bits.size) < self.flip_probability)
            return UserMessages(*sent(bits, reports, rng))

    return lambda: Implementation.of(Faulty(20, 0.25))


def _ones_lost(bits: Array, reports: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    left = np.flatnonzero((bits == 0) | (rng.random(bits.size) >= 0.1))
    return reports[left], left


def _flips_twice_sent(bits: Array, reports: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    senders = np.repeat(np.arange(bits.size), 1 + ((reports != bits) & (rng.random(bits.size) < 0.2)))
    return reports[senders], senders


def _remembers() -> Callable[[], Implementation]:
    """User 4 throws a coin for four runs."""
    coins: list[bool] = []

    def sent(bits: Array, reports: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        at = 4 % bits.size
        if not coins:
            coins.extend([bool(reports[at] != bits[at])] * 4)
        reports[at] = bits[at] ^ coins.pop()
        return reports, np.arange(bits.size)

    return _client(sent)


def _shares(bits: Array) -> Array:
    shares = np.full(bits.size, 1 / 20)
    shares[0], shares[-1] = 1.5 / 20, 0.5 / 20
    return shares


def _uneven(bits: Array, rng: np.random.Generator) -> dict[int, Array]:
    up, down, flood = (
        rng.negative_binomial(shape * _shares(bits), 1 - p) for shape, p in ((1.0, 0.6), (1.0, 0.6), (2.0, 0.5))
    )
    return {1: bits + up + flood, -1: down + flood}


def _last_without(bits: Array, rng: np.random.Generator) -> dict[int, Array]:
    noise = rng.negative_binomial(0.25, 0.7, bits.size)
    noise[-1] = 0
    return {1: bits + noise}


def _rate_limit(bits: Array, rng: np.random.Generator) -> dict[int, Array]:
    return {1: np.minimum(bits + rng.negative_binomial(0.25, 0.7, bits.size), 2)}


def _delegate(bits: Array, rng: np.random.Generator) -> dict[int, Array]:
    """A user drawn anew in each run sends the noise of all: the sum has its law, no user's messages have."""
    noise = np.zeros_like(bits)
    noise[rng.integers(bits.size)] = rng.poisson(12.0 * bits.size / 20)
    return {1: bits + noise}


def _dropped_for_good(bits: Array, rng: np.random.Generator) -> dict[int, Array]:
    """Whose ones are dropped was drawn once."""
    kept = np.random.default_rng(3).random(bits.size) >= 0.2
    counts = PURE.noise.randomize(bits * kept, rng)
    return {
        symbol: np.bincount(counts.senders[counts.symbols == symbol], minlength=bits.size) for symbol in PURE.alphabet
    }


THIRD_MESSAGE_FAULTS: tuple[Fault, ...] = tuple(
    fault(*entry)
    for entry in (
        ("rr-shuffle-stops-early", "shuffler", "the last 8 steps of a shuffle are left out", "a loop to a constant",
         M, RR, _shuffled(_stops_early)),
        ("rr-buffer-of-eight", "shuffler", "a stream through a buffer of eight", "data loaders shuffle so", M, RR,
         _shuffled(_buffer_of_eight)),
        ("rr-random-comparisons", "shuffler", "sorted by random comparisons", "the one-liner of browsers", M, RR,
         _shuffled(_random_comparisons)),
        ("rr-four-mixers", "shuffler", "four mixers, one after the other", "a sharded service", M, RR,
         _shuffled(_four_mixers)),
        ("rr-delays", "shuffler", "messages come with delays of 12 users", "a network in the place of a shuffler", M,
         RR, _shuffled(_delays)),
        ("rr-affine-order", "shuffler", "order a i + b modulo n", "a permutation without memory", M, RR,
         _shuffled(_affine)),
        ("rr-one-moved", "shuffler", "one message is moved", "one step of a slow shuffle", M, RR,
         _shuffled(_one_moved)),
        ("rr-first-in-front", "shuffler", "five messages arrive in the first half", "two queues", M, RR,
         _shuffled(_first_in_front)),
        ("rr-ones-lost", "rr", "1 of 10 users with a one sends nothing", "a timeout on the longer path", M, RR,
         _client(_ones_lost)),
        ("rr-flips-sent-twice", "rr", "1 flipped report of 5 is sent twice", "a retry", M, RR,
         _client(_flips_twice_sent)),
        ("rr-user-remembers", "rr", "user 4 uses each coin in four runs", "a coin that is stored", M, RR, _remembers()),
        ("3nb-uneven-shares", "3nb", "the first user has half more noise, the last half", "weights by activity", M,
         THREE_NB, messages_of(THREE_NB, _uneven)),
        ("nb-last-without-noise", "nb", "the last user sends no noise", "range(n - 1)", M, NB,
         messages_of(NB, _last_without)),
        ("nb-rate-limit", "nb", "no user sends more than two messages", "a rate limit", C, NB,
         messages_of(NB, _rate_limit)),
        ("poisson-delegate", "poisson", "one user, drawn anew, sends all noise", "saves messages", M, POISSON,
         messages_of(POISSON, _delegate)),
        ("pure-dropped-for-good", "pure", "whose ones are dropped was drawn once", "a seed by user", C, PURE,
         messages_of(PURE, _dropped_for_good)),
    )
)  # fmt: skip
