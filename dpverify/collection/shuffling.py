"""A uniformly random permutation of messages that need not fit into memory.

Keys of 64 bits that are independent and uniform, drawn again where two are equal, order messages uniformly at random:
given that all differ, no order of them is likelier than another. Where messages do not fit into memory, each goes to a
part that is drawn independently and uniformly, and the parts, put in order like that one by one, follow each other:
the law of what is drawn does not change if messages change places, so that neither does the order's, which is uniform.

Messages that were sorted, or their counts, would tell as much as shuffled ones, and take no entropy. But reports of
strings would take files to sort as well, and whoever reads the beginning of a shuffled batch has a sample of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpverify.collection.uploads import from_bits, to_bits
from protocols.validation import check_integer

__all__ = ["Shuffler", "random_order", "simulated_entropy"]

_PIECE = 1 << 21
"""Bits, of whole messages, that are read and written at a time."""
_OF_ORDER = 32
"""Bytes for each message that is put in order, besides twice the message itself."""
_LEAST_MEMORY = 1 << 20

Entropy = Callable[[int], bytes]


def simulated_entropy(seed: int) -> Entropy:
    """Return entropy that is none, for simulations: whoever knows the seed knows every order."""
    return np.random.default_rng(seed).bytes


def random_order(count: int, entropy: Entropy) -> NDArray[np.intp]:
    """Return a permutation of so many places, uniformly random if the entropy is."""
    while True:
        keys = np.frombuffer(entropy(8 * count), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if (ordered[1:] != ordered[:-1]).all():
            return order


class Shuffler:
    """Takes messages in the order in which they come, and gives them back in a uniformly random one.

    Parameters
    ----------
    folder : Path
        An empty one, **private**, for files with the messages in the order in which they came, or will go. They take
        twice the bytes of the messages, each filled up to whole bytes.
    widths : sequence of int
        The bits of each field of a message.
    memory : int
        Bytes for what is put in order at a time, at least 2^20.
    entropy : callable
        The operating system's; another one is a **simulation**, not a shuffler.

    Raises
    ------
    ValueError
        For less memory.
    """

    def __init__(
        self, folder: Path, widths: Sequence[int], *, memory: int = 1 << 28, entropy: Entropy = secrets.token_bytes
    ) -> None:
        self._memory = check_integer("memory", memory, low=_LEAST_MEMORY)
        self._folder, self._widths, self._entropy = folder, list(widths), entropy
        self._size = -(-sum(widths) // 8)
        self.count = 0

    @property
    def parts(self) -> int:
        """In how many parts the messages are put in order.

        A power of two, so that each is at most half as large as memory allows, on average: with a thousand messages in
        one, or more, none will ever be twice as large as that.
        """
        needed = self.count * (_OF_ORDER + 2 * self._size)
        return 1 if needed <= self._memory else 1 << (2 * needed // self._memory).bit_length()

    def add(self, messages: NDArray[np.int64]) -> None:
        """Take messages, by their fields, of shape (messages, fields)."""
        self.count += len(messages)
        _append(self._folder / "all", np.packbits(to_bits(messages, self._widths), axis=1))

    def shuffled(self) -> Iterator[NDArray[np.int64]]:
        """Yield all messages in random order, piece by piece, and delete the files: once only."""
        parts = self.parts
        if not self._size:
            yield np.zeros((self.count, len(self._widths)), dtype=np.int64)
            return
        paths = [self._folder / "all"]
        if parts > 1:
            paths = [self._folder / str(part) for part in range(parts)]
            self._scatter(paths)
        for path in paths:
            if path.exists():
                rows = np.fromfile(path, dtype=np.uint8).reshape(-1, self._size)
                path.unlink()
                rows = rows[random_order(len(rows), self._entropy)]
                for at in range(0, len(rows), self._rows):
                    yield from_bits(np.unpackbits(rows[at : at + self._rows], axis=1), self._widths)

    @property
    def _rows(self) -> int:
        return max(1, _PIECE // (8 * self._size))

    def _scatter(self, paths: Sequence[Path]) -> None:
        """Put every message into a part that is drawn for it alone."""
        # A large piece, so that each part gets many messages at a time, within what memory will be taken anyway.
        size = self._size * max(self._rows, self._memory // (_OF_ORDER + 2 * self._size))
        with open(self._folder / "all", "rb") as file:
            while piece := file.read(size):
                rows = np.frombuffer(piece, dtype=np.uint8).reshape(-1, self._size)
                drawn = np.frombuffer(self._entropy(4 * len(rows)), dtype=np.uint32) & np.uint32(len(paths) - 1)
                order = np.argsort(drawn, kind="stable")
                ends = np.cumsum(np.bincount(drawn, minlength=len(paths)))
                for path, found in zip(paths, np.split(rows[order], ends[:-1]), strict=True):
                    if len(found):
                        _append(path, found)
        (self._folder / "all").unlink()


def _append(path: Path, rows: NDArray[np.uint8]) -> None:
    if rows.size:
        with open(path, "ab") as file:
            file.write(rows.tobytes())
