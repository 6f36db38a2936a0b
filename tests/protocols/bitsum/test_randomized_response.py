import itertools
from collections import defaultdict

import numpy as np
import pytest

from protocols.bitsum import RandomizedResponse
from tests.contracts import BitsumContract
from tests.samples import assert_law, rows


class TestRandomizedResponse(BitsumContract):
    protocol = RandomizedResponse(users=4, flip_probability=0.2)

    def variance(self, ones: int, participants: int) -> float:
        p = self.protocol.flip_probability
        return participants * p * (1 - p) / (1 - 2 * p) ** 2


@pytest.mark.parametrize("users", [1, 2, 3, 4])
def test_law_by_enumeration_of_flips(users: int) -> None:
    p = 0.3
    protocol = RandomizedResponse(users, p)
    for ones in range(users + 1):
        bits = np.arange(users) < ones
        pmf: dict[tuple[int, int], float] = defaultdict(float)
        for flips in itertools.product((0, 1), repeat=users):
            reported = int(np.sum(bits ^ np.array(flips, dtype=bool)))
            pmf[users - reported, reported] += p ** sum(flips) * (1 - p) ** (users - sum(flips))
        assert_law(rows(protocol.sample_view(np.full(20_000, ones), np.random.default_rng([21, users, ones]))), pmf)
        # The estimate's mean and variance over the enumerated law, exactly.
        estimates = {view: float(protocol.analyze(view)) for view in pmf}
        mean = sum(estimates[view] * mass for view, mass in pmf.items())
        assert mean == pytest.approx(ones, abs=1e-12)
        variance = sum((estimates[view] - ones) ** 2 * mass for view, mass in pmf.items())
        assert variance == pytest.approx(users * p * (1 - p) / (1 - 2 * p) ** 2, rel=1e-12)
