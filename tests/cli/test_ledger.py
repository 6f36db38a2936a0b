"""The command prints what the ledger holds, all of it or a part."""

from __future__ import annotations

import json

import pytest

from dpverify import cli
from dpverify.claims.ledger import ledger


def test_the_command_prints_what_the_ledger_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ledger", "--json"]) == 0
    assert [t["name"] for t in json.loads(capsys.readouterr().out)["theorems"]] == [t.name for t in ledger()]
    assert cli.main(["ledger", "cheu2019"]) == 0
    printed = capsys.readouterr().out
    assert "Lemma 4.8" in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert cli.main(["ledger", "fermat"]) == 2
    assert "NAME='fermat' must be part of a theorem's name" in capsys.readouterr().err


def test_a_part_of_a_name_chooses_and_tells_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ledger", "lemma-4", "--json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["theorems"]
    assert chosen == [theorem.to_dict() for theorem in ledger() if "lemma-4" in theorem.name]
    assert 1 < len(chosen) < len(ledger())
    texts = []
    for words in ([], ["lemma-4"]):
        assert cli.main(["ledger", *words]) == 0
        texts.append(" ".join(capsys.readouterr().out.split()))
    # Only a choice shows what was found about each.
    findings = [theorem["finding"].split()[:4] for theorem in chosen]
    assert all(" ".join(words) in texts[1] for words in findings)
    assert not all(" ".join(words) in texts[0] for words in findings)


def test_the_case_of_letters_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ledger", "Lemma-4", "--json"]) == 0
    upper = capsys.readouterr().out
    assert cli.main(["ledger", "lemma-4", "--json"]) == 0
    assert capsys.readouterr().out == upper
