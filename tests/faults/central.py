"""Faults of central discrete noise."""

from collections.abc import Callable
from typing import Any

import numpy as np

from protocols.bitsum import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
)
from tests.faults.fault import Fault
from tests.faults.making import (
    Array,
    C,
    D,
    fault,
    rows,
    views_of,
)

__all__ = ["CENTRAL_FAULTS"]

LAPLACE = CentralDiscreteLaplace(20, 0.6)
GAUSSIAN = CentralDiscreteGaussian(20, 2.0)


def _rounded_laplace(ones: Array, participants: int, rng: np.random.Generator) -> Array:
    return (ones + np.rint(rng.laplace(0.0, -1.0 / np.log(0.6), ones.shape)).astype(np.int64))[..., np.newaxis]


def _rounded_gaussian(ones: Array, participants: int, rng: np.random.Generator) -> Array:
    return (ones + np.rint(rng.normal(0.0, 2.0, ones.shape)).astype(np.int64))[..., np.newaxis]


def _variance_for_deviation(ones: Array, participants: int, rng: np.random.Generator) -> Array:
    return CentralDiscreteGaussian(20, 2.0**0.5)._sample_view(ones, participants, rng)


def _central_noise(draw: Callable[[np.random.Generator, tuple[int, ...]], Array]) -> Any:
    return lambda ones, participants, rng: (ones + draw(rng, ones.shape))[..., np.newaxis]


def _difference_of_geometrics(rng: np.random.Generator, shape: tuple[int, ...], p: float = 0.4) -> Array:
    return rng.geometric(p, shape) - rng.geometric(p, shape)


def _geometrics(rng: np.random.Generator, trials: int, up: float = 0.6, down: float = 0.6) -> Array:
    return rng.geometric(1 - up, trials) - rng.geometric(1 - down, trials)


def _central(noise: Callable[[np.random.Generator, int], Array]) -> Any:
    def sample(ones: Array, participants: int, rng: np.random.Generator) -> Array:
        return (ones + noise(rng, ones.size).reshape(ones.shape))[..., np.newaxis]

    return sample


def _alternating_signs(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    noise = np.abs(_geometrics(rng, trials)) * np.where(np.arange(trials) % 2, 1, -1)
    return (bits.sum() + noise)[:, np.newaxis]


def _of_normal_pairs(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """Two draws in one: the second of each pair is the first with the other sign, in 1 of 20 pairs."""
    noise = GAUSSIAN.sample_view(np.zeros(trials, dtype=np.int64), rng)[:, 0]
    mirrored = (np.arange(trials) % 2 == 1) & (rng.random(trials) < 0.05)
    return (bits.sum() + np.where(mirrored, -np.roll(noise, 1), noise))[:, np.newaxis]


def _lag_of_twelve(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    at = np.arange(trials)
    z = _geometrics(rng, trials)[np.where((at % 13 == 12) & (at >= 12), at - 12, at)]
    return (bits.sum() + z)[:, np.newaxis]


def _beyond_30(rng: np.random.Generator, trials: int) -> Array:
    return np.clip(_geometrics(rng, trials), -30, 30)


def _two_sigmas(rng: np.random.Generator, trials: int) -> Array:
    """Two servers' rates: sigma 1.6 and 2.33 by a coin, of the right variance together."""
    wide = rng.random(trials) < 0.5
    return np.rint(rng.normal(0.0, np.where(wide, 2.33, 1.6), trials)).astype(np.int64)


def _stale_view(bits: Array, rng: np.random.Generator, trials: int) -> Array:
    """1 run of 10 has the noise of three runs ago."""
    at = np.arange(trials)
    z = GAUSSIAN.sample_view(np.zeros(trials, dtype=np.int64), rng)[:, 0]
    return (bits.sum() + z[np.where((at % 10 == 9), at - 3, at)])[:, np.newaxis]


def _gaussians(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return GAUSSIAN._sample_view(np.zeros(shape, dtype=np.int64), 20, rng)[..., 0]


def _clipped(limit: int, noise: Callable[..., Array]) -> Callable[[np.random.Generator, tuple[int, ...]], Array]:
    return lambda rng, shape: np.clip(noise(rng, shape), -limit, limit)


CENTRAL_FAULTS: tuple[Fault, ...] = (
    fault("laplace-rounded", "central-discrete-laplace", "continuous Laplace noise, rounded",
          "the usual shortcut; the law differs most at 0", C, LAPLACE, views_of(LAPLACE, _rounded_laplace)),
    fault("gaussian-rounded", "central-discrete-gaussian", "normal noise, rounded",
          "the usual shortcut: at sigma = 2 the laws differ by 1 % of variance", C, GAUSSIAN,
          views_of(GAUSSIAN, _rounded_gaussian)),
    fault("gaussian-variance-for-deviation", "central-discrete-gaussian", "sigma is sqrt(sigma)",
          "variance and standard deviation exchanged", C, GAUSSIAN, views_of(GAUSSIAN, _variance_for_deviation)),
    fault("laplace-tail-at-12", "central-discrete-laplace", "noise clipped to [-12, 12]", "a table of quantiles", C,
          LAPLACE,
          views_of(LAPLACE, _central_noise(_clipped(12, _difference_of_geometrics)))),
    fault("laplace-tail-at-25", "central-discrete-laplace", "noise clipped to [-25, 25]",
          "a table of quantiles: too far out to see", C, LAPLACE,
          views_of(LAPLACE, _central_noise(_clipped(25, _difference_of_geometrics)))),
    fault("gaussian-tail-at-5", "central-discrete-gaussian", "noise clipped to 2.5 sigma",
          "a rejection sampler's table", C, GAUSSIAN,
          views_of(GAUSSIAN, _central_noise(_clipped(5, _gaussians)))),
    fault("laplace-alternating-signs", "central-discrete-laplace", "noise is positive in every second run",
          "signs by parity", D, LAPLACE, rows(LAPLACE, _alternating_signs)),
    fault("gaussian-mirrored-at-times", "central-discrete-gaussian", "1 of 20 pairs of runs is mirrored",
          "the second of two draws is read before it was written", D, GAUSSIAN, rows(GAUSSIAN, _of_normal_pairs)),
    fault("laplace-of-twelve-ago", "central-discrete-laplace", "1 run of 13 has the noise of twelve runs ago",
          "a ring of twelve", D, LAPLACE, rows(LAPLACE, _lag_of_twelve)),
    fault("laplace-clipped-at-30", "central-discrete-laplace", "noise clipped to [-30, 30]",
          "a table: hardly reached", C, LAPLACE, views_of(LAPLACE, _central(_beyond_30))),
    fault("gaussian-of-two-sigmas", "central-discrete-gaussian", "a mixture of two deviations", "two servers", C,
          GAUSSIAN, views_of(GAUSSIAN, _central(_two_sigmas))),
    fault("gaussian-stale", "central-discrete-gaussian", "1 run of 10 has the noise of three runs ago",
          "a stale read", D, GAUSSIAN, rows(GAUSSIAN, _stale_view)),
)  # fmt: skip
