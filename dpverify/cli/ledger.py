"""The command `dpverify ledger`: prints what was found about the sources' theorems."""

from __future__ import annotations

from typing import Annotated

import typer

from dpverify.cli.output import AsJson, print_result

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="ledger")(_ledger)


def _ledger(
    name: Annotated[str | None, typer.Argument(help="Only the theorems whose name contains this.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the theorems of the sources, and what was found about each."""
    from dpverify.claims.ledger import ledger
    from dpverify.report.tables import ledger_table

    theorems = [theorem for theorem in ledger() if name is None or name.lower() in theorem.name]
    if not theorems:
        raise ValueError(f"NAME={name!r} must be part of a theorem's name; `dpverify ledger` lists all of them.")
    rows = [theorem.to_dict() for theorem in theorems]
    print_result({"theorems": rows}, ledger_table(rows, findings=name is not None), as_json)
