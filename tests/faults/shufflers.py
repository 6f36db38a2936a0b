"""Shufflers that do not shuffle, or not all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protocols.shuffler import UserMessages, shuffle

__all__ = ["fixed_permutation", "half_shuffled", "no_shuffle", "one_transposition", "users_shuffled"]


def no_shuffle(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    return messages.symbols


def fixed_permutation(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    return shuffle(messages, np.random.default_rng(0))


def users_shuffled(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    """Shuffle users, and leave each user's messages together."""
    users = int(messages.senders.max(initial=0)) + 1
    return messages.symbols[np.argsort(rng.permutation(users)[messages.senders], kind="stable")]


def half_shuffled(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    """Shuffle in two batches."""
    middle = messages.symbols.size // 2
    return np.concatenate([rng.permutation(messages.symbols[:middle]), rng.permutation(messages.symbols[middle:])])


def one_transposition(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rotate by a random offset, which is no shuffle."""
    return np.roll(messages.symbols, rng.integers(max(1, messages.symbols.size)))
