"""The command `dpverify check`: a certificate, accepted or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def check(
    certificate: Annotated[Path, typer.Argument(help="The file, as `dpverify account --certificate` writes it.")],
) -> None:
    """Accept or refuse a certificate with integers alone.

    It trusts nothing of what computed it, and is one file that runs without this package, too:
    dpverify/certificates/checker.py. It exits with 0 for accepted, 1 for refused and 2 for what is no certificate.
    """
    from dpverify.planning.certificate import checker

    raise typer.Exit(checker.main(certificate))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)
