"""Means with Laplace noise, continuous and discrete."""

import math
from typing import Any

import numpy as np

from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from tests.protocols.local.contracts import LocalMeanContract
from tests.refusals import refused


class TestLaplaceMean(LocalMeanContract):
    protocol = LaplaceMean(0.8, 3.0)
    values = (0.0, 3.0, 1.7)
    exact = False

    def variance(self, value: float) -> float:
        return 2.0 * (3.0 / 0.8) ** 2


class Discrete(LocalMeanContract):
    def variance(self, value: float) -> float:
        mean: Any = self.protocol
        step = mean.largest / mean.steps
        offset = value / step % 1.0
        q = math.exp(-mean.epsilon / mean.steps)
        return float(step**2 * (offset * (1.0 - offset) + 2.0 * q / (1.0 - q) ** 2))


class TestOneStep(Discrete):
    protocol = DiscreteLaplaceMean(1.1, 2.0, 1)
    values = (0.0, 2.0, 0.5)


class TestManySteps(Discrete):
    protocol = DiscreteLaplaceMean(2.3, 1.0, 8)
    values = (0.0, 1.0, 0.3)


def test_a_report_counts_steps() -> None:
    mean = DiscreteLaplaceMean(600.0, 10.0, 5)
    assert mean.randomize([0.0, 4.0, 10.0], np.random.default_rng(1)).tolist() == [0, 2, 5]
    assert [mean.report(value) for value in (0.0, 4.0, 10.0)] == [0, 2, 5]


def test_noise_that_floats_cannot_hold_is_refused() -> None:
    with refused("epsilon=1e-13"):
        DiscreteLaplaceMean(1e-13, 1.0, 1)
    with refused("steps=0"):
        DiscreteLaplaceMean(1.0, 1.0, 0)
