"""Sums are the counts of all messages, from whatever they are read, in whatever parts and order."""

from __future__ import annotations

import functools
import json
import operator
import random
from pathlib import Path

import numpy as np
import pytest

from dpverify.collection.analysis.sums import Reader, Sums
from dpverify.collection.batches import BatchError
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.query import Asked
from protocols.bitsum import Poisson, RandomizedResponse, ThreeNB
from protocols.histogram import Histogram
from protocols.rappor.response import Rappor
from protocols.vector_sum import VectorSum
from tests.collection.analysis.collected import messages, write

USERS = 21
HELD = {
    "bits": [[user % 2, 0, 1] for user in range(USERS)],
    "words": [user % 4 for user in range(USERS)],
    "flood": [[1, user % 2] for user in range(USERS)],
    "places": [[0, user % 5] for user in range(USERS)],
    "vector": [["0.5", "1", "0"]] * USERS,
}


@functools.cache
def plan() -> Manifest:
    return manifest(
        [
            ("bits", RandomizedResponse(USERS, 0.25), 3),
            Asked("words", Poisson(USERS, 9.0), 4, None, "buckets"),
            ("flood", ThreeNB(USERS, 0.5, 4.0, 0.75), 2),
            ("places", Histogram(Poisson(USERS, 9.0, estimate="under"), 5), 2),
            ("vector", VectorSum(USERS, 3, 2, 0.5)),
        ],
        delta="0.1",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("collection") / "batch"
    sent = messages(plan(), HELD, np.random.default_rng(1))
    write(plan(), made, sent, USERS, "Tuesday")
    np.savez(made.parent / "sent.npz", **{f"{name} {place}": fields for (name, place), fields in sent.items()})
    return made


def same(a: Sums, b: Sums) -> bool:
    return a.to_json() == b.to_json()


def test_every_message_is_counted(folder: Path) -> None:
    reader = Reader(plan().data, plan().hash)
    found = reader.files([folder])
    assert found.batches == ["Tuesday"]
    with np.load(folder.parent / "sent.npz") as sent:
        for name, query in reader.queries.items():
            for place in range(query["instances"]):
                fields, sizes = sent[f"{name} {place}"], {"vector": (3, 3), "places": (5,)}.get(name, (2,))
                expected = [len(fields)]
                if fields.shape[1]:
                    expected = np.zeros(sizes, dtype=int)
                    np.add.at(expected, tuple(fields.T), 1)
                    expected = expected.ravel().tolist()
                assert found.counts[name][place].tolist() == expected
                assert found.users[name][place] == USERS


def test_parts_merge_in_any_order_and_as_json(folder: Path) -> None:
    reader = Reader(plan().data, plan().hash)
    parts = [reader.batch(path) for path in sorted(folder.iterdir())]
    whole = reader.files([folder])
    random.Random(1).shuffle(parts)
    assert same(functools.reduce(operator.add, parts), whole)
    assert same(parts[0] + (parts[1] + parts[2]), (parts[2] + parts[0]) + parts[1])
    assert same(whole + reader.nothing, whole)
    half, rest = (functools.reduce(operator.add, each) for each in (parts[:5], parts[5:]))
    (folder.parent / "half.json").write_text(half.to_json())
    assert same(reader.files([folder.parent / "half.json"]) + reader.json(rest.to_json()), whole)
    # No file twice, whatever its sums went through.
    with pytest.raises(ValueError, match=r"^files=\['Tuesday', .*\] must be counted once\.$"):
        reader.json(whole.to_json()) + parts[3]


def test_partitions_of_dask_are_counted_where_they_are(folder: Path) -> None:
    bag = pytest.importorskip("dask.bag", reason="dask is not installed: pip install '.[test]'")
    reader = Reader(plan().data, plan().hash)
    paths = bag.from_sequence(sorted(folder.iterdir()), npartitions=3)
    found = paths.map(reader.batch).fold(operator.add, initial=reader.nothing).compute(scheduler="synchronous")
    assert same(found, reader.files([folder]))


def test_rows_and_parquet_files_are_counted_alike(folder: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install '.[data]'")
    pytest.importorskip("duckdb", reason="duckdb is not installed: pip install '.[aggregate]'")
    reader, tables = Reader(plan().data, plan().hash), []
    with np.load(folder.parent / "sent.npz") as sent:
        for key in sent.files:
            name, place = key.split()
            sizes = {"words": (), "vector": (3, 3), "places": (5,)}.get(name, (2,))
            codes = np.ravel_multi_index(tuple(sent[key].T), sizes) if sizes else np.zeros(len(sent[key]), dtype=int)
            symbols = np.array(reader.symbols(name))[codes]
            tables.append(pandas.DataFrame({"query": name, "instance": int(place), "symbol": symbols}))
    rows = pandas.concat(tables).sample(frac=1, random_state=1)
    for number in range(2):
        rows[number::2].to_parquet(tmp_path / f"{number}.parquet")
    found = reader.files([tmp_path / "0.parquet", tmp_path / "1.parquet"], users=USERS)
    whole = reader.files([folder])
    assert json.loads(found.to_json())["queries"] == json.loads(whole.to_json())["queries"]
    parts = [
        reader.rows(part["query"], part["instance"], part["symbol"], users=users)
        for part, users in ((rows[:40], {}), (rows[40:45], dict.fromkeys(HELD, USERS)), (rows[45:], {}))
    ]
    assert same(functools.reduce(operator.add, parts), found)
    # Each report is a user's; a count of other messages does not tell whose they are.
    bits = rows[rows["query"] == "bits"]
    assert reader.rows(bits["query"], bits["instance"], bits["symbol"]).users["bits"].tolist() == [USERS] * 3
    with pytest.raises(ValueError, match=r"^users=None must be given"):
        reader.files([tmp_path / "0.parquet"])
    gap = pandas.DataFrame({"query": ["bits"], "instance": [None], "symbol": [1]}).astype({"instance": "Int8"})
    gap.to_parquet(tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match=r"^paths=.* must have a query, an instance and a symbol in each row\.$"):
        reader.parquet([tmp_path / "gap.parquet"])
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"^paths=.* must be Parquet files with the columns query, instance, symbol"):
        reader.parquet([tmp_path / "broken.parquet"])


def test_what_no_client_sends_is_refused(folder: Path) -> None:
    reader = Reader(plan().data, plan().hash)
    for row in (
        ("bits", 0, 2),
        ("bits", 3, 1),
        ("bits", -1, 1),
        ("bits", 0.5, 1),
        ("bits", np.nan, 1),
        ("bits", 0, 1, -1),
        ("words", 0, 0),
        ("flood", 0, 0),
        ("secret", 0, 1),
    ):
        with pytest.raises(ValueError, match=r"^(rows of|query=).* must .*\.$"):
            reader.rows(*([value] for value in row), users=USERS)
    text = reader.files([folder]).to_json()
    for old, new in (
        (plan().hash, "0" * 64),
        ('"version":1', '"version":2'),
        ("[[", "[[1,"),
        ('{"bits"', '{"bit"'),
        ("[", "[-"),
        ("[", "[0.5, "),
        ("[", "[" * 100_000),
    ):
        with pytest.raises(ValueError, match=r"^text must be sums of this manifest"):
            reader.json(text.replace(old, new, 1))
    half = json.loads(text)
    half["queries"]["bits"]["counts"][0][0] += 0.5
    with pytest.raises(ValueError, match=r"^text must be sums of this manifest"):
        reader.json(json.dumps(half))
    link = folder.parent / "link.batch"
    link.symlink_to(next(folder.iterdir()))
    for twice in (link.resolve(), link):
        with pytest.raises(ValueError, match="name each file once"):
            reader.files([folder, twice])
    link.unlink()
    with pytest.raises(ValueError, match=r"^users=7 must be omitted without Parquet files"):
        reader.files([folder], users=7)
    hidden = folder / ".part-of-a-file"
    hidden.touch()
    assert reader.files([folder]).to_json() == text
    hidden.unlink()
    other = manifest([("s", Rappor(8, 1, f=0.5, p=0.25, q=0.75))], delta=0)
    with pytest.raises(BatchError):
        Reader(other.data, other.hash).files([folder])
    for count in (1.7, float("nan"), 1e19):
        with pytest.raises(ValueError, match=r"^count=.* must be an integer in \[0, 2\^63\)\.$"):
            reader.rows(["bits"], [0], [1], [count], users=USERS)
    assert reader.rows(["bits"], [0], [1], [2.0], users=USERS).counts["bits"][0, 1] == 2
    with pytest.raises(ValueError, match=r"^query='s' must be one of those with messages"):
        Reader(other.data, other.hash).symbols("s")
    with pytest.raises(ValueError, match="must be that of the other sums"):
        Reader(other.data, other.hash).nothing + reader.nothing
