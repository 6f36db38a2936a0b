"""The twin of the one-bit mean, and Theorem 9.3."""

import math

import pytest

from dpverify.claims.local.one_bit import OneBitMeanClaims
from protocols.local.one_bit import OneBitMean
from tests.claims.local.contracts import LocalMeanClaimsContract

CLAIMS = OneBitMeanClaims()


class TestOneBitMeanClaims(LocalMeanClaimsContract):
    protocol = OneBitMean(1.2, 3.0)
    values = (0.0, 3.0, 1.5, 0.3)


def test_a_rare_bit_keeps_its_digits() -> None:
    law = CLAIMS.window(OneBitMean(500.0), 0.0)
    assert law.pmf[1] == pytest.approx(math.exp(-500.0), rel=1e-12)
