"""What the twins of local means share."""

import math
from typing import Any

import mpmath
import pytest

from dpverify.claims.local.laplace import DiscreteLaplaceMeanClaims, LaplaceMeanClaims
from dpverify.claims.local.means import LocalMeanClaims, TwoValuedClaims
from dpverify.claims.local.one_bit import OneBitMeanClaims
from dpverify.claims.local.randomized_response import RandomizedResponseMeanClaims
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from tests.refusals import refused


def test_users_with_other_values_add_up() -> None:
    claims, mean = OneBitMeanClaims(), OneBitMean(1.0)
    each = [claims.variance(mean, value) for value in (0.0, 0.5, 0.5)]
    assert claims.variance_of_mean(mean, [0.0, 0.5, 0.5]) == pytest.approx(sum(each) / 9, rel=1e-15)


@pytest.mark.parametrize("epsilon", [1e-11, 1e-8, 1e-5, 1e-3, 0.1, 1.0, 40.0])
def test_variances_are_exact_for_every_epsilon(epsilon: float) -> None:
    with mpmath.mp.workdps(60):
        grown = mpmath.exp(epsilon)
        response = grown / (grown - 1) ** 2
        stepped = mpmath.exp(mpmath.mpf(epsilon) / 4)
        keep, other = grown / (grown + 4), 1 / (grown + 4)
        moments = [sum(r**power * (keep if r == 1 else other) for r in range(5)) for power in (1, 2)]
        wanted: list[tuple[Any, Any, float, Any]] = [
            (OneBitMeanClaims(), OneBitMean(epsilon, 3.0), 0.75, 9 * (mpmath.mpf(3) / 16 + response)),
            (LaplaceMeanClaims(), LaplaceMean(epsilon, 3.0), 0.5, 18 / mpmath.mpf(epsilon) ** 2),
            (
                DiscreteLaplaceMeanClaims(),
                DiscreteLaplaceMean(epsilon, 2.0, 4),
                0.125,
                (mpmath.mpf(3) / 16 + 2 * stepped / (stepped - 1) ** 2) / 4,
            ),
            (
                RandomizedResponseMeanClaims(),
                RandomizedResponseMean(epsilon, 5),
                1.0,
                (moments[1] - moments[0] ** 2) / (keep - other) ** 2,
            ),
        ]
        for claims, protocol, value, variance in wanted:
            assert abs(claims.variance(protocol, value) / variance - 1) < 1e-13


@pytest.mark.parametrize(
    ("claims", "protocol", "rmse"),
    [
        (OneBitMeanClaims(), OneBitMean(1e-100, 1e100), 1e198),
        (LaplaceMeanClaims(), LaplaceMean(1e-100, 1e100), math.sqrt(2.0) * 1e198),
    ],
)
def test_an_error_is_known_where_no_float_holds_its_square(claims: Any, protocol: Any, rmse: float) -> None:
    assert claims.rmse(protocol, 10_000) == pytest.approx(rmse, rel=1e-13)
    with pytest.raises(OverflowError, match="above all floats, but rmse is finite"):
        claims.variance(protocol, 0.0)


def test_the_error_is_of_some_users() -> None:
    with refused("users=0"):
        OneBitMeanClaims().rmse(OneBitMean(1.0), 0)


def test_nothing_of_it_is_optional() -> None:
    assert LocalMeanClaims.__abstractmethods__ == {"pairs", "unit_variance", "worst_value"}
    assert TwoValuedClaims.__abstractmethods__ == {"unit_variance", "worst_value"}
