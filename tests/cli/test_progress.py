"""Progress: at a terminal the time that is left, gone when the work is done; elsewhere a line now and then."""

import io
import time

import pytest
from rich.console import Console

from dpverify.cli import progress


def heard(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, patience: float) -> str:
    file = io.StringIO()
    screen = Console(file=file, force_terminal=terminal, force_interactive=terminal, width=60)
    monkeypatch.setattr(progress, "console", lambda *, stderr: screen)
    with progress.told("plans", patience=patience) as tell:
        for done in range(1, 4):
            tell(done, 4)
            time.sleep(0.15)
    return file.getvalue()


def test_a_terminal_is_told_how_far_it_is_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = heard(monkeypatch, terminal=True, patience=0.0)
    assert "3/4" in text
    assert "left" in text


def test_nothing_is_told_of_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heard(monkeypatch, terminal=True, patience=60.0) == ""
    assert heard(monkeypatch, terminal=False, patience=0.0) == ""


def test_a_file_is_told_in_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.1)
    monkeypatch.setattr(progress, "console", lambda *, stderr: Console(file=io.StringIO()))
    with progress.told("steps") as tell:
        tell(1, 4)
        time.sleep(0.15)
        tell(2, 4)
        tell(3, 4)
        time.sleep(0.15)
        tell(4.25, 5, "the audit")
    assert capsys.readouterr().err == "steps: 2 of 4 ...\nthe audit: 4.2 of 5 ...\n"


def test_what_is_counted_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    screen = Console(file=file, force_terminal=True, force_interactive=True, width=60)
    monkeypatch.setattr(progress, "console", lambda *, stderr: screen)
    with progress.told("rows", patience=0.0) as tell:
        tell(9, 9)
        time.sleep(0.15)
        tell(0, 5, "planning")
        time.sleep(0.15)
    assert "9/9" in file.getvalue()
    assert "planning" in file.getvalue().partition("9/9")[2]
