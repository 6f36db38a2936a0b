"""The command `dpverify rehearse`: whole days of a collection, simulated, in files that are really read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.options import exact, integer, number
from dpverify.cli.output import print_result
from dpverify.cli.progress import told

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(rehearse)


def rehearse(
    manifest: Annotated[Path, typer.Argument(help="The manifest that clients would answer.")],
    folder: Annotated[Path, typer.Argument(help="Where batches are written; one that was cut off goes on there.")],
    users: Annotated[
        str | None, exact(within="[1, inf)", help="How many there are, such as 1e9; those of the manifest if omitted.")
    ] = None,
    offline: Annotated[float, number(within="[0, 1)", help="Share of the users who send nothing.")] = 0.0,
    cheats: Annotated[float, number(within="[0, 1)", help="Share of the users who send what moves sums most.")] = 0.0,
    days: Annotated[int, integer(within="[1, inf)", help="How many days, in {}.")] = 1,
    confidence: Annotated[float, number(within="(0, 1)", help="Of the intervals, in {}.")] = 0.95,
    seed: Annotated[int, integer(within="[0, inf)", help="The same seed gives the same bytes.")] = 0,
    workers: Annotated[int, integer(within="[1, inf)", help="Processes.")] = 1,
) -> None:
    """Simulate days of a collection. Batches by the laws of sums, written and read again; resumes to the same bytes."""
    from fractions import Fraction

    from dpverify.collection.manifest import Manifest
    from dpverify.collection.rehearsal import rehearse as rehearsed

    plan = Manifest.read(manifest)
    number_of = None if users is None else Fraction(users)
    if number_of is not None and number_of.denominator != 1:
        raise ValueError(f"--users={users} must be an integer.")
    with told("steps") as progress:
        found = rehearsed(
            plan,
            folder,
            users=None if number_of is None else int(number_of),
            offline=offline,
            cheats=cheats,
            days=days,
            confidence=confidence,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    print_result(found)
