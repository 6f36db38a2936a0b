"""Values by their numbers, and the first of them that does."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.planning.sweeps.steps import EPSILONS, ROUND_USERS, USERS


@given(st.integers(1, EPSILONS.most - 1))
def test_decimals_of_four_digits_are_numbered_in_order(index: int) -> None:
    value = EPSILONS.value(index)
    assert EPSILONS.index(float(value)) == index
    assert float(value) < float(EPSILONS.value(index + 1))
    assert len(value.split("E")[0].replace(".", "").strip("0")) <= 4


@given(st.integers(1, 10**9), st.floats(1.0, 1e9), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_least_number_of_users_is_found(first: int, start: float, power: float) -> None:
    def error(index: int) -> float:
        return (index / first) ** -power

    asked: list[int] = []

    def counted(index: int) -> float:
        asked.append(index)
        return error(index)

    assert USERS.least(counted, 1.0, start) == first
    assert len(set(asked)) < 100


def test_what_is_undefined_or_uneven_still_has_two_sides() -> None:
    def uneven(index: int) -> float:
        return math.inf if index < 500 else 1000.0 / index + (0.01 if index % 2 else 0.0)

    found = USERS.least(uneven, 1.0, 3.0)
    assert found is not None
    assert uneven(found) <= 1.0 < uneven(found - 1)
    assert USERS.least(lambda index: 2.0, 1.0, 3.0) is None
    assert USERS.least(lambda index: 0.5, 1.0, 3.0) == 1


@pytest.mark.parametrize("level", [0.3, 3.0, 1e-9])
def test_epsilons_have_two_sides(level: float) -> None:
    found = EPSILONS.least(lambda index: 1.0 / float(EPSILONS.value(index)), level, 1.0)
    if level == 1e-9:
        assert found is None
    else:
        assert found is not None
        assert 1.0 / float(EPSILONS.value(found)) <= level < 1.0 / float(EPSILONS.value(found - 1))


def test_round_users_have_four_digits() -> None:
    values = [int(ROUND_USERS.value(index)) for index in range(1, 30_000)]
    assert values[:1200] == list(range(1, 1201))
    assert values == sorted(set(values))
    assert all(len(str(value).rstrip("0")) <= 4 for value in values)
    assert all(ROUND_USERS.index(float(value)) == index for index, value in enumerate(values, 1))
    assert int(ROUND_USERS.value(ROUND_USERS.most)) == 10**10
    assert ROUND_USERS.index(123_456.0) == ROUND_USERS.index(123_500.0)
