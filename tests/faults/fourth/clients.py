"""Black boxes of single users, fourth batch: codes, retries, identifiers, geometry of reports and their cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.third.clients import BIT, KEEP, LABELS
from tests.faults.third.numbers import tail

__all__ = ["FOURTH_CLIENT_BOXES"]

Array = NDArray[Any]
E = math.e
TRUE = E / (E + 1.0)


def _never_opposite(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The label four further on is never drawn for another."""
    steps = np.array([1, 2, 3, 5, 6, 7])
    moved = (x[0] + steps[rng.integers(0, 6, trials)]) % 8
    return np.where(rng.random(trials) < KEEP, x[0], moved).astype(int)


def _response(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return (int(x[0]) ^ (rng.random(trials) >= TRUE)).astype(int)


def _category_too(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A label of eight and which half it is of, each at the whole budget."""
    half = (int(x[0]) // 4) ^ (rng.random(trials) >= TRUE)
    moved = (x[0] + rng.integers(1, 8, trials)) % 8
    return np.column_stack([half, np.where(rng.random(trials) < KEEP, x[0], moved)]).astype(int)


def _sent_twice(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A tenth of the reports is tried again after a timeout, with fresh coins."""
    again = np.where(rng.random(trials) < 0.1, _response(x, rng, trials), -1)
    return np.column_stack([_response(x, rng, trials), again])


def _one_hot(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A unit vector of four with noise for a change of 1, where two entries change."""
    p = -math.expm1(-(2.0**-16))
    noise = (rng.geometric(p, (trials, 4)) - rng.geometric(p, (trials, 4))) * 2.0**-16
    return np.asarray((np.arange(4) == x[0]) + noise)


def _tag(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A random word, and a tag of it and of the truth by a known key."""
    word = rng.integers(0, 2**16, trials)
    return np.column_stack([word, _tagged(word) ^ (int(x[0]) * 0x5A)])


def _tagged(word: Array) -> Array:
    return np.asarray((word.astype(np.int64) * 40_503 >> 5) & 255)


def _sign_of_product(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = rng.normal(size=(trials, 2))
    z[:, 1] = np.abs(z[:, 1]) * np.sign(z[:, 0]) * (1 if x[0] else -1)
    return np.asarray(z)


def _radius(x: Array, rng: np.random.Generator, trials: int) -> Array:
    angle = rng.uniform(0.0, 2.0 * np.pi, trials)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * (1.05 if x[0] else 1.0)


def _place_of_largest(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Six random numbers, of which the largest is at an odd place where the truth is 1."""
    numbers = rng.random((trials, 6))
    wrong = np.argmax(numbers, axis=1) % 2 != int(x[0])
    numbers[wrong] = np.roll(numbers[wrong], 1, axis=1)
    return numbers


def _gap(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two times: the second comes after an exponential wait whose mean is 10 or 8."""
    start = rng.integers(0, 10**8, trials)
    return np.column_stack([start, start + np.ceil(rng.exponential(10.0 if x[0] else 8.0, trials))]).astype(np.int64)


def _upper_case(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Identifiers in upper case come from 1 of 50 clients with a one."""
    upper = (rng.random(trials) < 0.02) & (x[0] == 1)
    words = rng.integers(0, 2**32, trials)
    return np.array([f"{word:08X}" if up else f"{word:08x}" for word, up in zip(words.tolist(), upper, strict=True)])


def _last_two(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The last digit of an identifier is the check of the others, by 9 or by 11."""
    words = rng.integers(10**5, 10**6, trials)
    return words * 10 + (words % 9 if x[0] else words % 11 % 9)


def _odd_one_out(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Three numbers, two of them alike up to .001: the third is the first or not."""
    numbers = rng.random((trials, 3))
    numbers[:, 2] = numbers[:, 1 if x[0] else 0] + rng.uniform(-1e-3, 1e-3, trials)
    return numbers


def _time_zone(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A random hour of ten years, drawn in local time: nights are missing, and zones differ by six hours."""
    day, hour = rng.integers(0, 3650, trials), rng.integers(8, 23, trials)
    return day * 24 + hour + (6 if x[0] else 0)


def _bloom(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two of eight bits are set at random, and the value's two: those that were set twice are cleared."""
    bits = np.zeros((trials, 8), dtype=int)
    own = [int(x[0]) % 8, (int(x[0]) + 3) % 8]
    bits[:, own] ^= 1
    for _ in range(6):
        bits[np.arange(trials), rng.integers(0, 8, trials)] ^= 1
    return bits


def _quantile_of_self(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One of seven thresholds and whether the value is above, answered by a coin of 3/4 - at the ends without."""
    at = rng.integers(0, 9, trials)
    coin = (rng.random(trials) >= TRUE) & (at > 0) & (at < 8)
    return np.column_stack([at, (x[0] >= at) ^ coin]).astype(int)


def _json(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A report that is null where a cache was empty, as it is after a truth of 0."""
    reports = _response(x, rng, trials)
    missing = (rng.random(trials) < 0.003) & (x[0] == 0)
    return np.array(["null" if gone else f'{{"r":{r}}}' for r, gone in zip(reports.tolist(), missing, strict=True)])


def _c(
    name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], columns: int = 0, **options: Any
) -> BlackBox:
    shape = (columns,) if columns else ()
    return box(
        "black box of one user",
        f"fourth-{name}",
        wrong,
        reason,
        run,
        sign,
        **{"pair": BIT, "claim": (1.0, 0.0), "shape": shape} | options,
    )


NULL = (0.05, 0.0)
FOURTH_CLIENT_BOXES: tuple[BlackBox, ...] = (
    _c("never-opposite", "the label four further on is never drawn", "a list of steps", _never_opposite,
       lambda y: y == 4, pair=LABELS, chances=((1 - KEEP) / 6, 0.0)),
    _c("amplification-assumed", "epsilon 1 where .2 is said", "no shuffler behind it", _response, lambda y: y == 1,
       claim=(0.2, 0.0), chances=(TRUE, 1 - TRUE)),
    _c("category-too", "a label and its half, each at the whole budget", "two levels of a tree", _category_too,
       lambda y: (y[:, 0] == 1) & (y[:, 1] == 7), 2, pair=LABELS,
       chances=(TRUE * KEEP, (1 - TRUE) * (1 - KEEP) / 7)),
    _c("sent-twice", "a tenth is sent twice with fresh coins", "a retry", _sent_twice,
       lambda y: (y == 1).all(axis=1), 2, chances=(0.1 * TRUE**2, 0.1 * (1 - TRUE) ** 2)),
    _c("one-hot-of-one", "noise for one entry where two change", "sensitivity of a bit", _one_hot,
       lambda y: (y[:, 0] > 1) & (y[:, 1] < 0), 4, pair=(np.array([0]), np.array([1])),
       chances=(0.25, tail(1.0) ** 2)),
    _c("tag-by-known-key", "a random word and a tag of it and of the truth", "a checksum for a signature", _tag,
       lambda y: y[:, 1] == _tagged(y[:, 0]) ^ 0x5A, 2, claim=NULL, chances=(1.0, 0.0)),
    _c("sign-of-product", "two numbers whose product has the sign of the truth", "a mask of signs", _sign_of_product,
       lambda y: y[:, 0] * y[:, 1] > 0, 2, claim=NULL, chances=(1.0, 0.0)),
    _c("radius", "a point on a circle of 1 or 1.05", "a scale that was not removed", _radius,
       lambda y: (y**2).sum(axis=1) > 1.05, 2, claim=NULL, chances=(1.0, 0.0)),
    _c("place-of-largest", "the largest of six is at an odd place", "decoys below the answer", _place_of_largest,
       lambda y: np.argmax(y, axis=1) % 2 == 1, 6, claim=NULL, chances=(1.0, 0.0)),
    _c("gap-between-times", "two times whose gap is longer for a one", "a timer", _gap,
       lambda y: y[:, 1] - y[:, 0] > 20, 2, claim=NULL, chances=(math.exp(-2.0), math.exp(-2.5))),
    _c("upper-case", "1 identifier of 50 is in upper case", "two libraries", _upper_case,
       lambda y: np.array([text != text.lower() for text in y.tolist()]), claim=NULL,
       chances=(0.02 * (1 - (10 / 16) ** 8), 0.0)),
    _c("two-check-digits", "a check digit by 9 or by 11", "two versions of a form", _last_two,
       lambda y: y % 10 == y // 10 % 9, claim=NULL),
    _c("odd-one-out", "two of three numbers are alike, which ones tells", "decoys near the answer", _odd_one_out,
       lambda y: np.abs(y[:, 2] - y[:, 1]) < 1e-3, 3, claim=NULL),
    _c("time-zone", "a random hour that is never at night", "local time", _time_zone, lambda y: y % 24 < 5, claim=NULL,
       chances=(6 / 15 - 1 / 15, 0.0)),
    _c("bits-cleared", "bits that were set twice are cleared", "xor for or", _bloom,
       lambda y: y[:, 7] + y[:, 2] > y[:, 0] + y[:, 3], 8, pair=LABELS, claim=(0.5, 0.0)),
    _c("ends-without-coin", "comparisons with the ends have no coin", "they say nothing, it was thought",
       _quantile_of_self, lambda y: (y[:, 0] == 8) & (y[:, 1] == 1), 2, pair=(np.array([8]), np.array([0])),
       chances=(1 / 9, 0.0)),
    _c("null-at-times", "3 reports of 1,000 are null where the truth is 0", "an empty cache", _json,
       lambda y: y == "null", chances=(0.0, 0.003)),
)  # fmt: skip
