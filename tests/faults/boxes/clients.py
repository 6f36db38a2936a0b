"""Black boxes of single users: codes, refusals, places, texts and identifiers."""

import functools
import math
from collections.abc import Callable

import numpy as np

from tests.faults.boxes.black_box import BlackBox, Run, box
from tests.faults.boxes.noise import E, laplace
from tests.faults.fault import Array

__all__ = ["CLIENT_BOXES"]

BIT = (np.array([1]), np.array([0]))
_c = functools.partial(box, "black box of one user", pair=BIT)

LABEL_PAIR = (np.array([7]), np.array([0]))
LOG3 = (math.log(3.0), 0.0)
E1 = math.e


def _bit_response(flips: Callable[[np.random.Generator, int], Array]) -> Run:
    return lambda x, rng, trials: np.asarray(int(x[0]) ^ flips(rng, trials)).astype(int)


def _of_bytes(rng: np.random.Generator, trials: int) -> Array:
    """Flips where a byte modulo 100 is 75 or more: 50 of 256 bytes."""
    return rng.integers(0, 256, trials) % 100 >= 75


def _unary(own: float, others: float) -> Run:
    """Return unary encoding of 8 labels with these chances of a one."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        return (rng.random((trials, 8)) < np.where(np.arange(8) == x[0], own, others)).astype(int)

    return run


def _repaired(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A report without a one gets that of the truth."""
    keep = math.exp(0.5) / (1.0 + math.exp(0.5))
    bits = _unary(keep, 1.0 - keep)(x, rng, trials)
    bits[bits.sum(axis=1) == 0, int(x[0])] = 1
    return bits


def _hashed_labels(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Local hashing into 8 cells that keeps as for two."""
    seed = rng.integers(0, 1000, trials)
    cell = (seed * 31 + int(x[0]) * (2 * seed + 1)) % 8
    keep = rng.random(trials) < E1 / (E1 + 1.0)
    return np.column_stack([seed, np.where(keep, cell, (cell + rng.integers(1, 8, trials)) % 8)])


def _fresh_each_time(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return int(x[0]) ^ (rng.random((trials, 20)) < 0.25).astype(int)


def _polar(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A random direction and an exponential radius: too dense at the centre."""
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, trials), rng.exponential(size=trials)
    moved = x + (radius * np.array([np.cos(angle), np.sin(angle)])).T
    return np.asarray(np.rint(moved * 2.0**16) * 2.0**-16)


def _retries(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A fair report, and how often it was redrawn, which depends on the truth."""
    return np.column_stack([rng.integers(0, 2, trials), rng.geometric(0.8 if x[0] else 0.3, trials)])


def _parity_shares(count: int) -> Run:
    """Return the bit as the parity of so many bits."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        bits = rng.integers(0, 2, (trials, count))
        bits[:, -1] = bits[:, :-1].sum(axis=1) % 2 ^ int(x[0])
        return bits

    return run


def _parity(y: Array) -> Array:
    return np.asarray(y.sum(axis=1) % 2 == 1)


def _bit_of_a_word(x: Array, rng: np.random.Generator, trials: int) -> Array:
    words = rng.integers(0, 2**32, trials)
    return (words & ~np.int64(1 << 17)) | np.int64(int(x[0]) << 17)


def _sign_of_zero(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Clipped at 0 from below, where the data have a one from above: 0 and a number that rounds to it."""
    return np.asarray(np.maximum(laplace(rng, trials, 4.0), 5e-324 if x[0] else 0.0))


def _rare_symbol(chance: float) -> Run:
    return lambda x, rng, trials: np.where(
        (rng.random(trials) < chance) & bool(x[0]), 99, int(x[0]) ^ (rng.random(trials) < 0.3)
    )


def _words(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Answers in words, one of which is spelled otherwise where it is true."""
    reports = int(x[0]) ^ (rng.random(trials) < 0.25)
    return np.where(reports == 1, "Yes" if x[0] else "yes", "no")


def _small_excess(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return int(x[0]) ^ (rng.random(trials) < 0.2499)


KEEP_OF_8 = E / (E + 7.0)


def _one_uniform_for_all_bits(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A unary code, .5 for the own bit and 1 / (e + 1) for others, from one number for all bits."""
    chances = np.where(np.arange(8) == x[0], 0.5, 1.0 / (E + 1.0))
    return (rng.random((trials, 1)) < chances).astype(int)


def _seeds_that_fit(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Local hashing whose seeds are drawn anew until the value falls into one of the first four cells."""
    seed = rng.integers(0, 1000, trials)
    while (out := _cell(seed, int(x[0])) >= 4).any():
        seed[out] = rng.integers(0, 1000, int(out.sum()))
    keep = rng.random(trials) < KEEP_OF_8
    return np.column_stack([seed, np.where(keep, _cell(seed, int(x[0])), rng.integers(0, 8, trials))])


def _cell(seed: Array, value: int) -> Array:
    return (seed * 31 + value * (2 * seed + 1)) % 8


def _row_plain(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Hadamard response without a coin in the row of the value itself."""
    row = rng.integers(0, 8, trials)
    sign = np.bitwise_count(row & int(x[0])) % 2
    flips = (rng.random(trials) < 1.0 / (E + 1.0)) & (row != x[0])
    return np.column_stack([row, sign ^ flips]).astype(int)


def _in_the_city(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Planar noise, drawn anew where it leaves the half plane: places at the border come back oftener."""
    out, places = np.ones(trials, dtype=bool), np.empty((trials, 2))
    while out.any():
        angle, radius = rng.uniform(0.0, 2.0 * np.pi, int(out.sum())), rng.gamma(2.0, 1.0, int(out.sum()))
        places[out] = np.rint((x + (radius * np.array([np.cos(angle), np.sin(angle)])).T) * 2.0**16) * 2.0**-16
        out = places[:, 0] < 0.0
    return places


def _weekends(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A random day, but a workday or a day of a weekend."""
    weeks = 7 * rng.integers(0, 3000, trials)
    return weeks + (rng.integers(5, 7, trials) if x[0] else rng.integers(0, 5, trials))


def _two_questions(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The answers to two questions have one coin: whether both are right is a coin, and whether they agree is not."""
    flips = rng.random(trials) < 0.25
    return np.column_stack([int(x[0]) ^ flips, int(x[1]) ^ flips]).astype(int)


def _mostly_honest(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """1 client of 20 was built without noise, and reports its three bits as they are."""
    flips = (rng.random((trials, 3)) < 0.25) & (rng.random((trials, 1)) >= 0.05)
    return (int(x[0]) ^ flips).astype(int)


OTHER = 1.0 / (E + 1.0)
ROOT = math.exp(0.5)
TRUE = E / (E + 1.0)


CLIENT_BOXES: tuple[BlackBox, ...] = (
    _c("biased-bytes", "coins are bytes modulo 100", "the usual modulus", _bit_response(_of_bytes), lambda y: y == 1,
       claim=LOG3),
    _c("unary-epsilon-per-bit", "each bit of a unary code at the whole epsilon", "two bits change",
       _unary(E1 / (E1 + 1), 1 / (E1 + 1)), lambda y: (y[:, 7] == 1) & (y[:, 0] == 0), 8, pair=LABEL_PAIR),
    _c("unary-repaired", "an empty report gets the true label", "a check of formats", _repaired,
       lambda y: (y[:, 7] == 1) & (y[:, :7].sum(axis=1) == 0), 8, pair=LABEL_PAIR),
    _c("hash-keeps-as-two", "local hashing to 8 cells keeps as for 2", "a formula of the binary case",
       _hashed_labels, lambda y: (y[:, 0] * 31 + 7 * (2 * y[:, 0] + 1)) % 8 == y[:, 1], 2, pair=LABEL_PAIR),
    _c("no-memory-of-answers", "twenty reports with fresh noise", "memory cleared on each start", _fresh_each_time,
       lambda y: y.sum(axis=1) > 10, 20, claim=LOG3),
    _c("polar-laplace", "planar noise with an exponential radius", "the radius has a gamma law", _polar,
       lambda y: ((y - np.array([1.0, 0.0])) ** 2).sum(axis=1) < 0.0025, 2, pair=(np.array([1.0, 0.0]), np.zeros(2))),
    _c("retries-counted", "the number of retries is reported", "a debugging field", _retries, lambda y: y[:, 1] > 3,
       2),
    _c("parity-of-eight", "eight bits whose parity is the truth", "a check bit", _parity_shares(8), _parity, 8),
    _c("bit-17", "bit 17 of a random word is the truth", "flags in an identifier", _bit_of_a_word,
       lambda y: (y.astype(np.int64) >> 17) & 1 == 1),
    _c("smallest-float", "clipped at the smallest float", "an epsilon against division by 0", _sign_of_zero,
       lambda y: y == 0.0),
    _c("rare-symbol", "an error code in 1 call of 2,000 where the bit is 1", "an exception's value",
       _rare_symbol(5e-4), lambda y: y == 99),
    _c("too-rare-symbol", "an error code in 1 call of 100,000", "an exception's value", _rare_symbol(1e-5),
       lambda y: y == 99),
    _c("spelling", "Yes and yes", "two code paths", _words, lambda y: y == "Yes", claim=LOG3),
    _c("flips-too-rarely-by-little", "flips with .2499 for .25", "a constant with three digits: too little to see",
       _small_excess, lambda y: y == 1, claim=LOG3),
    _c("one-number-for-all-bits", "one number for all bits of a unary code", "a scalar draw",
       _one_uniform_for_all_bits, lambda y: (y[:, 7] == 1) & (y[:, 0] == 0), 8, pair=LABEL_PAIR,
       chances=(0.5 - OTHER, 0.0)),
    _c("seeds-that-fit", "hash seeds are redrawn by the value", "balanced cells", _seeds_that_fit,
       lambda y: _cell(y[:, 0].astype(np.int64), 7) >= 4, 2, pair=LABEL_PAIR),
    _c("own-row-plain", "no coin in the row of the value", "an exception for the diagonal", _row_plain,
       lambda y: (y[:, 0] == 7) & (y[:, 1] == 0), 2, pair=LABEL_PAIR, chances=(0.0, (1 - OTHER) / 8)),
    _c("redrawn-at-the-border", "planar noise is redrawn at a border", "places in the sea", _in_the_city,
       lambda y: (y**2).sum(axis=1) < 0.03, 2, pair=(np.zeros(2), np.array([1.0, 0.0]))),
    _c("weekends", "a random day, workday or not by the truth", "a calendar", _weekends, lambda y: y % 7 >= 5,
       chances=(1.0, 0.0)),
    _c("one-coin-for-two", "two answers share their coin", "a scalar draw", _two_questions,
       lambda y: y[:, 0] == y[:, 1], 2, pair=(np.array([1, 1]), np.array([1, 0])), claim=LOG3, chances=(1.0, 0.0)),
    _c("one-client-of-20", "1 client of 20 has no noise", "a test build", _mostly_honest, lambda y: y.all(axis=1), 3,
       claim=(3 * math.log(3.0), 0.0), chances=(0.95 * 0.75**3 + 0.05, 0.95 * 0.25**3)),
)  # fmt: skip
