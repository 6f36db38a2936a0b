"""The mean of levels by randomized response."""

import math

import numpy as np
import pytest

from protocols.local.randomized_response import RandomizedResponseMean
from tests.protocols.local.contracts import LocalMeanContract
from tests.refusals import refused


class TestBits(LocalMeanContract):
    protocol = RandomizedResponseMean(0.9)
    values = (0, 1)

    def variance(self, value: float) -> float:
        return math.exp(0.9) / (math.exp(0.9) - 1.0) ** 2


class TestLevels(LocalMeanContract):
    protocol = RandomizedResponseMean(1.3, 5)
    values = (0, 2, 4, 1)

    def variance(self, value: float) -> float:
        law = self.protocol.labels.transition[int(value)]
        debiased = self.protocol.debias(np.arange(5))
        return float(law @ (debiased - value) ** 2)


def test_it_is_the_estimator_of_section_9_1() -> None:
    grown = math.exp(0.7)
    for y in (0, 1):
        wanted = (grown + 1.0) / (grown - 1.0) * y - 1.0 / (grown - 1.0)
        assert RandomizedResponseMean(0.7).estimate([y]) == pytest.approx(wanted, rel=1e-12)


def test_levels_are_integers_and_two_at_least() -> None:
    with refused("levels=1"):
        RandomizedResponseMean(1.0, 1)
    with pytest.raises(ValueError, match=r"^values\[0\]=0\.5 must be an integer in \[0, 1\]\.$"):
        RandomizedResponseMean(1.0).run([0.5], np.random.default_rng(1))
