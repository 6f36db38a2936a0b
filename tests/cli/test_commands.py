"""Commands that are put together from a protocol's options and those of what is done with it."""

import inspect
import json
from typing import Annotated, Any

import pytest
import typer

from dpverify import cli
from dpverify.claims.shared.buckets import under_estimating
from dpverify.cli.commands import made_by, taking
from dpverify.planning.account import account
from protocols.histogram import Histogram
from protocols.selection import Selection
from protocols.vector_sum import VectorSum

BUCKETS = ["--buckets", "7", "--shape", "20", "--p", "0.85", "--users", "50"]
VECTORS = ["--users", "300", "--dimension", "4", "--levels", "2", "--blanket-probability", "0.4"]


def test_required_options_come_first_and_the_protocol_gets_its_own() -> None:
    done: list[Any] = []

    def protocol(size: int, name: Annotated[str, typer.Option(help="A name.")] = "plain") -> tuple[int, str]:
        """Help."""
        return size, name

    def run(made: Any, twice: bool, level: float = 0.5) -> None:
        done.append((made, twice, level))

    command = made_by(protocol, run)
    assert list(inspect.signature(command).parameters) == ["size", "twice", "name", "level"]
    assert command.__doc__ == "Help."
    command(size=3, twice=True, name="x", level=0.1)
    assert done == [((3, "x"), True, 0.1)]


def test_a_command_takes_the_options_of_several_makers_behind_its_own() -> None:
    done: list[Any] = []

    def first(size: int = 1) -> int:
        return size + 1

    def second(name: str, level: float = 0.5) -> tuple[str, float]:
        return name, level

    def run(size: int, named: tuple[str, float], times: int, twice: bool = False) -> None:
        """Run."""
        done.append((size, named, times, twice))

    command = taking(first, second)(run)
    assert list(inspect.signature(command).parameters) == ["times", "name", "twice", "size", "level"]
    assert command.__doc__ == "Run."
    command(times=3, name="x", twice=True, size=4, level=0.1)
    assert done == [(5, ("x", 0.1), 3, True)]


@pytest.mark.parametrize(
    ("words", "protocol"),
    [
        (["histogram", *BUCKETS], Histogram(under_estimating(50, 20.0, 0.85), 7)),
        (["selection", *BUCKETS], Selection(under_estimating(50, 20.0, 0.85), 7)),
        (["vector-sum", *VECTORS], VectorSum(300, 4, 2, 0.4)),
        (["vector-sum", *VECTORS, "--sampled", "2", "--stratified"], VectorSum(300, 4, 2, 0.4, 2, True)),
    ],
)
def test_protocols_beyond_bitsums_are_accounted(
    words: list[str], protocol: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["account", *words, "--delta", "1e-4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = account(protocol, delta="1e-4").to_dict()
    assert found == json.loads(json.dumps(expected))
    assert cli.main(["account", *words, "--instances", "2", "--epsilon", "1"]) == 0
    assert "2 runs" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["histogram", "selection", "vector-sum"])
def test_an_option_that_is_always_refused_is_not_offered(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["account", name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--honest" in shown
    assert "--squared-change" not in shown
