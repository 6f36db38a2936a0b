"""Sums of scores on a lattice against direct convolution."""

from __future__ import annotations

import math

import numpy as np
from numpy.testing import assert_array_equal
from scipy import stats

from dpverify.statistics.outputs.lattice import LatticeSum, lattice_scores


def test_sums_on_a_lattice_match_a_direct_convolution() -> None:
    pmf = np.random.default_rng(4).dirichlet(np.ones(9))
    direct = np.ones(1)
    for _ in range(60):
        direct = np.convolve(direct, pmf)
    tails = np.cumsum(direct[::-1])[::-1]
    total = LatticeSum(pmf, 60)
    for t in range(0, direct.size, 7):
        lower, upper = total.tail(t)
        assert lower <= tails[t] * (1 + 1e-12)
        assert tails[t] * (1 - 1e-12) <= upper <= max(tails[t] + 2e-11, 0.0)
    far = direct.size - 1  # a tail that no transform resolves
    assert tails[far] * (1 - 1e-9) <= total.tail(far)[1] <= 1e-9
    critical = total.critical(0.01)
    assert tails[critical] <= 0.01 < tails[critical - 1]
    assert total.tail(total.highest + 1)[1] == 0.0


def test_a_window_that_wraps_keeps_its_tails() -> None:
    # Binomial: the window of 3e6 trials is a hundredth of the range.
    total = LatticeSum(np.array([0.9, 0.1]), 3_000_000)
    for t in (298_000, 300_000, 301_500):
        lower, upper = total.tail(t)
        assert lower <= stats.binom.sf(t - 1, 3_000_000, 0.1) * (1 + 1e-9)
        assert stats.binom.sf(t - 1, 3_000_000, 0.1) * (1 - 1e-9) <= upper
        assert upper - lower < 1e-4
    assert 0.0 < total.tail(310_000)[1] < 1e-60


def test_infinite_scores_go_to_the_ends() -> None:
    scores = lattice_scores(np.array([-math.inf, 0.0, 1.0, math.inf]), np.full(4, 0.25), levels=11)
    assert_array_equal(scores, [0, 0, 10, 10])
