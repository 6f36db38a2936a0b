"""Targets with a fault each, and correct ones: on (0, 0, 0, 0, 0) and (1, 0, 0, 0, 0), claimed (1.1, 0)."""

import copy
import math
import random
import secrets
from random import gauss
from typing import Any

import numpy as np
from numpy.random import default_rng

P = -math.expm1(-1)
PIECES = 1 - math.exp(-0.5)


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


def half_geometric(x: Any, rng: Any) -> Any:
    return 2 * int(x.sum()) + rng.geometric(P) - rng.geometric(P)


def in_wrong_pieces(x: Any, rng: Any) -> Any:
    """Pieces of geometric noise of epsilon 0.5, each of which is sent; and the sum is of two values."""
    noise = rng.negative_binomial(0.2, PIECES, 5) - rng.negative_binomial(0.2, PIECES, 5)
    return 3 * x.sum() + noise.sum()


def one_sided(x: Any, rng: Any) -> Any:
    return x.sum() + rng.poisson(5.0)


def integers_on_a_mean(x: Any, rng: Any) -> Any:
    return x.mean() + rng.geometric(P) - rng.geometric(P)


def of_two_counts(x: Any, rng: Any) -> Any:
    """Replacing a record changes two counts: each is noised as if it changed one."""
    return np.bincount(x.astype(int), minlength=2) + rng.geometric(P, 2) - rng.geometric(P, 2)


def geometric(x: Any, rng: Any) -> Any:
    return x.sum() + rng.geometric(P) - rng.geometric(P)


def in_pieces(x: Any, rng: Any) -> Any:
    noise = rng.negative_binomial(0.2, P, 5) - rng.negative_binomial(0.2, P, 5)
    return x.sum() + noise.sum()


def coin_by_binomial(x: Any, rng: Any) -> Any:
    """Randomized response: a draw that adds, on one value, what it takes on the other."""
    return int(x[0]) if rng.binomial(1, 0.75) else 1 - int(x[0])


def number_of_coins(x: Any, rng: Any) -> Any:
    """A draw of integers that is compared, and never added."""
    return int(x[0]) if rng.binomial(10, 0.5) > 4 else 1 - int(x[0])


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
    half_geometric: ("scale", True),
    in_wrong_pieces: ("scale", True),
    one_sided: ("scale", True),
    integers_on_a_mean: ("bare", True),
    of_two_counts: ("scale", True),
}
"""What must be found, and whether it refutes the claim on the given inputs."""
CORRECT = (
    geometric,
    in_pieces,
    coin_by_binomial,
    number_of_coins,
    rounded,
    responses,
    chosen,
    noisy_max,
    until_above,
    by_bernoulli,
    fitted_scale,
)
BRING_THEIR_OWN = of_the_system, fresh_generators, of_a_class


def divided_by_the_count(x: Any, rng: Any) -> Any:
    return (np.clip(x, 0, 1).sum() + rng.laplace()) / len(x)


def classes_of_the_data(x: Any, rng: Any) -> Any:
    return {label: (x == label).sum() + rng.laplace() for label in np.unique(x)}


def domain_of_the_data(x: Any, rng: Any) -> Any:
    counts = np.bincount(x.astype(int))
    return counts + rng.laplace(size=counts.size)


def clipped_and_not_used(x: Any, rng: Any) -> Any:
    clipped = np.clip(x, 0, 1)
    return x.sum() + rng.laplace(scale=1.0 + 0.0 * clipped[0])


def sensitivity_of_zero(x: Any, rng: Any) -> Any:
    features, parents = 4, 4
    return x.sum() + rng.laplace(scale=(features - parents) / 1.0)


def edge_of_the_data(x: Any, rng: Any) -> Any:
    """Whether a network has an edge is decided without noise, and published next to a noisy count."""
    return bool(x[:2].sum() > 0.5), x.sum() + rng.laplace()


def nan_is_not_clipped(x: Any, rng: Any) -> Any:
    return np.clip(x, 0, 1).sum() + rng.laplace()


def spent_twice(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace(), len(x[x > 0]) + rng.laplace()


ZEROS = (0.0,) * 5
RECORDED = {
    divided_by_the_count: (ZEROS, (*ZEROS, 0.0), "dependence", False),
    classes_of_the_data: (ZEROS, (1.0, *ZEROS[1:]), "bare", True),
    domain_of_the_data: (ZEROS, (1.0, *ZEROS[1:]), "bare", True),
    clipped_and_not_used: (ZEROS, (30.0, *ZEROS[1:]), "scale", True),
    sensitivity_of_zero: (ZEROS, (1.0, *ZEROS[1:]), "bare", True),
    edge_of_the_data: (ZEROS, (1.0, *ZEROS[1:]), "bare", True),
    nan_is_not_clipped: (ZEROS, (math.nan, *ZEROS[1:]), "bare", True),
    spent_twice: (ZEROS, (1.0, *ZEROS[1:]), "scale", True),
}
"""The kinds of faults that cebere2026 found in libraries, in code of our own: neighbours, and what must be found."""
