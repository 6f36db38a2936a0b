"""The command that writes a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpverify import cli
from tests.dossier.small import audit

WORDS = ["--epsilon", "1", "--delta", "1e-3", "--users", "20", "--instances", "1", "--bitsum", "rr"]


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

    for name in ("dpverify.dossier.gather._own_audit", "dpverify.report.files.os.replace"):
        with monkeypatch.context() as patched:
            patched.setattr(name, interrupted)
            assert cli.main(["report", str(tmp_path / "page.html"), *WORDS, "--trials", "100"]) == 130
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report.pdf", *WORDS], "output='report.pdf' must end in one of .html, .htm."),
        (["none/report.html", *WORDS], "output='none/report.html' must be in a folder that exists."),
        (["report.html", *WORDS, "--audit", "none.json"], "--audit='none.json' cannot be read: No such file"),
        (["report.html", *WORDS, "--audit", "text.json"], "--audit='text.json' must be JSON"),
        (["report.html", *WORDS, "--audit", "list.json"], "--audit='list.json' must be what `dpverify audit --json`"),
        (["report.html", *WORDS, "--audit", "deep.json"], "--audit='deep.json' must be"),
        (["report.html", *WORDS, "--audit", "long.json"], "--audit='long.json' must be"),
        (["report.html", *WORDS, "--trials", "5"], "--trials=5 must be 0 or in [100, inf)."),
        (["report.html", *WORDS, "--delta", "0"], "--delta"),
        (["report.html", *WORDS, "--squared-change", "2"], "--squared-change"),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_mistakes_are_one_sentence_and_nothing_is_written(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("text.json", "text"),
        ("list.json", "[1, 2]"),
        ("deep.json", "[" * 100_000),
        ("long.json", "9" * 5_000),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert cli.main(["report", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(message)
    assert not (tmp_path / "report.html").exists()
