"""The command that shows what classes are about."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from dpverify.cli import main
from tests.learning.points import blobs


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = blobs(1500, 2, 4, 0)
    folder = tmp_path_factory.mktemp("model")
    np.savez(folder / "points.npz", X=X, y=np.array(["no", "yes"])[y])
    made = folder / "model.npz"
    words = ["classify", str(folder / "points.npz"), "--labels", "y", "--output", str(made), "--seed", "1"]
    assert main([*words, "--bits", "32"]) == 0
    return made


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    X, y = blobs(40, 2, 4, 3)
    path = tmp_path / "words.npz"
    np.savez(path, X=X, words=np.array([f"{('no', 'yes')[label]}-{i}" for i, label in enumerate(y)]))
    return path


def test_words_of_classes(model: Path, vocabulary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    for score in ("distinctive", "density"):
        table = tmp_path / f"{score}.csv"
        words = ["decode", str(model), str(vocabulary), "--top", "3", "--score", score]
        assert main([*words, "--csv", str(table)]) == 0
        shown = capsys.readouterr().out
        assert "40 words looked at" in shown
        assert "the words add nothing to it." in " ".join(shown.split())
        assert main([*words, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["score"] == score
        assert [row["class"] for row in answer["words"]] == ["no"] * 3 + ["yes"] * 3
        assert all(row["word"].startswith(row["class"]) for row in answer["words"])
        with table.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["word"] for row in rows] == [row["word"] for row in answer["words"]]
        for row in answer["words"]:
            assert row["word"] in shown


def test_mistakes_are_one_sentence(
    model: Path, vocabulary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flat = tmp_path / "flat.npz"
    np.savez(flat, X=np.ones((5, 3)), words=np.array(list("abcde")))
    capsys.readouterr()
    for first, second, words, message in (
        (model, vocabulary, ["--top", "41"], "k=41 must be in [1, 40], the number of words in the vocabulary."),
        (model, vocabulary, ["--words", "labels"], "must have one named 'labels'."),
        (model, vocabulary, ["--score", "best"], "--score='best' must be one of distinctive, density"),
        (model, vocabulary, ["--csv", "no/such/folder/x.csv"], "--csv='no/such/folder/x.csv' must be in a folder"),
        (model, flat, ["--top", "1"], "has vectors of 3 dimensions, but must have the 4 of the model."),
        (flat, model, ["--top", "1"], "must be a model that dpverify has written"),
    ):
        assert main(["decode", str(first), str(second), *words]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert message in " ".join(told.err.split())
        assert "Traceback" not in told.err


def test_words_that_are_no_text_are_escaped(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, _ = blobs(4, 2, 4, 3)
    np.savez(tmp_path / "odd.npz", X=X, words=np.array(["a", "b", "lone \ud800", "two\nlines"]))
    words = ["decode", str(model), str(tmp_path / "odd.npz"), "--top", "4"]
    capsys.readouterr()
    assert main([*words, "--csv", str(tmp_path / "w.csv")]) == 0
    shown = capsys.readouterr().out
    assert "lone \\ud800" in shown
    assert "two\\nlines" in shown
    assert "lone \\ud800" in (tmp_path / "w.csv").read_text(encoding="utf-8")
