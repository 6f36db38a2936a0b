"""What holds for every command: text fits the screen, and a fault of our own is one sentence."""

import re

import pytest

from dpverify import cli
from tests.cli.words import RR, THREE_NB, Run


@pytest.mark.long
def test_piped_tables_fit_eighty_columns(run: Run) -> None:
    words = ["plan", "--epsilon", "2", "--delta", "1e-6", "--users", "30000", "--instances", "768"]
    texts = [run(*words, "--method", "published"), run(*RR, "--delta", "0.1"), run(*THREE_NB, "--epsilon", "1")]
    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []
    assert "3,921" in texts[0]
    assert "replace-one" in texts[0]
    assert "communication" in texts[0]


def test_a_fault_of_our_own_and_an_interruption_have_their_own_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, status, said in (
        (ZeroDivisionError("division by zero"), 70, r"dpverify has a fault, ZeroDivisionError: division by zero; .*"),
        (KeyboardInterrupt(), 130, r"Interrupted\."),
    ):

        def raising(*_: object, error: BaseException = error, **__: object) -> None:
            raise error

        monkeypatch.setattr("dpverify.planning.budgets.split_budget", raising)
        assert cli.main(["budget", "--epsilon", "1", "--delta", "1e-6", "--instances", "4"]) == status
        assert re.fullmatch(said, capsys.readouterr().err.strip())
