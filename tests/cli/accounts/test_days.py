"""`account days` and `--and`: both say what the library does."""

from pathlib import Path

import pytest

from dpverify.planning.account import account
from protocols.bitsum import RandomizedResponse
from tests.cli.words import Run

RR = ["rr", "--users", "200", "--instances", "2", "--flip-probability", ".25"]
MORE = ["rr", "--users", "300", "--instances", "1", "--flip-probability", ".25"]
DAYS = [(RandomizedResponse(200, 0.25), 2), (RandomizedResponse(300, 0.25), 1)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "days.csv"
    path.write_text("protocol,users,flip_probability,instances\nrr,200,.25,2\nrr,300,.25,1\n")
    return path


@pytest.mark.long
def test_protocols_with_and_between_them_are_accounted_together(run: Run) -> None:
    expected = account(DAYS, delta="1e-6").to_dict()
    assert run("account", *RR, "--delta", "1e-6", "--and", *MORE, "--json") == expected
    assert run("account", *RR, "--json", "--and", *MORE, "--delta", "1e-6") == expected


@pytest.mark.long
def test_a_file_of_days_is_accounted(run: Run, file: Path, tmp_path: Path) -> None:
    expected = account(DAYS, epsilon="0.5", at_most=2).to_dict()
    assert run("account", "days", str(file), "--epsilon", "0.5", "--at-most", "2", "--json") == expected
    plot = tmp_path / "days.svg"
    shown = run("account", "days", str(file), "--delta", "1e-6", "--curve", "--plot", str(plot))
    assert "epsilon at most" in shown
    assert plot.read_text().startswith("<?xml")
    assert len(run("account", "days", str(file), "--delta", "1e-6", "--curve", "--json")["curve"]) == 3
