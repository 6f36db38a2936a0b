"""What the second page is told is what the commands print, and its curves are bounds wherever they are drawn."""

import asyncio
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from dpverify.claims import registry
from dpverify.cli import main
from dpverify.planning.account import account
from dpverify.planning.schedules.days import read_days
from dpverify.serve import spent
from dpverify.serve.desk import Desk
from dpverify.serve.spent import told
from dpverify.serve.texts import Text
from dpverify.serve.work import Refusal
from tests.serve.test_pieces import Here
from tests.serve.test_texts import DAYS, DESIGN

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "dpverify/serve/static/days.html").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r'<template data-example="(.*?)">(.*?)</template>', PAGE, flags=re.DOTALL))


class Refusing(Here):
    """A desk that says no as ours does."""

    async def ask(self, *arguments: Any, **named: Any) -> Any:
        try:
            return await super().ask(*arguments, **named)
        except ValueError as error:
            raise Refusal(str(error)) from error


def answer(written: str, **asked: str) -> list[dict[str, Any]]:
    async def collect() -> list[dict[str, Any]]:
        text = Text.read(written.encode(), asked.items())
        return [part async for part in told(text, cast(Desk, Refusing()), 1)]

    return asyncio.run(collect())


def words(text: str) -> list[str]:
    return re.sub("[─\\s]+", " ", text).split()


def printed(parts: list[dict[str, Any]]) -> list[str]:
    """Return the words of what a page shows."""
    rows = [row for part in parts for row in ([[part["text"]]] if "text" in part else [part["headers"], *part["rows"]])]
    return words(" ".join(cell for row in rows for cell in row))


@pytest.mark.long
def test_a_design_is_what_the_command_prints_and_its_curve_keeps_the_budgets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "collection.toml").write_text(DESIGN)
    main(["design", str(tmp_path / "collection.toml")])
    name, found, *points = answer(DESIGN)
    assert name == {"name": "collection.toml"}
    assert printed(found["parts"]) == words(capsys.readouterr().out)
    (curve,) = found["curves"]
    assert curve["budgets"] == [{"x": 30, "upper": 1.0, "text": "1"}]
    assert [each["left"] for each in points] == sorted((each["left"] for each in points), reverse=True)
    last = points[-1]["points"]
    assert points[-1]["left"] == 0
    assert len(last) == curve["left"]
    assert [last[0]["x"], last[-1]["x"]] == [1, 30]
    assert 0.99 < last[-1]["upper"] <= 1.0
    assert all(before["upper"] <= after["upper"] for before, after in pairwise(last))
    week = account(spent._found(Text.read(DESIGN.encode(), [])).days(7), delta="1e-6").epsilon
    upper = next(point["upper"] for point in last if point["x"] >= 7)
    assert week.lower <= upper
    # From the first points on a curve reaches to the end: it is only finer later.
    assert points[0]["points"][-1]["x"] == 30


def test_days_are_what_the_command_prints_and_their_curve_is_that_of_the_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "days.csv").write_text(DAYS)
    main(["account", "days", str(tmp_path / "days.csv"), "--delta", "1e-7", "--at-most", "2"])
    name, found, *points = answer(DAYS, delta="1e-7", at_most="2")
    assert name == {"name": "days.csv"}
    assert printed(found["parts"]) == words(capsys.readouterr().out)
    result = account(read_days(tmp_path / "days.csv"), delta="1e-7", at_most=2)
    assert {point["x"]: point["upper"] for point in points[-1]["points"]} == {
        runs: end.upper for runs, end in result.cumulative()
    }


@pytest.mark.parametrize(
    ("written", "file"), [(DESIGN.replace("bits", "bit"), "design"), (DAYS + "rr,9,1\n", "account days")]
)
def test_what_is_wrong_is_said_in_the_words_of_the_command(
    written: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, refused = answer(written)
    path = tmp_path / name["name"]
    path.write_text(written)
    assert main([*file.split(), str(path), *(["--delta", "1e-6"] if "days" in file else [])]) == 2
    said = capsys.readouterr().err.removeprefix("Error: ").replace(repr(str(path)), "the text")
    assert words(refused["error"]) == words(said)


def test_nothing_that_a_text_names_is_opened_or_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "hostile-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[dpverify.bitsums]\nhostile = hostile:Claims\n")
    (tmp_path / "hostile.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry._installed.cache_clear()
    monkeypatch.setitem(registry._GROUPS, registry.Group.BITSUMS, registry.Registered(registry.Group.BITSUMS))
    try:
        _, refused = answer("protocol,users\nhostile,9\n")
        assert refused["error"].startswith("Day 1 of the text: protocol='hostile' must be of dpverify itself here")
        assert not (tmp_path / "ran").exists()
        file = tmp_path / "days.csv"
        file.write_text("protocol,users\nhostile,9\n")
        with pytest.raises(ValueError, match="cannot be loaded"):  # the command runs what is installed
            read_days(file)
        assert (tmp_path / "ran").exists()
    finally:
        registry._installed.cache_clear()


def test_where_a_curve_stops_the_reason_is_told_and_what_is_known_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def after(text: Text, delta: str, at: list[int]) -> Any:
        calls.append(at)
        if len(calls) > 1:
            raise ValueError("There is no more.")
        return spent._found(text).cumulative(at)  # type: ignore[union-attr]

    monkeypatch.setattr(spent, "after", after)
    many = "protocol,users,sigma\n" + "".join(f"central-gaussian,90,{7 + day}\n" for day in range(20))
    *_, first, last = answer(many)
    assert first["left"] > 0
    assert first["points"]
    assert last == {"curve": 0, "error": "There is no more."}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_stands_in_the_documentation(name: str) -> None:
    said = "".join((ROOT / f"docs/{page}.md").read_text(encoding="utf-8") for page in ("designs", "spending"))
    for paragraph in EXAMPLES[name].strip().split("\n\n"):
        assert f"{paragraph}\n" in said


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_answered(name: str) -> None:
    _, found, *points = answer(EXAMPLES[name])
    assert found["parts"]
    assert [each for each in points if "error" in each] == []
    assert points[-1]["left"] == 0


@pytest.mark.long
def test_a_text_has_few_figures_and_says_how_many_it_has_not() -> None:
    more = "".join(f"[[budgets]]\nepsilon = 9\ndelta = 1e-{5 - each}\ndays = {each + 1}\n" for each in range(4))
    _, found, *_ = answer(DESIGN + more)
    assert len(found["curves"]) == 4
    assert found["left_out"] == 1
