"""A file that is only added to: every byte that is not as it was written is noticed, and nothing is overwritten."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import filelock
import pytest

from dpverify.spending.lines import DamagedFileError, Lines, TornLineError, create, locked, repair


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "spent.jsonl"
    with locked(path):
        known = create(path, {"kind": "budget"})
        for number in range(3):
            known = known.append(path, {"kind": "spend", "number": number})
    assert Lines.read(path) == known
    return path


def test_every_changed_byte_is_noticed(path: Path) -> None:
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DamagedFileError):
            Lines.read(path)


def test_lines_that_were_removed_exchanged_or_said_in_other_words_are_noticed(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    spaced = (json.dumps(json.loads(lines[1])) + "\n").encode()
    for damaged in (
        [*lines[:1], *lines[2:]],
        [lines[0], lines[2], lines[1], lines[3]],
        [lines[0], spaced, *lines[2:]],
        [*lines[:2], b"\n", *lines[2:]],
        [*lines, lines[3]],
        lines[1:],
        [],
    ):
        path.write_bytes(b"".join(damaged))
        with pytest.raises(DamagedFileError, match="is damaged"):
            Lines.read(path)
    heads = set()  # of files that end in the same record
    for kind in ("budget", "larger budget"):
        other = path.with_name(kind)
        heads.add(create(other, {"kind": kind}).append(other, {"kind": "spend"}).head)
    assert len(heads) == 2


def test_a_line_torn_anywhere_is_taken_off_by_an_explicit_call_only(path: Path) -> None:
    content = path.read_bytes()
    kept = content[: content[:-1].rfind(b"\n") + 1]
    for end in range(len(kept) + 1, len(content), 7):
        path.write_bytes(content[:end])
        with pytest.raises(TornLineError, match="ends in the middle of line 4"):
            Lines.read(path)
        assert path.read_bytes() == content[:end]
        assert repair(path) == content[len(kept) : end].decode()
        assert path.read_bytes() == kept
    assert [record.get("number") for record in Lines.read(path).records] == [None, 0, 1]


def test_repair_leaves_whatever_else_is_wrong(path: Path) -> None:
    with pytest.raises(ValueError, match="has no torn line to take off"):
        repair(path)
    damaged = path.read_bytes().replace(b'"number":1', b'"number":7')[:-5]
    path.write_bytes(damaged)
    with pytest.raises(DamagedFileError, match="damaged in line 3"):
        repair(path)
    assert path.read_bytes() == damaged


def test_a_file_is_made_once(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    with pytest.raises(ValueError, match="must not exist"):
        create(path, {"kind": "budget"})
    assert path.read_bytes() == content
    with pytest.raises(ValueError, match="there is no such file"):
        Lines.read(tmp_path / "other")


def test_a_lock_is_found_by_a_link_and_a_second_name_is_refused(path: Path, tmp_path: Path) -> None:
    link, name = tmp_path / "link", tmp_path / "name"
    link.symlink_to(path)
    with locked(path), pytest.raises(filelock.Timeout), filelock.FileLock(f"{path}.lock", timeout=0):
        pass
    with locked(link):
        with pytest.raises(filelock.Timeout), filelock.FileLock(f"{path}.lock", timeout=0):
            pass
        known = Lines.read(link).append(link, {"kind": "spend"})
    assert Lines.read(path) == known
    name.hardlink_to(path)
    for each in (path, name):
        with locked(each), pytest.raises(ValueError, match=r"must be the only name of its file, but it has 2 "):
            Lines.read(each).append(each, {"kind": "spend"})
    assert Lines.read(path) == known


def test_who_has_deleted_a_held_lock_or_led_it_elsewhere_writes_nothing_unseen(path: Path, tmp_path: Path) -> None:
    known = Lines.read(path)
    with locked(path):
        os.unlink(f"{path}.lock")
        with locked(path):  # a second writer
            second = Lines.read(path).append(path, {"kind": "spend"})
        with pytest.raises(OSError, match="another process has written to it"):
            known.append(path, {"kind": "spend", "label": "first"})
    assert Lines.read(path) == second
    (tmp_path / "precious").write_text("kept")
    os.unlink(f"{path}.lock")
    os.symlink(tmp_path / "precious", f"{path}.lock")
    with pytest.raises(ValueError, match="is a link"), locked(path):
        pass
    assert (tmp_path / "precious").read_text() == "kept"


def test_where_nothing_can_be_written_nothing_is_left_or_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(ValueError, match=r"spent' must be in a folder that exists\.$"),
        locked(tmp_path / "no" / "spent"),
    ):
        pass
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(ValueError, match="must not exist"):
        create(link, {"kind": "budget"})

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        create(tmp_path / "spent", {"kind": "budget"})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link"]


def test_what_is_not_whole_on_the_disk_is_not_said_to_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, write, content = Lines.read(path), os.write, path.read_bytes()

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, locked(path):
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            known.append(path, {"kind": "spend"})
    path.write_bytes(content)
    with monkeypatch.context() as patched, locked(path):
        patched.setattr(os, "write", lambda file, line: write(file, line[:9]))
        with pytest.raises(OSError, match="only a part of a line"):
            known.append(path, {"kind": "spend"})
    with pytest.raises(TornLineError):
        Lines.read(path)
    torn = path.read_bytes()
    assert repair(path) == '{"hash":"'
    assert Lines.read(path) == known
    path.write_bytes(torn)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            repair(path)


def test_who_writes_without_the_lock_is_waited_for(path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    known = Lines.read(path)
    with ThreadPoolExecutor(1) as pool, open(path, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        written = pool.submit(known.append, path, {"kind": "spend"})
        with pytest.raises(TimeoutError):
            written.result(timeout=0.2)
        fcntl.flock(other, fcntl.LOCK_UN)
        assert written.result() == Lines.read(path)
