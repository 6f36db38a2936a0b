"""The closed forms of user-level learners: one number in every number system, and their ranges."""

import math

import pytest

from dpverify.formulas.protocols import user_level
from tests.formulas.agreement import assert_one_number


def test_learner_parameters() -> None:
    sharpness = assert_one_number(user_level.published_sharpness, {"bits": 4.0, "alpha": 0.1, "beta": 0.05})
    assert sharpness == pytest.approx(2 * (4 + math.log(20) + 10) / 0.1)
    samples = assert_one_number(user_level.published_samples, {"sharpness": 300.0, "bits": 4.0, "beta": 0.05})
    assert samples == pytest.approx(1e6 * 300**2 * 4 * math.log(20) / 0.05**4)
    queries = assert_one_number(user_level.published_query_samples, {"queries": 5.0, "tolerance": 0.1, "beta": 0.05})
    assert queries == pytest.approx(1e6 * 2500 / 0.05**2 * math.log(2500 / 0.05**4))


def test_users() -> None:
    for power in (1, 2):
        users = assert_one_number(
            lambda ctx, bits, beta, epsilon, power=power: user_level.selection_users(ctx, bits, beta, epsilon, power),
            {"bits": 4.0, "beta": 0.05, "epsilon": 0.5},
        )
        assert users == pytest.approx((4 + math.log(20)) / 0.5**power)
    bound = assert_one_number(user_level.lower_bound_users, {"epsilon": 0.5, "delta": 1e-9})
    assert bound == pytest.approx(0.02 * math.log(1e9))


def test_group_privacy() -> None:
    found = assert_one_number(
        user_level.group_privacy, {"probability": 0.01, "epsilon": 0.5, "delta": 1e-3, "users": 3.0}
    )
    assert found == pytest.approx(math.exp(1.5) * 0.01 + 1e-3 * (1 + math.exp(0.5) + math.exp(1.0)))
