"""Released batches: the messages of each instance of a query, shuffled, in a file of a few bits each.

A batch of a query is a folder, which appears as a whole, with one file for each instance, so that whoever sums them up
may take file by file, on any machine. A file is one item of deterministic CBOR, which `clients/formats.cddl` has: a
head of a few bytes, and a byte string with all messages, one after another without gaps, the first bit first, filled up
with zeros to whole bytes. What one message is depends on the query's kind:

- `report`: the choice; one bit for `rr`;
- `counts`: nothing, without a flood: only the number of messages matters. With a flood, one bit: 1 for a message +1 and
  0 for -1;
- `buckets`: the bucket;
- `vector`: the coordinate, among all, and the value;
- `unary`: the coordinate, and 0 for + or 1 for -;
- `sum`: nothing, as only the number of messages matters; of `shares` the share;
- `bloom`: the cohort, and the bits of the filter. All reports are in one file, that of instance 0.

Everything in the head but the numbers of users and messages and the batch's name follows from the manifest, and what is
read is compared with what would be written: there is one encoding only, and no parser to be led astray.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dpverify.collection.client import head, largest, read_manifest
from dpverify.collection.uploads import from_bits, to_bits
from dpverify.files import replaced
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["Batch", "BatchError", "Batches", "check_name", "instances", "message_fields", "message_rows", "per_user"]

VERSION = 1
_LONGEST_NAME = 64
_CHUNK = 1 << 20
"""Bits that are taken apart at a time."""


class BatchError(ValueError):
    """A file is not a batch of this manifest that was written here."""


def instances(query: Mapping[str, Any]) -> int:
    """Return how many files a batch of a query has."""
    return 1 if query["kind"] == "bloom" else int(query["instances"])


def message_fields(query: Mapping[str, Any]) -> list[int]:
    """Return the largest value of each field of one message to a query of a manifest."""
    kind = query["kind"]
    if kind == "report":
        return [query["choices"] - 1]
    if kind == "counts":
        return [1] if "flood" in query["tables"] else []
    if kind == "sum":
        return []
    if kind == "shares":
        return [query["modulus"] - 1]
    if kind == "buckets":
        return [query["buckets"] - 1]
    if kind == "vector":
        return [sum(query["blocks"]) - 1, query["levels"]]
    if kind == "unary":
        return [query["coordinates"] - 1, 1]
    return [query["cohorts"] - 1] + [1] * query["bits"]


def message_rows(query: Mapping[str, Any], symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return messages as `Collector.messages` has their symbols by their fields, shape (messages, fields)."""
    if query["kind"] in ("counts", "sum"):
        return (symbols > 0).astype(np.int64)[:, np.newaxis][:, : len(message_fields(query))]
    return symbols[:, 1:] if query["kind"] == "buckets" else symbols.reshape(len(symbols), -1)


def check_name(name: str) -> None:
    """Check that a text may be the name of a batch; ValueError else."""
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not (name.isascii() and name.isprintable()):
        raise ValueError(f"batch={name!r} must be a text of 1 to {_LONGEST_NAME} printable ASCII characters.")


def per_user(query: Mapping[str, Any]) -> tuple[int, int]:
    """Return the least and the largest number of messages of one user to one instance."""
    if query["kind"] == "unary":
        return 0, int(query["messages"])
    if query["kind"] in ("counts", "buckets", "sum"):
        return 0, sum(largest(query)) // int(query["instances"])
    each = len(query["blocks"]) if query["kind"] == "vector" else int(query.get("shares", 1))
    return each, each


@dataclass(frozen=True)
class Batch:
    """A file that was read: its head was found right, and its length; the messages are still there.

    Parameters
    ----------
    path : Path
        Where it is.
    name : str
        Of the batch.
    query : dict
        Of the manifest, as that has it.
    place : int
        The query's, in the manifest.
    instance : int
        Of the query.
    users : int
        How many users' uploads the messages are from.
    messages : int
        How many there are.
    """

    path: Path
    name: str
    query: Mapping[str, Any]
    place: int
    instance: int
    users: int
    messages: int

    def __post_init__(self) -> None:
        check_name(self.name)
        check_integer("instance", self.instance, low=0, high=instances(self.query) - 1)
        check_integer("users", self.users, low=1)
        least, most = per_user(self.query)
        check_integer("messages", self.messages, low=least * self.users, high=most * self.users)

    @property
    def widths(self) -> list[int]:
        """The bits of each field of a message."""
        return [most.bit_length() for most in message_fields(self.query)]

    @property
    def size(self) -> int:
        """The bytes of all messages."""
        return -(-self.messages * sum(self.widths) // 8)

    def head(self, hash: str) -> bytes:
        """Return what the file begins with, before the messages."""
        widths = [head(0, width) for width in self.widths]
        name = self.name.encode("ascii")
        numbers = head(0, self.users) + head(0, self.messages)
        begin = b"\x89" + head(0, VERSION) + head(2, 32) + bytes.fromhex(hash) + head(0, self.place)
        called = head(0, self.instance) + head(3, len(name)) + name
        return begin + called + numbers + head(4, len(widths)) + b"".join(widths) + head(2, self.size)

    def packed(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the bytes of the messages, piece by piece, of whole messages each.

        Where one bit is a message, that is all there is to count. What follows the last message in its byte is 0.

        Raises
        ------
        BatchError
            If it is not, or the file has changed.
        """
        width, left = sum(self.widths), self.size
        piece = max(1, _CHUNK // max(1, 8 * width)) * width  # of eight messages, so many times
        with open(self.path, "rb") as file:
            file.seek(-left, 2)
            while left:
                found = np.frombuffer(file.read(min(piece, left)), dtype=np.uint8)
                left -= found.size
                if found.size != piece and left:
                    raise BatchError(f"path={str(self.path)!r} must not change while it is read.")
                unused = -self.messages * width % 8
                if not left and found[-1] & ((1 << unused) - 1):
                    raise BatchError(f"path={str(self.path)!r} must end in zeros after the last message.")
                yield found

    def fields(self) -> Iterator[NDArray[np.int64]]:
        """Yield the fields of the messages, shape (messages, fields), piece by piece: in a memory that is fixed.

        Raises
        ------
        BatchError
            If one is larger than it can be, or as for `packed`.
        """
        widths, most, left = self.widths, np.array(message_fields(self.query)), self.messages
        width = sum(widths)
        for packed in self.packed():
            count = min(left, packed.size * 8 // width)
            left -= count
            found = from_bits(np.unpackbits(packed)[: count * width].reshape(count, width), widths)
            if (found > most).any():
                raise BatchError(f"path={str(self.path)!r} must have messages that clients can send.")
            yield found
        if left:  # messages without any bits
            yield np.zeros((left, len(widths)), dtype=np.int64)


class Batches:
    """What writes and reads the batches of one manifest.

    Parameters
    ----------
    manifest : bytes
        As clients read it.
    hash : str
        As clients know it.

    Raises
    ------
    ValueError
        For another manifest.
    """

    def __init__(self, manifest: bytes, hash: str) -> None:
        self._hash = hash
        self.queries: list[Mapping[str, Any]] = read_manifest(manifest, hash)["queries"]

    def write(
        self,
        path: Path,
        messages: Iterable[NDArray[np.int64]],
        *,
        batch: str,
        query: int,
        instance: int,
        users: int,
        count: int,
    ) -> None:
        """Write a file that is whole, or not there, and survives a power failure.

        Parameters
        ----------
        path : Path
            Where, in a folder that exists.
        messages : iterable of ndarray, shape (some, fields)
            Their fields, **already shuffled**.
        batch : str
            Its name.
        query, instance : int
            Places.
        users : int
            How many users' uploads these messages are.
        count : int
            How many messages there are in all.

        Raises
        ------
        ValueError
            If an argument is out of range, or there are more or fewer messages.
        """
        made = self.batch(path, batch=batch, query=query, instance=instance, users=users, count=count)
        self.write_packed(made, _packed(made, messages), durable=True)

    def batch(self, path: Path, *, batch: str, query: int, instance: int, users: int, count: int) -> Batch:
        """Return a batch's file that is yet to be written; see `write`."""
        check_integer("query", query, low=0, high=len(self.queries) - 1)
        return Batch(path, batch, self.queries[query], query, instance, users, count)

    def write_packed(self, made: Batch, pieces: Iterable[NDArray[np.uint8]], *, durable: bool) -> None:
        """Write a file whose messages are bytes already, of which all but the last have no bits left over."""
        with replaced(made.path, durable=durable) as name, open(name, "wb") as file:
            file.write(made.head(self._hash))
            written = sum(file.write(piece.tobytes()) for piece in pieces)
            if written != made.size:
                raise ValueError(f"count={made.messages} must be the number of messages.")

    def read(self, path: Path) -> Batch:
        """Return a batch's file, whose messages are yet to be read.

        Raises
        ------
        BatchError
            If it is no file of a batch of this manifest, or too short or too long.
        """
        with open(path, "rb") as file:
            try:
                found = self._head(path, file)
            except ValueError as error:
                raise BatchError(f"path={str(path)!r} must be a batch of this manifest, but {error}") from None
            begin = found.head(self._hash)
            file.seek(0)
            if file.read(len(begin)) != begin:
                raise BatchError(f"path={str(path)!r} must begin as batches of this manifest do.")
            length = file.seek(0, 2)
        if length != len(begin) + found.size:
            raise BatchError(f"path={str(path)!r} must have {len(begin) + found.size} bytes, and has {length}.")
        return found

    def _head(self, path: Path, file: BinaryIO) -> Batch:
        """Return what the numbers in a head say; whether it is written as it must be is for the caller to see."""
        begin = b"\x89" + head(0, VERSION) + head(2, 32) + bytes.fromhex(self._hash)
        if file.read(len(begin)) != begin:
            raise ValueError("it does not begin as one.")
        place, instance = _number(file, 0), _number(file, 0)
        check_integer("query", place, low=0, high=len(self.queries) - 1)
        length = _number(file, 3)
        name = file.read(min(length, _LONGEST_NAME + 1)).decode("ascii", "replace")
        return Batch(path, name, self.queries[place], place, instance, _number(file, 0), _number(file, 0))


def _packed(made: Batch, messages: Iterable[NDArray[np.int64]]) -> Iterator[NDArray[np.uint8]]:
    """Yield the bits of messages, in whole bytes; ValueError for one that no client sends, or another count."""
    most, written = np.array(message_fields(made.query)), 0
    rest = np.zeros(0, dtype=np.uint8)  # bits of messages that do not fill a byte yet
    for fields in messages:
        if ((fields < 0) | (fields > most)).any():
            raise ValueError("messages must be such as clients can send.")
        written += len(fields)
        bits = np.concatenate([rest, to_bits(fields, made.widths).ravel()])
        whole = bits.size // 8 * 8
        yield np.packbits(bits[:whole])
        rest = bits[whole:]
    yield np.packbits(rest)
    if written != made.messages:
        raise ValueError(f"count={made.messages} must be the number of messages, {written}.")


def _number(file: BinaryIO, major: int) -> int:
    """Return the number in the head of a CBOR item of some major type, whether or not it is the shortest."""
    first = file.read(1)
    size = 0 if not first or first[0] & 31 < 24 else 1 << (first[0] & 31) - 24
    if not first or first[0] >> 5 != major or size > 8:
        raise ValueError("it has no number where one has it.")
    return int.from_bytes(file.read(size), "big") if size else first[0] & 31
