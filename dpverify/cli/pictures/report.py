"""The command `dpverify report`: everything about one budget as a page that needs nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.cli.commands import taking
from dpverify.cli.options import choice, exact, integer, number
from dpverify.cli.output import Honest, Instances, SquaredChange, Users
from dpverify.cli.plans.sums import Front, held
from dpverify.cli.progress import told
from dpverify.cli.protocol_names import bitsums

__all__ = ["register"]

_LARGEST_AUDIT = 50_000_000
"""Bytes; an audit's output has some ten thousand."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(report)


@taking(held)
def report(
    fronts: list[Front],
    output: Annotated[Path, typer.Argument(help="The page to write, .html; a file there is replaced.")],
    epsilon: Annotated[
        str, exact(within="(0, inf)", help="Budget of the whole, in nats, in {}; a decimal is taken exactly.")
    ],
    delta: Annotated[str, exact(within="(0, 1)", help="Budget of the whole, in {}; a decimal is taken exactly.")],
    users: Users,
    instances: Instances = 1,
    squared_change: SquaredChange = None,
    honest: Honest = None,
    bitsum: Annotated[
        str | None,
        choice(
            known=bitsums,
            help=f"{', '.join(bitsums())}: which the report is about; by default the one with the fewest messages of "
            "those with a shuffler, a finite epsilon with half of the users honest, and nearly the least error.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The page's title.")] = None,
    audit: Annotated[
        Path | None,
        typer.Option(help="What `dpverify audit --json` printed; by default our own simulation is audited."),
    ] = None,
    trials: Annotated[
        int, integer(within="[0, inf)", help="Runs per dataset of our own audit: 0 for none, or at least 100.")
    ] = 4_000,
    seed: Annotated[int, integer(within="[0, inf)", help="The same seed gives the same page.")] = 0,
    seconds: Annotated[
        float,
        number(within="(0, inf)", help="Processor time after which no part is begun; the page says what is missing."),
    ] = 60.0,
) -> None:
    """Write plans, privacy, errors and an audit to one HTML page. With crowds, and the claims behind all this.

    Sums of numbers (--largest) or vectors (--dimension) are shown beside those of bits.
    """
    from dpverify.report.html.page import check_report_path, write_report

    check_report_path(output, "output")
    given = None if audit is None else _read(audit)
    from dpverify.dossier.gather import full_report
    from dpverify.guarantee import Budget

    with told("fronts") as progress:
        beside: list[Any] = []
        for done, front in enumerate(reversed(fronts)):  # vectors first, of which several are refused at once
            progress(done, len(fronts))
            beside.insert(0, front(Budget(epsilon, delta), users, instances))
    with told("steps") as progress:
        found = full_report(
            (epsilon, delta),
            users=users,
            instances=instances,
            squared_change=squared_change,
            honest=honest,
            bitsum=bitsum,
            title=title,
            audit=given,
            trials=trials,
            seed=seed,
            seconds=seconds,
            beside=beside,
            progress=progress,
        )
    write_report(found, output)
    size = output.stat().st_size
    typer.echo(f"{output}: {found.chosen.bitsum} is recommended. {found.reason} ({max(1, size // 1000)} kB)")


def _read(path: Path) -> Any:
    """Return what an audit's file holds."""
    from dpverify.dossier.gather import checked_audit

    said = f"--audit={str(path)!r}"
    try:
        if path.stat().st_size > _LARGEST_AUDIT:
            raise ValueError(f"{said} must have at most {_LARGEST_AUDIT:,} bytes.")
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{said} cannot be read: {error.strerror}.") from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{said} must be JSON, as `dpverify audit --json` prints it.") from None
    try:
        return checked_audit(found)
    except ValueError:
        raise ValueError(
            f"{said} must be what `dpverify audit --json` prints: it has no subject, verdict, statement and results."
        ) from None
