"""Every command's help ends with examples, and these run."""

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from dpverify import cli
from dpverify.claims.registry import Group, registered
from dpverify.cli.examples import EXAMPLES, below_help, folded

YOURS = """
import numpy as np

def noisy_sum(values, rng):
    values = np.asarray(values)
    if values.size == 2:
        return float(values.sum() + rng.laplace())
    return float(((values.sum() + rng.binomial(values.size, 0.5) - values.size / 2)))

def guesses(secrets, rng):
    return 2.0 * (secrets ^ (rng.random(secrets.size) < 0.4)) - 1.0
"""
DESIGNED = """
users = 60
budgets = [{epsilon = 1, delta = 1e-6}]
queries = [{name = "features", bits = 2}]
"""
PREPARED = {
    "check": "account local-rr --flip-probability 0.4 --delta 1e-5 --certificate local-rr.json",
    "spend": "spent spent.jsonl --new --epsilon 1 --delta 1e-6",
}
"""What is typed before the first example of a command."""
ONLY_READ = {
    *("serve", "demo", "reproduce", "report", "theorems", "theorems check", "plan", "front", "means", "sums", "crowd"),
    *("least users", "classify", "predict", "decode", "audit", "audit rr", "audit 3nb", "audit nb", "audit pure"),
    "audit local-rr",
    "audit client",
    "collect",
    "collected",
    "release",
    "aggregate",
    "rehearse",
}
"""Commands whose examples are only read here: they take long, or never end; their own tests run them."""
SECONDS = {
    *("audit selection", "audit vector-sum", "audit augmented-sum", "audit histogram", "audit split-and-mix"),
    *("amplify", "design", "canaries", "account noisy-step", "account days", "account steps"),
    *("least", "least messages", "least epsilon", "least noise"),
}
"""Those whose examples take one, or nearly."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if path:
        yield " ".join(path), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


@functools.cache
def all_commands() -> dict[str, Any]:
    return dict(commands(typer.main.get_command(cli.application())))


def test_every_command_has_examples_and_nothing_else_has() -> None:
    # What is made of a protocol's fields may have one.
    made = {f"{group} {name}" for group in ("account", "audit") for name in registered(Group.MECHANISMS)}
    assert set(EXAMPLES) <= set(all_commands()) <= {*EXAMPLES, *made}
    assert all(
        example.split()[: len(name.split())] == name.split() for name, each in EXAMPLES.items() for example in each
    )


def test_help_ends_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["least", "epsilon", "--help"]) == 0
    (example,) = EXAMPLES["least epsilon"]
    shown = capsys.readouterr().out.split("Example:\n")[1]
    assert shlex.split(shown.replace("\\\n", " ")) == ["dpverify", *shlex.split(example)]
    assert below_help(["nothing"]) is None
    assert below_help(["audit", "labels"]) is None  # not that of randomized response
    assert below_help(["predict", "model.npz"]) == below_help(["predict"]) is not None
    assert folded("dpverify a --b 1 --c 2", 18).split("\n") == ["dpverify a --b 1 \\", "    --c 2"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_read(name: str) -> None:
    for example in EXAMPLES[name]:
        words = shlex.split(example)
        command = all_commands()[" ".join(words[: len(name.split())])]
        if not hasattr(command, "commands"):
            command.make_context(name, words[len(name.split()) :])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in SECONDS else [])
        for name in EXAMPLES
        if name not in ONLY_READ
    ],
)
def test_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("yours.py").write_text(YOURS, encoding="utf-8")
    Path("days.csv").write_text("protocol,users,flip_probability\nrr,60,0.1\nrr,60,0.2\n", encoding="utf-8")
    Path("collection.toml").write_text(DESIGNED, encoding="utf-8")
    np.savez("points.npz", X=np.eye(2)[[0, 1] * 100], y=np.array([0, 1] * 100))
    for example in (*((PREPARED[name],) if name in PREPARED else ()), *EXAMPLES[name]):
        # Few trials: that audits go on for as long as is said, and what they find, is tested elsewhere.
        status = cli.main(shlex.split(re.sub(r"--trials \d+", "--trials 100", example)))
        printed = capsys.readouterr()
        # What is audited here is not private: that is found out.
        assert status in ((0, 1, 3) if name.startswith(("audit", "canaries")) else (0,)), printed.err
        assert printed.out
