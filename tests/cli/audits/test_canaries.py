import json
from pathlib import Path

import pytest

from dpverify import cli

CODE = """
def scores(secrets, rng):
    return 2.0 * (secrets ^ (rng.random(secrets.size) < 0.1)) - 1.0


def short(secrets, rng):
    return secrets[1:]
"""


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "mechanism.py"
    path.write_text(CODE, encoding="utf-8")
    return str(path)


def test_the_report_as_json(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["canaries", f"{target}:scores", "--claim-epsilon", "2.3", "--claim-delta", "1e-6", "--canaries", "200"]
    assert cli.main([*words, "--repeat", "2", "--guesses", "300", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trials"] == 400
    assert found["results"][0]["details"]["guesses"] == 300
    assert found["limits"]["not_tested"]


@pytest.mark.long
def test_a_gaussian_claim(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["canaries", f"{target}:scores", "--claim-mu", "0.5", "--guesses", "500"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "claimed 0.5-GDP" in shown
    assert "of any mechanism; not mu-GDP below mu =" in shown
