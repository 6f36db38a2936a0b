"""The command `dpverify design`: many queries on the same users, day after day."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.output import print_result

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(design)


def design(
    file: Annotated[
        Path, typer.Argument(help="TOML: users, honest, [[budgets]] and [[queries]]; see docs/designs.md.")
    ],
) -> None:
    """Find the noise of many queries, day after day. Budgets of a day, a month, a year are kept by all together."""
    from dpverify.collection.file import read_design

    print_result(read_design(file))
