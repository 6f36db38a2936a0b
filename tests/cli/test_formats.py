"""A format that is added in one place is behind every command that shows a result, and behind no other."""

import ast

import pytest

from dpverify import cli
from dpverify.cli import formats
from dpverify.cli.formats import FORMATS, Format

ACCOUNT = ["rr", "--users", "50", "--flip-probability", "0.2", "--instances", "1"]


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "python", Format("Print it as Python would.", repr))


@pytest.mark.usefixtures("added")
def test_a_format_reaches_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    budget = ["budget", "--epsilon", "1", "--delta", "1e-6", "--instances", "10"]
    account = ["account", *ACCOUNT, "--epsilon", "1"]
    labels = ["account", "labels"]
    for words, key in ((budget, "sparsity"), (account, "guarantee"), (["theorems", "Theorem 3.2"], "theorems")):
        assert cli.main([*words, "--python"]) == 0
        assert key in ast.literal_eval(capsys.readouterr().out)
    for words in (budget, account, labels, ["formula"], ["audit", "rr"], ["certify", "nb"], ["predict"]):
        assert cli.main([*words, "--help"]) == 0
        assert "--python" in capsys.readouterr().out
    assert cli.main(["demo", "--python"]) == 2
    assert cli.main(["theorems", "errata", "--json"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("added")
def test_of_runs_together_one_may_say_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = [*ACCOUNT, "--epsilon", "1"], ["poisson", "--mean", "40", "--instances", "1"]
    for words in ([*first, "--python", "--and", *second], [*first, "--and", *second, "--python"]):
        assert cli.main(["account", *words]) == 0
        assert [day["protocol"] for day in ast.literal_eval(capsys.readouterr().out)["days"]] == ["rr", "poisson"]


def test_a_format_is_for_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["budget", "--epsilon", "1", "--delta", "1e-6", "--instances", "10"]
    assert cli.main([*words, "--json"]) == 0
    assert formats.wanted() is FORMATS["json"]
    capsys.readouterr()
    assert cli.main(words) == 0
    assert not capsys.readouterr().out.startswith("{")
    assert formats.wanted() is None
