from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from protocols.bitsum import ThreeNB
from protocols.bitsum.three_nb import negative_binomial
from tests.contracts import BitsumContract
from tests.samples import assert_law


class TestThreeNB(BitsumContract):
    protocol = ThreeNB(users=3, p=0.4, flood_shape=1.5, flood_p=0.3)

    def variance(self, ones: int, participants: int) -> float:
        present = participants / self.protocol.users
        return 2 * self.protocol.shape * present * self.protocol.p / (1 - self.protocol.p) ** 2


class TestThreeNBOtherShape(TestThreeNB):
    protocol = ThreeNB(users=4, p=0.3, flood_shape=0.7, flood_p=0.5, shape=2.5)


@pytest.mark.parametrize(("shape", "p"), [(0.3, 0.6), (2.5, 0.2)])
def test_negative_binomial_is_the_seeds(shape: float, p: float) -> None:
    z = np.arange(200)
    log_pmf = special.gammaln(z + shape) - special.gammaln(shape) - special.gammaln(z + 1)
    log_pmf += shape * math.log1p(-p) + z * math.log(p)
    pmf = {int(k): float(mass) for k, mass in zip(z, np.exp(log_pmf), strict=True) if mass > 1e-9}
    pmf[-1] = 1.0 - sum(pmf.values())  # the tail
    largest = max(pmf)
    draws = negative_binomial(np.random.default_rng(31), shape, p, 50_000)
    assert_law([int(k) if k <= largest else -1 for k in draws], pmf)


def test_estimate_is_discrete_laplace() -> None:
    p, users = 0.5, 3
    protocol = ThreeNB(users, p, flood_shape=4.0, flood_p=0.5)
    estimates = protocol.analyze(protocol.sample_view(np.full(50_000, 2), np.random.default_rng(32))) - 2
    pmf = {k: (1 - p) / (1 + p) * p ** abs(k) for k in range(-25, 26)}
    pmf[99] = 1.0 - sum(pmf.values())
    assert_law([int(k) if abs(k) <= 25 else 99 for k in estimates], pmf)
