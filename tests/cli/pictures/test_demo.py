"""`demo`: what is printed and written; `tests/test_demo.py` has its numbers."""

from pathlib import Path
from typing import NoReturn

import pytest

from dpverify import cli, demo
from dpverify.guarantee import Budget

ROWS = demo.DemoRow("no privacy", None, (0.9,)), demo.DemoRow("3nb, exact", "exact", error="it cannot be met")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be learned, and one bitsum be planned for many users."""
    few = {"users": 30_000, "instances": 768, "bitsums": ["rr"], "methods": ["published"]}
    monkeypatch.setattr(demo, "run", lambda **_: demo.DemoResult(Budget(2, "1e-6"), 3.0, 1347, 450, 10, 256, 1, ROWS))
    monkeypatch.setattr(demo, "many_users", lambda: demo.plan_bitsums(demo.BUDGET, **few))


def test_demo_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--output", str(tmp_path)]) == 0
    text, figure = capsys.readouterr().out, tmp_path / "dpverify-demo.png"
    assert [path.name for path in figure.parent.iterdir()] == [figure.name]
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert str(figure) in text
    assert "n = 30,000 users" in text
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith("Figure")] == []


def test_a_demo_that_cannot_draw_is_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> NoReturn:
        raise RuntimeError("no font")

    monkeypatch.setattr("dpverify.report.plots.demo_figure", fail)
    assert cli.main(["demo", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "3nb, exact" in printed.out
    assert "Figure" not in printed.out
    assert printed.err == f"--output='{tmp_path}/dpverify-demo.png' cannot be written: no font.\n"
    assert list(tmp_path.iterdir()) == []
