"""Points and labels from files, in groups of rows."""

import tracemalloc
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import parquet

from dpverify.learning.files.data import open_data, read_chunks
from tests.refusals import refused

X = np.random.default_rng(0).normal(size=(1000, 5)).astype(np.float32)
Y = np.array(["ant", "bee", "cat"])[np.arange(1000) % 3]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, tuple[Path, str]]:
    """Return the same points and labels in every kind of file."""
    np.save(tmp_path / "points.npy", X)
    np.save(tmp_path / "labels.npy", Y)
    np.savez(tmp_path / "named.npz", X=X, y=Y)
    np.savez_compressed(tmp_path / "other.npz", vectors=X, y=Y)
    table = pandas.DataFrame(X, columns=list("abcde"))
    table.assign(y=Y, comment="text").to_parquet(tmp_path / "columns.parquet", row_group_size=300)
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.ravel()), 5)
    parquet.write_table(pyarrow.table({"id": range(1000), "y": Y, "points": lists}), tmp_path / "fixed.parquet")
    parquet.write_table(pyarrow.table({"y": Y, "points": list(X)}), tmp_path / "lists.parquet")
    return {
        "npy": (tmp_path / "points.npy", str(tmp_path / "labels.npy")),
        **{name: (tmp_path / name, "y") for name in ("named.npz", "other.npz", "columns.parquet", "fixed.parquet")},
        "lists.parquet": (tmp_path / "lists.parquet", "y"),
    }


KINDS = ("npy", "named.npz", "other.npz", "columns.parquet", "fixed.parquet", "lists.parquet")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_holds_the_same(files: dict[str, tuple[Path, str]], kind: str) -> None:
    path, labels = files[kind]
    file = open_data(path, labels)
    assert (file.rows, file.dimension, file.label_set().tolist()) == (1000, 5, ["ant", "bee", "cat"])
    chunks = list(read_chunks(path, labels, rows=333))
    assert max(len(points) for points, _ in chunks) <= 333
    np.testing.assert_array_equal(np.concatenate([points for points, _ in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([found for _, found in chunks]), Y)
    np.testing.assert_array_equal(
        np.concatenate(list(read_chunks(path, rows=1000))), X
    ) if kind != "fixed.parquet" else None


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"many.{kind}"
    points = np.ones((40_000, 32), np.float32)
    if kind == "npz":
        np.savez_compressed(path, X=points, y=np.zeros(40_000, int))
    else:
        table = pyarrow.table(
            {"x": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(points.ravel()), 32), "y": np.zeros(40_000, int)}
        )
        parquet.write_table(table, path, row_group_size=1000)
    del points
    tracemalloc.start()
    rows = sum(len(labels) for _, labels in read_chunks(path, "y", rows=500))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 40_000
    assert peak < 1_000_000  # of 5 MB


@pytest.mark.parametrize(
    ("name", "arrays", "labels", "message"),
    [
        ("a.npz", {"X": X}, "y", r"has the arrays X, but must have one named 'y'\.$"),
        ("a.npz", {"a": X, "b": X}, None, r"has the arrays a, b, but must have X for the points\.$"),
        (
            "a.npz",
            {"X": X, "y": Y[:9]},
            "y",
            r"has 1000 points and labels y of shape \(9,\), but must have one for each",
        ),
        ("a.npz", {"X": X.ravel()}, None, r"has points of shape \(5000,\) and float32, but"),
        ("a.npz", {"X": X.astype(complex)}, None, r"and complex128, but must have real numbers"),
        ("a.npz", {"X": X, "y": X[:, 0]}, "y", r"has labels y that are no whole numbers"),
        ("a.npz", {"X": X, "y": np.full(1000, np.nan)}, "y", r"has labels y that are no whole numbers"),
        ("a.npz", {"X": X, "y": X}, "y", r"labels y of shape \(1000, 5\)"),
        ("a.npz", {"X": np.asfortranarray(X)}, None, r"in Python objects or column by column"),
        ("a.csv", {"X": X}, None, r"must be an npy, npz or parquet file\.$"),
    ],
)
def test_what_is_wrong_with_arrays_is_said(
    tmp_path: Path, name: str, arrays: dict[str, np.ndarray], labels: str | None, message: str
) -> None:
    with (tmp_path / name).open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match=message):
        list(read_chunks(tmp_path / name, labels))


@pytest.mark.parametrize(
    ("columns", "labels", "message"),
    [
        ({"a": [1.0]}, "y", r"has the columns a, but must have one named 'y'\.$"),
        ({"a": [1.0, None], "y": [1, 2]}, "y", r"has a row without a value in its points\.$"),
        ({"a": [[1.0], [1.0, 2.0]]}, None, r"has lists of several lengths in a\.$"),
        ({"a": [[1.0, 2.0], [1.0], [1.0, 2.0, 3.0]]}, None, r"has lists of several lengths in a\.$"),
        ({"a": [[1.0, None]]}, None, r"has a row without a value in its points\.$"),
        ({"a": [[1.0]], "b": [[1.0]]}, None, r"has the columns of lists a, b, but must have one"),
        ({"a": ["x"]}, None, r"but must have points: lists or numbers\.$"),
        ({"a": [1.0, 2.0], "y": ["x", None]}, "y", r"has a row without a label in y\.$"),
    ],
)
def test_what_is_wrong_with_tables_is_said(
    tmp_path: Path, columns: dict[str, list[object]], labels: str | None, message: str
) -> None:
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=message):
        list(read_chunks(tmp_path / "a.parquet", labels))


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.parquet"])
def test_what_is_no_such_file_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"must be "):
        open_data(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        open_data(tmp_path / f"no-{name}")


def test_a_file_that_ends_too_soon_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[:-100])
    with pytest.raises(ValueError, match=r"it is not complete\.$"):
        list(read_chunks(tmp_path / "a.npy"))


def test_what_is_missing_or_of_another_kind_is_told_without_its_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "empty.npz")
    with pytest.raises(ValueError, match=r"empty\.npz has no arrays, but must have X for the points\.$"):
        open_data(tmp_path / "empty.npz")
    np.save(tmp_path / "points.npy", X)
    with refused("nope"):
        open_data(tmp_path / "points.npy", "nope")
    (tmp_path / "words.parquet").write_bytes(b"PAR1 and so on")
    with pytest.raises(ValueError, match=r"words\.parquet must be an npy file, which it is not inside\.$"):
        open_data(tmp_path / "points.npy", str(tmp_path / "words.parquet"))
