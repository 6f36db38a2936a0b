"""A file of records to which records are only ever added: each with a hash of itself and of all before it.

One record is one line of JSON, written by one call at the end of the file and flushed to the disk before anybody is
told so. A process that is killed in the middle leaves a last line without its end, which is *torn*: nobody was told of
it, and all before it stands. Anything else that is not as it was written is *damage*. A file of either kind is refused;
only a torn line can be taken off, by an explicit call. Records at the end that are gone as a whole leave no trace in
the file: who wants to notice notes the last hash somewhere else.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from protocols.classes.frozen import dataclass

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from dpverify.files import replaced
from protocols.classes.optional import needing
from protocols.validation import check_file

__all__ = ["DamagedFileError", "Lines", "TornLineError", "locked", "repair"]

_FIRST = "0" * 64
"""The hash before the first record."""
_PATIENCE = 60.0
"""Seconds that a writer waits for another."""
_APPEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)


class DamagedFileError(ValueError):
    """A file is not what was written: it is refused, and never written to."""


class TornLineError(DamagedFileError):
    """The last line has no end: whoever wrote it was killed, and was not told that it was written."""


@dataclass(frozen=True)
class Lines:
    """What a whole file says.

    - records: In the order in which they were added.
    - head: The hash of the last one, and of all before it.
    - size: Of the file, in bytes.
    """

    records: tuple[dict[str, Any], ...]
    head: str
    size: int

    @classmethod
    def read(cls, path: Path) -> Lines:
        """Return what a file says.

        Raises TornLineError if only its last line is not whole. Raises DamagedFileError if anything else is not as it
        was written.
        """
        whole, torn = _parted(path)
        found = _checked(path, whole)
        if torn:
            raise TornLineError(
                f"path={str(path)!r} ends in the middle of line {len(found.records) + 1}: its writer was stopped, and "
                "told nobody that it was written; `repair` takes it off."
            )
        return found

    def append(self, path: Path, record: Mapping[str, Any]) -> Lines:
        """Add a record to the file that this was read from, under the same lock, and return what it says then.

        Raises OSError if somebody has written there since it was read, as after the lock was deleted, or it cannot be
        written.
        """
        line, head = _line(self.head, record)
        _write(path, line, self.size)
        return Lines((*self.records, dict(record)), head, self.size + len(line))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep all other processes and threads that ask from a file; the lock ends with its process, however that ends.

    It is beside the file itself, so that who comes by a symbolic link finds the same lock.

    Raises ValueError if its folder does not exist, or something else leads to another place under the lock's name.
    Raises OSError if another holds it for a minute, or no lock can be made there.
    """
    with needing("What is kept under a lock"):
        import filelock

    lock = f"{os.path.realpath(path)}.lock"
    if not os.path.isdir(os.path.dirname(lock)):
        raise ValueError(f"path={str(path)!r} must be in a folder that exists.")
    if os.path.islink(lock):
        raise ValueError(f"path={str(path)!r} must have a lock of its own beside it, but {lock!r} is a link.")
    with open(lock, "ab"):  # a folder that cannot be written to is said at once, and not waited for
        pass
    try:
        with filelock.FileLock(lock, timeout=_PATIENCE):
            yield
    except filelock.Timeout as error:
        raise OSError(None, f"another process has held it for {_PATIENCE:.0f} seconds", str(path)) from error


def create(path: Path, record: Mapping[str, Any]) -> Lines:
    """Make a file with one record, whole or not at all; call it under the lock.

    Raises ValueError if there is a file already.
    """
    if os.path.lexists(path):  # a link to nothing is something
        raise ValueError(f"path={str(path)!r} must not exist: a file of what was spent is never overwritten.")
    line, head = _line(_FIRST, record)
    with replaced(path, durable=True) as part:
        Path(part).write_bytes(line)
    return Lines((dict(record),), head, len(line))


def repair(path: Path) -> str:
    """Take a torn last line off, and return it; call it under the lock.

    Raises DamagedFileError if anything else is wrong: nothing is changed then. Raises ValueError if no line is torn.
    """
    whole, torn = _parted(path)
    _checked(path, whole)
    if not torn:
        raise ValueError(f"path={str(path)!r} has no torn line to take off.")
    with open(path, "r+b") as file:
        file.truncate(len(whole))
        os.fsync(file.fileno())
    return torn.decode(errors="replace")


def _parted(path: Path) -> tuple[bytes, bytes]:
    """Return the whole lines of a file, and what is left behind the last."""
    check_file("path", path, "a ledger")
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    return content[:end], content[end:]


def _checked(path: Path, whole: bytes) -> Lines:
    records, head = [], _FIRST
    for number, line in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            entry = json.loads(line)
            record = entry["record"]
            known = _line(head, record)
        except (ValueError, KeyError, TypeError, RecursionError):
            known = (b"", "")
        # To the byte: a line that says the same in other words was written by somebody else.
        if known[0] != line + b"\n":
            raise DamagedFileError(
                f"path={str(path)!r} is damaged in line {number}: it is not what was written there, or not after the "
                "lines before it."
            )
        records.append(record)
        head = known[1]
    if not records:
        raise DamagedFileError(f"path={str(path)!r} is damaged: it holds no record.")
    return Lines(tuple(records), head, len(whole))


def _line(previous: str, record: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return the line of a record behind a hash, and its own hash."""
    content = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    head = hashlib.sha256(f"{previous}{content}".encode()).hexdigest()
    entry = {"previous": previous, "record": record, "hash": head}
    return (json.dumps(entry, sort_keys=True, separators=(",", ":")) + "\n").encode(), head


def _write(path: Path, line: bytes, size: int) -> None:
    file = os.open(path, _APPEND)
    try:
        if fcntl is not None:  # elsewhere a lock that is held cannot be deleted
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_size != size:
            raise OSError(None, "another process has written to it, so its lock was taken away; try again", str(path))
        if (names := os.fstat(file).st_nlink) > 1:
            raise ValueError(
                f"path={str(path)!r} must be the only name of its file, but it has {names} (hard links): a lock beside "
                "one does not keep who comes by another."
            )
        if os.write(file, line) != len(line):
            raise OSError(None, "only a part of a line could be written: `repair` takes it off", str(path))
        os.fsync(file)
    finally:
        os.close(file)
