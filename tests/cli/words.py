"""Runs the command line, and reads what it prints."""

import json
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from dpverify import cli

PLAN = ["plan", "--epsilon", "2", "--delta", "1e-6", "--users", "1000", "--instances", "8"]
RR = ["account", "rr", "--users", "1", "--instances", "1", "--flip-probability", "0.25"]
THREE_NB = ["account", "3nb", "--users", "9", "--instances", "1", "--p", "0.5", "--flood-shape", "1", "--flood-p", ".1"]

Run = Callable[..., Any]


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON.")


def replaced(words: list[str], option: str, value: str) -> list[str]:
    """Return the words with another value of an option."""
    place = words.index(option) + 1
    return [*words[:place], value, *words[place + 1 :]]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line and returns its JSON, or its text without --json."""

    def run(*arguments: str) -> Any:
        assert cli.main(arguments) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return json.loads(printed.out, parse_constant=refuse) if "--json" in arguments else printed.out

    return run
