"""Black boxes whose calls depend on each other, or on a generator that was badly seeded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.faults.black_box import BlackBox, Run, box
from tests.faults.box_noise import laplace

__all__ = ["MEMORY_BOXES"]

Array = NDArray[Any]


def _reading(index: Callable[[np.random.Generator, int], Array]) -> Run:
    """Return a mechanism whose call i adds the noise of number `index[i]`."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        at = index(rng, trials)
        return np.asarray(x.sum() + laplace(rng, int(at.max()) + 1)[at])

    return run


def _repeats(lag: int) -> Callable[[Array], Array]:
    return lambda y: np.append(np.zeros(lag, dtype=bool), y[lag:] == y[:-lag])


def _every(period: int) -> Callable[[np.random.Generator, int], Array]:
    """Every so many calls give the last one's answer again."""
    return lambda rng, n: np.arange(n) - (np.arange(n) % period == period - 1)


def _runs(rng: np.random.Generator, n: int) -> Array:
    """Calls of one tick of the clock share a seed: two or three at a time."""
    return np.cumsum(rng.random(n) < 0.4)


def _counter(size: int) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, n: np.arange(n) % size


def _workers(rng: np.random.Generator, n: int) -> Array:
    """Four workers with one seed, whose answers come in turn."""
    return np.arange(n) // 4


def _pool(size: int) -> Run:
    """Return a mechanism whose noise is one of so many numbers for ever."""
    table = laplace(np.random.default_rng(1), size)
    return lambda x, rng, trials: np.asarray(x.sum() + table[rng.integers(0, size, trials)])


def _in_pool(size: int) -> Callable[[Array], Array]:
    table = laplace(np.random.default_rng(1), size)
    return lambda y: np.isin(y, table)


def _hashed(days: int) -> Run:
    """Noise seeded by the data and the day."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        noise = np.array([laplace(np.random.default_rng(int(x.sum()) * 100 + day), 1)[0] for day in range(days)])
        return np.asarray(x.sum() + noise[rng.integers(0, days, trials)])

    return run


def _values(runs: int) -> Callable[[Array], Array]:
    table = [laplace(np.random.default_rng(at), 1)[0] for at in range(runs)]
    return lambda y: np.isin(y, table)


def _cold(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The first calls of a process find no entropy."""
    return np.asarray(x.sum() + laplace(rng, trials) * (np.arange(trials) > trials // 200))


def _antithetic(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = np.repeat(laplace(rng, trials), 2)[:trials]
    return np.asarray(x.sum() + z * np.where(np.arange(trials) % 2, -1.0, 1.0))


def _opposite(y: Array) -> Array:
    total = np.append(y[1:], np.inf) + y
    return np.asarray(np.abs(total - 2.0) < 1e-9)


def _autoregressive(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise moves little from call to call: each answer alone has the right law, all together average it away."""
    z = np.empty(trials)
    stay, fresh = rng.random(trials) < 0.8, laplace(rng, trials)
    z[0] = fresh[0]
    last = np.maximum.accumulate(np.where(stay & (np.arange(trials) > 0), 0, np.arange(trials)))
    jitter = np.rint(rng.normal(0.0, 1e-3, trials) * 2.0**16) * 2.0**-16
    return np.asarray(x.sum() + fresh[last] + jitter)


def _near_the_last(y: Array) -> Array:
    return np.append(False, np.abs(np.diff(y)) < 0.004)


def _other_column(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The second column still holds the last call's noise, without its sum."""
    z = laplace(rng, trials + 1)
    return np.column_stack([x.sum() + z[1:], z[:-1]])


def _column_of_the_last(y: Array) -> Array:
    return np.append(False, np.abs(y[1:, 1] - y[:-1, 0] + 1.0) < 1e-9)


def _growing(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """A cache of answers of 1 in 1,000 calls."""
    again = rng.random(trials) < 0.001
    at = np.where(again, np.maximum(np.arange(trials) - 3, 0), np.arange(trials))
    return np.asarray(x.sum() + laplace(rng, trials)[at])


def _m(name: str, wrong: str, reason: str, run: Run, sign: Callable[[Array], Any], **options: Any) -> BlackBox:
    return box("black box with memory", f"box-{name}", wrong, reason, run, sign, **options)


MEMORY_BOXES: tuple[BlackBox, ...] = (
    _m("every-twentieth-again", "every 20th answer is the last one again", "a cache with a limit",
       _reading(_every(20)), _repeats(1), joint=True),
    _m("clock-seed", "calls of one tick share their seed", "seeded by the time", _reading(_runs), _repeats(1),
       joint=True),
    _m("counter-of-a-byte", "the seed is the call's number modulo 256", "a nonce of a byte", _reading(_counter(256)),
       _repeats(256), joint=True),
    _m("workers-share-a-seed", "four workers with one seed", "fork without a new seed", _reading(_workers),
       _repeats(1), joint=True),
    _m("seeds-of-16-bits", "one of 65,536 noises", "a process number as seed", _pool(2**16), _in_pool(2**16)),
    _m("seeds-of-8-bits", "one of 256 noises", "a byte as seed", _pool(2**8), _in_pool(2**8)),
    _m("seeded-by-data", "the noise is a function of the data", "a deterministic cache key", _hashed(1), _values(1)),
    _m("seeded-by-data-and-day", "seven noises for each dataset", "the same answer all day", _hashed(7), _values(7)),
    _m("cold-start", "the first .5 % of a process's calls get no noise", "entropy not ready", _cold,
       lambda y: y == 1.0),
    _m("antithetic-calls", "every second call has the last one's noise with the other sign", "variance reduction",
       _antithetic, _opposite, joint=True),
    _m("noise-that-stays", "noise changes in 1 call of 5, and by .001 else", "a slow generator", _autoregressive,
       _near_the_last, joint=True),
    _m("last-noise-shown", "the second column is the last call's noise", "a buffer not cleared", _other_column,
       _column_of_the_last, shape=(2,), joint=True),
    _m("stale-at-lag-3", "1 call of 1,000 gives the noise of the third last", "a race in a ring buffer", _growing,
       _repeats(3), joint=True),
)  # fmt: skip
