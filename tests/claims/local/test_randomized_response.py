"""The twin of the mean by randomized response, and what section 9.1 says of it."""

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


def test_many_levels_need_no_matrix() -> None:
    law = CLAIMS.report_law(RandomizedResponseMean(2.0, 10**6), 3)
    assert law.atoms == 10**6
    assert law.pmf[3] == pytest.approx(math.exp(2.0) / (math.exp(2.0) - 1.0 + 10**6), rel=1e-12)
