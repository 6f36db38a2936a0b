import json
from pathlib import Path

import numpy as np
import pytest

from dpverify import cli

BARE = ["audit", "rr", "--users", "20"]
QUICK = [*BARE, "--flip-probability", "0.25"]
RR = [*QUICK, "--trials", "4000"]
CLAIM = ["--claim-epsilon", "0.78", "--claim-delta", "1e-3"]


def not_a_number(bits: np.ndarray, rng: np.random.Generator) -> float:
    return float("nan")


@pytest.mark.long
def test_exit_status_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*RR, *CLAIM, "--json", "--seed", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "consistent"
    assert found["claim"] == {"epsilon": pytest.approx(0.78), "delta": pytest.approx(1e-3)}
    assert found["seed"] == 1
    assert {"check", "p_value", "power", "fault", "evidence", "verdict"} <= set(found["results"][0])


def test_too_few_trials_are_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*QUICK, "--trials", "100"]) == 3
    assert "Undecided" in capsys.readouterr().out


@pytest.mark.long
def test_resume_keeps_runs_and_refuses_another_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.npz"
    words = ["audit", "nb", "--users", "60", "--shape", "5", "--p", "0.3", "--trials", "200", "--json"]
    status = cli.main([*words, "--resume", str(file)])
    first = capsys.readouterr().out
    before = file.read_bytes()
    assert cli.main([*words, "--resume", str(file)]) == status
    assert capsys.readouterr().out == first
    assert cli.main([*words, "--seed", "9", "--resume", str(file)]) == 2
    assert "another seed; it is left as it is" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_a_figure_never_costs_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: object, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    words = [*QUICK, "--trials", "1e2", "--json", "--plot", str(tmp_path / "a.png")]
    assert cli.main(words) == 3
    printed = capsys.readouterr()
    assert json.loads(printed.out)["trials"] == 100
    assert printed.err.splitlines()[-1] == f"--plot='{tmp_path}/a.png' cannot be written: No space left on device."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_other_protocols_have_their_command(capsys: pytest.CaptureFixture[str]) -> None:
    flood = ["--flood-shape", "2", "--flood-p", "0.5"]
    for words in (["3nb", "--p", "0.6", *flood], ["pure", "--p", "0.6", "--drop-probability", "0.2", *flood]):
        assert cli.main(["audit", *words, "--users", "60", "--trials", "100", "--json"]) == 3
        assert "conformance of count of -1, no ones" in capsys.readouterr().out
