import math

import numpy as np

from protocols.bitsum import Estimate, Poisson
from tests.contracts import BitsumContract
from tests.samples import assert_law


class TestPoisson(BitsumContract):
    protocol = Poisson(users=4, mean=3.0)
    unbiased_with_dropouts = False

    def variance(self, ones: int, participants: int) -> float:
        return self.protocol.mean


def test_the_count_is_the_sum_plus_poisson_noise() -> None:
    protocol = Poisson(4, 2.0, estimate=Estimate.OVER)
    counts = protocol.analyze(protocol.sample_view(np.full(50_000, 1), np.random.default_rng(51)))
    pmf = {1 + z: math.exp(-2.0) * 2.0**z / math.factorial(z) for z in range(15)}
    pmf[99] = 1.0 - sum(pmf.values())
    assert_law([int(count) if count < 16 else 99 for count in counts], pmf)
