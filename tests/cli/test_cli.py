"""What holds for every command: text fits the screen, and a fault of our own is one sentence."""

import re

import pytest

from dpverify import cli


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
