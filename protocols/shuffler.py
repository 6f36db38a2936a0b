"""The messages of a protocol run, and the shuffler that forgets who sent them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_generator

__all__ = ["UserMessages", "shuffle", "tagged"]


@dataclass(frozen=True)
class UserMessages:
    """What the users hand to the shuffler.

    - symbols (ndarray of int64, shape (messages,) or (messages, 2)): The content of each message; where several
      protocol instances share the shuffler, a row (symbol, instance).
    - senders (ndarray of int64, shape (messages,)): The index of the user who sent it; the shuffler drops this.
    """

    symbols: NDArray[np.int64]
    senders: NDArray[np.int64]

    def per_user(self, users: int) -> NDArray[np.int64]:
        """Return the number of messages that each of `users` users sent, shape (users,)."""
        return np.bincount(self.senders, minlength=users)


def tagged(sent: Sequence[UserMessages]) -> UserMessages:
    """Return the messages of several protocol instances as rows (symbol, instance), for one shuffler."""
    tags = np.repeat(np.arange(len(sent)), [messages.symbols.size for messages in sent])
    symbols = np.concatenate([messages.symbols for messages in sent])
    return UserMessages(np.stack([symbols, tags], axis=1), np.concatenate([messages.senders for messages in sent]))


def shuffle(messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the symbols in uniformly random order, without their senders, in the shape of `messages.symbols`."""
    return check_generator("rng", rng).permutation(messages.symbols, axis=0)
