"""The commands that learn from embeddings and predict."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas
import pytest

from dpverify.cli import main
from dpverify.learning.files.model import load_model
from dpverify.learning.labels import LABELS_TAKEN
from tests.learning.points import blobs

FAST = ["--bits", "32", "--seed", "1"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    X, y = blobs(1500, 2, 4, 0)
    path = tmp_path / "points.npz"
    np.savez(path, X=X, y=np.array(["no", "yes"])[y])
    return path


@pytest.mark.long
def test_learn_and_predict(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model.npz")
    words = ["classify", str(data), "--labels", "y", "--holdout", "0.2", "--output", model, *FAST]
    assert main(words) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "2 classes, d = 4, inner-product" in shown
    assert re.search(r"Privacy: \(1, 1e-06\)-DP where a user's point is replaced, \(6, 1e-06\)-DP", shown)
    assert re.search(r"Accuracy: (0\.9\d+|1\.000) on \d+ rows that took no part", shown)
    assert main(["predict", model, str(data), "--labels", "y"]) == 0
    found = capsys.readouterr()
    assert set(found.out.split()) == {"no", "yes"}
    assert len(found.out.splitlines()) == 1500
    assert re.match(r"Accuracy: (0\.9\d+|1\.000) on 1,500 rows\.", found.err)
    assert main(["predict", model, str(data), "--output", str(tmp_path / "labels.txt")]) == 0
    assert (tmp_path / "labels.txt").read_text() == found.out
    assert main(["predict", model, str(data), "--labels", "y", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["predictions"] == found.out.split()
    assert answer["accuracy"] > 0.9


@pytest.mark.long
def test_json_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = blobs(1500, 2, 4, 0)
    pandas.DataFrame(X, columns=list("abcd")).assign(kind=y).to_parquet(tmp_path / "points.parquet")
    path = str(tmp_path / "points.parquet")
    words = ["classify", path, "--labels", "kind", "--classes", "0,1", "--test", path, "--json", *FAST]
    assert main([*words, "--kernel", "gaussian", "--scale", "-2,2", "--epsilon", "2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["users"] == answer["tested"] == 1500
    assert answer["bandwidth"] == 0.4
    assert answer["accuracy"] > 0.9
    assert 1.9 < answer["guarantee"]["point"]["epsilon"] <= 2
    assert 6.9 < answer["guarantee"]["point_and_label"]["epsilon"] <= 7
    assert [row["label"] for row in answer["classes"]] == [0, 1]


@pytest.mark.long
def test_one_budget_for_labels_too(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model.npz")
    words = ["classify", str(data), "--labels", "y", "--learner", "discriminant", "--holdout", "0.2", "--seed", "1"]
    assert main([*words, "--output", model]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"1,\d\d\d users, 2 classes, d = 4, means and second moments", shown)
    assert re.search(r"Privacy: \((1|0\.99\d+), 1e-06\)-DP where a user's point is replaced, \(\1, 1e-06\)-DP", shown)
    assert re.search(r"Accuracy: (0\.9\d+|1\.000) on \d+ rows that took no part", shown)
    assert main(["predict", model, str(data), "--labels", "y"]) == 0
    assert re.match(r"Accuracy: (0\.9\d+|1\.000) on 1,500 rows\.", capsys.readouterr().err)
    assert main([*words, "--second-moment", "no", "--ratio", "1.5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["second_moment"], answer["accuracy"] > 0.9) == (False, True)
    assert [row["label"] for row in answer["classes"]] == ["no", "yes"]
    assert main(["decode", model, str(data), "--words", "y"]) == 2
    assert "must be a model of `classify --learner density`" in capsys.readouterr().err


def test_too_few_users_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = blobs(60, 2, 4, 0)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    assert main(["classify", str(tmp_path / "a.npz"), "--labels", "y", *FAST]) == 0
    said = capsys.readouterr().err
    assert said.startswith("Note: Class ")
    assert "users are needed." in said


@pytest.mark.long
def test_what_is_read_is_never_replaced(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, link = tmp_path / "model.npz", tmp_path / "link.npz"
    link.symlink_to(data)
    assert main(["classify", str(data), "--labels", "y", "--output", str(model), *FAST]) == 0
    before = {path: path.read_bytes() for path in (data, model)}
    capsys.readouterr()
    for words in (
        ["classify", str(data), "--labels", "y", "--output", str(data)],
        ["classify", str(data), "--labels", "y", "--output", str(link)],
        ["classify", str(data), "--labels", "y", "--test", str(model), "--output", str(model)],
        ["predict", str(model), str(data), "--output", str(model)],
        ["predict", str(model), str(data), "--output", str(data)],
    ):
        assert main(words) == 2
        assert "must be another file than those that are read" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


def test_labels_that_become_public_are_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = {}
    for name, more in (("taken", []), ("typed", ["--classes", "no,yes"])):
        path = tmp_path / f"{name}.npz"
        assert main(["classify", str(data), "--labels", "y", "--json", "--output", str(path), *FAST, *more]) == 0
        notes[name] = json.loads(capsys.readouterr().out)["guarantee"]["notes"]
        assert list(load_model(path).guarantee_.notes) == notes[name]
    assert LABELS_TAKEN in notes["taken"]
    assert LABELS_TAKEN not in notes["typed"]


def test_names_that_were_not_learned_are_one_line(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, table = tmp_path / "model.npz", tmp_path / "points.parquet"
    pandas.DataFrame(np.load(data)["X"], columns=list("abcd")).to_parquet(table)
    assert main(["classify", str(data), "--labels", "y", "--output", str(model), *FAST]) == 0
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["predict", str(model), str(table)]) == 0
    assert re.fullmatch(r"Note: X has feature names, [^\n]*\n", capsys.readouterr().err)


def test_labels_that_are_no_line_are_predicted_as_json_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = blobs(300, 2, 4, 0)
    data, model = str(tmp_path / "points.npz"), str(tmp_path / "model.npz")
    for odd in ("two\nlines", "lone \ud800"):
        np.savez(data, X=X, y=np.array(["no", odd])[y])
        assert main(["classify", data, "--labels", "y", "--output", model, *FAST]) == 0
        capsys.readouterr()
        assert main(["predict", model, data]) == 2
        said = capsys.readouterr().err
        assert said.startswith("--json must be given, as ")
        assert said.endswith(f"has the label {odd!r}, which is no line of text.\n")
        assert main(["predict", model, data, "--json"]) == 0
        assert set(json.loads(capsys.readouterr().out)["predictions"]) == {"no", odd}
