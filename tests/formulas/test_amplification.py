import math

import pytest

from dpverify.formulas.amplification import CLOSED_CLONES, closed_clones, largest_epsilon0
from dpverify.privacy_loss.shuffling.amplification import clones
from tests.formulas.agreement import assert_one_number


def test_the_closed_bound_is_above_its_numerical_version() -> None:
    for epsilon0, users, delta in ((0.5, 10_000, 1e-6), (4.0, 100_000, 1e-6), (1.0, 3000, 1e-4)):
        assert all(condition.holds(epsilon0, users, delta) for condition in CLOSED_CLONES)
        found = assert_one_number(closed_clones, {"epsilon0": epsilon0, "users": users, "delta": delta})
        assert found > clones(epsilon0, users).epsilon(delta).upper
        part = math.tanh(epsilon0 / 2)
        inner = 8 * math.sqrt(math.exp(epsilon0) * math.log(4 / delta) / users) + 8 * math.exp(epsilon0) / users
        assert found == pytest.approx(math.log1p(part * inner), rel=1e-14)


def test_the_hypothesis_ends_where_it_says() -> None:
    end = assert_one_number(largest_epsilon0, {"users": 1000, "delta": 1e-6})
    (condition,) = CLOSED_CLONES
    assert condition.holds(end * (1.0 - 1e-9), 1000, 1e-6)
    assert not condition.holds(end * (1.0 + 1e-9), 1000, 1e-6)
    assert not condition.holds(1.0, 10, 0.0)


@pytest.mark.parametrize("delta", [1.0, 0.5, 1e-3, 1e-9, 1e-40])
@pytest.mark.parametrize("times", [1.0, 1.3, 10.0])
def test_the_closed_bound_holds_from_the_printed_condition_on(delta: float, times: float) -> None:
    # Between ln(n / (16 ln(4/delta))) and the same with 2, which a published script leaves out.
    at = min(delta, 0.999)
    for share in (0.0, 0.5, 0.99):
        coins = 16.0 * (math.log(2.0 / delta) + share * math.log(2.0))
        users = math.ceil(times * coins * (1.0 + 1e-9)) + 1
        epsilon0 = math.log(users / coins) * (1.0 - 1e-11)
        assert all(condition.holds(epsilon0, users, delta) for condition in CLOSED_CLONES)
        bound = assert_one_number(closed_clones, {"epsilon0": epsilon0, "users": users, "delta": delta})
        assert clones(epsilon0, users).delta(bound).upper <= at
        # The two tails of the proof: coins are 0.578 of their mean at least, and heads are beyond their half by h.
        level, mean = math.log(2.0 / delta), coins * (1.0 - 1.0 / users)
        least = mean - math.sqrt(2.0 * level * mean)
        y = 8.0 * math.sqrt((level + math.log(2.0)) / coins) + 8.0 / coins
        assert least >= 0.578 * coins
        assert 2.0 * ((least * y / 2.0 - 1.0) / (2.0 + y)) ** 2 / least >= level
