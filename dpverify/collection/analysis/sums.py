"""How often each message is there: partial sums of batches, which any machine makes of some files, and which merge.

Files are batches (`dpverify.collection.batches`), Parquet files with the columns query, instance and symbol, which
DuckDB counts, or sums that were written as JSON.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.collection.batches import Batch, Batches, instances, message_fields
from dpverify.files import parsed
from protocols.classes.frozen import dataclass
from protocols.classes.optional import needing

__all__ = ["IN_ONE", "Reader", "Sums"]

FORMAT, VERSION = "dpverify sums", 1
_ONES = np.array([byte.bit_count() for byte in range(256)])
_ROWS = "query, instance, symbol"
IN_ONE = ("bloom", "shares")
"""Kinds of queries of which an upload is one report, or one number in parts: not messages to be counted one by one."""


@dataclass(frozen=True, eq=False)
class Sums:
    """How often each message was sent to each instance of each query.

    Parameters
    ----------
    manifest : str
        The manifest's hash.
    users : dict of str to ndarray of int64, shape (instances,)
        By query: how many users' messages are counted in each instance.
    counts : dict of str to ndarray of int64, shape (instances, symbols)
        By query; of RAPPOR, of each cohort its reports, and then the ones of each bit.
    files : frozenset of (str, str, int)
        The files of batches that were counted: batch, query and instance.
    """

    manifest: str
    users: Mapping[str, NDArray[np.int64]]
    counts: Mapping[str, NDArray[np.int64]]
    files: frozenset[tuple[str, str, int]] = frozenset()

    @property
    def batches(self) -> list[str]:
        """The names of the batches that were counted."""
        return sorted({batch for batch, _, _ in self.files})

    def __add__(self, other: Sums) -> Sums:
        """Return both together, in whatever order sums are added.

        ValueError if they are of two manifests, or both have counted the same file.
        """
        if other.manifest != self.manifest:
            raise ValueError(f"manifest={other.manifest} must be that of the other sums, {self.manifest}.")
        twice = sorted(self.files & other.files)
        if twice:
            raise ValueError(f"files={list(twice[0])} must be counted once.")

        def added(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
            return {name: a[name] + b[name] if name in a and name in b else {**a, **b}[name] for name in {**a, **b}}

        users, counts = added(self.users, other.users), added(self.counts, other.counts)
        return Sums(self.manifest, users, counts, self.files | other.files)

    def to_json(self) -> str:
        """Return them as JSON, for `Reader.json` elsewhere; the same for the same sums."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "manifest": self.manifest,
            "queries": {
                name: {"users": self.users[name].tolist(), "counts": self.counts[name].tolist()}
                for name in sorted(self.counts)
            },
            "files": sorted(map(list, self.files)),
        }
        return json.dumps(content, separators=(",", ":")) + "\n"


class Reader:
    """What counts the messages to the queries of one manifest.

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
        self._batches, self._hash = Batches(manifest, hash), hash
        self.queries = {query["name"]: query for query in self._batches.queries}

    @property
    def nothing(self) -> Sums:
        """The sums of no messages."""
        return Sums(self._hash, {}, {})

    def symbols(self, name: str) -> list[int]:
        """Return what messages to a query are called: those of protocols of noise by their symbols, others from 0 on.

        ValueError for a query of strings or of shares, which are not counted one by one, and for an unknown one.
        """
        known = [each for each, query in self.queries.items() if query["kind"] not in IN_ONE]
        if name not in known:
            raise ValueError(f"query={name!r} must be one of those with messages: {', '.join(known)}.")
        query = self.queries[name]
        if query["kind"] in ("counts", "sum"):
            return [-1, 1] if "flood" in query["tables"] else [1]
        return list(range(_cells(query)))

    def files(self, paths: Iterable[str | Path], users: int | None = None) -> Sums:
        """Return the sums of files and of folders of these; Parquet by its ending, sums by theirs, .json.

        Parameters
        ----------
        paths : iterable of str or Path
            Each once.
        users : int, optional
            How many users' messages are in all Parquet files together; see `rows`.

        Raises
        ------
        ValueError
            For a file that is none of these, or is counted twice.
        """
        found = [each for path in map(Path, paths) for each in (_within(path) if path.is_dir() else [path])]
        tables = [path for path in found if path.suffix == ".parquet"]
        if len({path.resolve() for path in found}) < len(found):
            raise ValueError("paths must name each file once.")
        if users is not None and not tables:
            raise ValueError(f"users={users!r} must be omitted without Parquet files: all others say how many sent.")
        parts: Iterator[Sums] = (
            self.json(path.read_bytes(), f"path={str(path)!r}") if path.suffix == ".json" else self.batch(path)
            for path in found
            if path not in tables
        )
        whole = functools.reduce(operator.add, parts, self.nothing)
        return whole + self.parquet(tables, users) if tables else whole

    def batch(self, path: str | Path) -> Sums:
        """Return the sums of a batch's file; `BatchError` if it is none of this manifest."""
        batch = self._batches.read(Path(path))
        name = batch.query["name"]
        shape = (instances(batch.query), _cells(batch.query))
        users, counts = np.zeros(shape[0], dtype=np.int64), np.zeros(shape, dtype=np.int64)
        users[batch.instance], counts[batch.instance] = batch.users, _counted(batch)
        return Sums(self._hash, {name: users}, {name: counts}, frozenset({(batch.name, name, batch.instance)}))

    def parquet(self, paths: Sequence[str | Path], users: int | None = None) -> Sums:
        """Return the sums of Parquet files, each row a message, by DuckDB; see `rows`."""
        with needing("Counting Parquet files"):
            import duckdb
        listed = [str(path) for path in paths]
        try:
            with duckdb.connect() as database:
                asked = f"SELECT {_ROWS}, count(*) AS n FROM read_parquet(?) GROUP BY ALL"
                found = database.execute(asked, [listed]).fetchnumpy()
        except duckdb.Error as error:
            raise ValueError(
                f"paths={listed} must be Parquet files with the columns {_ROWS}: {str(error).splitlines()[0]}"
            ) from error
        if any(map(np.ma.is_masked, found.values())):
            raise ValueError(f"paths={listed} must have a query, an instance and a symbol in each row.")
        return self.rows(found["query"], found["instance"], found["symbol"], found["n"], users=users)

    def rows(
        self,
        query: ArrayLike,
        instance: ArrayLike,
        symbol: ArrayLike,
        count: ArrayLike | None = None,
        *,
        users: int | Mapping[str, int] | None = None,
    ) -> Sums:
        """Return the sums of messages in columns, such as those of one partition of a table.

        Parameters
        ----------
        query, instance, symbol : array_like, shape (rows,)
            The query's name, its instance from 0 on, and what `symbols` calls the message.
        count : array_like of int, shape (rows,), optional
            How many such messages a row stands for; 1 when omitted.
        users : int or dict of str to int, optional
            How many users' messages these are, to every query that is here. Where one table is in several partitions
            these have a dict: one partition the users of each query, whether or not it has a message of it, and the
            others {}. When omitted each message of a `report` is that of a user, and other queries are refused.

        Raises
        ------
        ValueError
            For a message that clients cannot send.
        """
        names, places, codes = np.asarray(query, dtype=object), np.asarray(instance), np.asarray(symbol)
        given = np.ones(len(names), dtype=np.int64) if count is None else np.asarray(count)
        with np.errstate(invalid="ignore"):
            numbers = given.astype(np.int64)
        if not np.array_equal(numbers, given):
            raise ValueError(f"count={given[numbers != given][0]} must be an integer in [0, 2^63).")
        there, counts = dict[str, NDArray[np.int64]](), dict[str, NDArray[np.int64]]()
        told = users if isinstance(users, Mapping) else {}
        for name in dict.fromkeys([*names.tolist(), *told]):
            symbols = np.array(self.symbols(name))
            of, asked = names == name, self.queries[name]
            at, code = places[of], np.minimum(np.searchsorted(symbols, codes[of]), symbols.size - 1)
            known = (symbols[code] == codes[of]) & (at >= 0) & (at < asked["instances"]) & (numbers[of] >= 0)
            if not (known & (at == np.floor(at))).all():
                raise ValueError(f"rows of {name} must have instances and symbols of that query.")
            counts[name] = np.zeros((asked["instances"], symbols.size), dtype=np.int64)
            np.add.at(counts[name], (at.astype(np.int64), code), numbers[of])
            if users is None and asked["kind"] != "report":
                raise ValueError(
                    f"users={users} must be given: messages to {name} do not tell how many users sent them."
                )
            number = users if isinstance(users, int) else told.get(name, 0)
            each = counts[name].sum(axis=1) if users is None else np.full(asked["instances"], number, dtype=np.int64)
            there[name] = each
        return Sums(self._hash, there, counts)

    def json(self, text: str | bytes, named: str = "text") -> Sums:
        """Return sums that were written as JSON; ValueError, which says how they are named, if they are none of this.

        Those are of the same manifest.
        """
        said = f"{named} must be sums of this manifest, as `to_json` writes them"
        try:
            content = parsed(text)
        except ValueError as error:
            raise ValueError(f"{said}: {error}.") from error
        try:
            if (content["format"], content["version"], content["manifest"]) != (FORMAT, VERSION, self._hash):
                raise ValueError
            users, counts = dict[str, NDArray[np.int64]](), dict[str, NDArray[np.int64]]()
            for name, each in content["queries"].items():
                shape = (instances(self.queries[name]), _cells(self.queries[name]))
                users[name], counts[name] = (np.array(each[key]) for key in ("users", "counts"))
                if not counts[name].dtype == users[name].dtype == np.int64:
                    raise ValueError
                if counts[name].shape != shape or users[name].shape != shape[:1]:
                    raise ValueError
                if min(counts[name].min(), users[name].min()) < 0:
                    raise ValueError
            files = frozenset((str(batch), str(name), int(place)) for batch, name, place in content["files"])
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{said}.") from error
        return Sums(self._hash, users, counts, files)


def _within(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    if not found:
        raise ValueError(f"The folder {str(folder)!r} has no batches.")
    return found


def _cells(query: Mapping[str, Any]) -> int:
    """Return how many different messages there are; of reports of strings a cohort's, and the ones of its bits."""
    if query["kind"] == "shares":
        return 1  # what they add up to
    if query["kind"] == "bloom":
        return int(query["cohorts"] * (1 + query["bits"]))
    return int(np.prod([most + 1 for most in message_fields(query)], dtype=np.int64))


def _counted(batch: Batch) -> NDArray[np.int64]:
    """Return how often each message is there."""
    width, cells = sum(batch.widths), _cells(batch.query)
    if batch.query["kind"] == "shares":
        return np.array([sum(int(fields.sum()) for fields in batch.fields())])
    if width == 0:
        return np.array([batch.messages])
    if width == 1:
        ones = sum(int(_ONES @ np.bincount(piece, minlength=256)) for piece in batch.packed())
        return np.array([batch.messages - ones, ones])
    found = np.zeros(cells, dtype=np.int64)
    if batch.query["kind"] == "bloom":
        for fields in batch.fields():
            cohorts, fields[:, 0] = fields[:, 0].copy(), 1
            np.add.at(found.reshape(-1, fields.shape[1]), cohorts, fields)
        return found
    sizes = [most + 1 for most in message_fields(batch.query)]
    for fields in batch.fields():
        found += np.bincount(np.ravel_multi_index(tuple(fields.T), sizes), minlength=cells)
    return found
