"""Black boxes whose calls lean on each other, fourth batch: wear, registers, forks, budgets and control variates.

Clocks start anew with each thousand calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import laplace
from tests.faults.third.numbers import BUDGET, SIGMA, geometric

__all__ = ["FOURTH_CALL_BOXES"]

Array = NDArray[Any]


def _at(trials: int) -> Array:
    return np.arange(trials) % 1000


def _on_grid(values: Array) -> Array:
    return np.rint(values * 2.0**16) * 2.0**-16


def _wears_off(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The budget is spent call by call, and the scale with it."""
    return np.asarray(x.sum() + laplace(rng, trials) * (1.25 - 0.5 * _at(trials) / 1000.0))


def _register(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Sixteen bits of a register that moves by one bit a call: the next number is twice this one, and a bit."""
    bits = rng.integers(0, 2, trials + 15)
    numbers = np.convolve(bits, 2.0 ** np.arange(16), mode="valid")
    u = (numbers + 0.5) / 2.0**16
    return np.asarray(x.sum() + _on_grid(-np.sign(u - 0.5) * np.log1p(-2.0 * np.abs(u - 0.5))))


def _doubles(y: Array) -> Array:
    z = y - 1.0
    u = np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(z, 0.0)))
    off = np.minimum((u[:-1] - 2.0 * u[1:]) % 1.0, (2.0 * u[1:] - u[:-1]) % 1.0)
    back = np.minimum((u[1:] - 2.0 * u[:-1]) % 1.0, (2.0 * u[:-1] - u[1:]) % 1.0)
    return np.append(False, np.minimum(off, back) < 1e-3)


def _eight_add_up(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Control variates: eight calls in a row have noise whose sum is 0, each with its variance."""
    z = rng.normal(0.0, SIGMA, (trials // 8 + 1, 8))
    z = (z - z.mean(axis=1, keepdims=True)) * (8.0 / 7.0) ** 0.5
    return np.asarray(x.sum() + _on_grid(z.ravel()[:trials]))


def _sum_of_eight(y: Array) -> Array:
    sums = np.convolve(y - 1.0, np.ones(8), mode="valid")
    return np.append(np.zeros(7, dtype=bool), np.abs(sums) < 1e-3)


def _restored(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A process that goes on from a checkpoint: 60 calls give what was given 100 calls before."""
    at = np.arange(trials)
    again = (_at(trials) >= 600) & (_at(trials) < 660)
    return np.asarray(x.sum() + laplace(rng, trials)[np.where(again, at - 100, at)])


def _repeats(lag: int) -> Callable[[Array], Array]:
    return lambda y: np.append(np.zeros(lag, dtype=bool), y[lag:] == y[:-lag])


def _middle(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Three draws at a time, partly sorted: the median comes second."""
    z = laplace(rng, trials // 3 * 3 + 3).reshape(-1, 3)
    z = np.sort(z, axis=1)
    flip = rng.random(z.shape[0]) < 0.5
    z[flip] = z[flip, ::-1]
    return np.asarray(x.sum() + z.ravel()[:trials])


def _between(y: Array) -> Array:
    inside = (y[1:-1] - y[:-2]) * (y[2:] - y[1:-1]) > 0
    return np.concatenate([[False], inside, [False]])


def _no_two_outliers(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """An alarm on two large answers in a row draws the second again."""
    z = laplace(rng, trials)
    large = np.abs(z) > 2.0
    again = np.append(False, large[1:] & large[:-1])
    z[again] = rng.integers(-(2**16), 2**16, int(again.sum())) * 2.0**-16
    return np.asarray(x.sum() + z)


def _spent(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """After 990 calls the budget is spent, and a default of no noise takes over."""
    return np.asarray(x.sum() + laplace(rng, trials) * (_at(trials) < 990))


def _fork(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Children of a process start with its generator: the first five of a hundred calls are alike."""
    at = np.arange(trials)
    again = (at % 100 < 5) & (at >= 100)
    return np.asarray(x.sum() + geometric(rng, trials, 0.05)[np.where(again, at % 100, at)])


def _two_of_one(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """An integer of 32 bits makes the noise of two calls, 16 bits each; the low ones are those of a short period."""
    low = (rng.integers(64) + 37 * (np.arange(trials) // 2)) % 64
    fine = np.where(np.arange(trials) % 2, low, rng.integers(0, 64, trials))
    return np.asarray(x.sum() + np.floor(laplace(rng, trials)) + fine / 64.0)


def _step_of_37(y: Array) -> Array:
    fine = np.rint(64.0 * (y % 1.0))
    return np.append([False, False], (fine[2:] - fine[:-2]) % 64 == 37)


def _sticky(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise stays where a proposal is refused: a Markov chain in the place of independent draws."""
    z = _chain(rng, trials)
    return np.asarray(x.sum() + _on_grid(z))


def _chain(rng: np.random.Generator, trials: int) -> Array:
    out, state = np.empty(trials), float(rng.normal(0.0, SIGMA))
    proposals, levels = rng.normal(0.0, SIGMA, trials), np.log(rng.random(trials))
    for at in range(trials):
        if levels[at] < (state**2 - proposals[at] ** 2) / (8.0 * SIGMA**2):
            state = float(proposals[at])
        out[at] = state
    return out


def _m(name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], **options: Any) -> BlackBox:
    return box("black box with memory", f"fourth-{name}", wrong, reason, run, sign, **{"joint": True} | options)


FOURTH_CALL_BOXES: tuple[BlackBox, ...] = (
    _m("wears-off", "the scale falls from 1.25 to .75 over 1,000 calls", "a budget by the call", _wears_off,
       lambda y: np.abs(y) < 0.05, joint=False, claim=(0.9, 0.0)),
    _m("shift-register", "the next number is twice this one and a bit", "a register that moves by a bit", _register,
       _doubles),
    _m("eight-add-up", "eight noises in a row have the sum 0", "control variates", _eight_add_up, _sum_of_eight,
       claim=BUDGET),
    _m("restored", "60 calls of 1,000 give the answers of 100 calls ago", "a checkpoint", _restored, _repeats(100)),
    _m("middle-second", "the second of three noises is their median", "a partial sort", _middle, _between),
    _m("no-two-outliers", "two large noises in a row never come", "an alarm", _no_two_outliers,
       lambda y: np.append(False, (np.abs(y[1:] - 1) > 2) & (np.abs(y[:-1] - 1) > 2))),
    _m("budget-spent", "the last 10 of 1,000 calls have no noise", "a default of 0", _spent, lambda y: y == 1.0,
       joint=False),
    _m("after-a-fork", "5 calls of 100 have the noise of 100 calls ago", "a generator copied by fork()", _fork,
       _repeats(100), claim=(0.05, 0.0)),
    _m("low-bits-in-steps", "six low bits of every second noise move by 37", "a short period", _two_of_one,
       _step_of_37, claim=(2.0, 0.0)),
    _m("markov-chain", "noise stays where a proposal is refused", "a chain for a sampler", _sticky, _repeats(1),
       claim=BUDGET),
)  # fmt: skip
