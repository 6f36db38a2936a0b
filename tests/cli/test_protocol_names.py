"""A protocol has one name in every command, however it is typed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from dpverify import cli
from dpverify.claims.registry import Group, registered
from dpverify.cli.protocol_names import bitsums, either, known_name

ROOT = Path(__file__).resolve().parents[2]
GAUSSIAN = ["--instances", "2", "--sigma", "7", "--delta", "1e-3", "--json"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert cli.main(words) == 0
    return dict(json.loads(capsys.readouterr().out))


def commands(group: str) -> list[str]:
    program = typer.main.get_command(cli.application())
    return list(program.commands[group].commands)  # type: ignore[attr-defined]


def test_the_registry_names_every_command_of_a_protocol() -> None:
    names = {*registered(Group.BITSUMS), *registered(Group.MECHANISMS), *registered(Group.STEPS)}
    # `days` is a file of protocols, which are named there, and `steps` are for any adjacency.
    protocols = set(commands("account")) - {"days", "steps"}
    assert {*bitsums(), "histogram", "selection", "vector-sum", "kde", "labels"} <= protocols <= names
    assert bitsums() == tuple(registered(Group.BITSUMS))
    # `mechanism` and `client` are any code, and `decoding` a use of densities: they have no protocol.
    for group in ("audit", "certify"):
        assert set(commands(group)) - {"mechanism", "client", "decoding"} <= names
        assert {"rr", "3nb", "nb", "local-rr", "central-discrete-laplace"} <= set(commands(group))


def test_names_are_known_in_any_case_and_by_what_they_were_once() -> None:
    assert known_name("3NB", bitsums()) == "3nb"
    assert known_name("Gaussian", bitsums()) == known_name("central-GAUSSIAN", bitsums()) == "central-gaussian"
    assert known_name("gaussian", ["rr"]) is None
    assert known_name("gaussian", ["gaussian", "central-gaussian"]) == "gaussian"
    assert [either(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a or b", "a, b or c"]


@pytest.mark.parametrize("name", ["gaussian", "Central-Gaussian"])
def test_commands_take_them_all(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "Account", name, *GAUSSIAN) == run(capsys, "account", "central-gaussian", *GAUSSIAN)
    words = ["plan", "--epsilon", "1", "--delta", "1e-3", "--users", "9", "--instances", "2", "--method", "EXACT"]
    rows = run(capsys, *words, "--bitsum", name, "--json")["rows"]
    assert isinstance(rows, list)
    assert [row["bitsum"] for row in rows] == ["central-gaussian"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("dpverify account central-d", {"central-discrete-laplace", "central-discrete-gaussian"}),
        ("dpverify plan --bitsum 3", {"3nb"}),
    ],
)
def test_a_shell_completes(typed: str, offered: set[str]) -> None:
    asked = {"_DPVERIFY_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    code = "import sys; from dpverify.cli import main; sys.argv[1:] = []; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **asked}, capture_output=True, text=True, timeout=60
    )
    assert set(done.stdout.split()) == offered
