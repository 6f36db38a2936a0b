"""Enclosures of known values, as wide as they are asked for."""

from __future__ import annotations

import math

import pytest

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import (
    Direction,
    GaussianPair,
    RandomizedResponsePair,
)
from tests.refusals import refused


def test_known_values():
    assert hockey_stick(RandomizedResponsePair(30_000, "0.01", 0), 0).lower == pytest.approx(2.26797e-2, rel=1e-5)
    middle = RandomizedResponsePair(2_000, "0.01", 1_000)
    assert hockey_stick(middle, 0).lower > hockey_stick(RandomizedResponsePair(2_000, "0.01", 0), 0).upper


def test_a_huge_instance_is_enclosed_to_many_digits():
    result = hockey_stick(RandomizedResponsePair(10**9, "0.1", 0), "0.001", digits=60)
    assert result.digits == 60
    assert result.text.startswith("[6.4992592016372")


def test_a_value_below_the_floats_keeps_its_digits():
    result = hockey_stick(GaussianPair(1), 200)
    assert 0.0 <= result.lower <= result.upper <= 5e-324
    assert result.text.startswith("[3.05030687921460e-8648")


def test_an_epsilon_that_is_no_number_is_named():
    with pytest.raises(ValueError, match=r"epsilon=nan must be"):
        hockey_stick(GaussianPair(1), math.nan)


def test_a_direction_may_be_its_word_and_a_pair_must_be_one():
    pair = RandomizedResponsePair(10, "0.2", ones=3)
    assert hockey_stick(pair, 0.5, direction="DOWN") == hockey_stick(pair, 0.5, Direction.DOWN)
    with refused("direction='left'"):
        hockey_stick(pair, 0.5, direction="left")
    with refused("pair='gaussian'", TypeError):
        hockey_stick("gaussian", 0.5)
