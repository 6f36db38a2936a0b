"""`demo`: what is printed and written, and that nothing is where nothing can be."""

from pathlib import Path
from typing import NoReturn

import pytest

from dpverify import cli, demo
from tests.cli.words import Run


def test_demo_prints_and_writes(
    small_demo: demo.DemoResult, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "run", lambda **_: small_demo)
    monkeypatch.setattr(
        demo, "many_users", lambda: demo.plan_bitsums(demo.BUDGET, users=30_000, instances=768, methods=["published"])
    )
    text = run("demo", "--output", str(tmp_path))
    figure = tmp_path / "dpverify-demo.png"
    assert [path.name for path in figure.parent.iterdir()] == [figure.name]
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert str(figure) in text
    assert "n = 30,000 users" in text
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith("Figure")] == []


def test_a_demo_that_cannot_draw_is_told_all_the_same(
    small_demo: demo.DemoResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> NoReturn:
        raise RuntimeError("no font")

    monkeypatch.setattr(demo, "run", lambda **_: small_demo)
    monkeypatch.setattr(
        demo,
        "many_users",
        lambda: demo.plan_bitsums(demo.BUDGET, users=30_000, instances=768, bitsums=["3nb"], methods=[]),
    )
    monkeypatch.setattr("dpverify.report.plots.demo_figure", fail)
    assert cli.main(["demo", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "3nb, exact" in printed.out
    assert "Figure" not in printed.out
    assert printed.err == f"--output='{tmp_path}/dpverify-demo.png' cannot be written: no font.\n"
    assert list(tmp_path.iterdir()) == []
