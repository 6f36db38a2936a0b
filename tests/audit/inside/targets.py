"""Targets with a fault each, and correct ones: on (0, 0, 0, 0, 0) and (1, 0, 0, 0, 0), claimed (1.1, 0)."""

from __future__ import annotations

import copy
import math
import random
import secrets
from random import gauss
from typing import Any

import numpy as np
from numpy.random import default_rng

P = -math.expm1(-1)


def laplace(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace(scale=1.0)


def half_scale(x: Any, rng: Any) -> Any:
    return 2 * x.sum() + rng.laplace(0, 1)


def half_scale_in_parts(x: Any, rng: Any) -> Any:
    noise = rng.standard_normal(5)  # any (epsilon, 0) is refuted
    return {"sums": np.cumsum(x + noise)}


def one_noise_for_two(x: Any, rng: Any) -> Any:
    noise = rng.laplace(scale=3.0)
    return x.sum() + noise, noise


def plain_beside(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace(), x.max()


def scale_of_the_data(x: Any, rng: Any) -> Any:
    return round(x.sum() + rng.laplace(scale=1 + x.max()))


def count_of_the_data(x: Any, rng: Any) -> Any:
    return round(x.sum() + rng.laplace()) + sum(round(rng.laplace()) for _ in range(int(x.max())))


def size_of_the_data(x: Any, rng: Any) -> Any:
    return round(x.sum() + rng.laplace(size=1 + int(x.max()))[0])


def drawn_and_dropped(x: Any, rng: Any) -> Any:
    rng.integers(10, size=3)
    return x.sum() + rng.geometric(P) - rng.geometric(P)


def same_seed(x: Any, rng: Any) -> Any:
    return round(x.sum() + 10 * default_rng(42).laplace() + rng.laplace())


def seed_of_all(x: Any, rng: Any) -> Any:
    np.random.seed(1)  # noqa: NPY002
    return round(x.sum() + 10 * np.random.laplace() + rng.laplace())  # noqa: NPY002


def copied_generator(x: Any, rng: Any) -> Any:
    first = copy.deepcopy(rng).laplace()
    return round(x.sum() + first + rng.laplace())


def of_numpy(x: Any, rng: Any) -> Any:
    return round(x.sum() + np.random.laplace())  # noqa: NPY002


def of_python(x: Any, rng: Any) -> Any:
    return round(x.sum() + 4 * gauss(0, 1))


def two_sources(x: Any, rng: Any) -> Any:
    return round(x.sum() + rng.laplace() + default_rng().laplace())


def last_left_out(x: Any, rng: Any) -> Any:
    flips = rng.random(x.size - 1) < 0.25
    return bytes(int(v) ^ int(flip) for v, flip in zip(x, [*flips, False], strict=True))


def geometric(x: Any, rng: Any) -> Any:
    return x.sum() + rng.geometric(P) - rng.geometric(P)


def rounded(x: Any, rng: Any) -> Any:
    return round(x.sum() + rng.laplace())


def responses(x: Any, rng: Any) -> Any:
    return np.where(rng.random(x.size) < 0.75, x, 1 - x).astype(int)


def chosen(x: Any, rng: Any) -> Any:
    weights = np.exp(x / 2)
    return int(rng.choice(x.size, p=weights / weights.sum()))


def noisy_max(x: Any, rng: Any) -> Any:
    return int(np.argmax(x + rng.gumbel(scale=2.0, size=x.size)))


def until_above(x: Any, rng: Any) -> Any:
    """Above-threshold: how much is drawn depends on what is released."""
    threshold = 1 + rng.laplace(scale=4.0)
    return next((at for at, value in enumerate(np.cumsum(x)) if value + rng.laplace(scale=8.0) > threshold), -1)


def by_bernoulli(x: Any, rng: Any) -> Any:
    """Geometric noise by coins, as many as it takes."""

    def side() -> int:
        return next(at for at in range(10**6) if rng.random() < P)

    return x.sum() + side() - side()


def fitted_scale(x: Any, rng: Any) -> Any:
    """The second scale is computed from what is released."""
    first = round(x.sum() + rng.laplace(scale=2.0))
    return first, round(x.sum() + rng.laplace(scale=2.0 + abs(first)))


def of_the_system(x: Any) -> Any:
    def side() -> int:
        return next(at for at in range(10**6) if secrets.SystemRandom().random() < P)

    return sum(x) + side() - side()


def fresh_generators(x: Any) -> Any:
    rng = default_rng()
    return sum(x) + rng.geometric(P) - rng.geometric(P)


def of_a_class(x: Any) -> Any:
    """A generator that is made when the target is."""
    return round(sum(x) + 4 * _SYSTEM.gauss(0, 1))


_SYSTEM = random.SystemRandom()

FAULTS = {
    half_scale: ("scale", True),
    half_scale_in_parts: ("scale", True),
    one_noise_for_two: ("bare", True),
    plain_beside: ("bare", True),
    scale_of_the_data: ("dependence", False),
    count_of_the_data: ("dependence", False),
    size_of_the_data: ("dependence", False),
    drawn_and_dropped: ("unused", False),
    same_seed: ("repeats", False),
    seed_of_all: ("repeats", False),
    copied_generator: ("repeats", False),
    of_numpy: ("source", False),
    of_python: ("source", False),
    two_sources: ("source", False),
    last_left_out: ("bare", False),
    laplace: ("floats", False),
}
"""What must be found, and whether it refutes the claim on the given inputs."""
CORRECT = geometric, rounded, responses, chosen, noisy_max, until_above, by_bernoulli, fitted_scale
BRING_THEIR_OWN = of_the_system, fresh_generators, of_a_class
