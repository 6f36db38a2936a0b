"""What `plan` prints to check a plan is a command that confirms it."""

import json
import shlex

import pytest

from dpverify import cli
from dpverify.cli.audits.checks import account_command
from dpverify.guarantee import Budget
from dpverify.planning.sweeps.comparison import plan_bitsums

BUDGET = ["--epsilon", "1", "--delta", "1e-4"]
WORDS = ["plan", *BUDGET, "--users", "60", "--instances", "2", "--sparsity", "2"]


@pytest.mark.long
@pytest.mark.parametrize("method", ["published", "exact"])
def test_every_check_confirms_its_row(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--method", method, "--json"]) == 0
    rows = [row for row in json.loads(capsys.readouterr().out)["rows"] if "error" not in row]
    assert len(rows) >= 8
    for row in rows:
        program, *words = shlex.split(row["check"])
        assert program == "dpverify"
        assert cli.main([*words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["protocol"], found["users"], found["instances"]) == (row["bitsum"], 60, 4)
        # The decimal that is printed lies next to the float of the plan, at most one float away.
        assert found["delta"]["lower"] <= Budget(1, "1e-4").delta <= found["delta"]["upper"]
        assert found["guarantee"]["delta"] == pytest.approx(1e-4, rel=1e-15)
        # The very floats of the plan; how a sum is read does not concern privacy.
        assert {**found["parameters"], "estimate": None} == {**row["parameters"], "estimate": None}
        assert found["guarantee"]["threat_model"] == row["guarantee"]["threat_model"]
        assert found["epsilon"]["upper"] <= 1.0


def test_a_plan_for_honest_users_is_checked_for_as_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--method", "exact", "--bitsum", "nb", "--honest", "0.9", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["honest"] == 54
    _, *words = shlex.split(row["check"])
    assert words[-2:] == ["--honest", "54"]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["honest"], found["parameters"]["shape"]) == (54, row["parameters"]["shape"])
    assert 0.99 < found["epsilon"]["upper"] <= 1.0


def test_a_view_that_is_not_the_default_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--bitsum", "pure", "--threat-model", "model", "--method", "exact", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert "--threat-model model" in row["check"]


def test_the_printed_lines_are_the_same_commands_in_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--bitsum", "3nb"]) == 0
    text = capsys.readouterr().out
    comparison = plan_bitsums((1, "1e-4"), users=60, instances=2, sparsity=2, bitsums=["3nb"])
    expected = [shlex.split(str(account_command(row, comparison.budget.delta))) for row in comparison.plans]
    found = text[text.index("dpverify account") :].replace("\\\n", " ").splitlines()
    # Both ends of the budget are decimals here, of which one is no float: the one below it is the plan's.
    assert [words[:-1] for words in map(shlex.split, found)] == [words[:-1] for words in expected]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.long
def test_delta_and_squared_change_are_as_typed(capsys: pytest.CaptureFixture[str]) -> None:
    # Neither decimal is a float; 1e-8 rounded down would read 9.999999999999999e-09.
    budget = ["--epsilon", "2", "--delta", "1e-8", "--users", "60", "--instances", "2", "--bitsum", "central-gaussian"]
    for words in (["plan", *budget, "--method", "exact"], ["front", *budget]):
        assert cli.main([*words, "--squared-change", "0.3", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        check = shlex.split(found["check"] if words[0] == "front" else found["rows"][0]["check"])
        assert (check[check.index("--squared-change") + 1], check[check.index("--delta") + 1]) == ("0.3", "1e-08")
    assert cli.main(["least", "epsilon", *budget[2:], "--error", "0.08", "--json"]) == 0
    check = shlex.split(json.loads(capsys.readouterr().out)["rows"][0]["check"])
    assert check[check.index("--delta") + 1] == "1e-08"
