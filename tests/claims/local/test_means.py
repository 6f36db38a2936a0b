"""What the twins of local means share."""

from __future__ import annotations

import pytest

from dpverify.claims.local.means import LocalMeanClaims, TwoValuedClaims
from dpverify.claims.local.one_bit import OneBitMeanClaims
from protocols.local.one_bit import OneBitMean


def test_users_with_other_values_add_up() -> None:
    claims, mean = OneBitMeanClaims(), OneBitMean(1.0)
    each = [claims.variance(mean, value) for value in (0.0, 0.5, 0.5)]
    assert claims.variance_of_mean(mean, [0.0, 0.5, 0.5]) == pytest.approx(sum(each) / 9, rel=1e-15)


def test_the_error_is_of_some_users() -> None:
    with pytest.raises(ValueError, match=r"^users=0 must be an integer in \[1, inf\)\.$"):
        OneBitMeanClaims().rmse(OneBitMean(1.0), 0)


def test_nothing_of_it_is_optional() -> None:
    assert LocalMeanClaims.__abstractmethods__ == {"pairs", "variance", "worst_value"}
    assert TwoValuedClaims.__abstractmethods__ == {"variance", "worst_value"}
