"""Every sentence with which a command refuses is the one of its file in `tests/golden/`."""

import re
from pathlib import Path

import pytest

from tests.golden import GOLDEN, lines, prepare, said

NAMED = (
    r"--[a-z]",  # an option
    r"^[A-Za-z_]\w*(\[[^]]*\])?=",  # an argument
    r"^'[^']*' must be ",  # a word, and what it must be
    r"^Missing argument '",
    "^the budget \\(",  # two options, by their values
    "^an error of ",  # --error, or what --margin asks for
    r"^[a-z-]+\.[a-z-]+ (needs|must)|^p must not",  # a formula, or its argument
    "^noisy steps cannot|fewer users or features|ask for fewer users, instances or dimensions",
    "^`dpverify [a-z]+` must be followed by",
    "^the query 'a' must",  # of a file that the line names
    "^Day 1 of 'bad.csv'",
)
"""What tells a reader which of her words to change."""


def test_every_refusal_names_what_to_change() -> None:
    for path in GOLDEN.glob("*.txt"):
        for line, answer in lines(path):
            for sentence in answer.splitlines():
                assert re.search("|".join(NAMED), sentence), f"$ {line}\n{sentence}"


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.txt")))
def test_refusals_are_those_of_the_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpverify.audit.running.target.code_identity", lambda *_: {})  # no refusal of these needs it
    prepare(tmp_path)
    for line, expected in lines(GOLDEN / f"{name}.txt"):
        assert said(line) == expected, f"$ {line}"
