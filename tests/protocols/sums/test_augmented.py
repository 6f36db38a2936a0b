"""Sums among dummies of the shuffler: the contract, and that nothing but ones and the sum arrives."""

import random
from collections import Counter

import numpy as np
import pytest

from protocols.sums import AugmentedSum
from tests.protocols.sums.test_base import SumContract
from tests.samples import assert_law


class TestAugmentedSum(SumContract):
    protocol = AugmentedSum(4, 3, 40, 0.5, 1.5)
    variance = 2.0 * 1.5 * 0.5 / 0.25

    def test_fewer_users_have_the_same_randomizer(self) -> None:
        # The noise is not theirs.
        assert self.protocol.with_users(2) == AugmentedSum(2, 3, 40, 0.5, 1.5)


def test_as_many_messages_arrive_whatever_users_hold() -> None:
    protocol, rng, entropy = AugmentedSum(2, 3, 5, 0.7), np.random.default_rng(2), random.Random(2)
    for values in ([0, 0], [3, 1]):
        sent = protocol.randomize(values, rng)
        assert sent.per_user(2).tolist() == [3, 3]
        assert [int(sent.symbols[sent.senders == user].sum()) for user in range(2)] == values
        assert protocol.shuffled(sent, rng).size == 6 + 10
    # No place of a message tells whether it is a one.
    places = Counter(protocol.report(1, entropy).index(1) for _ in range(1000))
    assert_law(list(places.elements()), {0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    assert len(protocol.dummies(entropy)) == 10


def test_noise_ends_at_the_margin() -> None:
    protocol, rng, entropy = AugmentedSum(1, 1, 2, 0.9), np.random.default_rng(3), random.Random(3)
    whole = 1 + 2 * (0.9 + 0.81)
    law = {z + 2: 0.9 ** abs(z) / whole for z in range(-2, 3)}
    assert_law(protocol.sample_view(np.zeros(20_000, dtype=int), rng).tolist(), law)
    assert_law([sum(protocol.dummies(entropy)) for _ in range(300)], law)
    with pytest.raises(ValueError, match=r"^view=6 must hold integers in \[0, 5\]\.$"):
        protocol.analyze(6)


def test_a_view_of_fewer_users_has_fewer_ones() -> None:
    protocol = AugmentedSum(users=9, largest=2, margin=3, p=0.5)
    assert protocol.analyze(10, participants=2) == 7.0
    with pytest.raises(ValueError, match=r"^view=11 must hold integers in \[0, 10\]\.$"):
        protocol.analyze(11, participants=2)
