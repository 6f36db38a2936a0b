"""`dpverify account --certificate`, and `dpverify check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    assert "--delta" in capsys.readouterr().err
