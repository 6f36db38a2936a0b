"""The one-bit mean of equation 9.2."""

import math

import numpy as np
import pytest

from protocols.local.one_bit import OneBitMean
from tests.protocols.local.contracts import LocalMeanContract


class TestOneBitMean(LocalMeanContract):
    protocol = OneBitMean(1.2, 3.0)
    values = (0.0, 3.0, 1.5, 0.3)

    def variance(self, value: float) -> float:
        grown = math.exp(1.2)
        q = (1.0 + value / 3.0 * (grown - 1.0)) / (grown + 1.0)
        return q * (1.0 - q) * (3.0 * (grown + 1.0) / (grown - 1.0)) ** 2


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0])
def test_it_is_equation_9_2(epsilon: float) -> None:
    mean, grown = OneBitMean(epsilon, 2.0), math.exp(epsilon)
    for x in (0.0, 0.5, 2.0):
        chance = 1.0 / (grown + 1.0) + x / 2.0 * (grown - 1.0) / (grown + 1.0)
        assert float(mean.chance(x)) == pytest.approx(chance, rel=1e-12)
    reports = np.array([1, 0, 0, 1, 1])
    estimate = 2.0 / 5.0 * sum((y * (grown + 1.0) - 1.0) / (grown - 1.0) for y in reports)
    assert mean.estimate(reports) == pytest.approx(estimate, rel=1e-12)
