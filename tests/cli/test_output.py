"""How results are printed: strict JSON, tables of a known width, figures that never cost a report."""

import json
import math
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer
from matplotlib.figure import Figure
from rich.table import Table

from dpverify.cli import main
from dpverify.cli.formats import choose
from dpverify.cli.output import console, print_result, show, write_certified, write_figure, write_files
from dpverify.report.tables import WIDTH

ROOT = Path(__file__).resolve().parents[2]


def wide() -> Table:
    table = Table()
    for name in range(12):
        table.add_column(f"a column {name}")
    table.add_row(*map(str, range(12)))
    return table


@pytest.fixture(autouse=True)
def a_table() -> None:
    choose(None)


def test_infinity_is_a_word_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    result = {"a": math.inf, "b": [1.5, {"c": -math.inf}], "d": "inf", "e": None, "f": True}
    choose("json")
    print_result(result)
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"a": "inf", "b": [1.5, {"c": "-inf"}], "d": "inf", "e": None, "f": True}
    assert printed.endswith("}\n")
    # There is no word for what no result may be.
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_result({"a": math.nan})


@pytest.mark.parametrize("columns", [None, "300", "20"])
def test_a_pipe_has_one_width(
    columns: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    assert console().width == console(stderr=True).width == WIDTH == 80
    print_result({"unseen": 1}, wide())
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) == WIDTH
    assert "unseen" not in printed
    assert "\x1b" not in printed  # no colour where there is no terminal


def test_texts_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    show("[bold]a[/bold] 12", wide(), "end")
    printed = capsys.readouterr()
    assert printed.out.startswith("[bold]a[/bold] 12\n")
    assert printed.out.endswith("end\n")
    assert printed.err == ""


def test_a_figure_that_cannot_be_drawn_costs_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.png"

    def failing(error: Exception) -> Any:
        def draw() -> NoReturn:
            raise error

        return draw

    for error, reason in (
        (RuntimeError("no font."), "no font."),
        (OSError(28, "No space left on device"), "No space left on device."),
        (KeyError(), "KeyError."),
    ):
        assert not write_figure("--plot", path, failing(error))
        printed = capsys.readouterr()
        assert printed.err == f"--plot='{path}' cannot be written: {reason}\n"
        assert printed.out == ""
    assert list(tmp_path.iterdir()) == []
    assert write_figure("--plot", path, Figure)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().err == ""


def test_what_cannot_be_written_has_status_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result: Any = None
    monkeypatch.setattr("dpverify.cli.output.write_rows", lambda table, result: table is None)
    write_files(None, None, result)
    with pytest.raises(typer.Exit) as ended:
        write_files(None, tmp_path / "rows.csv", result)
    assert ended.value.exit_code == 2


def test_a_certificate_that_shows_more_than_the_account_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for epsilon, more in (("1.5", ""), ("1.25", ", above the 1.25 of this account")):
        file = tmp_path / "proof.json"
        write_certified(file, lambda: {"epsilon": "1.5"}, float(epsilon))
        assert capsys.readouterr().err == f"{file} shows epsilon 1.5{more}: dpverify check {file}\n"
    write_certified(file, lambda: {"epsilon": "1.000490"}, 0.99994, Fraction(1))
    said = "NOT WITHIN THE BUDGET: that is 0.00049 above its epsilon; to show no more than it, plan for about 0.9995."
    assert capsys.readouterr().err.splitlines()[1] == said
    write_certified(file, lambda: {"epsilon": "1.000490"}, 0.99994, Fraction("1.00049"))
    assert "BUDGET" not in capsys.readouterr().err


def test_a_closed_pipe_is_no_violation() -> None:
    # The status that click chooses, 1, is what an audit that found a violation ends with.
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "dpverify", "theorems", "--json"]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, "The output cannot be written: Broken pipe.\n")


def test_completion_that_was_shown_is_no_closed_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    assert main(["--show-completion"]) == 0
    shown = capsys.readouterr()
    assert "_dpverify_completion" in shown.out
    assert shown.err == ""
    for option in ("--show-completion", "--install-completion", "--version"):
        assert main([option, "nope"]) == 2
        refused = capsys.readouterr()
        assert (refused.out, refused.err) == ("", f"{option} must be all that is typed, without 'nope' behind it.\n")


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_a_closed_output_and_one_of_few_letters_are_no_faults(tmp_path: Path) -> None:
    spend = "spend --label '日本 ½' spent poisson --users 100 --mean 900 --instances 1"
    python = f"{sys.executable} -m dpverify"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "latin-1"}
    script = f"{python} spent spent --new --epsilon 1 --delta 1e-8 && {python} {spend}; {python} theorems >&-; echo $?"
    done = subprocess.run(["sh", "-c", script], capture_output=True, cwd=tmp_path, env=environment, check=True)
    assert done.stderr == b"The output cannot be written: it is closed.\n"
    assert "\\u65e5\\u672c ½" in done.stdout.decode("latin-1")
    assert done.stdout.endswith(b"\n2\n")
