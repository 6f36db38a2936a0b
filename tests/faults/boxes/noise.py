"""Noise, pairs and signs that several kinds of black boxes share."""

import math

import numpy as np

from tests.faults.fault import Array

BUDGET = (1.0, 1e-5)


def laplace(rng: np.random.Generator, trials: int, scale: float = 1.0) -> Array:
    """Return Laplace noise on a grid of 2^-16, whose low bits say nothing of sums of integers."""
    p = -np.expm1(-(2.0**-16) / scale)
    return np.asarray((rng.geometric(p, trials) - rng.geometric(p, trials)) * 2.0**-16)


def tail(level: float, scale: float = 1.0) -> float:
    """Return the chance that Laplace noise is above a level."""
    return 0.5 * math.exp(-level / scale) if level >= 0 else 1.0 - 0.5 * math.exp(level / scale)


def geometric(rng: np.random.Generator, trials: int, epsilon: float = 1.0) -> Array:
    p = -math.expm1(-epsilon)
    return rng.geometric(p, trials) - rng.geometric(p, trials)


E = math.e

SIGMA = 3.73
"""Normal noise that gives (1, 1e-5) at sensitivity 1."""


def normal(rng: np.random.Generator, trials: int, sigma: float = SIGMA) -> Array:
    return np.rint(rng.normal(0.0, sigma, trials) * 2.0**16) * 2.0**-16
