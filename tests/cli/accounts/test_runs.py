"""What is typed behind `account`, as values."""

import json

import pytest

from dpverify import cli
from dpverify.cli.accounts.runs import typed_runs
from dpverify.planning.account import account
from protocols.bitsum import Pure, RandomizedResponse


def test_words_become_runs(capsys: pytest.CaptureFixture[str]) -> None:
    words = "rr --users 9 --instances 3 --flip-probability .25 --and Pure --instances 1 --p .5 --threat-model model"
    first, second = typed_runs(words.split(), cli._run)
    assert (first.protocol, first.instances, first.delta) == (RandomizedResponse(9, 0.25), 3, None)
    assert (second.protocol, second.adversary) == (Pure(1, 0.5), "model")
    assert capsys.readouterr().out == ""


def test_honest_users_of_each_run_count(capsys: pytest.CaptureFixture[str]) -> None:
    one = "rr --users 90 --instances 2 --flip-probability .25"
    assert cli.main(["account", *f"{one} --honest 30 --delta 1e-3 --and {one} --json".split()]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [day["honest"] for day in found["days"]] == [30, None]
    protocol = RandomizedResponse(90, 0.25)
    assert found["epsilon"] == account([(protocol, 2, 30), (protocol, 2)], delta="1e-3").epsilon.to_dict()


def test_words_that_are_no_run_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"^--and must stand between two protocols with their options\.$"):
        typed_runs(["--and"], cli._run)
    for words in (["--help"], ["rr", "--help"]):
        with pytest.raises(ValueError, match="must be one protocol with its options"):
            typed_runs(words, cli._run)
    capsys.readouterr()
    # What was taken before does not linger: the next command is printed.
    assert (
        cli.main(["account", *["rr", "--users", "9", "--instances", "1", "--flip-probability", ".25", "--delta", "0"]])
        == 0
    )
    assert "epsilon" in capsys.readouterr().out
