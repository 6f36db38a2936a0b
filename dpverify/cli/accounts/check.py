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

    A sum along a contour, of joint changes, takes decimals, too.

    It trusts nothing of what computed it, and is one file that runs without this package, too:
    dpverify/certificates/checker.py, or contour_checker.py beside it. It exits with 0 for accepted, 1 for refused and 2
    for what is no certificate.
    """
    from dpverify.planning.certificate import checker
    from dpverify.planning.contours.contour_certificate import checker as contour_checker

    along_a_contour = contour_checker.FORMAT.encode()
    try:
        with certificate.open("rb") as file:
            chosen = contour_checker if along_a_contour in file.read(checker.MOST_BYTES + 1) else checker
    except OSError:
        chosen = checker
    raise typer.Exit(chosen.main(certificate))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)
