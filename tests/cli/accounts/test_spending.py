"""`spend` and `spent`: status 2 and a reason where a budget would be exceeded or a file is not what was written."""

from pathlib import Path

import pytest

from dpverify import cli
from dpverify.spending.ledger import PrivacyLedger
from tests.cli.words import Run

RR = ["rr", "--users", "200", "--flip-probability", ".25", "--instances"]


@pytest.fixture
def path(tmp_path: Path, run: Run) -> Path:
    path = tmp_path / "spent.jsonl"
    run("spent", str(path), "--new", "--epsilon", "1", "--delta", "1e-6")
    return path


@pytest.mark.long
def test_what_is_spent_is_shown_and_what_is_too_much_refused(
    path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run("spend", "--label", "Monday", str(path), *RR, "1")
    together = run(
        "spend", "--json", str(path), *RR, "1", "--and", "nb", "--instances", "1", "--shape", "90", "--p", ".9"
    )
    assert together["runs"] == 3
    assert run("spent", str(path), "--json") == together == PrivacyLedger(path).spent().to_dict()
    content = path.read_bytes()
    assert cli.main(["spend", str(path), *RR, "40"]) == 2
    assert capsys.readouterr().err.startswith("40 of rr would exceed the budget (1, 1e-06): epsilon would be up to ")
    assert path.read_bytes() == content


def test_what_a_ledger_itself_says_is_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = path.read_bytes()
    assert cli.main(["spend", str(path), *RR, "1", "--delta", "1e-6"]) == 2
    assert capsys.readouterr().err == "--delta and --epsilon must be omitted: the ledger has its budget.\n"
    words = ["pure", "--users", "9", "--instances", "1", "--p", ".9", "--threat-model", "model"]
    assert cli.main(["spend", str(path), *words]) == 2
    assert capsys.readouterr().err == "--threat-model must be omitted: the ledger says whose view is accounted.\n"
    assert cli.main(["spend", "--label", "a\nb", str(path), *RR, "1"]) == 2
    assert capsys.readouterr().err == "--label='a\\nb' must be printable characters.\n"
    assert path.read_bytes() == content


def test_a_torn_line_is_taken_off_where_that_is_asked_for(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = path.read_bytes()
    path.write_bytes(content + b'{"hash"')
    assert cli.main(["spent", str(path)]) == 2
    assert "ends in the middle of line 2" in capsys.readouterr().err
    assert cli.main(["spent", "--repair", str(path)]) == 0
    assert capsys.readouterr().err == 'Taken off: {"hash"\n'
    assert path.read_bytes() == content
