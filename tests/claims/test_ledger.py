"""The ledger is complete: every Theorem object in the claims is in it, once, with something to say."""

from __future__ import annotations

import gc
import importlib
import json
import pkgutil

import pytest

import dpverify.claims
from dpverify import cli
from dpverify.claims.ledger import ledger
from dpverify.claims.theorem import Theorem, Verdict


def test_every_theorem_that_exists_is_in_the_ledger() -> None:
    for module in pkgutil.walk_packages(dpverify.claims.__path__, "dpverify.claims."):
        importlib.import_module(module.name)
    known = set(map(id, ledger()))
    stray = [t.name for t in gc.get_objects() if isinstance(t, Theorem) and id(t) not in known]
    assert stray == []


def test_every_theorem_has_a_source_a_statement_and_a_finding() -> None:
    theorems = ledger()
    assert len({theorem.name for theorem in theorems}) == len(theorems) > 30
    for theorem in theorems:
        assert min(map(len, (theorem.source, theorem.statement, theorem.finding))) > 10
        assert theorem.name == theorem.name.lower()


def test_the_seeds_do_contain_slips() -> None:
    assert sum(theorem.verdict is Verdict.FAILS for theorem in ledger()) >= 5


def test_the_command_prints_what_the_ledger_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ledger", "--json"]) == 0
    assert [t["name"] for t in json.loads(capsys.readouterr().out)["theorems"]] == [t.name for t in ledger()]
    assert cli.main(["ledger", "cheu2019"]) == 0
    printed = capsys.readouterr().out
    assert "Lemma 4.8" in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert cli.main(["ledger", "fermat"]) == 2
    assert "NAME='fermat' must be part of a theorem's name" in capsys.readouterr().err
