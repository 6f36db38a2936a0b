"""Correct mechanisms as black boxes, each with the smallest epsilon that it keeps at its delta."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from dpverify.audit.running.target import Target
from tests.faults.boxes.black_box import UNIT, Pair, Run
from tests.faults.boxes.noise import laplace, normal

__all__ = ["CORRECT_BOXES", "CorrectBox"]

Array = NDArray[Any]
BIT = (np.array([1]), np.array([0]))


@dataclass(frozen=True, eq=False)
class CorrectBox:
    """A mechanism, two neighbours that are the worst for it, and what it keeps: no smaller epsilon at that delta."""

    name: str
    run: Run
    epsilon: float
    delta: float = 0.0
    pair: Pair = UNIT
    shape: tuple[int, ...] = ()

    @property
    def target(self) -> Target:
        return Target(self.run, True, self.shape, self.name)


def _normal_epsilon(sigma: float, delta: float) -> float:
    """Return epsilon of normal noise at sensitivity 1, by balle2018's formula."""

    def excess(epsilon: float) -> float:
        near, far = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
        return float(stats.norm.cdf(near) - math.exp(epsilon) * stats.norm.cdf(far)) - delta

    return float(optimize.brentq(excess, 0.0, 50.0))


def _laplace(scale: float) -> Run:
    return lambda x, rng, trials: x.sum() + laplace(rng, trials, scale)


def _normal(sigma: float) -> Run:
    return lambda x, rng, trials: x.sum() + normal(rng, trials, sigma)


def _geometric(epsilon: float) -> Run:
    p = -math.expm1(-epsilon)
    return lambda x, rng, trials: x.sum() + rng.geometric(p, trials) - rng.geometric(p, trials)


def _response(flip: float, columns: int = 0) -> Run:
    shape = (columns,) if columns else ()
    return lambda x, rng, trials: (int(x[0]) ^ (rng.random((trials, *shape)) < flip)).astype(int)


def _labels(x: Array, rng: np.random.Generator, trials: int) -> Array:
    keep = rng.random(trials) < math.e / (math.e + 7.0)
    return np.where(keep, x[0], (x[0] + rng.integers(1, 8, trials)) % 8)


def _unary(x: Array, rng: np.random.Generator, trials: int) -> Array:
    flips = rng.random((trials, 8)) < 1.0 / (1.0 + math.exp(0.5))
    return ((np.arange(8) == x[0]) ^ flips).astype(int)


def _columns(count: int, scale: float) -> Run:
    return lambda x, rng, trials: x[:count] + laplace(rng, trials * count, scale).reshape(trials, count)


def _clipped(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.clip(_geometric(1.0)(x, rng, trials), -3, 4)


def _chosen(x: Array, rng: np.random.Generator, trials: int) -> Array:
    weights = np.exp(x / 2.0)
    return rng.choice(x.size, trials, p=weights / weights.sum())


def _words(x: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.where(_response(0.25)(x, rng, trials) == 1, "yes", "no")


CHOICES = (np.array([3.0, 2.0, 2.0]), np.array([2.0, 3.0, 2.0]))
"""One user moved from the first candidate to the second: the weights' sum is the same."""
CORRECT_BOXES: tuple[CorrectBox, ...] = (
    CorrectBox("laplace 1", _laplace(1.0), 1.0),
    CorrectBox("laplace 0.2", _laplace(5.0), 0.2),
    CorrectBox("laplace 3", _laplace(1.0 / 3.0), 3.0),
    CorrectBox("geometric 1", _geometric(1.0), 1.0),
    CorrectBox("geometric 0.5", _geometric(0.5), 0.5),
    CorrectBox("normal at 1e-2", _normal(1.5), _normal_epsilon(1.5, 1e-2), 1e-2),
    CorrectBox("normal at 1e-3", _normal(2.0), _normal_epsilon(2.0, 1e-3), 1e-3),
    CorrectBox("randomized response", _response(0.25), math.log(3.0), pair=BIT),
    CorrectBox("three responses", _response(0.25, 3), 3 * math.log(3.0), pair=BIT, shape=(3,)),
    CorrectBox("labels", _labels, 1.0, pair=(np.array([7]), np.array([0]))),
    CorrectBox("unary code", _unary, 1.0, pair=(np.array([7]), np.array([0])), shape=(8,)),
    CorrectBox("two columns", _columns(2, 2.0), 1.0, pair=(np.ones(2), np.zeros(2)), shape=(2,)),
    CorrectBox("histogram", _columns(4, 1.0), 1.0, pair=(np.array([5.0, 5, 0, 0]), np.array([4.0, 5, 0, 0])),
               shape=(4,)),
    CorrectBox("clipped geometric", _clipped, 1.0),
    CorrectBox("exponential mechanism", _chosen, 0.5, pair=CHOICES),
    CorrectBox("words", _words, math.log(3.0), pair=BIT),
)  # fmt: skip
