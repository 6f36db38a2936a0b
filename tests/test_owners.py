"""What docs/owners.md says of where to change things: each change, made in a copy of the source, does what it shows."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/owners.md").read_text(encoding="utf-8")
TASKS = dict(section.split("\n", 1) for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:])
MOST_FILES = 3


def edits(task: str) -> list[tuple[str, str]]:
    """Return the file and the lines of every passage that a task changes."""
    (shown,) = re.findall(r"^```diff\n(.*?)^```", task, flags=re.MULTILINE | re.DOTALL)
    files = [part.split("\n", 1) for part in re.split(r"^\+\+\+ ", shown, flags=re.MULTILINE)[1:]]
    return [(path, passage) for path, lines in files for passage in lines.split("@@\n")]


def changed(text: str | None, passage: str) -> str:
    """Return a file's text with one passage changed; None stands for a file that is not there."""
    old, new = (
        "".join(f"{line[1:]}\n" for line in passage.splitlines() if line[:1] in (" ", sign)) for sign in ("-", "+")
    )
    if text is None:
        assert not old, f"there is no file with\n{old}"
        return new
    found = len(re.findall(f"(?=\n{re.escape(old)})", f"\n{text}"))
    assert old, "an edit of a file that is there has a line of it"
    assert found == 1, f"the file must have once, and has {found} times:\n{old}"
    return f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    """Return a folder with a copy of both packages, and what has been compiled of them."""
    for package in ("protocols", "dpverify"):
        shutil.copytree(ROOT / package, tmp_path / package)
    yield tmp_path
    shutil.rmtree(tmp_path)


def test_there_are_twelve_tasks_of_few_files() -> None:
    assert len(TASKS) == 12
    files = {title: {path for path, _ in edits(task)} for title, task in TASKS.items()}
    assert {title: found for title, found in files.items() if not 1 <= len(found) <= MOST_FILES} == {}


@pytest.mark.parametrize("text", [None, "b\n", "aa\n", "a\na\n"])
def test_a_passage_that_does_not_stand_there_once_is_refused(text: str | None) -> None:
    with pytest.raises(AssertionError):
        changed(text, "-a\n+c\n")


@pytest.mark.parametrize("title", TASKS)
def test_a_change_does_what_the_page_shows(title: str, source: Path) -> None:
    for path, edit in edits(TASKS[title]):
        at = source / path
        at.write_text(changed(at.read_text(encoding="utf-8") if at.exists() else None, edit), encoding="utf-8")
    (shown,) = re.findall(r"^```console\n\$ (.*?)^```", TASKS[title], flags=re.MULTILINE | re.DOTALL)
    command, _, output = shown.replace("\\\n", "").partition("\n")
    ran = subprocess.run(
        f'dpverify() {{ python -m dpverify "$@"; }}\n{command}',
        shell=True,
        cwd=source,
        env=os.environ
        | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(source), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    printed = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    assert output
    missing = [line for line in output.splitlines() if not any(" ".join(line.split()) in each for each in printed)]
    assert missing == [], ran.stdout
