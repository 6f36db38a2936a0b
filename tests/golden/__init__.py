"""What each command answers to command lines that it refuses: its sentences, one file per command.

    python -m tests.golden

makes the files anew; look at what changed. `tests/cli/test_golden.py` compares them. A line that begins with `$` is
typed in a folder that holds what `prepare` makes, `@` is a budget, and what follows is what the command says.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dpverify import cli
from tests.learning.points import blobs

__all__ = ["GOLDEN", "lines", "prepare", "said", "text"]

GOLDEN = Path(__file__).parent
BUDGET = "--epsilon 1 --delta 1e-6"
ROWS = {"plan": 2, "crowd": 2, "means": 3, "sums": 3}
"""Sentences of commands that have a reason for each row."""
MECHANISM = """
def short(secrets, rng):
    return [0.0]

def scores(secrets, rng):
    return 2.0 * secrets - 1.0
"""


def prepare(folder: Path) -> None:
    """Make the files that command lines name: some are what they should be, most are not."""
    (folder / "folder").mkdir()
    (folder / "empty").touch()
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "bad.csv").write_text("protocol,users\nrr,x\n")
    (folder / "wide.csv").write_text("9" * 200_000)
    (folder / "torn.csv").write_text('protocol,"users\nrr,9\n')
    (folder / "days.csv").write_text("protocol,users,flip_probability,count\nrr,200,.25,2\nrr,300,.25,1\n")
    (folder / "design.toml").write_text("users = 9\nbudgets = [{epsilon = 1, delta = 0}]\nqueries = [{name = 'a'}]\n")
    for name, text in (("text", "text"), ("list", "[1, 2]"), ("deep", "[" * 100_000), ("long", "9" * 5_000)):
        (folder / f"{name}.json").write_text(text)
    (folder / "loop").symlink_to("loop")
    (folder / "mechanism.py").write_text(MECHANISM)
    points, labels = blobs(1500, 2, 4, 0)
    np.savez(folder / "points.npz", X=points, y=np.array(["no", "yes"])[labels])


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each command line of a file with what it says."""
    for entry in path.read_text(encoding="utf-8").split("$ ")[1:]:
        line, _, answer = entry.partition("\n")
        yield line, answer.rstrip("\n")


def said(line: str) -> str:
    """Return what a command says to a line that it refuses, and check that this is no more than it may."""
    words = shlex.split(line.replace("@", BUDGET))
    before = {path.name for path in Path().iterdir()} | {"__pycache__"}  # of targets, written where they are imported
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = cli.main(words)
    answer = err.getvalue().rstrip("\n").replace(f"{Path.cwd()}/", "")
    assert (status, out.getvalue()) == (2, ""), line
    assert {path.name for path in Path().iterdir()} | {"__pycache__"} == before, line
    assert 1 <= len(answer.splitlines()) <= ROWS.get(words[0] if words else "", 1), (line, answer)
    assert not re.search(r"has a fault|Traceback|that is 0 or of a size.*\(0", answer), (line, answer)
    return answer


def text(path: Path) -> str:
    """Return what a file should hold today."""
    return "\n".join(f"$ {line}\n{said(line)}\n" for line, _ in lines(path))
