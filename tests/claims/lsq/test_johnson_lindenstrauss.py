"""Distortion of norms: the exact variance by enumeration of all maps and by simulation, and tails that do hold."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.lsq.johnson_lindenstrauss import bernstein, distortion_chance, squared_norm_variance
from protocols.lsq import FastProjection
from tests.refusals import refused


@pytest.mark.parametrize("x", [[0.6, -0.8, 0.0], [1.0, 0.0, 0.0], [0.5, 0.1, -0.7, 0.2]], ids=str)
@pytest.mark.parametrize("target", [1, 2, 3, 4])
def test_moments_by_enumeration_of_all_maps(x: list[float], target: int) -> None:
    norms = [
        float(np.square(FastProjection(np.array(signs), np.array(kept))([x])).sum())
        for signs in itertools.product((-1.0, 1.0), repeat=len(x))
        for kept in itertools.combinations(range(4), target)
    ]
    projection = FastProjection(np.ones(len(x)), np.arange(target))
    assert np.mean(norms) == pytest.approx(np.square(x).sum(), rel=1e-12)
    assert np.var(norms) == pytest.approx(squared_norm_variance(projection, [x])[0], rel=1e-12, abs=1e-15)
    for eta in (0.3, 0.9):
        beyond = np.mean(np.abs(np.array(norms) / np.square(x).sum() - 1) > eta)
        assert beyond <= distortion_chance(projection, eta)


@pytest.mark.parametrize(("draws", "rare"), [(2000, 0.01), (10_000, 0.01), (20_000, 1e-4), (400, 0.4)])
@pytest.mark.parametrize("eta", [0.05, 0.3, 1.0, 3.0, 12.0])
def test_rare_large_values_keep_to_the_tail_bound(draws: int, rare: float, eta: float) -> None:
    """1/p with probability p, else 0: at eta = 3 a constant of 1/3 for 2/3, or of 1 for 2, is exceeded by 1e3."""
    count = stats.binom(draws, rare)
    mean = draws * rare
    # More than eta away from the mean, strictly.
    beyond = count.sf(math.floor(mean * (1.0 + eta))) + count.cdf(math.ceil(mean * (1.0 - eta)) - 1)
    assert beyond <= bernstein(draws, 1.0 / rare - 1.0, max(1.0 / rare - 1.0, 1.0), eta)


def test_the_chance_is_that_of_the_bound_for_the_best_cut() -> None:
    projection = FastProjection.sample(2**14, 2**12, np.random.default_rng(0))
    eta, squares = 0.9, np.geomspace(1.5, 2**14, 100_000)
    chances = [
        2.0**15 * math.exp(-square / 2.0) + bernstein(2**12, square - 1.0, max(square - 1.0, 1.0), eta)
        for square in squares
    ]
    assert min(chances) <= distortion_chance(projection, eta) <= 1.1 * min(chances)


def test_tails_are_exponential_and_exact_at_the_ends() -> None:
    projection = FastProjection.sample(2**14, 2**12, np.random.default_rng(0))
    assert distortion_chance(projection, 0.9) < 1e-8
    chances = [distortion_chance(projection, eta) for eta in np.geomspace(1e-4, 10, 40)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] == 1.0
    assert distortion_chance(FastProjection.sample(5, 8, np.random.default_rng(0)), 1e-9) == 0.0
    with refused("eta=0.0"):
        distortion_chance(projection, 0.0)
