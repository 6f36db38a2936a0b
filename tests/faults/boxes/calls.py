"""Black boxes whose calls lean on each other: seeds, caches, pools, forks and old generators.

Clocks start anew with each thousand calls.
"""

import functools
from collections.abc import Callable

import numpy as np

from tests.faults.boxes.black_box import BlackBox, Run, box
from tests.faults.boxes.noise import BUDGET, SIGMA, laplace
from tests.faults.fault import Array

__all__ = ["CALL_BOXES"]

_m = functools.partial(box, "black box with memory", joint=True)


def _reading(index: Callable[[np.random.Generator, int], Array]) -> Run:
    """Return a mechanism whose call i adds the noise of number `index[i]`."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        at = index(rng, trials)
        return np.asarray(x.sum() + laplace(rng, int(at.max()) + 1)[at])

    return run


def _repeats(lag: int) -> Callable[[Array], Array]:
    return lambda y: np.append(np.zeros(lag, dtype=bool), y[lag:] == y[:-lag])


def _counter(size: int) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, n: np.arange(n) % size


def _hashed(days: int) -> Run:
    """Noise seeded by the data and the day."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        noise = np.array([laplace(np.random.default_rng(int(x.sum()) * 100 + day), 1)[0] for day in range(days)])
        return np.asarray(x.sum() + noise[rng.integers(0, days, trials)])

    return run


def _hash_values(runs: int) -> Callable[[Array], Array]:
    table = [laplace(np.random.default_rng(at), 1)[0] for at in range(runs)]
    return lambda y: np.isin(y, table)


def _cold(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """The first calls of a process find no entropy."""
    return np.asarray(x.sum() + laplace(rng, trials) * (np.arange(trials) > trials // 200))


def _antithetic(x: Array, rng: np.random.Generator, trials: int) -> Array:
    z = np.repeat(laplace(rng, trials), 2)[:trials]
    return np.asarray(x.sum() + z * np.where(np.arange(trials) % 2, -1.0, 1.0))


def _opposite_calls(y: Array) -> Array:
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


def _alternating_calls(x: Array, rng: np.random.Generator, trials: int) -> Array:
    signs = 2 * ((np.arange(trials) + rng.integers(2)) % 2) - 1
    return np.asarray(x.sum() + np.abs(laplace(rng, trials)) * signs)


def _answers_again(period: int, lag: int) -> Run:
    """One call of so many gives the answer of some calls ago again."""

    def run(x: Array, rng: np.random.Generator, trials: int) -> Array:
        at = np.arange(trials)
        again = ((at + rng.integers(period)) % period == 0) & (at >= lag)
        return np.asarray(x.sum() + laplace(rng, trials)[np.where(again, at - lag, at)])

    return run


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


def _every_64th_plain(x: Array, rng: np.random.Generator, trials: int) -> Array:
    at = np.arange(trials) + rng.integers(64)
    return np.asarray(x.sum() + laplace(rng, trials) * (at % 64 != 0))


def _bursts(x: Array, rng: np.random.Generator, trials: int) -> Array:
    """Noise is scaled by a load that moves slowly: half and one and a half by turns of 200 calls."""
    busy = (np.arange(trials) + rng.integers(400)) // 200 % 2
    return np.asarray(x.sum() + laplace(rng, trials) * np.where(busy, 0.7, 1.3))


CALL_BOXES: tuple[BlackBox, ...] = (
    _m("counter-of-a-byte", "the seed is the call's number modulo 256", "a nonce of a byte", _reading(_counter(256)),
       _repeats(256)),
    _m("seeded-by-data", "the noise is a function of the data", "a deterministic cache key", _hashed(1),
       _hash_values(1), joint=False),
    _m("cold-start", "the first .5 % of a process's calls get no noise", "entropy not ready", _cold,
       lambda y: y == 1.0, joint=False),
    _m("antithetic-calls", "every second call has the last one's noise with the other sign", "variance reduction",
       _antithetic, _opposite_calls),
    _m("noise-that-stays", "noise changes in 1 call of 5, and by .001 else", "a slow generator", _autoregressive,
       _near_the_last),
    _m("last-noise-shown", "the second column is the last call's noise", "a buffer not cleared", _other_column,
       _column_of_the_last, shape=(2,)),
    _m("stale-at-lag-3", "1 call of 1,000 gives the noise of the third last", "a race in a ring buffer", _growing,
       _repeats(3)),
    _m("echo-at-lag-17", "a part of .3 of the noise 17 calls ago", "a lagged generator", _normal_with_past(17, 0.3),
       _both_sides(17), claim=BUDGET),
    _m("alternating-signs", "noise is positive in every second call", "signs by parity", _alternating_calls,
       _both_sides(1)),
    _m("again-at-lag-400", "1 call of 397 gives the answer of 400 calls ago", "a ring buffer",
       _answers_again(397, 400), _repeats(400)),
    _m("pool-of-20-bits", "one of a million noises", "a seed of 20 bits", _pool_of_20_bits, _in_pool,
       chances=(1.0, 2.0**20 / 2.0**41), joint=False),
    _m("golden-ratio", "uniform numbers in steps of the golden ratio", "quasi-random numbers", _golden, _golden_step),
    _m("shared-size", "two calls share their noise's size", "a pair of draws, each with a sign", _shared_size,
       _same_size),
    _m("randu", "three numbers in a row lie on planes", "an old generator", _randu, _on_planes),
    _m("every-64th-plain", "every 64th call has no noise", "a buffer of 63", _every_64th_plain, lambda y: y == 1.0,
       chances=(1.0 / 64, 0.0), joint=False),
    _m("bursts", "scales .7 and 1.3 by turns of 200 calls", "load by the hour", _bursts,
       lambda y: np.abs(y - 1.0) < 0.1, joint=False),
)  # fmt: skip
