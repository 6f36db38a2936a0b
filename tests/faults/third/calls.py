"""Black boxes whose calls lean on each other, third batch: averages, signs, decks, generators and clocks.

An audit draws 1,000 calls at a time, so nothing here reaches further back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import laplace
from tests.faults.third.numbers import geometric

__all__ = ["THIRD_CALL_BOXES"]

Array = NDArray[Any]
SIGMA = 3.73
BUDGET = (1.0, 1e-5)


def _on_grid(values: Array) -> Array:
    return np.rint(values * 2.0**16) * 2.0**-16


def _inverse(u: Array) -> Array:
    """Laplace noise of scale 1 from uniform numbers."""
    return np.asarray(-np.sign(u - 0.5) * np.log1p(-2.0 * np.abs(u - 0.5)))


def _uniform(y: Array) -> Array:
    """The uniform number of noise on a sum of 1."""
    z = y - 1.0
    return np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(z, 0.0)))


def _normal_with_past(lag: int, share: float) -> Run:
    """Normal noise that is in part that of some calls ago: each call has its law."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        fresh = rng.normal(0.0, SIGMA, trials + lag)
        return np.asarray(x.sum() + _on_grid((1 - share**2) ** 0.5 * fresh[lag:] + share * fresh[:-lag]))

    return run


def _both_sides(lag: int) -> Callable[[Array], Array]:
    """Whether a call and that so many calls ago are on one side of 1."""
    return lambda y: np.append(np.zeros(lag, dtype=bool), (y[lag:] - 1.0) * (y[:-lag] - 1.0) > 0)


def _alternating(x: Array, rng: np.random.Generator, trials: int) -> Array:
    signs = 2 * ((np.arange(trials) + rng.integers(2)) % 2) - 1
    return np.asarray(x.sum() + np.abs(laplace(rng, trials)) * signs)


def _again(period: int, lag: int) -> Run:
    """One call of so many gives the answer of some calls ago again."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        at = np.arange(trials)
        again = ((at + rng.integers(period)) % period == 0) & (at >= lag)
        return np.asarray(x.sum() + laplace(rng, trials)[np.where(again, at - lag, at)])

    return run


def _repeats(lag: int) -> Callable[[Array], Array]:
    return lambda y: np.append(np.zeros(lag, dtype=bool), y[lag:] == y[:-lag])


def _pool_of_20_bits(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """One of 2^20 noises on a grid of 2^-40: no low bit of a float tells."""
    numbers = rng.integers(0, 2**20, trials)
    return np.asarray(x.sum() + np.rint(_inverse((numbers + 0.5) * 2.0**-20) * 2.0**40) * 2.0**-40)


def _in_pool(y: Array) -> Array:
    number = np.rint(_uniform(y) * 2.0**20 - 0.5)
    return np.asarray(np.rint(_inverse((number + 0.5) * 2.0**-20) * 2.0**40) * 2.0**-40 == y - 1.0)


def _golden(x: Array, rng: np.random.Generator, trials: int) -> Array:
    u = (rng.random() + np.arange(trials) * 0.6180339887498949) % 1.0
    return np.asarray(x.sum() + _on_grid(_inverse(np.clip(u, 1e-9, 1 - 1e-9))))


def _golden_step(y: Array) -> Array:
    step = np.append(0.0, np.diff(_uniform(y))) % 1.0
    return np.asarray(np.abs(step - 0.6180339887498949) < 1e-3)


def _strata(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A hundred calls in a row take one number each from a hundredth of the range."""
    blocks = np.argsort(rng.random((trials // 100 + 1, 100)), axis=1).ravel()[:trials]
    return np.asarray(x.sum() + _on_grid(_inverse((blocks + rng.random(trials)) / 100.0)))


def _same_stratum(y: Array) -> Array:
    place = np.floor(100.0 * _uniform(y))
    return np.append(False, np.diff(place) == 0)


def _shared_size(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two calls share the size of their noise, and each has a sign."""
    size = np.repeat(np.abs(laplace(rng, trials // 2 + 1)), 2)[:trials]
    return np.asarray(x.sum() + size * rng.choice([-1.0, 1.0], trials))


def _same_size(y: Array) -> Array:
    return np.append(False, np.abs(np.abs(y[1:] - 1.0) - np.abs(y[:-1] - 1.0)) < 1e-9)


def _randu(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The generator RANDU, whose triples lie on 15 planes."""
    state, out = int(rng.integers(2**30)) * 2 + 1, np.empty(trials)
    for at in range(trials):
        state = (65539 * state) % 2**31
        out[at] = state
    return np.asarray(x.sum() + _on_grid(_inverse(out / 2.0**31)))


def _on_planes(y: Array) -> Array:
    u = _uniform(y)
    off = (9.0 * u[:-2] - 6.0 * u[1:-1] + u[2:]) % 1.0
    return np.append(np.zeros(2, dtype=bool), (off < 0.01) | (off > 0.99))


def _parity_in_turn(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Whole noise, even and odd in turn, as the lowest bit of a congruential generator is."""
    noise = geometric(rng, trials, 0.1)
    wanted = (np.arange(trials) + rng.integers(2)) % 2
    return np.asarray(x.sum() + noise + ((noise + wanted) % 2) * rng.choice([-1, 1], trials))


def _parities_differ(y: Array) -> Array:
    return np.append(False, np.diff(y) % 2 == 1)


def _every_64th_plain(x: Array, rng: np.random.Generator, trials: int) -> Array:
    at = np.arange(trials) + rng.integers(64)
    return np.asarray(x.sum() + laplace(rng, trials) * (at % 64 != 0))


def _bursts(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise is scaled by a load that moves slowly: half and one and a half by turns of 200 calls."""
    busy = (np.arange(trials) + rng.integers(400)) // 200 % 2
    return np.asarray(x.sum() + laplace(rng, trials) * np.where(busy, 0.7, 1.3))


def _three_share(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Every third call has the noise of the two before it, added up."""
    z = laplace(rng, trials)
    third = np.arange(trials) % 3 == 2
    z[third] = (np.roll(z, 1) + np.roll(z, 2))[third]
    return np.asarray(x.sum() + z)


def _adds_up(y: Array) -> Array:
    z = y - 1.0
    return np.append(np.zeros(2, dtype=bool), np.abs(z[2:] - z[1:-1] - z[:-2]) < 1e-9)


def _half_of_last(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A buffer of two: the lower half of the noise's digits is that of the last call."""
    whole = np.floor(laplace(rng, trials) * 16.0) / 16.0
    fine = rng.integers(0, 2**12, trials)
    stale = np.where(np.arange(trials) % 4 == 3, np.roll(fine, 1), fine)
    return np.asarray(x.sum() + whole + stale * 2.0**-16)


def _digits_again(y: Array) -> Array:
    fine = (y * 2.0**16) % 2**12
    return np.append(False, np.diff(fine) == 0)


def _deck(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Whole noise is dealt from a deck of 1,000 draws, made anew when it is empty: 40 at a time are sorted."""
    z = geometric(rng, trials // 40 * 40 + 40, 0.5).reshape(-1, 40)
    return np.asarray(x.sum() + np.sort(z, axis=1).ravel()[:trials])


def _m(name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], **options: Any) -> BlackBox:
    return box("black box with memory", f"third-{name}", wrong, reason, run, sign, **{"joint": True} | options)


THIRD_CALL_BOXES: tuple[BlackBox, ...] = (
    _m("moving-average", "noise is an average of two draws in a row", "smoothing", _normal_with_past(1, 0.5**0.5),
       _both_sides(1), claim=BUDGET),
    _m("echo-at-lag-2", "a part of .3 of the noise two calls ago", "an echo", _normal_with_past(2, 0.3),
       _both_sides(2), claim=BUDGET),
    _m("echo-at-lag-17", "a part of .3 of the noise 17 calls ago", "a lagged generator", _normal_with_past(17, 0.3),
       _both_sides(17), claim=BUDGET),
    _m("alternating-signs", "noise is positive in every second call", "signs by parity", _alternating, _both_sides(1)),
    _m("again-at-lag-50", "1 call of 97 gives the answer of 50 calls ago", "a cache with a limit", _again(97, 50),
       _repeats(50)),
    _m("again-at-lag-400", "1 call of 397 gives the answer of 400 calls ago", "a ring buffer", _again(397, 400),
       _repeats(400)),
    _m("pool-of-20-bits", "one of a million noises", "a seed of 20 bits", _pool_of_20_bits, _in_pool, joint=False,
       chances=(1.0, 2.0**20 / 2.0**41)),
    _m("golden-ratio", "uniform numbers in steps of the golden ratio", "quasi-random numbers", _golden, _golden_step),
    _m("strata", "each hundred calls has a number from each hundredth", "stratified sampling", _strata, _same_stratum),
    _m("shared-size", "two calls share their noise's size", "a pair of draws, each with a sign", _shared_size,
       _same_size),
    _m("randu", "three numbers in a row lie on planes", "an old generator", _randu, _on_planes),
    _m("parity-in-turn", "noise is even and odd in turn", "low bits of an old generator", _parity_in_turn,
       _parities_differ, claim=(0.5, 0.0)),
    _m("every-64th-plain", "every 64th call has no noise", "a buffer of 63", _every_64th_plain, lambda y: y == 1.0,
       joint=False, chances=(1.0 / 64, 0.0)),
    _m("bursts", "scales .7 and 1.3 by turns of 200 calls", "load by the hour", _bursts,
       lambda y: np.abs(y - 1.0) < 0.1,
       joint=False),
    _m("third-adds-up", "every third noise is the sum of the two before", "a check sum", _three_share, _adds_up),
    _m("digits-of-the-last", "every fourth call has the last one's low digits", "a buffer half written", _half_of_last,
       _digits_again),
    _m("sorted-by-forty", "forty calls in a row have sorted noise", "a deck that was sorted", _deck,
       lambda y: np.append(False, np.diff(y) < 0), claim=(0.5, 0.0)),
)  # fmt: skip
