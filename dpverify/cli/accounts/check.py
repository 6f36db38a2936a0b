"""The command `dpverify check`: a certificate, accepted or refused."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]

_CHECKERS = ("checker", "contour_checker")


def check(
    certificate: Annotated[Path, typer.Argument(help="The file, as `dpverify account --certificate` writes it.")],
) -> None:
    """Accept or refuse a certificate with integers alone.

    A sum along a contour, of joint changes, takes decimals, too.

    It trusts nothing of what computed it, and is one file that runs without this package, too:
    dpverify/certificates/checker.py, or contour_checker.py beside it. It exits with 0 for accepted, 1 for refused and 2
    for what is no certificate.
    """
    # Without what makes certificates, which takes longer to import than many take to check.
    checker, contour_checker = (importlib.import_module(f"dpverify.certificates.{name}") for name in _CHECKERS)
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
