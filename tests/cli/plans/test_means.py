"""The command that puts estimators of a mean side by side."""

import json

import pytest

from dpverify import cli

ASKED = ["means", "--epsilon", "1", "--delta", "0", "--users", "100"]


def test_the_table_has_statement_truth_and_slack(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(ASKED) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "one-bit-mean 1/(ε√n) 1 0.1 0.1082 0.924" in shown
    assert "No local estimator of a mean of bits has an RMSE below about 0.04434" in shown


def test_json_has_the_same_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*ASKED, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["mechanism"] for row in rows][:2] == ["rr-mean", "one-bit-mean"]
