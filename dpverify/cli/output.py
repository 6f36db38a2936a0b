"""What the commands share: common options, the console, and printing a result."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.options import choice, integer, number
from dpverify.guarantee import ThreatModel

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["AsJson", "AtDelta", "AtEpsilon", "Instances", "Users", "console", "print_result", "threat_model"]

Users = Annotated[int, integer(within="[1, inf)", help="n, the number of users; public.")]
Instances = Annotated[int, integer(within="[1, inf)", help="I, the bitsum instances that each user takes part in.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
AtDelta = Annotated[float | None, number("--delta", within="[0, 1)", help="Compute epsilon at this delta, in {}.")]
AtEpsilon = Annotated[
    float | None, number("--epsilon", within="[0, inf)", help="Compute delta at this epsilon, in {}.")
]


def _plain(value: Any) -> Any:
    """Return a JSON value in which infinity, which JSON lacks, is the string "inf"."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return "inf" if value == math.inf else value


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output or standard error, 100 columns wide where there is no terminal."""
    from rich.console import Console

    from dpverify.report.tables import WIDTH

    found = Console(stderr=stderr, highlight=False)
    # A pipe has no width: rich would take 80 columns.
    return found if found.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH)


def print_result(result: dict[str, Any], table: RenderableType, as_json: bool) -> None:
    """Print a result as one JSON object or as its table."""
    if as_json:
        typer.echo(json.dumps(_plain(result), indent=2, allow_nan=False))
    else:
        console().print(table)


def threat_model(help: str) -> Any:
    """Return the option `--threat-model`."""
    return choice("--threat-model", known=lambda: tuple(ThreatModel), help=help)
