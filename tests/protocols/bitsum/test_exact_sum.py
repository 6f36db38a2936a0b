import numpy as np

from protocols.bitsum import ExactSum
from tests.contracts import BitsumContract


class TestExactSum(BitsumContract):
    protocol = ExactSum(users=4)

    def variance(self, ones: int, participants: int) -> float:
        return 0.0

    def test_run_is_the_sum(self) -> None:
        assert self.protocol.run([1, 0, 1, 1], np.random.default_rng(1)) == 3.0
