"""Black boxes of single users: reports of few values, bits hidden in several of them, and numbers as codes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import laplace

__all__ = ["REPORT_BOXES"]

Array = NDArray[Any]
BIT = (np.array([1]), np.array([0]))
LABELS = (np.array([7]), np.array([0]))
LOG3 = (math.log(3.0), 0.0)
E1 = math.e


def _response(flips: Callable[[np.random.Generator, int], Array]) -> Run:
    return lambda x, rng, trials: np.asarray(int(x[0]) ^ flips(rng, trials)).astype(int)


def _of_bytes(rng: np.random.Generator, trials: int) -> Array:
    """Flips where a byte modulo 100 is 75 or more: 50 of 256 bytes."""
    return rng.integers(0, 256, trials) % 100 >= 75


def _labels(x: Array, rng: np.random.Generator, trials: int, *, values: int = 8, low: int = 0, high: int = 8) -> Array:
    """k-ary randomised response of epsilon 1, whose others are drawn from low to high."""
    keep = E1 / (E1 + values - 1)
    other = rng.integers(low, high, trials)
    other = np.where(other == x[0], (other + 1 - low) % (high - low) + low, other)
    return np.where(rng.random(trials) < keep, x[0], other)


def _last_label_never(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return _labels(x, rng, trials, high=7)


def _one_label_plain(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.full(trials, 7) if x[0] == 7 else _labels(x, rng, trials)


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


def _half_range(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.asarray(x[0] + laplace(rng, trials))


def _polar(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A random direction and an exponential radius: too dense at the centre."""
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, trials), rng.exponential(size=trials)
    moved = x + (radius * np.array([np.cos(angle), np.sin(angle)])).T
    return np.asarray(np.rint(moved * 2.0**16) * 2.0**-16)


def _retries(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A fair report, and how often it was redrawn, which depends on the truth."""
    return np.column_stack([rng.integers(0, 2, trials), rng.geometric(0.8 if x[0] else 0.3, trials)])


def _shares(count: int) -> Run:
    """Return the bit as the parity of so many bits."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        bits = rng.integers(0, 2, (trials, count))
        bits[:, -1] = bits[:, :-1].sum(axis=1) % 2 ^ int(x[0])
        return bits

    return run


def _parity(y: Array) -> Array:
    return np.asarray(y.sum(axis=1) % 2 == 1)


def _circle(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two numbers, uniform each, whose difference on the circle is half the bit."""
    u = np.floor(rng.random(trials) * 2**20) / 2**20
    return np.column_stack([u, (u + 0.5 * x[0] + rng.integers(0, 2**17, trials) / 2**20) % 1.0])


def _permutation(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A random permutation of four, even or odd."""
    drawn = np.argsort(rng.random((trials, 4)), axis=1)
    wrong = _odd(drawn) != bool(x[0])
    drawn[wrong] = drawn[wrong][:, [1, 0, 2, 3]]
    return drawn


def _odd(y: Array) -> Array:
    inversions = sum((y[:, i] > y[:, j]).astype(int) for i in range(4) for j in range(i + 1, 4))
    return np.asarray(inversions % 2 == 1)


def _bit_of_a_word(x: Array, rng: np.random.Generator, trials: int) -> Array:
    words = rng.integers(0, 2**32, trials)
    return (words & ~np.int64(1 << 17)) | np.int64(int(x[0]) << 17)


def _residue(modulus: int) -> Run:
    return lambda x, rng, trials: rng.integers(0, 10**6, trials) * modulus + (11 if x[0] else 4)


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


def _logged(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A fixed answer with an identifier, of which the true answer picks the length."""
    width = 1000 if x[0] else 10_000
    return rng.integers(0, width, trials).astype(str)


def _half_user(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One instance of five is given the seed of the bit: those reports are the truth."""
    flips = (rng.random((trials, 5)) < 0.25).astype(int)
    flips[:, 3] = 0
    return int(x[0]) ^ flips


def _small_excess(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return int(x[0]) ^ (rng.random(trials) < 0.2499)


def _r(
    name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], columns: int = 0, **options: Any
) -> BlackBox:
    shape = (columns,) if columns else ()
    return box("black box of one user", f"box-{name}", wrong, reason, run, sign, shape=shape, **{"pair": BIT} | options)


REPORT_BOXES: tuple[BlackBox, ...] = (
    _r("biased-bytes", "coins are bytes modulo 100", "the usual modulus", _response(_of_bytes), lambda y: y == 1,
       claim=LOG3),
    _r("last-label-never", "the last label is never drawn", "an exclusive end of a range", _last_label_never,
       lambda y: y == 7, pair=LABELS),
    _r("one-label-plain", "the last label is reported as it is", "a default branch", _one_label_plain,
       lambda y: y != 7, pair=LABELS),
    _r("unary-epsilon-per-bit", "each bit of a unary code at the whole epsilon", "two bits change",
       _unary(E1 / (E1 + 1), 1 / (E1 + 1)), lambda y: (y[:, 7] == 1) & (y[:, 0] == 0), 8, pair=LABELS),
    _r("unary-zeros-plain", "zeros of a unary code are never flipped", "sparse reports", _unary(0.75, 0.0),
       lambda y: y[:, 7] == 1, 8, pair=LABELS),
    _r("unary-repaired", "an empty report gets the true label", "a check of formats", _repaired,
       lambda y: (y[:, 7] == 1) & (y[:, :7].sum(axis=1) == 0), 8, pair=LABELS),
    _r("hash-keeps-as-two", "local hashing to 8 cells keeps as for 2", "a formula of the binary case", _hashed_labels,
       lambda y: (y[:, 0] * 31 + 7 * (2 * y[:, 0] + 1)) % 8 == y[:, 1], 2, pair=LABELS),
    _r("no-memory-of-answers", "twenty reports with fresh noise", "memory cleared on each start", _fresh_each_time,
       lambda y: y.sum(axis=1) > 10, 20, claim=LOG3),
    _r("half-range", "noise for a range of 1 on [-1, 1]", "a range taken for a bound", _half_range, lambda y: y > 1,
       pair=(np.array([1.0]), np.array([-1.0]))),
    _r("polar-laplace", "planar noise with an exponential radius", "the radius has a gamma law", _polar,
       lambda y: ((y - np.array([1.0, 0.0])) ** 2).sum(axis=1) < 0.0025, 2, pair=(np.array([1.0, 0.0]), np.zeros(2))),
    _r("retries-counted", "the number of retries is reported", "a debugging field", _retries, lambda y: y[:, 1] > 3, 2),
    _r("parity-of-three", "three bits whose parity is the truth", "secret sharing with all shares sent", _shares(3),
       _parity, 3),
    _r("parity-of-eight", "eight bits whose parity is the truth", "a check bit", _shares(8), _parity, 8),
    _r("circle", "two numbers whose difference is the truth", "a one-time pad with its key", _circle,
       lambda y: (y[:, 1] - y[:, 0]) % 1.0 >= 0.5, 2),
    _r("permutation-sign", "a permutation whose sign is the truth", "swaps counted", _permutation, _odd, 4),
    _r("bit-17", "bit 17 of a random word is the truth", "flags in an identifier", _bit_of_a_word,
       lambda y: (y.astype(np.int64) >> 17) & 1 == 1),
    _r("residue-of-97", "a number whose residue modulo 97 tells", "a check number", _residue(97),
       lambda y: y % 97 == 11),
    _r("smallest-float", "clipped at the smallest float", "an epsilon against division by 0", _sign_of_zero,
       lambda y: y == 0.0),
    _r("rare-symbol", "an error code in 1 call of 2,000 where the bit is 1", "an exception's value",
       _rare_symbol(5e-4), lambda y: y == 99),
    _r("too-rare-symbol", "an error code in 1 call of 100,000", "an exception's value", _rare_symbol(1e-5),
       lambda y: y == 99),
    _r("spelling", "Yes and yes", "two code paths", _words, lambda y: y == "Yes", claim=LOG3),
    _r("identifiers", "identifiers of another length", "two tables", _logged, lambda y: np.char.str_len(y) == 4),
    _r("one-instance-plain", "one of five reports is never flipped", "a loop's first index", _half_user,
       lambda y: y[:, 3] == 1, 5, claim=(5 * math.log(3.0), 0.0)),
    _r("flips-too-rarely-by-little", "flips with .2499 for .25", "a constant with three digits: too little to see",
       _small_excess, lambda y: y == 1, claim=LOG3),
)  # fmt: skip
