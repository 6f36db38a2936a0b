"""Formulas for Pure: the experiments' parameters, error and largest losses, against the laws themselves."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import fp
from scipy import stats

from dpverify.formulas.protocols import pure
from tests.formulas.agreement import assert_one_number, assert_refused

NOISE = np.arange(-300, 301)


def discrete_laplace(p: float) -> np.ndarray:
    law = p ** np.abs(NOISE).astype(float)
    return law / law.sum()


@pytest.mark.parametrize("epsilon0", [0.25, 1.0, 2.5])
def test_parameters_share_out_the_error_that_may_be_added(epsilon0: float) -> None:
    rho = 0.25
    arguments = {"epsilon0": epsilon0, "rho": rho}
    epsilon = assert_one_number(pure.noise_epsilon, arguments, symbolic=False)
    assert epsilon == pytest.approx(epsilon0 - 0.01 * rho * min(epsilon0, 1.0), rel=1e-14)
    q = assert_one_number(pure.drop_probability, {**arguments, "n": 1000})
    # The dropped bits of n ones have a tenth of rho of the variance of discrete Laplace noise at eps0.
    variance = discrete_laplace(math.exp(-epsilon0)) @ NOISE.astype(float) ** 2
    assert 1000 * q == pytest.approx(0.1 * rho * variance, rel=1e-10)


@pytest.mark.parametrize(("p", "q", "ones"), [(0.6, 0.25, 7), (0.9, 0.5, 0), (0.0, 0.125, 3)])
def test_error_by_brute_force(p: float, q: float, ones: int) -> None:
    noise = discrete_laplace(p) if p else (NOISE == 0).astype(float)
    kept = np.arange(ones + 1)
    joint = stats.binom.pmf(kept, ones, 1 - q)[:, np.newaxis] * noise
    counts = kept[:, np.newaxis] + NOISE
    error = (joint * (counts / (1 - q) - ones) ** 2).sum()
    assert assert_one_number(pure.variance, {"p": p, "q": q, "ones": ones}, symbolic=False) == pytest.approx(error)
    bias = (joint * (counts - ones)).sum()
    assert float(pure.released_bias(fp, q, ones)) == pytest.approx(bias, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(("p", "q"), [(0.6, 0.25), (0.2, 0.9), (0.98, 0.015625)])
def test_largest_losses_by_brute_force(p: float, q: float) -> None:
    below = discrete_laplace(p)[150:-150]
    dropped = (1 - q) * np.roll(below, 1) + q * below
    losses = np.abs(np.log(dropped / below))[1:]
    of_sum = assert_one_number(pure.sum_view_loss, {"p": p, "q": q})
    assert of_sum == pytest.approx(losses.max(), rel=1e-12)
    # No message +1: her one was dropped, or her bit is 0.
    of_messages = assert_one_number(pure.message_view_loss, {"p": p, "q": q}, symbolic=False)
    assert of_messages == pytest.approx(max(of_sum, math.log(1 / q)), rel=1e-14)
    assert (of_messages > of_sum) == (Fraction(1) / Fraction(q) > math.exp(of_sum))


def test_a_drop_probability_above_one_is_refused() -> None:
    assert_refused(lambda: pure.drop_probability(fp, 0.001, 0.5, 100), "the published drop probability q=")
