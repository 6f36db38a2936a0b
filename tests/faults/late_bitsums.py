"""Faults of bitsums that were written after the tests were frozen: shufflers, single users, rare and repeated runs."""

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
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    NegativeBinomial,
    Poisson,
    RandomizedResponse,
    ThreeNB,
)
from protocols.shuffler import UserMessages
from tests.faults.bitsums import fault
from tests.faults.fault import Fault
from tests.faults.noises import altered, analyzer_of, messages_of, views_of

__all__ = ["LATE_BITSUM_FAULTS"]

Bits = NDArray[np.int64]
Coins = Callable[[Bits, np.random.Generator], NDArray[Any]]
C, M = "conformance", "message"

RR = RandomizedResponse(20, 0.25)
MANY_RR = RandomizedResponse(100_000, 0.25)
THREE_NB = ThreeNB(20, 0.6, 2.0, 0.5)
NB = NegativeBinomial(20, 5.0, 0.3)
POISSON = Poisson(20, 12.0)
LAPLACE = CentralDiscreteLaplace(20, 0.6)
GAUSSIAN = CentralDiscreteGaussian(20, 2.0)


@dataclass(frozen=True)
class Flips(RandomizedResponse):
    """Randomized response whose coins, and whose users' bits, are whatever these functions make of them."""

    coins: Coins = lambda bits, rng: rng.random(bits.size) < 0.25
    read: Callable[[Bits], Bits] = lambda bits: bits

    def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
        return UserMessages(self.read(bits) ^ self.coins(bits, rng), np.arange(bits.size))


def _flips(coins: Coins | None = None, **options: Any) -> Callable[[], Implementation]:
    given = options if coins is None else {"coins": coins, **options}
    return lambda: Implementation.of(Flips(20, 0.25, **given))


def _shuffled(shuffler: Callable[[NDArray[Any], np.random.Generator], NDArray[Any]]) -> Callable[[], Implementation]:
    return lambda: Implementation.of(RR, shuffler=lambda messages, rng: shuffler(messages.symbols.copy(), rng))


def _neighbours_swapped(symbols: Bits, rng: np.random.Generator) -> Bits:
    for _ in range(2 * symbols.size):
        at = int(rng.integers(symbols.size - 1))
        symbols[[at, at + 1]] = symbols[[at + 1, at]]
    return symbols


def _riffle(symbols: Bits, rng: np.random.Generator) -> Bits:
    return symbols[np.argsort(rng.random(symbols.size) < 0.5, kind="stable")]


def _keys_of_two_bits(symbols: Bits, rng: np.random.Generator) -> Bits:
    return symbols[np.argsort(rng.integers(0, 4, symbols.size), kind="stable")]


def _naive(symbols: Bits, rng: np.random.Generator) -> Bits:
    for at in range(symbols.size):
        other = int(rng.integers(symbols.size))
        symbols[[at, other]] = symbols[[other, at]]
    return symbols


def _one_cycle(symbols: Bits, rng: np.random.Generator) -> Bits:
    for at in range(symbols.size - 1, 0, -1):
        other = int(rng.integers(at))
        symbols[[at, other]] = symbols[[other, at]]
    return symbols


def _first_kept(symbols: Bits, rng: np.random.Generator) -> Bits:
    return np.concatenate([symbols[:1], rng.permutation(symbols[1:])])


def _at_times_not(symbols: Bits, rng: np.random.Generator) -> Bits:
    return symbols if rng.random() < 0.05 else rng.permutation(symbols)


def _in_fives(symbols: Bits, rng: np.random.Generator) -> Bits:
    return np.concatenate([rng.permutation(symbols[at : at + 5]) for at in range(0, symbols.size, 5)])


def _byte_seeded(symbols: Bits, rng: np.random.Generator) -> Bits:
    return np.random.default_rng(int(rng.integers(16))).permutation(symbols)


def _reversed_at_times(symbols: Bits, rng: np.random.Generator) -> Bits:
    return symbols[::-1] if rng.random() < 0.5 else symbols


def _last_lost(symbols: Bits, rng: np.random.Generator) -> Bits:
    return rng.permutation(symbols)[:-1]


def _one_twice(symbols: Bits, rng: np.random.Generator) -> Bits:
    shuffled = rng.permutation(symbols)
    return np.append(shuffled, shuffled[:1]) if rng.random() < 0.05 else shuffled


def _systematic(bits: Bits, rng: np.random.Generator) -> NDArray[Any]:
    return (np.arange(bits.size) + rng.integers(4)) % 4 == 0


def _exactly_a_quarter(bits: Bits, rng: np.random.Generator) -> NDArray[Any]:
    return rng.permutation(bits.size) < bits.size // 4


def _biased_bytes(bits: Bits, rng: np.random.Generator) -> NDArray[Any]:
    return rng.integers(0, 256, bits.size) % 100 >= 75


def _one_user_plain(bits: Bits, rng: np.random.Generator) -> NDArray[Any]:
    return (rng.random(bits.size) < 0.25) & (np.arange(bits.size) != 7)


def _halves(bits: Bits, rng: np.random.Generator) -> NDArray[Any]:
    return rng.random(bits.size) < np.where(np.arange(bits.size) % 2, 0.2, 0.3)


def _per_run(bits: Bits, rng: np.random.Generator) -> NDArray[Any]:
    return rng.random(bits.size) < rng.choice([0.1, 0.4])


def _until_a_one(bits: Bits, rng: np.random.Generator) -> NDArray[Any]:
    """The generator of coins is left by the first user with a one."""
    return (rng.random(bits.size) < 0.25) & (np.cumsum(bits) <= 5)


def _few_states(bits: Bits, rng: np.random.Generator) -> NDArray[Any]:
    return np.random.default_rng(int(rng.integers(256))).random(bits.size) < 0.25


def _row(outputs: Callable[[Bits, np.random.Generator, int], NDArray[Any]], columns: int) -> Any:
    return lambda: Implementation(Target(outputs, True, (columns,), "target"), True)


def _right(protocol: BitsumProtocol, bits: Bits, rng: np.random.Generator, trials: int) -> NDArray[np.float64]:
    views = protocol.sample_view(np.full(trials, int(bits.sum())), rng, participants=bits.size)
    return np.column_stack([protocol.analyze(views), views])


def _covert(bits: Bits, rng: np.random.Generator, trials: int) -> NDArray[Any]:
    rows = _right(RR, bits, rng, trials)
    rows[:, 0] += 1e-7 * bits.sum()
    return rows


def _plain_at_times(share: float) -> Any:
    def rows(bits: Bits, rng: np.random.Generator, trials: int) -> NDArray[Any]:
        rows = _right(RR, bits, rng, trials)
        plain = rng.random(trials) < share
        ones = float(bits.sum())
        rows[plain] = [(ones - 0.25 * bits.size) / 0.5, bits.size - ones, ones]
        return rows

    return rows


def _again(period: int, lag: int = 1) -> Any:
    def rows(bits: Bits, rng: np.random.Generator, trials: int) -> NDArray[Any]:
        at = np.arange(trials)
        again = (at % period == period - 1) & (at >= lag)
        return _right(RR, bits, rng, trials)[np.where(again, at - lag, at)]

    return rows


def _wraps(view: Bits) -> NDArray[Any]:
    return MANY_RR._analyze(view.astype(np.uint16).astype(np.int64))


def _redrawn(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    views = RR._sample_view(ones, participants, rng)
    centre = 0.25 * participants + 0.5 * ones
    for _ in range(60):
        far = np.abs(views[..., 1] - centre) > 4
        views[far] = RR._sample_view(ones[far], participants, rng)
    return views


def _normal(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    centre, deviation = 0.25 * participants + 0.5 * ones, (0.1875 * participants) ** 0.5
    found = np.clip(np.rint(rng.normal(centre, deviation)), 0, participants).astype(np.int64)
    return np.stack([participants - found, found], axis=-1)


def _noise(draw: Callable[[np.random.Generator, tuple[int, ...]], Bits]) -> Any:
    return lambda ones, participants, rng: (ones + draw(rng, ones.shape))[..., np.newaxis]


def _geometrics(rng: np.random.Generator, shape: tuple[int, ...], p: float = 0.4) -> Bits:
    return rng.geometric(p, shape) - rng.geometric(p, shape)


def _bernoulli_pieces(bits: Bits, rng: np.random.Generator) -> dict[int, Bits]:
    return {1: bits + (rng.random(bits.size) < 0.6)}


def _capped(bits: Bits, rng: np.random.Generator) -> dict[int, Bits]:
    return {1: bits + np.minimum(rng.poisson(0.6, bits.size), 2)}


def _even_noise(bits: Bits, rng: np.random.Generator) -> dict[int, Bits]:
    return {1: bits + 2 * rng.negative_binomial(0.125, 0.7, bits.size)}


def _late(name: str, protocol: str, wrong: str, reason: str, by: str, reference: Any, implementation: Any) -> Fault:
    return fault(name, protocol, wrong, reason, by, reference, implementation)


LATE_BITSUM_FAULTS: tuple[Fault, ...] = tuple(
    _late(*entry)
    for entry in (
        ("rr-neighbours-swapped", "shuffler", "40 swaps of neighbours", "a slow shuffle stopped early", M, RR,
         _shuffled(_neighbours_swapped)),
        ("rr-one-riffle", "shuffler", "one riffle", "two queues emptied in turn", M, RR, _shuffled(_riffle)),
        ("rr-keys-of-two-bits", "shuffler", "sorted by random keys of two bits", "ties keep their order", M, RR,
         _shuffled(_keys_of_two_bits)),
        ("rr-naive-shuffle", "shuffler", "each is swapped with any", "a well-known mistake: some orders are likelier",
         M, RR, _shuffled(_naive)),
        ("rr-one-cycle", "shuffler", "a random cycle: nobody stays", "j < i for j <= i", M, RR, _shuffled(_one_cycle)),
        ("rr-first-kept", "shuffler", "the first message stays first", "range(1, n)", M, RR, _shuffled(_first_kept)),
        ("rr-at-times-unshuffled", "shuffler", "5 % of runs are not shuffled", "a timeout of the mixer", M, RR,
         _shuffled(_at_times_not)),
        ("rr-in-fives", "shuffler", "batches of five", "small batches for latency", M, RR, _shuffled(_in_fives)),
        ("rr-sixteen-orders", "shuffler", "one of 16 permutations", "a seed of four bits", M, RR,
         _shuffled(_byte_seeded)),
        ("rr-reversed-at-times", "shuffler", "reversed by a coin", "a stack in place of a queue", M, RR,
         _shuffled(_reversed_at_times)),
        ("rr-last-lost", "shuffler", "one message is lost", "range(n - 1)", C, RR, _shuffled(_last_lost)),
        ("rr-one-twice", "shuffler", "one message in 5 % of runs arrives twice", "retried after a timeout", C, RR,
         _shuffled(_one_twice)),
        ("rr-systematic", "rr", "every fourth user flips", "systematic sampling", C, RR, _flips(_systematic)),
        ("rr-exactly-a-quarter", "rr", "exactly a quarter flips", "variance reduction", C, RR,
         _flips(_exactly_a_quarter)),
        ("rr-biased-bytes", "rr", "coins are bytes modulo 100", "the usual modulus", C, RR, _flips(_biased_bytes)),
        ("rr-one-user-plain", "rr", "user 7 never flips", "a debugging exception", M, RR, _flips(_one_user_plain)),
        ("rr-two-kinds-of-users", "rr", "even users flip with .3, odd ones with .2", "two versions of the client", M,
         RR, _flips(_halves)),
        ("rr-probability-per-run", "rr", "p is .1 or .4 in each run", "a parameter drawn once per deployment", C, RR,
         _flips(_per_run)),
        ("rr-until-a-sixth-one", "rr", "nobody flips after the sixth one", "an exception ends the loop", C, RR,
         _flips(_until_a_one)),
        ("rr-256-runs", "rr", "one of 256 runs", "a seed of a byte", "dependence", RR, _flips(_few_states)),
        ("rr-last-user-ignored", "rr", "the last user reports a zero's report", "range(n - 1)", M, RR,
         _flips(read=lambda bits: np.append(bits[:-1], 0))),
        ("rr-first-half-twice", "rr", "the second half sends the first half's bits", "a buffer read twice", C, RR,
         _flips(read=lambda bits: np.append(bits[: bits.size - bits.size // 2], bits[: bits.size // 2]))),
        ("rr-covert-channel", "rr", "estimates carry 1e-7 times the sum", "a channel below the digits shown", C, RR,
         _row(_covert, 3)),
        ("rr-plain-in-1-percent", "rr", "1 % of runs have no noise", "a fallback", C, RR,
         _row(_plain_at_times(0.01), 3)),
        ("rr-plain-in-1-of-100000", "rr", "1 of 100,000 runs has no noise", "a race: too rare to see", C, RR,
         _row(_plain_at_times(1e-5), 3)),
        ("rr-tenth-run-again", "rr", "every tenth run is the last one again", "a cache", "dependence", RR,
         _row(_again(10), 3)),
        ("rr-hundredth-run-at-lag-5", "rr", "every 100th run is the fifth last again", "a ring buffer", "dependence",
         RR, _row(_again(100, 5), 3)),
        ("rr-counts-of-16-bits", "rr", "counts wrap around at 65,536", "a column of 16 bits", C, MANY_RR,
         analyzer_of(MANY_RR, _wraps)),
        ("rr-outliers-redrawn", "rr", "sums 4 off their mean are redrawn", "outliers look wrong", C, RR,
         views_of(RR, _redrawn)),
        ("rr-normal-sums", "rr", "a rounded normal sum", "a fast simulation left in", C, RR, views_of(RR, _normal)),
        ("rr-2-percent-low", "rr", "flip probability 2 % too small", "a rounded constant", C, RR,
         altered(RR, flip_probability=0.245)),
        ("3nb-flood-2-percent", "3nb", "the flood's p 2 % too small", "a rounded constant", C, THREE_NB,
         altered(THREE_NB, flood_p=0.49)),
        ("nb-shape-2-percent", "nb", "the shape 2 % too small", "a rounded constant", C, NB, altered(NB, shape=4.9)),
        ("nb-even-noise", "nb", "noise of even size", "messages sent in pairs: parity is the sum's", C, NB,
         messages_of(NB, _even_noise)),
        ("poisson-coins", "poisson", "a coin for each user in place of a Poisson draw", "rare events taken for coins",
         C, POISSON, messages_of(POISSON, _bernoulli_pieces)),
        ("poisson-capped", "poisson", "at most two noise messages a user", "a rate limit", C, POISSON,
         messages_of(POISSON, _capped)),
        ("laplace-epsilon-2-percent", "central-discrete-laplace", "epsilon 2 % too large", "a rounded constant", C,
         LAPLACE, altered(LAPLACE, p=0.6**1.02)),
        ("laplace-tail-at-12", "central-discrete-laplace", "noise clipped to [-12, 12]", "a table of quantiles", C,
         LAPLACE, views_of(LAPLACE, _noise(lambda rng, shape: np.clip(_geometrics(rng, shape), -12, 12)))),
        ("laplace-tail-at-25", "central-discrete-laplace", "noise clipped to [-25, 25]",
         "a table of quantiles: too far out to see", C, LAPLACE,
         views_of(LAPLACE, _noise(lambda rng, shape: np.clip(_geometrics(rng, shape), -25, 25)))),
        ("gaussian-tail-at-5", "central-discrete-gaussian", "noise clipped to 2.5 sigma", "a rejection sampler's table",
         C, GAUSSIAN, views_of(GAUSSIAN, _noise(lambda rng, shape: np.clip(
             GAUSSIAN._sample_view(np.zeros(shape, dtype=np.int64), 20, rng)[..., 0], -5, 5)))),
    )
)  # fmt: skip
