"""What the shuffler forgets, and what it keeps."""

import itertools

import numpy as np

from protocols.shuffler import UserMessages, shuffle
from tests.refusals import refused
from tests.samples import assert_law


def test_every_order_is_equally_likely() -> None:
    sent = UserMessages(np.array([1, -1, 2]), np.array([0, 0, 1]))
    rng = np.random.default_rng(1)
    orders = list(itertools.permutations((1, -1, 2)))
    assert_law([tuple(shuffle(sent, rng).tolist()) for _ in range(6000)], dict.fromkeys(orders, 1 / 6))


def test_a_message_of_several_parts_stays_whole() -> None:
    symbols = np.array([[1, 0], [0, 1], [1, 2], [0, 3]])
    arrived = shuffle(UserMessages(symbols, np.arange(4)), np.random.default_rng(2))
    assert sorted(map(tuple, arrived.tolist())) == sorted(map(tuple, symbols.tolist()))
    assert symbols.tolist() == [[1, 0], [0, 1], [1, 2], [0, 3]]  # the users' own are as they were


def test_messages_are_counted_by_sender() -> None:
    sent = UserMessages(np.array([5, 5, 5]), np.array([2, 0, 2]))
    assert sent.per_user(4).tolist() == [1, 0, 2, 0]


def test_the_shuffler_has_randomness_of_its_own() -> None:
    with refused("rng=7", TypeError):
        shuffle(UserMessages(np.array([1]), np.array([0])), 7)  # type: ignore[arg-type]
