"""What a collector reads: uploads, of which nothing is let in that no client can send, as a protocol's messages.

A query's uploads all begin with the same bytes and have the same length (`dpverify.collection.client.header`), so that
reading the CBOR of one is comparing it with these: no other encoding, order, length or field gets in, and there is no
parser to be led astray. What is left are the fields, each with a largest value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.collection.client import header, largest, read_manifest
from dpverify.collection.manifest import protocol_in
from protocols.bitsum.base import messages_by_symbol
from protocols.rappor.response import Reports
from protocols.shuffler import UserMessages, tagged

__all__ = ["Collector", "UploadError", "asked_range", "from_bits", "to_bits"]


def asked_range(query: Mapping[str, Any]) -> tuple[int, int]:
    """Return the lowest and the largest answer to a query that asks for levels or buckets, or the cells of strings."""
    return (1, query["instances"] + 1) if query["asks"] == "levels" else (0, query["instances"] - 1)


class UploadError(ValueError):
    """Bytes that no client of this manifest can have sent; nothing of them is shown."""


class Collector:
    """What reads the uploads to a manifest.

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
        self._queries: dict[str, Mapping[str, Any]] = {}
        self._begins: dict[bytes, str] = {}
        self._sizes: dict[str, int] = {}
        for number, query in enumerate(read_manifest(manifest, hash)["queries"]):
            name = query["name"]
            begin, size = header(hash, number, largest(query))
            self._queries[name], self._begins[begin], self._sizes[name] = query, name, size
        self._lengths = {len(begin) for begin in self._begins}

    @property
    def protocols(self) -> dict[str, Any]:
        """The protocol of each query, by name, with the parameters of the manifest."""
        return {name: protocol_in(dict(query)) for name, query in self._queries.items()}

    @property
    def longest(self) -> int:
        """The bytes of the longest upload."""
        return max(len(begin) + self._sizes[name] for begin, name in self._begins.items())

    def begin(self, name: str) -> bytes:
        """Return what all uploads to a query begin with, before their payload."""
        self._query(name)
        return next(begin for begin, known in self._begins.items() if known == name)

    def parse(self, upload: bytes) -> tuple[str, NDArray[np.int64]]:
        """Return the query's name and the fields of one upload; UploadError if no client can have sent it."""
        if not isinstance(upload, bytes):
            raise UploadError(f"upload must be bytes, and is a {type(upload).__name__}.")
        name = next((self._begins[upload[:end]] for end in self._lengths if upload[:end] in self._begins), None)
        if name is None:
            raise UploadError("upload must begin as those to a query of this manifest do.")
        return name, self.fields(name, [upload])[0]

    def fields(self, name: str, uploads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the fields of uploads to one query, shape (uploads, fields).

        UploadError if no client can have sent one; ValueError for an unknown query.
        """
        query, begin = self._query(name), self.begin(name)
        length = len(begin) + self._sizes[name]
        for place, upload in enumerate(uploads):
            if len(upload) != length or not upload.startswith(begin):
                raise UploadError(f"uploads[{place}] must have {length} bytes, and begin as those to {name} do.")
        raw = np.frombuffer(b"".join(uploads), dtype=np.uint8).reshape(len(uploads), length)[:, len(begin) :]
        found, most = _unpacked(raw, largest(query))
        outside = (found > most).any(axis=1) | _impossible(query, found)
        if outside.any():
            raise UploadError(f"uploads[{int(np.argmax(outside))}] must have fields that a client can send.")
        return found

    def messages(self, name: str, uploads: Sequence[bytes]) -> list[UserMessages]:
        """Return the messages in uploads to one query, for each instance, as the protocol's `randomize` returns them.

        Senders are places among the uploads, for the shuffler to drop. UploadError as for `fields`; ValueError for a
        query of strings, which has `reports`.
        """
        query = self._query(name)
        if query["kind"] == "bloom":
            raise ValueError(f"name={name!r} must be a query with messages: this one has reports.")
        fields = self.fields(name, uploads)
        return [_MESSAGES[query["kind"]](query, each) for each in np.split(fields, query["instances"], axis=1)]

    def reports(self, name: str, uploads: Sequence[bytes]) -> Reports:
        """Return the reports of a query of strings, each as of a user of her own, as nothing tells who sent several."""
        if self._query(name)["kind"] != "bloom":
            raise ValueError(f"name={name!r} must be a query of strings.")
        fields = self.fields(name, uploads)
        return Reports(fields[:, 0], fields[:, np.newaxis, 1:].astype(np.bool_))

    def _query(self, name: str) -> Mapping[str, Any]:
        if name not in self._queries:
            raise ValueError(f"name={name!r} must be one of {', '.join(self._queries)}.")
        return self._queries[name]


def _columns(widths: Sequence[int]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]]:
    """Yield the fields of each width, the places of their bits, and what these are shifted by."""
    each = np.array(widths, dtype=np.intp)
    starts = np.cumsum(each) - each
    for width in sorted(set(widths) - {0}):
        columns = np.flatnonzero(each == width)
        yield columns, starts[columns][:, np.newaxis] + np.arange(width), np.arange(width, dtype=np.int64)[::-1]


def from_bits(bits: NDArray[np.uint8], widths: Sequence[int]) -> NDArray[np.int64]:
    """Return fields of so many bits each, shape (rows, fields), from rows of bits, whatever else is in these."""
    found = np.zeros((len(bits), len(widths)), dtype=np.int64)
    for columns, places, shifts in _columns(widths):
        found[:, columns] = bits[:, places] @ (1 << shifts)
    return found


def to_bits(fields: NDArray[np.int64], widths: Sequence[int]) -> NDArray[np.uint8]:
    """Return the bits of fields, shape (rows, bits): what `from_bits` reads."""
    found = np.zeros((len(fields), sum(widths)), dtype=np.uint8)
    for columns, places, shifts in _columns(widths):
        found[:, places] = fields[:, columns, np.newaxis] >> shifts & 1
    return found


def _unpacked(raw: NDArray[np.uint8], most: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return fields and the largest value of each; where the last bits of a row are not all 0, more than that."""
    bits, widths = np.unpackbits(raw, axis=1), [each.bit_length() for each in most]
    found = from_bits(bits, widths)
    padded = bits[:, sum(widths) :].any(axis=1)
    limits = np.array(most, dtype=np.int64)
    found[padded, 0] = limits[0] + 1
    return found, limits


def _impossible(query: Mapping[str, Any], fields: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return of which uploads fields contradict each other: both counts hold the same flood, or there are too many.

    Of a vector one of both counts of a coordinate is noise alone.
    """
    if query["kind"] == "unary":
        alone = np.minimum(fields[:, ::2], fields[:, 1::2]).max(axis=1) > len(query["tables"]["noise"])
        return np.asarray(alone | (fields.sum(axis=1) > query["messages"]))
    if "flood" not in query["tables"]:
        return np.zeros(len(fields), dtype=np.bool_)
    up, down = fields[:, ::2], fields[:, 1::2]
    least = np.maximum(np.maximum(up - 1, down) - len(query["tables"]["noise"]), 0)
    return np.asarray((least > np.minimum(up, down)).any(axis=1))  # no field is so large that all of a flood is less


def _of_reports(query: Mapping[str, Any], fields: NDArray[np.int64]) -> UserMessages:
    return UserMessages(fields[:, 0], np.arange(len(fields)))


def _of_counts(query: Mapping[str, Any], fields: NDArray[np.int64]) -> UserMessages:
    return messages_by_symbol(dict(zip((1, -1), fields.T, strict=False)))


def _of_buckets(query: Mapping[str, Any], fields: NDArray[np.int64]) -> UserMessages:
    return tagged([messages_by_symbol({1: counts}) for counts in fields.T])


def _of_unary(query: Mapping[str, Any], fields: NDArray[np.int64]) -> UserMessages:
    senders, places = np.nonzero(fields)
    number = fields[senders, places]
    rows = np.stack([places // 2, places % 2], axis=1)
    return UserMessages(np.repeat(rows, number, axis=0), np.repeat(senders, number))


def _of_shares(query: Mapping[str, Any], fields: NDArray[np.int64]) -> UserMessages:
    return UserMessages(fields.ravel(), np.repeat(np.arange(len(fields)), fields.shape[1]))


def _of_vectors(query: Mapping[str, Any], fields: NDArray[np.int64]) -> UserMessages:
    begins = np.cumsum([0, *query["blocks"][:-1]])
    rows = np.stack([fields[:, ::2] + begins, fields[:, 1::2]], axis=-1)
    return UserMessages(rows.reshape(-1, 2), np.repeat(np.arange(len(fields)), begins.size))


_MESSAGES = {
    "report": _of_reports,
    "counts": _of_counts,
    "buckets": _of_buckets,
    "vector": _of_vectors,
    "unary": _of_unary,
    "sum": _of_counts,
    "shares": _of_shares,
}
