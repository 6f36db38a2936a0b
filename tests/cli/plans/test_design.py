"""The command `design`: a file in, a design out; what cannot be met has status 2."""

import json
from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.collection.manifest import Manifest

ASKED = "users = 1_000\nbudgets = [{epsilon = 1, delta = %s}]\nqueries = [{name = 'a', bits = 3}]\n"


def test_a_file_is_answered_as_a_table_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.toml").write_text(ASKED % "1e-6")
    assert main(["design", str(tmp_path / "c.toml")]) == 0
    assert "binds" in capsys.readouterr().out
    assert main(["design", str(tmp_path / "c.toml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["users"], found["rows"][0]["name"], found["limits"][0]["changed"]) == (1_000, "a", 3)


def test_a_budget_without_delta_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.toml").write_text(ASKED % "0")
    assert main(["design", str(tmp_path / "c.toml")]) == 2
    assert capsys.readouterr().err.startswith("delta=0")


def test_a_manifest_is_written_and_its_hash_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.toml").write_text(ASKED % "1e-6")
    asked, plan = ["design", str(tmp_path / "c.toml")], tmp_path / "plan.json"
    assert main([*asked, "--manifest", str(plan)]) == 0
    assert capsys.readouterr().err.endswith(f" SHA-256 {Manifest(plan.read_bytes()).hash}\n")
    assert Manifest(plan.read_bytes()).content["queries"][0]["instances"] == 3
    assert main([*asked, "--certificates"]) == 2
    assert main([*asked, "--manifest", asked[1]]) == 2
    assert "--manifest" in capsys.readouterr().err
