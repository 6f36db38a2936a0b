"""The command `dpverify plan --kernel ...`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dpverify import cli
from dpverify.guarantee import Budget
from dpverify.planning.sweeps.comparison import BITSUMS
from tests.planning.normal import normal_noise

WORDS = ["plan", "--epsilon", "2", "--delta", "1e-4", "--users", "200"]


def test_a_kernel_is_planned(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked = normal_noise(monkeypatch)
    words = [*WORDS, "--kernel", "gaussian", "--dimension", "3", "--bandwidth", "0.5", "--max-messages", "640"]
    assert cli.main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kernel"], told["dimension"], told["bandwidth"]) == ("gaussian", 3, 0.5)
    assert [row["bits"] for row in told["rows"]][:2] == [32, 64]
    assert [(one["bitsum"], one["max_messages_per_user"]) for one in asked[:2]] == [("rr", 20.0), ("rr", 10.0)]
    assert cli.main([*words, "--bitsum", "poisson"]) == 0
    assert "gaussian kernel, d = 3, bandwidth 0.5" in capsys.readouterr().out
    assert asked[-1]["bitsum"] == "poisson"
    assert cli.main([*words, "--honest", "0.5"]) == 0
    assert asked[-1]["honest"] == "0.5"
    assert "Planned for 100 honest users." in capsys.readouterr().out
    assert cli.main([*words, "--honest", "1e-3"]) == 2
    assert capsys.readouterr().err.startswith("--honest='1e-3' must be at least 1/200")


def test_lists_make_one_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def few(budget: Budget, users: int, **more: object) -> str | None:
        return "too few users." if budget.epsilon == 0.5 and users == 300 else None

    normal_noise(monkeypatch, refuse=few)
    words = ["plan", "--epsilon", "0.5,2", "--delta", "1e-4", "--users", "200,300", "--max-messages", "64"]
    words += ["--kernel", "laplacian", "--dimension", "3", "--csv", str(tmp_path / "x.csv")]
    assert cli.main(words) == 0
    printed = capsys.readouterr().out
    assert "laplacian kernel, d = 3, bandwidth 1, budget delta = 0.0001" in printed
    assert "no plan at (0.5, 0.0001) for n = 300: too few users." in printed
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    asked = [(row["budget.epsilon"], row["users"]) for row in rows]
    assert list(dict.fromkeys(asked)) == [("0.5", "200"), ("0.5", "300"), ("2.0", "200"), ("2.0", "300")]
    assert [row["rmse"] == "" for row in rows] == [row["error"] != "" for row in rows]
    assert cli.main([*words[:-2], "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == len(rows)
    none = ["plan", "--epsilon", "0.5", "--delta", "1e-4", "--users", "300", "--kernel", "laplacian"]
    assert cli.main([*none, "--dimension", "3", "--json"]) == 2
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["error"] == "too few users."


def test_all_bitsums_are_planned_for_a_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    normal_noise(monkeypatch)
    words = [*WORDS, "--kernel", "gaussian", "--dimension", "3", "--json"]
    assert cli.main([*words, "--bitsum", "all"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sorted(row["bitsum"]["bitsum"] for row in told["rows"]) == sorted(BITSUMS)
    assert sum(row["recommended"] for row in told["rows"]) == 1
    assert cli.main(words) == 0
    assert {row["bitsum"]["bitsum"] for row in json.loads(capsys.readouterr().out)["rows"]} == {"rr"}
    assert cli.main([*words[:-1], "--max-messages", "0.5"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("--max-messages=0.5 is too few for rr with 32 bits a user or more")
    assert err.count("\n") == 1


KDE = ["account", "kde", "--users", "300", "--flip-probability", "0.3", "--delta", "1e-4"]


@pytest.mark.parametrize(
    ("words", "features"),
    [
        (["inner-product", "--range", "0.5"], {"name": "linear-map", "limit": 0.5, "rows": 12, "radius": 1.0}),
        (["inner-product", "--bits", "20"], {"name": "linear-map", "rows": 20}),
        (["gaussian", "--bits", "8", "--bandwidth", "2"], {"name": "fourier-pairs", "bandwidth": 2.0}),
        (["laplacian", "--bits", "8"], {"name": "laplacian-binning", "buckets": 1, "signed": True}),
        (["exponential", "--bits", "8"], {"name": "exponential-tessellation", "buckets": 1}),
    ],
    ids=lambda entry: " ".join(entry) if isinstance(entry, list) else "",
)
def test_a_density_is_accounted(
    words: list[str], features: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*KDE, "--dimension", "12", "--kernel", *words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["protocol"] == "kde"
    assert told["parameters"]["features"].items() >= features.items()
    assert 0.0 < told["epsilon"]["lower"] <= told["epsilon"]["upper"] < 10.0
    assert cli.main([*KDE, "--dimension", "12", "--kernel", *words, "--instances", "2"]) == 0
    assert "2 runs" in capsys.readouterr().out
