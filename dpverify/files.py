"""Files that are written as a whole or not at all: a reader never sees half of one. And JSON that says one thing."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["check_path", "csv_text", "keep_names", "once", "parsed", "replaced", "unread", "write_text"]


def check_path(path: Path, name: str, endings: Collection[str] = (), read: Iterable[Path] = ()) -> None:
    """Check, before the work for a file, that it can be written there.

    - path: Where it is to be written.
    - name: What asked for it, for the message.
    - endings: What its name may end in; anything when empty.
    - read: The files that the work reads, none of which it may replace.

    Raises ValueError if the path ends in none of them, or its folder does not exist or cannot be written to, or it is
    no file, or one that is read.
    """
    said = f"{name}={str(path)!r}"
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"{said} must end in one of {', '.join(endings)}.")
    if not path.parent.is_dir():
        raise ValueError(f"{said} must be in a folder that exists.")
    try:
        with suppress(FileNotFoundError):
            path.stat()  # what `exists` passes over, from Python 3.14 on all of it: links in a circle, a name too long
        if path.exists() and not path.is_file():
            there = "a folder" if path.is_dir() else "something else"
            raise ValueError(f"{said} must be a file, but {there} is there.")
        if path.exists() and any(other.exists() and path.samefile(other) for other in read):
            raise ValueError(f"{said} must be another file than those that are read, which it would replace.")
        folder = path.resolve().parent
    except OSError as error:
        raise ValueError(f"{said} must be a file that can be written: {error.strerror}.") from None
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(f"{said} must be in a folder that can be written to: {error.strerror}.") from None


@contextmanager
def replaced(path: Path, *, durable: bool = False) -> Iterator[str]:
    """Give the name of a file to write beside a path, which takes its place once that has worked.

    - path: Where, in a folder that exists; a file there is replaced.
    - durable: Whether it must survive a power failure from then on.

    Raises OSError if the folder cannot be written to.
    """
    path = path.resolve()  # what a link leads to is replaced, not the link
    handle, name = tempfile.mkstemp(prefix=".part-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    try:
        yield name
        # mkstemp makes a private file; this one has the permissions of what it replaces, or that any new file has.
        try:
            mode = path.stat().st_mode & 0o777
        except FileNotFoundError:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask
        os.chmod(name, mode)
        if durable:
            with open(name, "r+b") as file:
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    if durable:
        keep_names(path.parent)


def keep_names(folder: Path) -> None:
    """Have the names in a folder survive a power failure, where systems have that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(text: str, path: Path) -> None:
    """Write a text to a file; its lines end as they are."""
    with replaced(path) as name, open(name, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows, which all have the keys of the first, as a CSV file with one line of headers; None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def once(entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return entries by name, each of which is there once: of two that differ nobody knows which was meant."""
    found = dict(entries)
    if len(found) < len(entries):
        twice = next(name for name, number in Counter(name for name, _ in entries).items() if number > 1)
        raise ValueError(f"{twice!r} is there twice")
    return found


def parsed(text: str | bytes) -> Any:
    """Return what JSON says; ValueError, whose message ends a sentence, if it is none or has a name twice."""
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise ValueError(unread(error)) from error


def unread(error: Exception) -> str:
    """Return, to end a sentence, why a text was not read: in own words where the parser has only a programmer's."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "it is no text in UTF-8"
    if str(error).startswith("Exceeds the limit"):
        return "it has an integer of too many digits"
    kind = {json.JSONDecodeError: "JSON", csv.Error: "table"}.get(type(error))
    return f"it is no {kind}: {error}" if kind else str(error)
