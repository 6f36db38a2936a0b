"""Unary messages: the contract, and how many of them users send."""

import numpy as np

from protocols.sums import NegativeBinomialSum, PoissonSum
from tests.protocols.sums.test_base import SumContract


class TestPoissonSum(SumContract):
    protocol = PoissonSum(4, 3, 2.5)
    variance = 2.5


class TestNegativeBinomialSum(SumContract):
    protocol = NegativeBinomialSum(3, 2, 4.0, 0.5)
    variance = 8.0


def test_users_send_as_many_messages_as_they_hold_and_their_noise() -> None:
    sent = PoissonSum(5, 3, 0.0).randomize([0, 1, 2, 3, 1], np.random.default_rng(1))
    assert sent.per_user(5).tolist() == [0, 1, 2, 3, 1]
    assert PoissonSum(5, 3, 0.0).report(3) == [1, 1, 1]
