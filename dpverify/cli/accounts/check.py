"""The command `dpverify check`: a certificate, or a manifest, accepted or refused."""

from __future__ import annotations

import hashlib
import importlib
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from protocols.validation import check_file

__all__ = ["register"]

_CHECKERS = ("checker", "contour_checker", "step_checker")
_MANIFEST = b'"dpverify manifest"'
"""What manifests have, and certificates have nowhere."""


def check(
    certificate: Annotated[
        Path,
        typer.Argument(help="The file, as `dpverify account --certificate` or `dpverify design --manifest` writes it."),
    ],
) -> None:
    """Accept or refuse a certificate with integers alone.

    A sum along a contour, of joint changes, takes decimals, too.

    It trusts nothing of what computed it, and is one file that runs without this package, too:
    dpverify/certificates/checker.py, or contour_checker.py or step_checker.py beside it. It exits with 0 for accepted,
    1 for refused and 2 for what is no certificate. A manifest is accepted if what clients and collectors find in it is
    what this version makes of its queries, and no guarantee is better; it tells what is promised.
    """
    # Without what makes certificates, which takes longer to import than many take to check.
    check_file("certificate", certificate, "a certificate or a manifest")
    checker, *others = (importlib.import_module(f"dpverify.certificates.{name}") for name in _CHECKERS)
    try:
        with certificate.open("rb") as file:
            content = file.read(checker.MOST_BYTES + 1)
        if not content.strip():
            typer.echo(f"Not a certificate: {certificate} is empty.")
            raise typer.Exit(2)
        if _MANIFEST in content:
            raise typer.Exit(_manifest(certificate))
        chosen = next((one for one in others if one.FORMAT.encode() in content), checker)
    except OSError:
        chosen = checker
    raise typer.Exit(chosen.main(certificate))


def _manifest(path: Path) -> int:
    """Say what a manifest promises, and return the exit status."""
    from dpverify.collection.analysis.aggregate import told
    from dpverify.collection.client import header, largest
    from dpverify.collection.manifest import Manifest, asked_in, recomputed
    from dpverify.digits import counted

    plan = Manifest(path.read_bytes())
    try:
        made = recomputed(plan)
    except (TypeError, ValueError) as reason:
        typer.echo(f"Not a manifest: {str(reason).rstrip('.')}.")
        return 2
    for said, found in zip(plan.guarantees, made.guarantees, strict=True):
        if Decimal(found["epsilon"]) > Decimal(said["epsilon"]):
            days = counted(said["days"], "day")
            typer.echo(f"Refused: on {days} epsilon is {found['epsilon']}, and not {said['epsilon']}.")
            return 1
        proof = said.get("certificate", {"file": ""})
        beside = path.parent / Path(proof["file"]).name
        if beside.is_file() and hashlib.sha256(beside.read_bytes()).hexdigest() != proof["sha256"]:
            typer.echo(f"Refused: {beside} is another certificate than that of the manifest.")
            return 1
    same = [{**found, "epsilon": said["epsilon"]} for said, found in zip(plan.guarantees, made.guarantees, strict=True)]
    written = Manifest.of(made.content | {"guarantees": same})
    if written.content != plan.content:
        typer.echo("Refused: this version makes other tables or settings of these queries.")
        return 1
    if written != plan:
        typer.echo(f"Refused: it was formatted anew, so that its SHA-256 is {plan.hash}, and not {written.hash}.")
        return 1
    typer.echo("Accepted: if all that one user sends is replaced,")
    for said in plan.guarantees:
        days = "any day" if said["days"] == 1 else f"any {said['days']:,} days"
        typer.echo(f"  on {days} epsilon {said['epsilon']}, delta {said['delta']}")
    typer.echo(f"by the {plan.guarantee['threat_model']} threat model, for SHA-256 {plan.hash},")
    for place, query in enumerate(plan.content["queries"]):
        begin, size = header(plan.hash, place, largest(query))
        asked = asked_in(query)
        among = "" if asked.honest is None else f", of {asked.honest:,} honest users at least"
        typer.echo(
            f"  {asked.name}: {told(asked)}, {asked.instances:,} of {query['protocol']}{among}, "
            f"{len(begin) + size:,} bytes an upload"
        )
    return 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)
