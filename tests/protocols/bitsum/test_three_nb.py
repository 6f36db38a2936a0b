import math

import numpy as np
import pytest
from scipy import special

from protocols.bitsum import ThreeNB
from protocols.bitsum.three_nb import negative_binomial, negative_binomial_pieces
from tests.contracts import BitsumContract
from tests.samples import assert_law, rows


class TestThreeNB(BitsumContract):
    protocol = ThreeNB(users=3, p=0.4, flood_shape=1.5, flood_p=0.3)

    def variance(self, ones: int, participants: int) -> float:
        present = participants / self.protocol.users
        return 2 * self.protocol.shape * present * self.protocol.p / (1 - self.protocol.p) ** 2


class TestThreeNBOtherShape(TestThreeNB):
    protocol = ThreeNB(users=4, p=0.3, flood_shape=0.7, flood_p=0.5, shape=2.5)


def masses(shape: float, p: float, upto: int) -> np.ndarray:
    """Return the seeds' pmf of NB(shape, p), for up to so many."""
    z = np.arange(upto + 1)
    log_pmf = special.gammaln(z + shape) - special.gammaln(shape) - special.gammaln(z + 1)
    return np.exp(log_pmf + shape * math.log1p(-p) + z * math.log(p))


@pytest.mark.parametrize(("shape", "p"), [(0.3, 0.6), (2.5, 0.2)])
def test_negative_binomial_is_the_seeds(shape: float, p: float) -> None:
    pmf = {k: float(mass) for k, mass in enumerate(masses(shape, p, 199)) if mass > 1e-9}
    pmf[-1] = 1.0 - sum(pmf.values())  # the tail
    largest = max(pmf)
    draws = negative_binomial(np.random.default_rng(31), shape, p, 50_000)
    assert_law([int(k) if k <= largest else -1 for k in draws], pmf)


@pytest.mark.parametrize(("shape", "p", "users"), [(1.2, 0.6, 4), (0.5, 0.9, 3), (30.0, 0.3, 5)])
def test_scattered_pieces_are_independent_and_of_the_seeds_law(shape: float, p: float, users: int) -> None:
    # The last one has more clusters than users, and is drawn user by user.
    rng, most = np.random.default_rng(33), 3
    draws = np.array([negative_binomial_pieces(rng, shape, p, users, 3) for _ in range(20_000)])
    own = masses(shape / users, p, most)
    law = dict(np.ndenumerate(own[:, None, None] * own[:, None] * own))
    law[()] = 1.0 - sum(law.values())
    assert_law([row if max(row) <= most else () for row in rows(draws)], law)


def test_estimate_is_discrete_laplace() -> None:
    p, users = 0.5, 3
    protocol = ThreeNB(users, p, flood_shape=4.0, flood_p=0.5)
    estimates = protocol.analyze(protocol.sample_view(np.full(50_000, 2), np.random.default_rng(32))) - 2
    pmf = {k: (1 - p) / (1 + p) * p ** abs(k) for k in range(-25, 26)}
    pmf[99] = 1.0 - sum(pmf.values())
    assert_law([int(k) if abs(k) <= 25 else 99 for k in estimates], pmf)
