"""The store: an upload once, until enough are there, and then all of them, in no order."""

from __future__ import annotations

import functools
import random
import signal
import sqlite3
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.collection.batches import Batches
from dpverify.collection.client import header, largest
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.store import Store, TooFewUploadsError
from protocols.bitsum import LocalRandomizedResponse, RandomizedResponse
from tests.collection import crashes
from tests.collection.test_uploads import sent
from tests.collection.vectors import QUERIES, made

FEW = 24


def opened(folder: Path, plan: Manifest) -> Store:
    return Store(folder, plan.data, plan.hash)


@functools.cache
def few() -> Manifest:
    return manifest([("q", RandomizedResponse(FEW, 0.25), 1, 15)], delta="0.01")


def uploads(plan: Manifest, bits: list[int], seed: int = 1, query: int = 0) -> list[tuple[bytes, bytes]]:
    """Return keys and uploads of one query of bits: those that a client would send whose noise is 0."""
    rng = random.Random(seed)
    head, _ = header(plan.hash, query, largest(plan.content["queries"][query]))
    return [(rng.randbytes(16), head + bytes([bit << 7])) for bit in bits]


def statuses(store: Store, sent: list[tuple[bytes, bytes]]) -> list[int]:
    return [204 if wrong is None else wrong.status for wrong in store.add(sent)]


def messages(plan: Manifest, folder: Path) -> list[np.ndarray]:
    reader = Batches(plan.data, plan.hash)
    paths = sorted(folder.iterdir(), key=lambda path: int(path.stem))
    return [np.concatenate([*reader.read(path).fields()]) for path in paths]


def rows(fields: np.ndarray) -> Counter[tuple[int, ...]]:
    return Counter(map(tuple, fields.tolist()))


def expected(query: dict[str, Any], fields: np.ndarray) -> Counter[tuple[int, ...]]:
    """Return the messages of one instance, written apart from the store."""
    kind = query["kind"]
    if kind in ("report", "bloom"):
        return rows(fields)
    if kind == "counts":
        up, down = fields[:, 0].sum(), fields[:, 1:].sum()
        return +Counter({(1,): int(up), (0,): int(down)}) if "flood" in query["tables"] else Counter({(): int(up)})
    if kind == "sum":
        return +Counter({(): int(fields.sum())})
    if kind == "shares":
        return rows(fields.reshape(-1, 1))
    if kind == "buckets":
        return Counter({(bucket,): int(count) for bucket, count in enumerate(fields.sum(axis=0))})
    if kind == "unary":
        counts = fields.sum(axis=0).reshape(-1, 2)
        return +Counter({(at, side): int(counts[at, side]) for at in range(len(counts)) for side in (0, 1)})
    begins = np.concatenate([[0], np.cumsum(query["blocks"])]).tolist()
    pairs = [(begins[block] + row[2 * block], row[2 * block + 1]) for row in fields for block in range(len(begins) - 1)]
    return Counter((int(coordinate), int(level)) for coordinate, level in pairs)


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_what_is_released_are_the_messages_of_all_uploads(name: str, tmp_path: Path) -> None:
    plan, rng = made(name), random.Random(name)
    (query,) = plan.content["queries"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpverify.collection.store._PIECE", 1 << 12)
        store = opened(tmp_path / "day", plan)
        base = sent(name, 40, 3)
        each = [rng.choice(base) for _ in range(2_000)]
        assert statuses(store, [(rng.randbytes(16), upload) for upload in each]) == [204] * 2_000
        folder = store.release(name)
    count = query["instances"] if query["kind"] != "bloom" else 1
    fields = np.split(store.collector.fields(name, each), count, axis=1)
    found = messages(plan, folder)
    assert [rows(one) for one in found] == [expected(query, one) for one in fields]
    reader = Batches(plan.data, plan.hash).read(folder / "0.batch")
    assert (reader.name, reader.users) == ("day", 2_000)


def test_an_upload_is_taken_once(tmp_path: Path) -> None:
    plan = few()
    store, each = opened(tmp_path / "day", plan), uploads(plan, [1] * FEW)
    (key, upload), (_, changed) = each[0], uploads(plan, [0])[0]
    assert statuses(
        store, [(key, upload), (key, upload), (key, changed), (key, b""), (b"short", upload), (key * 2, upload)]
    ) == [*(204, 204, 409, 400, 400, 400)]
    store.close()
    store = opened(tmp_path / "day", plan)  # it is on the disk
    assert statuses(store, each) == [204] * FEW
    assert store.count("q") == FEW
    assert statuses(store, uploads(plan, [1], seed=2)) == [409]  # as many as there are users
    (found,) = messages(plan, store.release("q"))
    assert rows(found) == {(1,): FEW}
    assert statuses(store, [*each[:1], *uploads(plan, [1], seed=2)]) == [410, 410]
    assert store.count("q") == FEW


def test_a_batch_is_released_from_the_public_number_of_users_on(tmp_path: Path) -> None:
    plan = few()
    store, each = opened(tmp_path / "day", plan), uploads(plan, [1, 0] * 12)
    store.add(each[:15])
    for least, reason in ((None, "must have 24 uploads"), (16, "must have 16 uploads")):
        with pytest.raises(TooFewUploadsError, match=reason):
            store.release("q", least=least)
    for least in (14, 25):  # fewer than are accounted for as honest, and more than there are
        with pytest.raises(ValueError, match=rf"^least={least} must be an integer in \[15, 24\]"):
            store.release("q", least=least)
    assert statuses(store, each[15:16]) == [204]  # it stayed open
    assert len(messages(plan, store.release("q", least=15))[0]) == 16
    with pytest.raises(ValueError, match=r"^name='other' must be one of q"):
        store.release("other")


def test_a_release_leaves_what_was_uploaded_to_other_queries_and_is_made_once(tmp_path: Path) -> None:
    plan = manifest([(name, RandomizedResponse(4, 0.25), 1, 2) for name in "qr"], delta="0.01")
    store = opened(tmp_path / "day", plan)
    store.add([*uploads(plan, [1, 1, 0]), *uploads(plan, [1, 0, 0, 0], query=1)])
    folder = store.release("q", least=3)
    assert store.release("q") == folder  # though there were fewer than usual
    assert [rows(messages(plan, each)[0]) for each in (folder, store.release("r"))] == [
        {(1,): 2, (0,): 1},
        {(1,): 1, (0,): 3},
    ]


def test_a_local_report_is_released_without_others(tmp_path: Path) -> None:
    plan = manifest([("q", LocalRandomizedResponse(FEW, 0.25))], delta=0)
    store = opened(tmp_path / "day", plan)
    with pytest.raises(TooFewUploadsError, match="must have 1 uploads"):
        store.release("q")
    store.add(uploads(plan, [1]))
    assert rows(messages(plan, store.release("q"))[0]) == {(1,): 1}


def test_numbers_of_uploads_are_told_whatever_becomes_of_them(tmp_path: Path) -> None:
    plan = manifest(
        [(name, RandomizedResponse(4, 0.25), 1, 2) for name in "qr"] + [("all", RandomizedResponse(4, 0.25))],
        delta="0.01",
    )
    store, beside = opened(tmp_path / "day", plan), opened(tmp_path / "day", plan)
    store.add([*uploads(plan, [1]), *uploads(plan, [1, 0, 0], query=1)])
    found = beside.collected()
    assert [(row.query, row.uploads, row.users, row.needed, row.least, row.state) for row in found.rows] == [
        ("q", 1, 4, 4, 2, "open"),
        ("r", 3, 4, 4, 2, "open"),
        ("all", 0, 4, 4, 4, "open"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_write", None)
        with pytest.raises(TypeError):  # it stops
            store.release("r", least=3)
    store.close()
    again = opened(tmp_path / "day", plan)
    assert [row.state for row in again.collected().rows] == ["open", "closed", "open"]
    again.release("r")
    assert [(row.uploads, row.state) for row in beside.collected().rows] == [(1, "open"), (3, "released"), (0, "open")]
    assert again.collected().since == found.since  # the folder's, not the process's


def test_neither_keys_nor_the_order_of_arrival_are_stored_and_nothing_is_left(tmp_path: Path) -> None:
    plan = few()
    store, each = opened(tmp_path / "day", plan), uploads(plan, [1] * 12 + [0] * 12)
    keys = [b"the key no. %04d" % place for place in range(FEW)]  # that tell the order
    for key, (_, upload) in zip(keys, each, strict=True):
        store.add([(key, upload)])
    database = sqlite3.connect(tmp_path / "day" / "uploads.db")
    columns = "SELECT key, payload FROM uploads"
    assert [name for (name,) in database.execute("SELECT name FROM pragma_table_info('uploads')")] == [
        *("query", "key", "payload")
    ]
    found = database.execute(columns).fetchall()
    assert len(found) == FEW
    assert found != sorted(found, key=lambda row: row[1], reverse=True)  # but once in 2,704,156
    content = b"".join(path.read_bytes() for path in (tmp_path / "day").iterdir())
    assert not [key for key in keys if key in content]
    assert not {blake2b(key, digest_size=16).digest() for key in keys} & {key for key, _ in found}  # who guesses a key
    store.release("q")
    content = b"".join(path.read_bytes() for path in (tmp_path / "day").iterdir() if path.is_file())
    assert database.execute(columns).fetchall() == []
    assert not [key for key, _ in found if key in content]  # overwritten, not only forgotten


def test_what_is_told_is_on_the_disk_where_nobody_else_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = list[Path]()
    monkeypatch.setattr("dpverify.collection.store.keep_names", flushed.append)
    plan, day = few(), tmp_path / "day"
    store = opened(day, plan)
    assert day.stat().st_mode & 0o077 == 0
    assert store._database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    store.add(uploads(plan, [1] * FEW))
    store.release("q")
    assert flushed == [tmp_path, day, day, day / "released"]


def test_uploads_are_nobody_elses_in_a_folder_that_others_may_read(tmp_path: Path) -> None:
    day = tmp_path / "day"
    day.mkdir(mode=0o755)
    (day / "uploads.db").touch(mode=0o644)  # as versions before wrote it
    store = opened(day, few())
    store.add(uploads(few(), [1]))
    assert {path.name: path.stat().st_mode & 0o077 for path in day.iterdir()} == dict.fromkeys(
        ("uploads.db", "uploads.db-shm", "uploads.db-wal"), 0
    )


def test_damaged_uploads_are_told(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "uploads.db").write_bytes(b"x" * 5_000)
    with pytest.raises(ValueError, match=r"^folder='.*' must have the uploads of a batch: file is not a database\.$"):
        opened(tmp_path / "day", few())


def test_a_release_for_which_there_is_no_room_is_made_later(tmp_path: Path) -> None:
    """No file may grow beyond 40 bytes: as where a disk is full. What is stored stays, and no part of it lies about."""
    resource = pytest.importorskip("resource")
    plan, before = few(), resource.getrlimit(resource.RLIMIT_FSIZE)
    store = opened(tmp_path / "day", plan)
    store.add(uploads(plan, [1] * FEW))
    signals = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with pytest.MonkeyPatch.context() as patch:
        write = store._write

        def small(*arguments: Any) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (40, before[1]))
            try:
                write(*arguments)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)

        patch.setattr(store, "_write", small)
        with pytest.raises(OSError, match="File too large"):
            store.release("q")
    signal.signal(signal.SIGXFSZ, signals)
    assert not list((tmp_path / "day").glob("part-*"))
    assert store.count("q") == FEW
    (found,) = messages(plan, store.release("q"))
    assert rows(found) == {(1,): FEW}


def test_a_release_that_was_stopped_behind_its_files_only_deletes_what_was_stored(tmp_path: Path) -> None:
    plan = few()
    store = opened(tmp_path / "day", plan)
    store.add(uploads(plan, [1] * FEW))
    (tmp_path / "day" / "part-0" / "batch").mkdir(parents=True)  # of one that was killed before
    with pytest.MonkeyPatch.context() as patch:
        write = store._write

        def stopped(*arguments: Any) -> None:
            write(*arguments)
            raise InterruptedError

        patch.setattr(store, "_write", stopped)
        with pytest.raises(InterruptedError):
            store.release("q")
    (path,) = (tmp_path / "day" / "released" / "0").iterdir()
    content = path.read_bytes()
    assert statuses(store, uploads(plan, [1], seed=2)) == [410]
    store.release("q")
    assert path.read_bytes() == content
    assert sqlite3.connect(tmp_path / "day" / "uploads.db").execute("SELECT * FROM uploads").fetchall() == []


def test_a_folder_is_that_of_one_manifest_and_batch(tmp_path: Path) -> None:
    plan, other = few(), made("rr")
    opened(tmp_path / "day", plan).close()
    with pytest.raises(ValueError, match=f"that of the manifest {other.hash}"):
        opened(tmp_path / "day", other)
    (tmp_path / "day").rename(tmp_path / "night")
    with pytest.raises(ValueError, match="and the batch 'night'"):
        opened(tmp_path / "night", plan)
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "none" / "day", tmp_path):
        with pytest.raises(ValueError, match=r"^folder="):
            opened(folder, plan)
    with pytest.raises(ValueError, match=r"^batch="):
        opened(tmp_path / "d\u00e4y", plan)


@pytest.mark.long
@pytest.mark.skipif(not crashes.POSSIBLE, reason="system calls are told by the numbers of Linux on x86-64")
def test_a_collector_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Before some of its calls that write; `python -m tests.collection.crashes` does it before all of them."""
    try:
        _, calls = crashes.killed(tmp_path / "whole", crashes.plan(), None)
    except OSError as error:
        pytest.skip(str(error))
    for place, points in enumerate((*([calls * part // 7] for part in range(1, 8)), [30, 20, 5], [3, 50])):
        crashes.survives(tmp_path / str(place), points)
