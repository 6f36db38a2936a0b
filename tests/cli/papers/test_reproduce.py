"""Experiments from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpverify import cli
from dpverify.reproduction.experiment import Experiment, Panel, Reproduction, Setting
from tests.reproduction.small import small_setting


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "few.npz"
    few = small_setting().data
    np.savez(path, X=few.points, y=few.labels)
    return str(path)


@pytest.mark.long
def test_an_experiment_runs_on_a_file_and_leaves_rows_and_a_picture(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, picture = tmp_path / "rows.csv", tmp_path / "figure.png"
    settings = list[Setting]()

    def run(setting: Setting) -> Reproduction:
        settings.append(setting)
        shown = tuple({"n": n, "method": "exact", "rmse": 1.0 / n} for n in (1, 2, 4))
        panel = Panel("error", "n", "rmse", "method", shown, "users", "RMSE", "xy")
        return Reproduction("x-figure-1", "x, Figure 1", "error", "none", shown, (), (panel,))

    one = Experiment("x-figure-1", "x, Figure 1", "error", run)
    monkeypatch.setattr("dpverify.reproduction.experiment.experiments", lambda: (one,))
    words = ["reproduce", "x-figure-1", "--data", data, "--quick", "--seed", "3", "--json"]
    assert cli.main([*words, "--csv", str(rows), "--plot", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["experiment"] == "x-figure-1"
    assert len(rows.read_text().splitlines()) == len(found["rows"]) + 1 == 4
    assert picture.stat().st_size > 10_000
    (setting,) = settings
    assert (setting.quick, setting.seed) == (True, 3)
    np.testing.assert_array_equal(sorted(setting.data.labels), sorted(small_setting().data.labels))


def test_a_figure_that_cannot_be_written_is_told_by_the_status(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Reproduction("x-figure-1", "x, Figure 1", "error", "none", (), (), ())
    one = Experiment("x-figure-1", "x, Figure 1", "error", lambda setting: made)
    monkeypatch.setattr("dpverify.reproduction.experiment.experiments", lambda: (one,))
    monkeypatch.setattr("dpverify.cli.output.write_figure", lambda *_: False)
    assert cli.main(["reproduce", "x-figure-1", "--data", data, "--plot", str(tmp_path / "figure.png")]) == 2
    assert "x, Figure 1" in capsys.readouterr().out


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce"]) == 0
    assert "wagner2025-table-8" in capsys.readouterr().out
    assert cli.main(["reproduce", "wagner2025", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["experiments"]) == 16


def test_one_class_is_no_classification(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, rows = tmp_path / "one.npz", tmp_path / "rows.csv"
    np.savez(data, X=small_setting().data.points, y=np.zeros(len(small_setting().data.points)))
    words = ["reproduce", "wagner2025-figure-1", "--quick", "--data", str(data), "--csv", str(rows)]
    assert cli.main(words) == 2
    assert capsys.readouterr().err.startswith("one.npz has labels y of one class")
    assert not rows.exists()
