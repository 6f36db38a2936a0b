"""The command `dpverify design`: many queries on the same users, day after day."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.output import console, print_result

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(design)


def design(
    file: Annotated[
        Path, typer.Argument(help="TOML: users, honest, [[budgets]] and [[queries]]; see docs/designs.md.")
    ],
    manifest: Annotated[
        Path | None, typer.Option("--manifest", help="Write what clients and collectors need: see docs/collection.md.")
    ] = None,
    certificates: Annotated[
        bool,
        typer.Option("--certificates", help="Write a proof of each budget for `dpverify check`, beside the manifest."),
    ] = False,
) -> None:
    """Find the noise of many queries, day after day. Budgets of a day, a month, a year are kept by all together."""
    from dpverify.collection.file import read_design
    from dpverify.files import check_path

    if manifest is not None:
        check_path(manifest, "--manifest", read=[file])
    elif certificates:
        raise ValueError("--certificates must be given with --manifest, beside which they are written.")
    with console(stderr=True).status("searching for the least noise that keeps all budgets ..."):
        found = read_design(file)
    print_result(found)
    if manifest is not None:
        with console(stderr=True).status("the manifest: what it promises, exactly ...") as status:
            made = found.write(
                manifest, certified=certificates, progress=lambda line: status.update(f"the manifest: {line} ...")
            )
        typer.echo(f"{manifest}: {len(made.data):,} bytes, SHA-256 {made.hash}", err=True)
