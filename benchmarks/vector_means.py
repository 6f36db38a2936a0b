"""The error of the mean of unit vectors at one budget: joint changes beside other ways to charge them.

    python -m benchmarks.vector_means

Root mean squared Euclidean error of the estimated mean, for n users who hold one random unit vector (the worst case for
clipping). Each way has its own best range R, in the standard deviations 1/sqrt(d) of a rotated coordinate:

- central Gaussian: a trusted curator adds normal noise to the exact sum, of sensitivity 2.
- RR, joint: a rotation and randomized response, accounted as `L2Bounded`; planned and proved.
- RR, in full: the same protocol, each of the d bits charged as if it could change fully.
- Poisson binomial: Chen, Ozgur and Kairouz 2022, flattened, by Renyi divergence, *at best*: a bit of probability
  1/2 + theta x / R is sent m times, and each coordinate charged in full. Its Renyi divergence of order a is at least
  8 a theta^2 m / n for small theta, where its variance is R^2 / (4 theta^2 m n): R^2 d times that of a Gaussian
  mechanism that is accounted by Renyi divergence, whatever theta and m are. The conversion is that of canonne2020.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
import scipy

from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.claims.lsq.linear import unbiased
from dpverify.claims.registry import claims_of
from dpverify.planning.plan import plan
from protocols.lsq import LinearMap

RANGES = np.linspace(1.0, 6.0, 21)


def rotation(dimension: int, reach: float) -> LinearMap:
    """Return a rotation with a range, and the gain that makes up for clipping."""
    limit = float(reach) / math.sqrt(dimension)
    return unbiased(LinearMap(dimension, "haar", limit, radius=1.0))


def rmse(family: LinearMap, users: int, deviation: float, rounded: bool) -> float:
    """Return the error of the mean, where `deviation` is that of each coordinate's noise in the sum of features."""
    x = np.random.default_rng(0).standard_normal((20, family.dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    f = family.sample(1, np.random.default_rng(0)).f(x)[:, 0]
    bias = np.square(family.gain * f @ family.matrix - x).sum(axis=1).mean()
    rounding = np.square(family.R) - np.square(f) if rounded else np.zeros_like(f)
    noise = rounding.sum(axis=1).mean() / users + family.dimension * (deviation / users) ** 2
    return math.sqrt(bias + family.gain**2 * noise)


def renyi_sigma(epsilon: float, delta: float) -> float:
    """Return the least sigma at which the Gaussian mechanism of sensitivity 1 is private by its Renyi divergences."""

    def reached(log_sigma: float) -> float:
        rho = 0.5 * math.exp(-2.0 * log_sigma)

        def at(log_order: float) -> float:
            order = 1.0 + math.exp(log_order)
            return rho * order + math.log1p(-1.0 / order) - math.log(delta * order) / (order - 1.0)

        return float(scipy.optimize.minimize_scalar(at, bounds=(-5.0, 10.0), method="bounded").fun) - epsilon

    return math.exp(scipy.optimize.brentq(reached, -5.0, 10.0))


def best(dimension: int, users: int, deviation: Callable[[LinearMap], float], rounded: bool) -> tuple[float, LinearMap]:
    """Return the least error over ranges, and the map that has it."""
    maps = [rotation(dimension, reach) for reach in RANGES]
    return min(((rmse(m, users, deviation(m), rounded), m) for m in maps), key=lambda pair: pair[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--users", type=int, nargs="+", default=[1000, 30000])
    arguments = parser.parse_args()
    sigma = least_sigma(arguments.epsilon, arguments.delta)
    by_renyi = renyi_sigma(arguments.epsilon, arguments.delta)
    print(f"{'d':>4} {'n':>7} {'central Gaussian':>17} {'RR, joint':>17} {'RR, in full':>17} {'Poisson binomial':>17}")
    for dimension in (384, 768):
        for users in arguments.users:
            central = 2.0 * sigma * math.sqrt(dimension) / users
            _, family = best(dimension, users, lambda m: 2.0 * sigma * min(1.0, m.R * math.sqrt(m.Q)), True)
            square = claims_of(family).squared_change(family.sample(1, np.random.default_rng(0)))
            budget = (arguments.epsilon, arguments.delta)
            row = plan("rr", budget, users=users, instances=family.Q, squared_change=square)
            joint = rmse(family, users, 2.0 * family.R * row.bitsum_rmse, True)
            in_full = best(dimension, users, lambda m: 2.0 * sigma * m.R * math.sqrt(m.Q), True)
            flattened = best(dimension, users, lambda m: 2.0 * by_renyi * m.R * math.sqrt(m.Q), False)
            found = [(central, None), (joint, family), in_full, flattened]
            cells = [f"{error:.4f} ({error / central:.2f})" if m else f"{error:.4f}" for error, m in found]
            print(f"{dimension:>4} {users:>7} " + " ".join(f"{cell:>17}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
