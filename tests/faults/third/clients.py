"""Black boxes of single users, third batch: codes, refusals, places, texts and identifiers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box

__all__ = ["THIRD_CLIENT_BOXES"]

Array = NDArray[Any]
BIT = (np.array([1]), np.array([0]))
LABELS = (np.array([7]), np.array([0]))
LOG3 = (math.log(3.0), 0.0)
E = math.e
KEEP = E / (E + 7.0)


def _one_uniform_for_all_bits(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A unary code, .5 for the own bit and 1 / (e + 1) for others, from one number for all bits."""
    chances = np.where(np.arange(8) == x[0], 0.5, 1.0 / (E + 1.0))
    return (rng.random((trials, 1)) < chances).astype(int)


def _seeds_that_fit(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Local hashing whose seeds are drawn anew until the value falls into one of the first four cells."""
    seed = rng.integers(0, 1000, trials)
    while (out := _cell(seed, int(x[0])) >= 4).any():
        seed[out] = rng.integers(0, 1000, int(out.sum()))
    keep = rng.random(trials) < KEEP
    return np.column_stack([seed, np.where(keep, _cell(seed, int(x[0])), rng.integers(0, 8, trials))])


def _cell(seed: Array, value: int) -> Array:
    return (seed * 31 + value * (2 * seed + 1)) % 8


def _own_row_plain(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Hadamard response without a coin in the row of the value itself."""
    row = rng.integers(0, 8, trials)
    sign = np.bitwise_count(row & int(x[0])) % 2
    flips = (rng.random(trials) < 1.0 / (E + 1.0)) & (row != x[0])
    return np.column_stack([row, sign ^ flips]).astype(int)


def _own_first(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two labels of eight, the own one among them with .4, and then in front."""
    others = (x[0] + 1 + np.argsort(rng.random((trials, 7)), axis=1)[:, :2]) % 8
    own = rng.random(trials) < 0.4
    return np.where(own[:, np.newaxis], np.column_stack([np.full(trials, x[0]), others[:, 1]]), others)


def _sorted_pair(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two labels of eight in their order, the own one among them with .7: as of epsilon 1 with fewer labels."""
    others = (x[0] + 1 + np.argsort(rng.random((trials, 7)), axis=1)[:, :2]) % 8
    others[:, 0] = np.where(rng.random(trials) < 0.7, x[0], others[:, 0])
    return np.sort(others, axis=1)


def _refuses(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A user may refuse, and does so oftener where the answer is yes."""
    reports = int(x[0]) ^ (rng.random(trials) < 1.0 / (E + 1.0))
    return np.where(rng.random(trials) < (0.2 if x[0] else 0.02), -1, reports).astype(int)


def _one_bit(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One bit for a number in [-1, 1], of a number that is not clipped to it."""
    chance = 0.5 + 0.5 * float(x[0]) * (E - 1.0) / (E + 1.0)
    return (rng.random(trials) < chance).astype(int)


def _piecewise(keep: float) -> Run:
    """The piecewise mechanism on [-C, C]: near the value with this chance, uniform elsewhere."""
    root = math.exp(0.5)
    bound = (root + 1.0) / (root - 1.0)

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        left = 0.5 * (bound + 1.0) * float(x[0]) - 0.5 * (bound - 1.0)
        width = bound - 1.0
        near = left + width * rng.random(trials)
        away = -bound + (bound + 1.0) * rng.random(trials)
        away = np.where(away > left, away + width, away)
        return np.round(np.where(rng.random(trials) < keep, near, away), 4)

    return run


def _in_the_city(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Planar noise, drawn anew where it leaves the half plane: places at the border come back oftener."""
    out, places = np.ones(trials, dtype=bool), np.empty((trials, 2))
    while out.any():
        angle, radius = rng.uniform(0.0, 2.0 * np.pi, int(out.sum())), rng.gamma(2.0, 1.0, int(out.sum()))
        places[out] = np.rint((x + (radius * np.array([np.cos(angle), np.sin(angle)])).T) * 2.0**16) * 2.0**-16
        out = places[:, 0] < 0.0
    return places


def _pad_with_key(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A word and its one-time pad, both sent."""
    word, key = rng.integers(0, 2**16, (2, trials))
    word = (word & ~np.int64(32)) | np.int64(int(x[0]) << 5)
    return np.column_stack([word ^ key, key])


def _pad_tells(y: Array) -> Array:
    return np.asarray((y[:, 0].astype(np.int64) ^ y[:, 1].astype(np.int64)) & 32 == 32)


def _whole_seconds(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A time in milliseconds: from a schedule, at whole seconds, or from a user, at any time."""
    times = rng.integers(0, 10**8, trials)
    return times // 1000 * 1000 if x[0] else times


def _weekends(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A random day, but a workday or a day of a weekend."""
    weeks = 7 * rng.integers(0, 3000, trials)
    return weeks + (rng.integers(5, 7, trials) if x[0] else rng.integers(0, 5, trials))


def _versions(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """An identifier in hexadecimal digits, whose fifth says which library made it."""
    first, last = rng.integers(0, 16**4, trials), rng.integers(0, 16**3, trials)
    middle = "1" if x[0] else "4"
    return np.array([f"{a:04x}{middle}{b:03x}" for a, b in zip(first.tolist(), last.tolist(), strict=True)])


def _same_length(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A random word of as many letters as the true one."""
    length = 7 if x[0] else 6
    letters = rng.integers(97, 123, (trials, length)).astype(np.uint8)
    return np.array([row.tobytes().decode() for row in letters])


def _trailing_space(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Randomized response in words, 1 true yes of 100 of which has a space behind it."""
    reports = int(x[0]) ^ (rng.random(trials) < 1.0 / (E + 1.0))
    words = np.where(reports == 1, "yes", "no").astype("<U4")
    return np.where((reports == 1) & bool(x[0]) & (rng.random(trials) < 0.01), "yes ", words)


def _fields_in_order(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A record of two fair coins, whose fields come in the order in which they were set."""
    coins = rng.integers(0, 2, (trials, 2)).tolist()
    form = '{{"b": {1}, "a": {0}}}' if x[0] else '{{"a": {0}, "b": {1}}}'
    return np.array([form.format(*pair) for pair in coins])


def _number_form(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Whole numbers of which the true ones were floats: 3 and 3.0."""
    numbers = rng.integers(0, 10, trials)
    return np.array([f"{n}.0" if x[0] and n > 7 else f"{n}" for n in numbers.tolist()])


def _check_digit(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Five random digits and a check digit, computed with the true bit as a sixth one."""
    digits = rng.integers(0, 10, (trials, 5))
    return np.column_stack([digits, (digits.sum(axis=1) + 3 * int(x[0])) % 10])


def _cold_memory(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Ten reports on one value, of which the first is given before the permanent answer is there."""
    kept = int(x[0]) ^ (rng.random((trials, 1)) < 0.25).astype(int)
    reports = np.where(rng.random((trials, 10)) < 0.25, 1 - kept, kept)
    reports[:, 0] = int(x[0]) ^ (rng.random(trials) < 0.25)
    return reports


def _changes_only(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Whether a report was sent in each of six days: a user without changes is silent after the first."""
    changed = np.arange(6) % 2 == 0 if x[0] else np.arange(6) < 1
    return (changed & np.ones((trials, 1), dtype=bool)).astype(int) * rng.integers(1, 3, (trials, 6))


def _two_questions(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The answers to two questions have one coin: whether both are right is a coin, and whether they agree is not."""
    flips = rng.random(trials) < 0.25
    return np.column_stack([int(x[0]) ^ flips, int(x[1]) ^ flips]).astype(int)


def _mostly_honest(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """1 client of 20 was built without noise, and reports its three bits as they are."""
    flips = (rng.random((trials, 3)) < 0.25) & (rng.random((trials, 1)) >= 0.05)
    return (int(x[0]) ^ flips).astype(int)


def _scaled_to_bytes(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A number in [0, 1] with noise, clipped and kept in a byte, which wraps around at its upper end."""
    noisy = np.clip(x[0] + rng.normal(0.0, 0.8, trials), 0.0, 1.01)
    return np.floor(noisy * 255.0).astype(np.int64) % 256


def _nearby_cells(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A cell of a grid of nine by nine, moved by binomial steps in each direction."""
    steps = rng.binomial(8, 0.5, (trials, 2)) - 4
    return np.clip(x + steps, 0, 8)


def _shuffled_answers(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Five answers in random order, four of which are decoys that are never alike: the true one repeats a decoy."""
    decoys = np.argsort(rng.random((trials, 8)), axis=1)[:, :5]
    decoys[:, 4] = np.where(int(x[0]), decoys[:, 0], decoys[:, 4])
    return np.take_along_axis(decoys, np.argsort(rng.random((trials, 5)), axis=1), axis=1)


def _r(
    name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], columns: int = 0, **options: Any
) -> BlackBox:
    shape = (columns,) if columns else ()
    return box(
        "black box of one user", f"third-{name}", wrong, reason, run, sign, shape=shape, **{"pair": BIT} | options
    )


OTHER = 1.0 / (E + 1.0)
ROOT = math.exp(0.5)
THIRD_CLIENT_BOXES: tuple[BlackBox, ...] = (
    _r("one-number-for-all-bits", "one number for all bits of a unary code", "a scalar draw", _one_uniform_for_all_bits,
       lambda y: (y[:, 7] == 1) & (y[:, 0] == 0), 8, pair=LABELS, chances=(0.5 - OTHER, 0.0)),
    _r("seeds-that-fit", "hash seeds are redrawn by the value", "balanced cells", _seeds_that_fit,
       lambda y: _cell(y[:, 0].astype(np.int64), 7) >= 4, 2, pair=LABELS),
    _r("own-row-plain", "no coin in the row of the value", "an exception for the diagonal", _own_row_plain,
       lambda y: (y[:, 0] == 7) & (y[:, 1] == 0), 2, pair=LABELS, chances=(0.0, (1 - OTHER) / 8)),
    _r("own-label-first", "of two labels the own one is in front", "a list that was not shuffled", _own_first,
       lambda y: y[:, 0] == 7, 2, pair=LABELS, chances=(0.4, 0.6 / 7)),
    _r("own-label-too-often", "the own label among two with .7", "the formula of fewer labels", _sorted_pair,
       lambda y: (y == 7).any(axis=1), 2, pair=LABELS),
    _r("refusals", "refused oftener where the answer is yes", "a dialog that can be closed", _refuses,
       lambda y: y == -1, chances=(0.2, 0.02)),
    _r("one-bit-unclipped", "one bit of a number beyond its range", "a clip left out", _one_bit, lambda y: y == 1,
       pair=(np.array([1.2]), np.array([-1.2])),
       chances=(0.5 + 0.6 * (E - 1) / (E + 1), 0.5 - 0.6 * (E - 1) / (E + 1))),
    _r("piecewise-whole-epsilon", "near the value as for twice the epsilon", "eps for eps / 2",
       _piecewise(E / (E + 1)), lambda y: y >= 1.0, pair=(np.array([1.0]), np.array([-1.0])),
       chances=(E / (E + 1), 1 / (E + 1) / ROOT)),
    _r("redrawn-at-the-border", "planar noise is redrawn at a border", "places in the sea", _in_the_city,
       lambda y: (y**2).sum(axis=1) < 0.03, 2, pair=(np.zeros(2), np.array([1.0, 0.0]))),
    _r("pad-with-key", "a one-time pad and its key", "both halves in one message", _pad_with_key, _pad_tells, 2,
       chances=(1.0, 0.0)),
    _r("whole-seconds", "whole seconds where a schedule answered", "two clocks", _whole_seconds,
       lambda y: y % 1000 == 0, chances=(1.0, 1e-3)),
    _r("weekends", "a random day, workday or not by the truth", "a calendar", _weekends, lambda y: y % 7 >= 5,
       chances=(1.0, 0.0)),
    _r("version-digit", "one digit of an identifier", "two libraries", _versions,
       lambda y: np.array([word[4] == "1" for word in y.tolist()]), chances=(1.0, 0.0)),
    _r("same-length", "a random word of the true length", "masked letter by letter", _same_length,
       lambda y: np.char.str_len(y) == 7, chances=(1.0, 0.0)),
    _r("trailing-space", "a space behind 1 true yes of 100", "two templates", _trailing_space,
       lambda y: y == "yes ", chances=(0.01 * E / (E + 1), 0.0)),
    _r("order-of-fields", "fields in the order in which they were set", "a dictionary keeps its order",
       _fields_in_order, lambda y: np.char.startswith(y, '{"b"'), chances=(1.0, 0.0)),
    _r("form-of-numbers", "3 and 3.0", "a missing value makes a column of floats", _number_form,
       lambda y: np.char.endswith(y, ".0"), chances=(0.2, 0.0)),
    _r("check-digit", "a check digit over a hidden one", "account numbers", _check_digit,
       lambda y: (y[:, 5] - y[:, :5].sum(axis=1)) % 10 == 3, 6, chances=(1.0, 0.0)),
    _r("cold-memory", "the first report has no permanent answer", "memory is written later", _cold_memory,
       lambda y: (y[:, 0] == 1) & (y[:, 1:].sum(axis=1) >= 6), 10, claim=LOG3),
    _r("changes-only", "reports are sent on changes only", "saves messages", _changes_only, lambda y: y[:, 2] > 0, 6,
       chances=(1.0, 0.0)),
    _r("one-coin-for-two", "two answers share their coin", "a scalar draw", _two_questions,
       lambda y: y[:, 0] == y[:, 1], 2, pair=(np.array([1, 1]), np.array([1, 0])), claim=LOG3, chances=(1.0, 0.0)),
    _r("one-client-of-20", "1 client of 20 has no noise", "a test build", _mostly_honest,
       lambda y: y.all(axis=1), 3, claim=(3 * math.log(3.0), 0.0),
       chances=(0.95 * 0.75**3 + 0.05, 0.95 * 0.25**3)),
    _r("byte-wraps", "a byte that wraps around at its upper end", "uint8", _scaled_to_bytes, lambda y: y == 1,
       pair=(np.array([1.0]), np.array([0.0])), claim=(1.3, 0.01)),
    _r("binomial-steps", "a cell moved by binomial steps", "a cheap kernel", _nearby_cells, lambda y: y[:, 0] == 8, 2,
       pair=(np.array([4, 4]), np.array([3, 4])),
       chances=(2.0**-8, 0.0)),
    _r("decoys-that-differ", "decoys are never alike, the true answer may be", "drawn without replacement",
       _shuffled_answers, lambda y: np.array([len(set(row)) == 4 for row in y.tolist()]), 5, chances=(1.0, 0.0)),
)  # fmt: skip
