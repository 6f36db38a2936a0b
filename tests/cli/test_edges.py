"""Every option of every command at the edges of what can be typed: an answer or one sentence, and never a traceback."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer

from dpverify import cli

ROOT = Path(__file__).resolve().parents[2]

EDGES = (
    "0",
    "-1",
    "1",
    "0.5",
    "1e-300",
    "1e300",
    "nan",
    "-inf",
    "1e400",
    "1e-400",
    "9" * 20,
    "1,000",
    "",
    " ",
    "½",
    "--",
)
USUAL = {
    "users": "10",
    "instances": "2",
    "flip_probability": "0.25",
    "p": "0.5",
    "flood_shape": "2",
    "flood_p": "0.5",
    "shape": "3",
    "mean": "20",
    "sigma": "5",
    "delta": "1e-4",
    "epsilon": "1",
    "rate": "0.5",
    "drop_probability": "0.1",
    "buckets": "5",
    "dimension": "3",
    "levels": "2",
    "blanket_probability": "0.4",
    "sampled": "2",
}
CASES = 120


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
        # Those of files and servers have their own tests.
        if (
            path[0]
            in (
                "demo",
                "audit",
                "canaries",
                "classify",
                "predict",
                "decode",
                "theorems",
                "report",
                "serve",
                "spend",
                "spent",
            )
            or path[-1] == "days"
            or (path[0] == "budget") != of_budget
        ):
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
            if option in flags:  # which take no value
                continue
            rest = [word for other, value in usual.items() if other != option for word in (other, value)]
            calls += [(*path, *rest, option, edge, "--json") for edge in EDGES]
            calls += [(*path, *rest), (*path, *rest, option), (*path, *rest, option, "1", option, "1")]
    return calls


SPLIT = random.Random(8).sample(grid(of_budget=True), 30)


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
        assert "--" in err or re.match("[A-Z]+=", err)  # an option, or an argument that has no dashes


@pytest.mark.parametrize("words", random.Random(8).sample(grid(), CASES) + SPLIT, ids=" ".join)
def test_an_answer_or_one_sentence(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        status = cli.main(words)
    printed = capsys.readouterr()
    judge(words, status, printed.out, printed.err)


@pytest.mark.parametrize(
    "words",
    [
        ("account", "poisson", "--mean", "0", "--instances", "2", "--delta", "1e-4"),
        ("account", "gaussian", "--sigma", "\udcff", "--instances", "2", "--delta", "1e-4"),
        ("plan", "--epsilon", "700", "--delta", "0", "--users", "10", "--instances", "1", "--bitsum", "local-rr"),
        ("certify", "rr", "--users", "10", "--flip-probability", "1/0", "--epsilon", "1"),
    ],
    ids=lambda words: " ".join(words[:4]).encode("ascii", "replace").decode(),
)
def test_the_same_in_a_process_of_its_own(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpverify", *words],
        capture_output=True,
        cwd=ROOT,
        text=True,
        timeout=120,
        errors="surrogateescape",
    )
    judge(words, done.returncode, done.stdout, done.stderr)


HOSTILE = r"""
plan @ --users 1000 --instances 2 --bitsum ''
plan @ --users 1000 --instances 2 --bitsum ,
plan @ --users 1000,,2000 --instances 2 --bitsum rr
plan @ --users '' --instances 2
plan @ --users 1000 --instances 2 --bitsum rr --csv no/where.csv
plan --epsilon 1e-307 --delta 1e-307 --users 1000 --instances 2 --bitsum rr
plan --epsilon 1 --delta 5e-324 --users 100 --instances 1 --bitsum rr
plan @ --users 1000 --instances 2 --squared-change 3 --bitsum rr
plan @ --users 1000 --instances 2 --honest 1e-300 --bitsum rr
plan @ --users 1000 --kernel nothing --dimension 2
plan @ --users 1000 --kernel gaussian --dimension 1e9
plan @ --users 1000 --kernel inner-product --dimension 0
plan @ --users 1000 --kernel inner-product --dimension 2 --instances 5
plan @ @ --users 10 --instances 1
plan --epsilon=1 --epsilon 2 --delta 1e-6 --users 10 --instances 1
plan -h
plan --epsilon
''
' '
nonsense
plan nonsense
account
account rr
account rr --users 10 --instances 1 --flip-probability 0.5 --delta 1e-6
account rr --users 10 --instances 1 --flip-probability 0 --delta 1e-6
account rr --users 10 --instances 1 --flip-probability 0.1 --delta 1e-6 --epsilon 1
account rr --users 10 --instances 1 --flip-probability 0.1
account rr --users 10 --instances 1 --flip-probability 0.1 --delta 0 --honest 0
account nb --users 10 --instances 1 --shape 1e300 --p 0.5 --delta 1e-6
account poisson --users 10 --instances 1 --mean 1e300 --delta 1e-6
account central-discrete-gaussian --users 10 --sigma 1e10 --instances 1 --delta 1e-6
account histogram --users 10 --buckets 1e18 --flip-probability 0.1 --delta 1e-6
account vector-sum --users 10 --dimension 3 --levels 2 --sampled 4 --blanket-probability 0.5 --delta 1e-6
account kde --users 10 --kernel gaussian --dimension 1e9 --flip-probability 0.1 --delta 1e-6
account kde --users 10 --kernel inner-product --dimension 3 --flip-probability 0.1 --delta 1e-6 --bits 1e12
account labels --labels-epsilon 701 --classes 2 --delta 0
account labels --labels-epsilon 700 --classes 1e18 --delta 0 --instances 1e18
account days missing.csv --delta 1e-6
account days empty --delta 1e-6
account days bad.csv --delta 1e-6
account days binary --delta 1e-6
account days folder --delta 1e-6
account days loop --delta 1e-6
account rr --users 10 --instances 1 --flip-probability 0.1 --delta 1e-6 --and
account --and rr
amplify --epsilon0 1e-12 --users 9007199254740992 --delta 1e-6
amplify --epsilon0 1 --users 9007199254740993 --delta 1e-6
amplify --epsilon 1e-300 --users 100 --delta 1e-300
crowd @ --users 10 --instances 2 --malicious 11
means --epsilon 1e-300 --delta 0 --users 1
rappor --epsilon-one 2 --epsilon-limit 1 --users 10
rappor --epsilon-one 1e-300 --epsilon-limit 1 --users 10
certify rr --users 1e18 --flip-probability 0.3 --epsilon 1
certify rr --users 10 --flip-probability 0.3 --epsilon 1 --digits 1e9
certify poisson --users 10 --mean 1e12 --epsilon 1
formula nothing
formula three-nb.noise-p epsilon0
formula three-nb.noise-p epsilon0=
formula three-nb.noise-p epsilon0=x
formula three-nb.noise-p epsilon0=0
formula three-nb.noise-p epsilon0=-1
formula three-nb.noise-p epsilon0=1e999999999
formula three-nb.noise-p epsilon0=1 epsilon0=2
formula three-nb.noise-p epsilon0=1 --digits 1e9
formula three-nb.noise-p epsilon0=1/0
formula three-nb.noise-p nonsense=1
formula randomized-response.rmse n=30000 --solve q --equals 62
formula randomized-response.rmse n=30000 --solve p --equals 1e300
formula randomized-response.rmse n=30000 p=0.1 --solve p --equals 62
theorems '((('
theorems ''
classify missing.npz --labels y
classify empty --labels y
classify binary --labels y
classify loop --labels y
audit rr --users 0 --flip-probability 0.3
audit rr --users 20 --flip-probability 0.3 --trials 99
audit rr --users 20 --flip-probability 0.3 --trials 100 --target nowhere
audit mechanism --claim-epsilon 1 --claim-delta 0
spent missing.jsonl
spent empty
spent binary
spent folder
spent loop
spend missing.jsonl rr --users 10 --instances 1 --flip-probability 0.1
report folder @ --users 10 --instances 1
report no/r.html @ --users 10 --instances 1
report r.txt @ --users 10 --instances 1
report r.html @ --users 10 --instances 1 --audit binary --seconds 1
report r.html @ --users 10 --instances 1 --audit missing --seconds 1
report r.html @ --users 10 --instances 1 --audit deep.json --seconds 1
serve --port 99999
demo --seed -1
least users @ --instances 1 --error 2 --bitsum rr
least epsilon --users 10 --delta 1e-6 --instances 1 --rmse 1e-300 --bitsum rr
least messages @ --users 10 --instances 1 --rmse 1 --bitsum 3nb
least
plan @ --users 1000,2000 --instances 2 --bitsum rr --csv loop
account days deep.json --delta 1e-6
"""
"""Command lines that newcomers type; `@` is a budget."""


def test_hostile_command_lines_are_one_sentence_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "bad.csv").write_text("protocol,users\nrr,x\n")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "loop").symlink_to("loop")
    for line in HOSTILE.strip().splitlines():
        status = cli.main(shlex.split(line.replace("@", "--epsilon 1 --delta 1e-6")))
        printed = capsys.readouterr()
        assert (status, printed.out) == (2, ""), line
        rows = 2 if line.startswith(("plan", "crowd", "means")) else 1  # each has a reason
        assert 1 <= len(printed.err.splitlines()) <= rows, (line, printed.err)
        assert not re.search(r"has a fault|Traceback|that is 0 or of a size.*\(0", printed.err), line
