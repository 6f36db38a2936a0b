"""Error bounds of density estimation: their values by hand, and what tells one from the other."""

import math

import pytest

from dpverify.formulas.protocols import kde
from tests.formulas.agreement import assert_one_number

BETA, R, S, INSTANCES, ERROR, USERS = 0.125, 2.0, 3, 10, 7.5, 100
ARGUMENTS = {"beta": BETA, "R": R, "S": S, "instances": INSTANCES, "error": ERROR, "n": USERS}
RELATIVE = ERROR / USERS


def value(formula: object, **changes: float) -> float:
    # S and the number of instances are counts, checked as such: no symbols.
    return float(assert_one_number(formula, {**ARGUMENTS, **changes}, symbolic=False))


def test_values_by_hand() -> None:
    published = math.sqrt(4 * BETA**2 + 16 * R**4 * S * (S + RELATIVE**2) / INSTANCES)
    assert value(kde.published_rmse_bound) == pytest.approx(published, rel=1e-14)
    sharper = math.sqrt(BETA**2 + R**4 * S * (S + 4 * RELATIVE**2) / INSTANCES)
    assert value(kde.rmse_bound) == pytest.approx(sharper, rel=1e-14)
    absolute = BETA + R**2 * S * (1 / math.sqrt(INSTANCES) + 2 * RELATIVE)
    assert value(kde.absolute_error_bound) == pytest.approx(absolute, rel=1e-14)
    biased = math.hypot(BETA + 2 * R**2 * S * 2 / USERS, R**2 * S * (1 + 2 * RELATIVE) / math.sqrt(INSTANCES))
    assert value(kde.biased_rmse_bound, bitsum_bias=2.0) == pytest.approx(biased, rel=1e-14)


def test_only_a_bias_and_an_absolute_error_survive_averaging() -> None:
    many = 10**12
    floor = {
        kde.published_rmse_bound: 2 * BETA,
        kde.rmse_bound: BETA,
        kde.absolute_error_bound: BETA + 2 * R**2 * S * RELATIVE,
    }
    for formula, left in floor.items():
        assert value(formula, instances=many) == pytest.approx(left, rel=1e-3)
    left = BETA + 2 * R**2 * S * 5 / USERS
    assert value(kde.biased_rmse_bound, instances=many, bitsum_bias=5.0) == pytest.approx(left, rel=1e-3)
