"""`plan`: every option reaches the library, and every row is printed, those without a plan too."""

import csv
import json
import math
from pathlib import Path

import pytest

from dpverify import cli
from dpverify.cli.protocol_names import bitsums
from dpverify.guarantee import Budget
from dpverify.planning.plan import plan
from dpverify.planning.sweeps import setting
from tests.cli.words import PLAN, Run, replaced
from tests.planning.normal import normal_noise


def test_plan_prints_what_the_library_returns(run: Run) -> None:
    found = run(*PLAN, "--bitsum", "3nb", "--json")
    expected = [
        plan("3nb", Budget("2", "1e-6"), users=1000, instances=8, method=method).to_dict()
        for method in ("published", "exact")
    ]
    checks = [row.pop("check") for row in found["rows"]]
    assert all(check.startswith("dpverify account 3nb ") for check in checks)
    assert found == {
        "budget": {"epsilon": 2.0, "delta": 1e-6},
        "users": 1000,
        "instances": 8,
        "change": {"kind": "full", "instances": 8},
        "rows": expected,
    }
    needed = "bitsum method composition epsilon0 delta0 parameters bitsum_rmse messages_per_user guarantee change"
    assert set(needed.split()) <= set(found["rows"][0])
    assert {"epsilon", "delta", "adjacency", "threat_model", "side"} <= set(found["rows"][0]["guarantee"])


def test_every_option_of_plan_reaches_the_library(run: Run) -> None:
    options = ["--composition", "optimal", "--sparsity", "3", "--max-messages", "1e5", "--method", "published"]
    rows = run(*PLAN, "--bitsum", "3nb", *options, "--json")["rows"]
    asked = {"users": 1000, "instances": 8, "method": "published"}
    more = {"composition": "optimal", "sparsity": 3, "max_messages_per_user": 1e5}
    assert "--instances 24 " in rows[0].pop("check")  # three bitsums of each of the eight
    assert rows == [plan("3nb", ("2", "1e-6"), **asked, **more).to_dict()]
    # Each of them changes something, or the comparison would say nothing.
    assert rows != [plan("3nb", ("2", "1e-6"), **asked).to_dict()]


def test_a_failed_plan_is_a_row_with_its_reason(run: Run) -> None:
    given = ["--epsilon", "200", "--delta", "1e-6", "--users", "30", "--instances", "10"]
    words = ["plan", *given, "--method", "published"]
    rows = {row["bitsum"]: row for row in run(*words, "--json")["rows"]}
    failed, worked = rows["rr"], rows["3nb"]
    assert failed["method"] == worked["method"] == "published"
    assert "epsilon0" in failed["error"]
    assert "error" not in worked
    assert f"[1] no plan: {failed['error']}" in " ".join(run(*words).split())


def test_nothing_works_every_reason_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*replaced(PLAN, "--delta", "0"), "--bitsum", "3nb,nb"]
    assert cli.main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split()[0] for line in printed.err.splitlines()] == ["--delta=0", "--delta=0"]
    assert cli.main([*words, "--json"]) == 2
    printed = capsys.readouterr()
    assert all("error" in row for row in json.loads(printed.out)["rows"])
    assert len(printed.err.splitlines()) == 2


GRID = [*replaced(replaced(PLAN, "--epsilon", "0.5,2"), "--users", "1e3,2e3"), "--bitsum", "poisson"]


def test_rows_are_written_to_csv_and_drawn(run: Run, tmp_path: Path) -> None:
    rows, figure = tmp_path / "rows.csv", tmp_path / "rows.png"
    found = run(*GRID, "--csv", str(rows), "--plot", str(figure), "--json")
    with rows.open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [float(row["bitsum_rmse"] or "nan") for row in read] == pytest.approx(
        [row.get("bitsum_rmse", math.nan) for row in found["rows"]], nan_ok=True
    )
    assert [row["budget.epsilon"] for row in read] == ["0.5"] * 4 + ["2.0"] * 4
    assert [bool(row["error"]) for row in read] == ["error" in row for row in found["rows"]]
    assert figure.read_bytes().startswith(b"\x89PNG")
    run(*PLAN, "--bitsum", "poisson", "--csv", str(rows))
    with rows.open(encoding="utf-8", newline="") as file:
        assert [row["users"] for row in csv.DictReader(file)] == ["1000", "1000"]


def test_files_that_cannot_be_written_are_told_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting, "plan", None)
    for words, said in (
        (["--csv", str(tmp_path / "none" / "a.csv")], "must be in a folder that exists"),
        (["--plot", str(tmp_path / "a.txt")], "must end in one of"),
        (["--plot", str(tmp_path / "a.png"), "--csv", str(tmp_path / "a.png")], "must be another file than --plot"),
    ):
        assert cli.main([*GRID, *words]) == 2
        assert said in capsys.readouterr().err


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


def test_lists_make_one_table_of_densities(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def few(budget: Budget, users: int, **more: object) -> str | None:
        return "too few users." if budget.epsilon == 0.5 and users == 300 else None

    normal_noise(monkeypatch, refuse=few)
    words = ["plan", "--epsilon", "0.5,2", "--delta", "1e-4", "--users", "200, 300", "--max-messages", "64"]
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
    assert sorted(row["bitsum"]["bitsum"] for row in told["rows"]) == sorted(bitsums())
    assert sum(row["recommended"] for row in told["rows"]) == 1
    assert cli.main(words) == 0
    assert {row["bitsum"]["bitsum"] for row in json.loads(capsys.readouterr().out)["rows"]} == {"rr"}
    assert cli.main([*words[:-1], "--max-messages", "0.5"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("--max-messages=0.5 is too few for rr with 32 bits a user or more")
    assert err.count("\n") == 1
