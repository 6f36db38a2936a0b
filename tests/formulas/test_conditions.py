"""Conditions that theorems share."""

import math

import pytest

from dpverify.formulas.conditions import within


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        ("(0, 1)", (0.5, 1e-300), (0, 1, -1, math.nan)),
        ("[0, 1]", (0, 1), (-1e-300, 1 + 1e-15)),
        ("[2, inf)", (2, 10**400), (1, math.inf, math.nan)),
        ("(-1, inf)", (0,), (-1,)),
    ],
)
def test_an_interval_has_its_ends_or_not(interval: str, inside: tuple[float, ...], outside: tuple[float, ...]) -> None:
    condition = within("delta", interval)
    assert condition.parameters == ("delta",)
    assert condition.statement == f"delta in {interval}."
    assert [condition.holds(value) for value in inside] == [True] * len(inside)
    assert [condition.holds(value) for value in outside] == [False] * len(outside)
