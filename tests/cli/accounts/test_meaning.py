"""`--meaning` and `--trade-off`: what the best attacker reaches, behind any account."""

import json
from pathlib import Path

import pytest

import dpverify
from protocols.bitsum import RandomizedResponse
from tests.cli.words import Run

RR = "account rr --users 100 --flip-probability 0.25 --delta 1e-3"


def test_it_is_what_the_library_says(run: Run, tmp_path: Path) -> None:
    found = run(*RR.split(), "--meaning", "--json")
    account = dpverify.account(RandomizedResponse(100, 0.25), delta="1e-3")
    assert found == account.to_dict() | {"meaning": account.meaning().to_dict()["risks"]}
    assert f"{account}\n\n{account.meaning()}".split() == run(*RR.split(), "--meaning").split()
    shown = run(*RR.split(), "--trade-off", str(tmp_path / "f.png"))
    assert "advantage" not in shown
    assert (tmp_path / "f.png").stat().st_size > 1000


@pytest.mark.parametrize("words", ["steps --noise 9 --epsilon 1", "days days.json --epsilon 1"])
def test_steps_and_days_have_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("days.json").write_text(json.dumps([{"protocol": "rr", "users": 30, "flip_probability": 0.3}]))
    assert "guess among 100 values" in run("account", *words.split(), "--meaning")
