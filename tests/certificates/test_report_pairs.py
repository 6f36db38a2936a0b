"""Certified divergences of single reports against the accountant, and against sums over the probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, Pair
from dpverify.certificates.report_pairs import LaplaceReportPair, LevelsPair, SteppedLaplacePair
from dpverify.planning.account import account
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from tests.refusals import refused


@pytest.mark.parametrize(
    ("pair", "protocol"),
    [
        (LevelsPair(1.25), OneBitMean(1.25)),
        (LevelsPair(1.25, 5), RandomizedResponseMean(1.25, 5)),
        (LaplaceReportPair(1.25), LaplaceMean(1.25)),
        (SteppedLaplacePair(1.25, 1), DiscreteLaplaceMean(1.25, 1.0, 1)),
        (SteppedLaplacePair(1.25, 6), DiscreteLaplaceMean(1.25, 1.0, 6)),
    ],
)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.125])
def test_the_accountant_contains_the_certificate(pair: Pair, protocol: Any, epsilon: float) -> None:
    found = account(protocol, epsilon=epsilon).delta
    for direction in Direction:
        certified = hockey_stick(pair, epsilon, direction, digits=20)
        assert found.lower <= certified.upper
        assert certified.lower <= found.upper
        assert certified.digits == 20


@pytest.mark.parametrize("epsilon", ["-0.4", "0.25", "0.9"])
def test_they_are_the_sums_of_the_definition(epsilon: str) -> None:
    ratio = math.exp(float(epsilon))
    weights = np.array([math.exp(0.8), 1.0, 1.0, 1.0]) / (math.exp(0.8) + 3.0)
    exact = np.maximum(weights - ratio * weights[[1, 0, 2, 3]], 0.0).sum()
    assert hockey_stick(LevelsPair("0.8", 4), epsilon).upper == pytest.approx(exact, rel=1e-12)
    z = np.arange(-600, 603)
    noise = [math.tanh(0.2) * np.exp(-0.4 * np.abs(z - shift)) for shift in (0, 2)]
    exact = np.maximum(noise[0] - ratio * noise[1], 0.0).sum()
    assert hockey_stick(SteppedLaplacePair("0.8", 2), epsilon).upper == pytest.approx(exact, rel=1e-12)
    y = np.linspace(-60.0, 60.0, 2_000_001)
    densities = [0.5 * np.exp(-np.abs(y - shift)) for shift in (0.0, 0.8)]
    exact = np.maximum(densities[0] - ratio * densities[1], 0.0).sum() * (y[1] - y[0])
    assert hockey_stick(LaplaceReportPair("0.8"), epsilon).upper == pytest.approx(exact, rel=1e-6)


def test_beyond_the_largest_loss_nothing_is_left() -> None:
    for pair in (LevelsPair(1), LaplaceReportPair(1), SteppedLaplacePair(1, 3)):
        assert hockey_stick(pair, 2).upper <= 1e-300
        assert hockey_stick(pair, -2).upper == pytest.approx(1.0 - math.exp(-2.0), rel=1e-12)


def test_arguments_are_checked() -> None:
    with refused("levels=1"):
        LevelsPair(1, 1)
    with pytest.raises(ValueError, match=r"^report_epsilon=0 must be"):
        LaplaceReportPair(0)
    with refused("steps=5000"):
        SteppedLaplacePair(1, 5000)
