"""Released batches: what was written is read, and nothing else is."""

from __future__ import annotations

import functools
import random
from pathlib import Path

import numpy as np
import pytest

from dpverify.collection.batches import BatchError, Batches, message_fields
from dpverify.collection.client import largest
from tests.collection.test_uploads import mutated
from tests.collection.vectors import QUERIES, made


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda handle: None)


@functools.cache
def batches(name: str) -> Batches:
    plan = made(name)
    return Batches(plan.data, plan.hash)


def written(path: Path, name: str, users: int, rng: np.random.Generator) -> np.ndarray:
    """Write a file of users' messages, in pieces of odd lengths, and return these."""
    found = batches(name)
    (query,) = found.queries
    most = np.array(message_fields(query))
    each = {"vector": len(query.get("blocks", ())), "report": 1, "bloom": 1, "shares": query.get("shares")}.get(
        query["kind"]
    )
    count = users * each if each else int(rng.integers(0, 1 + users * min(5, sum(largest(query)))))
    fields = rng.integers(0, most + 1, (count, len(most)))
    pieces = np.split(fields, sorted(rng.integers(0, count + 1, 5)))
    found.write(path, pieces, batch="day 1", query=0, instance=0, users=users, count=count)
    return fields


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_what_was_written_is_read(name: str, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(1), tmp_path / "0"
    for users in (1, 2, 7, 300):
        fields = written(path, name, users, rng)
        batch = batches(name).read(path)
        assert (batch.name, batch.place, batch.instance, batch.users) == ("day 1", 0, 0, users)
        read = np.concatenate([np.zeros((0, fields.shape[1]), dtype=np.int64), *batch.fields()])
        np.testing.assert_array_equal(read, fields)
        bits = np.concatenate([np.zeros(0, dtype=np.uint8), *map(np.unpackbits, batch.packed())])
        if batch.widths == [1]:  # one bit is a message
            np.testing.assert_array_equal(bits[: len(fields)], fields[:, 0])


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_a_file_is_deterministic_cbor(name: str, tmp_path: Path) -> None:
    cbor2 = pytest.importorskip("cbor2", reason="cbor2 is not installed: pip install '.[test]'")
    fields = written(tmp_path / "0", name, 300, np.random.default_rng(2))
    data = (tmp_path / "0").read_bytes()
    read = cbor2.loads(data)
    widths = [most.bit_length() for most in message_fields(batches(name).queries[0])]
    assert read[:-1] == [1, bytes.fromhex(made(name).hash), 0, 0, "day 1", 300, len(fields), widths]
    assert cbor2.dumps(read, canonical=True) == data
    digits = "".join(
        f"{value:0{width}b}" for row in fields.tolist() for value, width in zip(row, widths, strict=True) if width
    )
    assert read[-1] == bytes(int(digits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(digits), 8))


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_read_is_what_would_be_written(name: str, tmp_path: Path) -> None:
    """Mutated files are refused, but for those that are other batches, written as these must be."""
    rng, path, again = random.Random(name), tmp_path / "0", tmp_path / "1"
    found, refused = batches(name), 0
    fields = written(path, name, 9, np.random.default_rng(3))
    data = path.read_bytes()
    for _ in range(100):
        changed = mutated(data, [data], rng)
        path.write_bytes(changed)
        try:
            batch = found.read(path)
            pieces = list(batch.fields())
        except BatchError:
            refused += 1
            continue
        given = {"batch": batch.name, "query": 0, "instance": batch.instance}
        found.write(again, pieces, **given, users=batch.users, count=batch.messages)
        assert again.read_bytes() == changed
    assert refused > 25
    assert len(fields) <= 9 * sum(largest(found.queries[0]))


def test_what_is_no_batch_is_not_written(tmp_path: Path) -> None:
    found, path = batches("rr"), tmp_path / "0"
    right = {"batch": "b", "query": 0, "instance": 0, "users": 3, "count": 3}
    for wrong, reason in (
        ({"batch": "\n"}, "batch"),
        ({"query": 1}, "query"),
        ({"instance": 99}, "instance"),
        ({"users": 2}, "messages"),
        ({"users": 4}, "messages"),
        ({"users": 4, "count": 4}, "count"),
    ):
        with pytest.raises(ValueError, match=f"^{reason}="):
            found.write(path, [np.zeros((3, 1), dtype=np.int64)], **{**right, **wrong})
    for symbol in (-1, 2):
        with pytest.raises(ValueError, match="such as clients can send"):
            found.write(path, [np.full((3, 1), symbol)], **right)
    with pytest.raises(ValueError, match=r"^count=3 must be the number of messages\.$"):
        found.write_packed(found.batch(path, **right), [np.zeros(2, dtype=np.uint8)], durable=False)
    (query,) = made("nb").content["queries"]
    most = 1 + len(query["tables"]["noise"])  # of one user, to one of two instances
    assert batches("nb").batch(path, **{**right, "count": 3 * most}).messages == 3 * most
    with pytest.raises(ValueError, match=r"^messages="):
        batches("nb").batch(path, **{**right, "count": 3 * most + 1})
    assert not list(tmp_path.iterdir())
    found.write(path, [np.zeros((3, 1), dtype=np.int64)], **right)
    other = made("nb")
    with pytest.raises(BatchError, match="of this manifest"):
        Batches(other.data, other.hash).read(path)


def test_what_is_written_survives_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = list[bool]()
    monkeypatch.setattr(Batches, "write_packed", lambda self, made, pieces, *, durable: flushed.append(durable))
    batches("rr").write(tmp_path / "0", [], batch="b", query=0, instance=0, users=1, count=1)
    assert flushed == [True]


def test_a_file_that_shrinks_while_it_is_read_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.collection.batches._CHUNK", 1 << 10)
    count, path = 2_000_000, tmp_path / "0"  # more than Python 3.14 has in its buffer
    ones = [np.ones((count, 1), dtype=np.int64)]
    batches("rr").write(path, ones, batch="b", query=0, instance=0, users=count, count=count)
    pieces = batches("rr").read(path).packed()
    next(pieces)
    with open(path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(BatchError, match="must not change while it is read"):
        list(pieces)
