"""`dpverify rappor`, and `account` and `audit` of it."""

import json
from pathlib import Path

import pytest

from dpverify import cli

PLAN = ["rappor", "--epsilon-one", "1", "--epsilon-limit", "4", "--users", "100000"]
REPORT = ["rappor", "--bits", "16", "--hashes", "2", "--f", ".5", "--p", ".3", "--q", ".7"]


def test_a_plan_is_kept_by_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "rappor.png"
    assert cli.main([*PLAN, "--plot", str(plot)]) == 0
    words = " ".join(capsys.readouterr().out.split()).partition("dpverify account ")[2].split()
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert cli.main(["account", *words, "--json"]) == 0
    epsilon = json.loads(capsys.readouterr().out)["epsilon"]
    assert 0.999999 < epsilon["lower"] <= epsilon["upper"] <= 1.0


def test_the_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*PLAN, "--bits", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["parameters"]["hashes"] for row in found["rows"]] == [1, 2]
    assert cli.main([*PLAN, "--hashes", "3", "--json"]) == 0
    assert [row["parameters"]["hashes"] for row in json.loads(capsys.readouterr().out)["rows"]] == [3]


def test_accounts_of_one_report_many_and_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    ends = []
    permanent = ["rappor-permanent", *REPORT[1:7]]
    for words in (REPORT, [*REPORT, "--reports", "5"], permanent):
        assert cli.main(["account", *words, "--delta", "1e-6", "--json"]) == 0
        ends.append(json.loads(capsys.readouterr().out)["epsilon"]["upper"])
    assert ends[0] < ends[1] < ends[2] < 4.39445


def test_an_audit(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", *REPORT, "--claim-epsilon", "1.5", "--claim-delta", "0", "--trials", "200", "--level", "0.1"]
    assert cli.main(words) == 1
    assert "privacy of the parameters" in capsys.readouterr().out
