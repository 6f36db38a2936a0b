"""Faults that show message by message: shufflers that do not shuffle, or not all, users who send too much or little."""

from collections.abc import Callable

import numpy as np

from dpverify.audit.subjects.bitsum import Implementation
from protocols.bitsum import (
    RandomizedResponse,
)
from protocols.shuffler import UserMessages
from tests.faults.fault import Fault
from tests.faults.making import (
    NB,
    POISSON,
    PURE,
    RR,
    THREE_NB,
    Array,
    C,
    M,
    fault,
    messages_of,
)

__all__ = ["MESSAGE_FAULTS"]


def _shuffled(shuffler: Callable[[Array, np.random.Generator], Array]) -> Callable[[], Implementation]:
    return lambda: Implementation.of(RR, shuffler=lambda messages, rng: shuffler(messages.symbols.copy(), rng))


def _neighbours_swapped(symbols: Array, rng: np.random.Generator) -> Array:
    for _ in range(2 * symbols.size):
        at = int(rng.integers(symbols.size - 1))
        symbols[[at, at + 1]] = symbols[[at + 1, at]]
    return symbols


def _naive(symbols: Array, rng: np.random.Generator) -> Array:
    for at in range(symbols.size):
        other = int(rng.integers(symbols.size))
        symbols[[at, other]] = symbols[[other, at]]
    return symbols


def _at_times_not(symbols: Array, rng: np.random.Generator) -> Array:
    return symbols if rng.random() < 0.05 else rng.permutation(symbols)


def _byte_seeded(symbols: Array, rng: np.random.Generator) -> Array:
    return np.random.default_rng(int(rng.integers(16))).permutation(symbols)


def _last_lost(symbols: Array, rng: np.random.Generator) -> Array:
    return rng.permutation(symbols)[:-1]


def _one_twice(symbols: Array, rng: np.random.Generator) -> Array:
    shuffled = rng.permutation(symbols)
    return np.append(shuffled, shuffled[:1]) if rng.random() < 0.05 else shuffled


def _stops_early(symbols: Array, rng: np.random.Generator) -> Array:
    for at in range(symbols.size - 1, 7, -1):
        other = int(rng.integers(at + 1))
        symbols[[at, other]] = symbols[[other, at]]
    return symbols


def _client(
    sent: Callable[[Array, Array, np.random.Generator], tuple[Array, Array]],
) -> Callable[[], Implementation]:
    """Return randomized response whose messages and senders are made of bits and reports by this function."""

    class Faulty(RandomizedResponse):
        def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
            reports = bits ^ (rng.random(bits.size) < self.flip_probability)
            return UserMessages(*sent(bits, reports, rng))

    return lambda: Implementation.of(Faulty(20, 0.25))


def _flips_twice_sent(bits: Array, reports: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    senders = np.repeat(np.arange(bits.size), 1 + ((reports != bits) & (rng.random(bits.size) < 0.2)))
    return reports[senders], senders


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


MESSAGE_FAULTS: tuple[Fault, ...] = (
    fault("rr-neighbours-swapped", "shuffler", "40 swaps of neighbours", "a slow shuffle stopped early", M, RR,
          _shuffled(_neighbours_swapped)),
    fault("rr-naive-shuffle", "shuffler", "each is swapped with any",
          "a well-known mistake: some orders are likelier", M, RR, _shuffled(_naive)),
    fault("rr-at-times-unshuffled", "shuffler", "5 % of runs are not shuffled", "a timeout of the mixer", M, RR,
          _shuffled(_at_times_not)),
    fault("rr-sixteen-orders", "shuffler", "one of 16 permutations", "a seed of four bits", M, RR,
          _shuffled(_byte_seeded)),
    fault("rr-last-lost", "shuffler", "one message is lost", "range(n - 1)", C, RR, _shuffled(_last_lost)),
    fault("rr-one-twice", "shuffler", "one message in 5 % of runs arrives twice", "retried after a timeout", C, RR,
          _shuffled(_one_twice)),
    fault("rr-shuffle-stops-early", "shuffler", "the last 8 steps of a shuffle are left out", "a loop to a constant",
          M, RR, _shuffled(_stops_early)),
    fault("rr-flips-sent-twice", "rr", "1 flipped report of 5 is sent twice", "a retry", M, RR,
          _client(_flips_twice_sent)),
    fault("3nb-uneven-shares", "3nb", "the first user has half more noise, the last half", "weights by activity", M,
          THREE_NB, messages_of(THREE_NB, _uneven)),
    fault("nb-last-without-noise", "nb", "the last user sends no noise", "range(n - 1)", M, NB,
          messages_of(NB, _last_without)),
    fault("nb-rate-limit", "nb", "no user sends more than two messages", "a rate limit", C, NB,
          messages_of(NB, _rate_limit)),
    fault("poisson-delegate", "poisson", "one user, drawn anew, sends all noise", "saves messages", M, POISSON,
          messages_of(POISSON, _delegate)),
    fault("pure-dropped-for-good", "pure", "whose ones are dropped was drawn once", "a seed by user", C, PURE,
          messages_of(PURE, _dropped_for_good)),
)  # fmt: skip
