from __future__ import annotations

import math

import pytest
from mpmath import fp

from dpverify.formulas.amplification import CLOSED_CLONES, closed_clones, largest_epsilon0
from dpverify.privacy_loss.amplification import clones
from tests.formulas.agreement import assert_one_number, assert_refused


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


def test_ranges() -> None:
    assert_refused(lambda: closed_clones(fp, 0.0, 10, 0.1), "epsilon0=0.0 must be in (0, inf).")
    assert_refused(lambda: largest_epsilon0(fp, 10, 0.0), "delta=0.0 must be in (0, 1].")
