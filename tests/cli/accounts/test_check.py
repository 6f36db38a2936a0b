"""`dpverify account --certificate`, and `dpverify check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import main


def test_an_account_writes_a_certificate_that_the_command_checks(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "rr.json"
    words = ["account", "local-rr", "--flip-probability", "0.4", "--instances", "4"]
    assert main([*words, "--delta", "1e-5", "--certificate", str(file)]) == 0
    assert f"dpverify check {file}" in capsys.readouterr().err
    assert main(["check", str(file)]) == 0
    assert "flip_probability 0.4: each user's own messages" in capsys.readouterr().out
    file.write_text(file.read_text().replace('"0.4"', '"0.3"'))
    assert main(["check", str(file)]) == 1
    assert capsys.readouterr().out.startswith("Refused: ")
    assert main(["check", str(tmp_path / "none.json")]) == 2
    assert main([*words, "--epsilon", "1", "--certificate", str(file)]) == 2
    assert "epsilon=1.0 must be omitted" in capsys.readouterr().err
    assert main([*words, "--delta", "1e-5", "--certificate", str(tmp_path / "none" / "rr.json")]) == 2
    assert "--certificate" in capsys.readouterr().err


def test_a_plan_and_a_ledger_write_certificates_of_what_they_print(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpverify.planning.certificate._NODES", 3_072)
    file, ledger = tmp_path / "proof.json", str(tmp_path / "spent.jsonl")
    words = ["--epsilon", "1", "--delta", "1e-5", "--users", "300", "--instances", "4", "--bitsum", "poisson"]
    assert main(["plan", *words, "--certificate", str(file)]) == 2
    assert "one --method" in capsys.readouterr().err
    assert main(["plan", *words, "--method", "exact", "--certificate", str(file)]) == 0
    printed = capsys.readouterr()
    mean = printed.out.partition("--mean ")[2].split()[0]
    epsilon = printed.err.partition("shows epsilon ")[2].split(":")[0]
    assert 0.99 < float(epsilon) < 1.01
    assert main(["check", str(file)]) == 0
    assert f"epsilon {epsilon}, delta 1e-05" in (said := capsys.readouterr().out)
    assert f"users 300, honest 300, mean {mean}:" in said
    main(["spent", ledger, "--new", "--epsilon", "3", "--delta", "1e-5"])
    spend = ["spend", "--certificate", str(file), ledger]
    for _ in range(2):
        assert main([*spend, "poisson", "--users", "300", "--mean", "200", "--instances", "1"]) == 0
    capsys.readouterr()
    # One of all datasets is met in a single run: what can be shown of it is above what is accounted.
    assert main([*spend, "rr", "--users", "60", "--flip-probability", "0.3", "--instances", "2"]) == 0
    assert ", above the " in capsys.readouterr().err
    assert main(["check", str(file)]) == 0
    assert "poisson, instances 2," in (said := capsys.readouterr().out)
    assert "rr, instances 2, users 60, honest 60, flip_probability 0.3:" in said
    file.unlink()
    main(["spent", str(tmp_path / "other.jsonl"), "--new", "--epsilon", "3", "--delta", "1e-5"])
    spend[-1] = str(tmp_path / "other.jsonl")
    assert main([*spend, "central-gaussian", "--sigma", "100", "--instances", "1"]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not file.exists()
