"""The twin of the one-bit mean, and Theorem 9.3."""

import math

import pytest
from scipy.optimize import brentq

from dpverify.claims.local.laplace import LaplaceMeanClaims
from dpverify.claims.local.one_bit import OneBitMeanClaims
from protocols.local.laplace import LaplaceMean
from protocols.local.one_bit import OneBitMean
from tests.claims.local.contracts import LocalMeanClaimsContract

CLAIMS = OneBitMeanClaims()


class TestOneBitMeanClaims(LocalMeanClaimsContract):
    protocol = OneBitMean(1.2, 3.0)
    values = (0.0, 3.0, 1.5, 0.3)


def worst(epsilon: float) -> float:
    """The worst variance of one report, of values in [0, 1]."""
    return CLAIMS.rmse(OneBitMean(epsilon), 1) ** 2


def test_laplace_noise_is_better_from_2_33_on() -> None:
    def excess(epsilon: float) -> float:
        return worst(epsilon) - LaplaceMeanClaims().rmse(LaplaceMean(epsilon), 1) ** 2

    assert excess(1.0) < 0.0
    assert brentq(excess, 1.0, 5.0) == pytest.approx(2.3242, abs=1e-3)


def test_a_rare_bit_keeps_its_digits() -> None:
    law = CLAIMS.window(OneBitMean(500.0), 0.0)
    assert law.pmf[1] == pytest.approx(math.exp(-500.0), rel=1e-12)
