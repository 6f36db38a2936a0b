"""The command `dpverify audit client`: a program that answers as clients do, against a manifest."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.audits.trials import Detect, Level, Plot, Seed, Timeout, Trials, Verbose, carried_out

__all__ = ["audit_the_client"]


def audit_the_client(
    manifest: Annotated[Path, typer.Argument(help="The manifest that clients read.")],
    hash: Annotated[str, typer.Option(help="Its SHA-256 in hexadecimal digits, as the application knows it.")],
    client: Annotated[
        str,
        typer.Option(
            help="What starts the client, such as 'node audited.js'; manifest and hash are put behind it. It reads and "
            "writes JSON objects, one a line: see docs/collection.md.",
        ),
    ],
    query: Annotated[str | None, typer.Option(help="One query of the manifest; all if omitted.")] = None,
    trials: Trials = 20_000,
    level: Level = 0.01,
    detect: Detect = 0.1,
    timeout: Timeout = 120.0,
    seed: Seed = 0,
    plot: Plot = None,
    verbose: Verbose = False,
) -> None:
    """Program of a client, in any language: vectors, the law of what it sends."""
    from dpverify.audit.clients.conformance import audit_client

    audited = functools.partial(
        audit_client,
        client,
        manifest,
        hash,
        query=query,
        trials=trials,
        level=level,
        detect=detect,
        timeout=timeout,
        seed=seed,
    )
    carried_out(audited, None, plot, verbose)
