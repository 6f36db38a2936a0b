import numpy as np

from protocols.bitsum import Pure, ThreeNB
from tests.contracts import BitsumContract
from tests.samples import assert_mean


class TestPure(BitsumContract):
    protocol = Pure(users=3, p=0.4, drop_probability=0.25, flood_shape=1.5, flood_p=0.3)

    def variance(self, ones: int, participants: int) -> float:
        p, q = self.protocol.p, self.protocol.drop_probability
        noise = participants / self.protocol.users * 2 * p / (1 - p) ** 2
        return ones * q / (1 - q) + noise / (1 - q) ** 2


def test_without_dropping_it_is_3nb() -> None:
    pure, three = Pure(3, 0.4, 0.0, 1.5, 0.3), ThreeNB(3, 0.4, 1.5, 0.3)
    assert pure.noise == three
    ones = np.arange(4)
    first, second = (p.sample_view(ones, np.random.default_rng(61)) for p in (pure, three))
    assert first.shape == second.shape
    np.testing.assert_array_equal(pure.analyze(first), three.analyze(first))


def test_the_plain_sum_of_the_messages_is_biased() -> None:
    protocol = Pure(1000, 0.5, 0.3)
    views = protocol.sample_view(np.full(20_000, 800), np.random.default_rng(62))
    assert_mean(views[:, 0] - views[:, 1], 800 - 0.3 * 800)
