"""The twin of the mean by randomized response, and what section 9.1 says of it."""

from __future__ import annotations

import math

import pytest

from dpverify.claims.local.randomized_response import RandomizedResponseMeanClaims
from protocols.local.randomized_response import RandomizedResponseMean
from tests.claims.local.contracts import LocalMeanClaimsContract

CLAIMS = RandomizedResponseMeanClaims()


class TestBits(LocalMeanClaimsContract):
    protocol = RandomizedResponseMean(0.9)
    values = (0, 1, 1)


class TestLevels(LocalMeanClaimsContract):
    protocol = RandomizedResponseMean(1.3, 5)
    values = (0, 1, 4, 2)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 50.0])
def test_the_variance_is_below_that_of_the_text_with_constant_1(epsilon: float) -> None:
    exact = CLAIMS.rmse(RandomizedResponseMean(epsilon), 100) ** 2
    assert exact == pytest.approx(1.0 / (400.0 * math.sinh(0.5 * epsilon) ** 2), rel=1e-9)
    assert exact < 1.0 / (100.0 * epsilon**2)


def test_the_error_has_epsilon_outside_the_root() -> None:
    ratios = [CLAIMS.rmse(RandomizedResponseMean(eps), 900) * math.sqrt(900 * eps) for eps in (0.01, 0.0001)]
    assert ratios == pytest.approx([10.0, 100.0], rel=1e-4)


def test_many_levels_need_no_matrix() -> None:
    law = CLAIMS.report_law(RandomizedResponseMean(2.0, 10**6), 3)
    assert law.atoms == 10**6
    assert law.pmf[3] == pytest.approx(math.exp(2.0) / (math.exp(2.0) - 1.0 + 10**6), rel=1e-12)
