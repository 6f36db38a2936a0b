"""What is typed behind `account`, as values."""

from __future__ import annotations

import pytest

from dpverify import cli
from dpverify.cli.runs import typed_runs
from protocols.bitsum import Pure, RandomizedResponse


def test_words_become_runs(capsys: pytest.CaptureFixture[str]) -> None:
    words = "rr --users 9 --instances 3 --flip-probability .25 --and Pure --instances 1 --p .5 --threat-model model"
    first, second = typed_runs(words.split(), cli._run)
    assert (first.protocol, first.instances, first.delta) == (RandomizedResponse(9, 0.25), 3, None)
    assert (second.protocol, second.adversary) == (Pure(1, 0.5), "model")
    assert capsys.readouterr().out == ""


def test_words_that_are_no_run_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
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
