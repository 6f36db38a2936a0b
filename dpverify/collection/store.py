"""What a collector keeps of the uploads of one batch, on disk, until enough are there to be released.

An upload is kept as its payload alone, under a key that its sender chose: no address, no time, no header. What is
stored of the key is its hash with a secret of the store, and uploads are kept in the order of these, so that neither
keys that say something nor the order of arrival are there. (Pages of the file are written as uploads arrive: whoever
copies it again and again while the batch is open sees which came in between, as whoever runs the service may anyway.)

SQLite keeps them: one transaction for all uploads that wait, flushed to the disk before anybody is told so. A query's
batch is released in three steps, of which each can be done again after a crash:

1. it is closed, in a transaction that finds enough uploads: from then on none is added;
2. its messages are shuffled into files of a folder, which is flushed and then gets its name by one call;
3. its uploads and keys are deleted, and overwritten, in one transaction.

So an upload that was acknowledged is in exactly one released batch, and one that was not in one or none: only in the
last step, after the batch is there, does it leave the store, and the batch has its name once.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.registry import mechanism_claims_of
from dpverify.collection.batches import Batches, check_name, instances, message_fields, message_rows
from dpverify.collection.client import largest
from dpverify.collection.shuffling import Shuffler
from dpverify.collection.uploads import Collector, UploadError
from dpverify.files import keep_names
from dpverify.guarantee import ThreatModel
from dpverify.shown import Drawn, Plain
from dpverify.spending.lines import locked
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["Arrived", "Collected", "NotTaken", "Store", "TooFewUploadsError"]

_KEY = 16
_STATES = ("open", "closed", "released")
_OPEN, _CLOSED, _RELEASED = range(len(_STATES))
_PIECE = 1 << 18
"""Bits of uploads that are taken apart at a time."""
_TABLES = """
CREATE TABLE batch (hash TEXT NOT NULL, name TEXT NOT NULL, secret BLOB NOT NULL);
CREATE TABLE queries (query INTEGER PRIMARY KEY, uploads INTEGER NOT NULL, state INTEGER NOT NULL);
CREATE TABLE uploads (query INTEGER, key BLOB, payload BLOB NOT NULL, PRIMARY KEY (query, key)) WITHOUT ROWID
"""


class NotTaken(ValueError):
    """An upload that is not stored.

    Parameters
    ----------
    reason : str
        A sentence that shows nothing of it.
    status : int
        How HTTP calls that.
    """

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class TooFewUploadsError(ValueError):
    """A batch has fewer uploads than its guarantee takes: nothing was released, and it stays open."""


@dataclass(frozen=True)
class Arrived(Plain):
    """What has arrived for one query.

    Parameters
    ----------
    query : str
        Its name.
    uploads : int
        How many were stored, also if they were released and deleted since.
    users : int or None
        How many are taken at most, None without a limit.
    needed : int
        From how many uploads on it is released, if nothing else is said.
    least : int
        From how many on it can be, where so many are known to be honest: the smallest `least` of `Store.release`.
    state : str
        "open", "closed" where a release has begun and is to be asked for again, or "released".
    """

    query: str
    uploads: int
    users: int | None
    needed: int
    least: int
    state: str


@dataclass(frozen=True)
class Collected(Drawn):
    """How far a batch is: numbers of uploads, which are public once it is released, and nothing of what is in them.

    Parameters
    ----------
    batch : str
        Its name.
    since : str or None
        When its folder was made, in UTC to the minute; None for one of before version 0.3.
    rows : tuple of Arrived
        One for each query, in the order of the manifest.
    """

    table_by = "dpverify.report.collections.arrivals:collected_table"
    figure_by = "dpverify.report.collections.arrivals:collected_bars"

    batch: str
    since: str | None
    rows: tuple[Arrived, ...]


def _is_local(protocol: Any) -> bool:
    return ThreatModel.LOCAL in mechanism_claims_of(protocol).threat_models


class Store:
    """The uploads of one batch, in a folder of its name.

    Parameters
    ----------
    folder : Path
        An empty or new one, or that of this batch; its name is the batch's.
    manifest : bytes
        As clients read it.
    hash : str
        As clients know it.

    Raises
    ------
    ValueError
        For another manifest than before, or a folder with something else, damaged or of another batch.
    """

    def __init__(self, folder: Path, manifest: bytes, hash: str) -> None:
        self.folder = folder.resolve()
        self.name = self.folder.name
        check_name(self.name)
        self.collector, self._batches = Collector(manifest, hash), Batches(manifest, hash)
        protocols = self.collector.protocols
        self._places = {query["name"]: place for place, query in enumerate(self._batches.queries)}
        self._begins = [self.collector.begin(name) for name in self._places]
        self._users = [getattr(protocols[name], "users", None) for name in self._places]
        self._local = [_is_local(protocols[name]) for name in self._places]
        if not self.folder.parent.is_dir() or (self.folder.exists() and not self.folder.is_dir()):
            raise ValueError(f"folder={str(folder)!r} must be a folder, or a new one in a folder that exists.")
        self._path = self.folder / "uploads.db"
        if self.folder.is_dir() and not self._path.exists() and any(self.folder.iterdir()):
            raise ValueError(f"folder={str(folder)!r} must be empty, or have the uploads of a batch.")
        self.folder.mkdir(mode=0o700, exist_ok=True)
        keep_names(self.folder.parent)
        self._path.touch(mode=0o600)  # in a folder that others may read, too; what SQLite writes beside it is as it is
        self._path.chmod(0o600)
        keep_names(self.folder)
        self._lock = threading.Lock()
        try:
            self._database = self._connected()
        except sqlite3.DatabaseError as error:
            raise ValueError(f"folder={str(folder)!r} must have the uploads of a batch: {error}.") from error
        with self._changing() as database:
            if not database.execute("SELECT name FROM sqlite_master").fetchall():
                for table in _TABLES.split(";"):
                    database.execute(table)
                database.execute("INSERT INTO batch VALUES (?, ?, ?)", (hash, self.name, secrets.token_bytes(32)))
                rows = [(place, 0, _OPEN) for place in self._places.values()]
                database.executemany("INSERT INTO queries VALUES (?, ?, ?)", rows)
                # The one time that is kept, before there are uploads. A second's number would not fit in 2038.
                database.execute(f"PRAGMA user_version = {int(time.time()) // 60}")
            (*known, self._secret) = database.execute("SELECT hash, name, secret FROM batch").fetchone()
        if known != [hash, self.name]:
            self.close()
            raise ValueError(f"folder={str(folder)!r} must be that of the manifest {hash} and the batch {self.name!r}.")

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def count(self, name: str) -> int:
        """Return how many uploads to a query were stored."""
        with self._lock:
            return self._state(self._place(name))[0]

    def collected(self) -> Collected:
        """Return how many uploads to each query were stored, and whether that is enough to release them."""
        with self._lock:
            (minutes,) = self._database.execute("PRAGMA user_version").fetchone()
            states = [self._state(place) for place in self._places.values()]
        since = datetime.fromtimestamp(60 * minutes, UTC).strftime("%Y-%m-%dT%H:%MZ") if minutes else None
        rows = [
            Arrived(name, uploads, self._users[place], *self._needs(place), _STATES[state])
            for (name, place), (uploads, state) in zip(self._places.items(), states, strict=True)
        ]
        return Collected(self.name, since, tuple(rows))

    def add(self, uploads: Sequence[tuple[bytes, bytes]]) -> list[NotTaken | None]:
        """Store uploads, each under a key of 16 bytes, all in one transaction, and return what is wrong with each.

        None is wrong with an upload that is stored, and will survive a power failure, when this returns: also if it was
        stored before under the same key. The same key of another query is another upload.

        Raises
        ------
        sqlite3.Error
            If they cannot be written: none of them is stored then.
        """
        found = [self._read(*each) for each in uploads]
        with self._changing():
            return [each if isinstance(each, NotTaken) else self._take(*each) for each in found]

    def release(self, name: str, *, least: int | None = None, memory: int = 1 << 28) -> Path:
        """Release a query's batch, shuffled, delete its uploads and keys, and return the folder of its files.

        What was interrupted goes on; what was released stays as it is.

        Parameters
        ----------
        name : str
            Of the query.
        least : int, optional
            The number of uploads that it takes: by default the protocol's public number of users, all of whom are there
            then, and so those that are accounted for as honest. Fewer, but not fewer than these, say that at most
            so many less these are not honest. For local reports, which need no others, 1 by default.
        memory : int
            As for `Shuffler`.

        Raises
        ------
        TooFewUploadsError
            If there are fewer.
        ValueError
            If an argument is out of its range.
        OSError
            If another process releases, or something cannot be written.
        """
        place = self._place(name)
        usual, fewest = self._needs(place)
        needed = check_integer("least", usual if least is None else least, low=fewest, high=self._users[place])
        target = self.folder / "released" / str(place)
        with locked(self._path):
            with self._changing() as database:
                count, state = self._state(place)
                if state == _OPEN and count < needed:
                    raise TooFewUploadsError(f"{name} must have {needed} uploads to be released, and has {count}.")
                if state == _OPEN:
                    database.execute("UPDATE queries SET state = ? WHERE query = ?", (_CLOSED, place))
            if state != _RELEASED:
                work = self.folder / f"part-{place}"
                try:
                    if not target.exists():
                        shutil.rmtree(work, ignore_errors=True)  # of what was interrupted
                        self._write(place, count, work, target, memory)
                finally:
                    shutil.rmtree(work, ignore_errors=True)  # a full disk has room for uploads again
                with self._changing() as database:
                    database.execute("DELETE FROM uploads WHERE query = ?", (place,))
                    database.execute("UPDATE queries SET state = ? WHERE query = ?", (_RELEASED, place))
                self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return target

    def _connected(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=60.0, isolation_level=None, check_same_thread=False)
        for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            database.execute(f"PRAGMA {setting}")
        return database

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Make one transaction, which no other process's is inside of."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise ValueError(f"name={name!r} must be one of {', '.join(self._places)}.")
        return self._places[name]

    def _needs(self, place: int) -> tuple[int, int]:
        """Return from how many uploads on a batch is released by default, and at the least."""
        users: Any = self._users[place]  # which shuffled protocols have
        return (1, 1) if self._local[place] else (users, self._batches.queries[place]["honest"] or users)

    def _state(self, place: int) -> tuple[int, int]:
        users, state = self._database.execute("SELECT uploads, state FROM queries WHERE query = ?", (place,)).fetchone()
        return users, state

    def _read(self, key: bytes, upload: bytes) -> NotTaken | tuple[int, bytes, bytes]:
        """Return the query's place, what is stored of the key, and the payload."""
        if len(key) != _KEY:
            return NotTaken(f"key must have {_KEY} bytes.", 400)
        try:
            place = self._places[self.collector.parse(upload)[0]]
        except UploadError as error:
            return NotTaken(str(error), 400)
        hidden = hashlib.blake2b(key, key=self._secret, digest_size=_KEY).digest()
        return place, hidden, upload[len(self._begins[place]) :]

    def _take(self, place: int, key: bytes, payload: bytes) -> NotTaken | None:
        users, state = self._state(place)
        if state != _OPEN:
            return NotTaken("upload must be to a query whose batch is open: this one is closed.", 410)
        known = self._database.execute("SELECT payload FROM uploads WHERE query = ? AND key = ?", (place, key))
        if (row := known.fetchone()) is not None:
            return None if row[0] == payload else NotTaken("key must be new: it came with another upload.", 409)
        if users == self._users[place]:
            return NotTaken("upload must be one of as many as there are users: all of these are there.", 409)
        self._database.execute("INSERT INTO uploads VALUES (?, ?, ?)", (place, key, payload))
        self._database.execute("UPDATE queries SET uploads = uploads + 1 WHERE query = ?", (place,))
        return None

    def _write(self, place: int, users: int, work: Path, target: Path, memory: int) -> None:
        """Write a closed batch, whole or not at all."""
        query, parts = self._batches.queries[place], work / "batch"
        widths, shufflers = [most.bit_length() for most in message_fields(query)], []
        parts.mkdir(mode=0o700, parents=True)
        for instance in range(instances(query)):
            folder = work / str(instance)
            folder.mkdir(mode=0o700)
            shufflers.append(Shuffler(folder, widths, memory=memory))
        for uploads in self._stored(place):
            for shuffler, messages in zip(shufflers, self._messages(query, uploads), strict=True):
                shuffler.add(messages)
        for instance, shuffler in enumerate(shufflers):
            path = parts / f"{instance}.batch"
            named: dict[str, Any] = {"batch": self.name, "query": place, "instance": instance}
            self._batches.write(path, shuffler.shuffled(), **named, users=users, count=shuffler.count)
        target.parent.mkdir(exist_ok=True)
        keep_names(self.folder)
        os.rename(parts, target)
        keep_names(target.parent)

    def _messages(self, query: Any, uploads: list[bytes]) -> list[NDArray[np.int64]]:
        if query["kind"] == "bloom":
            return [self.collector.fields(query["name"], uploads)]
        return [message_rows(query, each.symbols) for each in self.collector.messages(query["name"], uploads)]

    def _stored(self, place: int) -> Iterator[list[bytes]]:
        """Yield the uploads to a closed query, some at a time."""
        begin, bits = self._begins[place], sum(most.bit_length() for most in largest(self._batches.queries[place]))
        some = max(1, _PIECE // max(4, bits))
        with closing(self._connected()) as database:  # another one, which keeps no transaction waiting
            rows = database.execute("SELECT payload FROM uploads WHERE query = ? ORDER BY key", (place,))
            while found := rows.fetchmany(some):
                yield [begin + payload for (payload,) in found]
