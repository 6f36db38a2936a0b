"""The command that writes a report."""

import json
from pathlib import Path

import pytest

from dpverify import cli
from tests.dossier.small import audit

WORDS = ["--epsilon", "1", "--delta", "1e-3", "--users", "20", "--instances", "1", "--bitsum", "rr"]


@pytest.fixture(autouse=True)
def one_point_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SHARES", "_EPSILONS"):  # each is a plan
        monkeypatch.setattr(f"dpverify.dossier.gather.{name}", ("1",))


@pytest.mark.long
def test_a_report_is_written_with_an_audit_of_the_users_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, output = tmp_path / "audit.json", tmp_path / "report.html"
    given.write_text(json.dumps(audit(subject="their counter")), encoding="utf-8")
    words = ["report", str(output), *WORDS, "--audit", str(given), "--title", "Counting <cats>"]
    assert cli.main(words) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith(f"{output}: rr is recommended. It was asked for. With half of the users honest the ")
    assert " kB" in printed.out
    page = output.read_text(encoding="utf-8")
    assert "<title>Counting &lt;cats&gt;</title>" in page
    assert "their counter" in page


def test_ctrl_c_leaves_no_part_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    for name, more in (
        ("dpverify.dossier.gather._own_audit", ["--trials", "100"]),
        ("dpverify.files.os.replace", ["--trials", "0", "--seconds", "1e-9"]),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(name, interrupted)
            assert cli.main(["report", str(tmp_path / "page.html"), *WORDS, *more]) == 130
        assert list(tmp_path.iterdir()) == []
