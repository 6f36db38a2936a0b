"""Every option of every command at the edges of what can be typed: an answer or one sentence, and never a traceback."""

import json
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer

from dpverify import cli
from tests.golden import prepare, said

EDGES = (
    *("0", "-1", "1", "0.5", "1e-300", "1e300", "nan", "-inf", "1e400", "1e-400"),
    "9" * 20,
    "1,000",
    "",
    " ",
    "½",
    "--",
)
USUAL = {
    **{"users": "10", "instances": "2", "flip_probability": "0.25", "p": "0.5", "flood_shape": "2", "flood_p": "0.5"},
    **{"shape": "3", "mean": "20", "sigma": "5", "delta": "1e-4", "epsilon": "1", "rate": "0.5"},
    **{"drop_probability": "0.1", "buckets": "5", "dimension": "3", "levels": "2", "blanket_probability": "0.4"},
    "sampled": "2",
}
OTHERS = {
    *("demo", "audit", "canaries", "classify", "predict", "decode", "theorems", "report", "serve"),
    *("collect", "collected", "release", "aggregate", "spend", "spent"),
}
"""Commands of files and servers, which have their own tests."""
CASES = 80


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def grid(*, of_budget: bool = False) -> list[tuple[str, ...]]:
    """Return one call for each option of each command that computes, and each thing that may be wrong with it."""
    calls = []
    for path, command in commands(typer.main.get_command(cli.application())):
        # One command's calls apart: which of the others are drawn does not depend on it.
        if path[0] in OTHERS or path[-1] == "days" or (path[0] == "budget") != of_budget:
            continue
        options = [parameter for parameter in command.params if parameter.opts[0].startswith("--")]
        typed = {parameter.name: parameter.opts[0] for parameter in options}
        usual = {typed[name]: value for name, value in USUAL.items() if name in typed}
        if path[0] == "account":
            del usual["--epsilon"]
        if path[0] == "plan":
            usual["--bitsum"] = "3nb"
        flags = {parameter.opts[0] for parameter in options if parameter.is_flag}
        for option in typed.values():
            if option in flags or option == "--certificate":  # no value, or a file that would be written
                continue
            rest = [word for other, value in usual.items() if other != option for word in (other, value)]
            calls += [(*path, *rest, option, edge, "--json") for edge in EDGES]
            calls += [(*path, *rest), (*path, *rest, option), (*path, *rest, option, "1", option, "1")]
    return calls


SPLIT = random.Random(8).sample(grid(of_budget=True), 20)


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON.")


def judge(words: tuple[str, ...], status: int, out: str, err: str) -> None:
    assert status in (0, 2)
    if status == 0:
        assert err == ""
        assert not re.search(r"\bnan\b", out, re.IGNORECASE)
        if "--json" in words:
            json.loads(out, parse_constant=refuse)
    else:
        assert out == ""
        assert len(err.splitlines()) == 1 or words[0] == "plan"  # each of its rows has a reason
        assert "has a fault" not in err
        assert not re.search(r"[<>]|Error|max_atoms|Traceback", err)
        assert "--" in err or re.match("[A-Z]+=|Missing argument '", err)  # an option or an argument


@pytest.mark.parametrize("words", random.Random(8).sample(grid(), CASES) + SPLIT, ids=" ".join)
def test_an_answer_or_one_sentence(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # some options name files to write
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        status = cli.main(words)
    printed = capsys.readouterr()
    judge(words, status, printed.out, printed.err)


def test_what_python_and_the_parser_say_is_one_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Their words change with their versions, so that they stand in no file of `tests/golden/`.
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    for line in ("account days binary --delta 1", "account days deep.json --delta 1", "plan --epsilno 2", "plan -h"):
        assert said(line)
    words = ("account", "gaussian", "--sigma", "\udcff", "--instances", "2", "--delta", "1e-4")
    judge(words, cli.main(words), *capsys.readouterr())
