"""The commands `dpverify theorems`: what was found about the sources' theorems, and the evidence run again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from dpverify.cli.groups import Listed
from dpverify.cli.output import print_result

__all__ = ["in_full", "register"]

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]", help="Only these: part of a name, Theorem 3.2, or words of what is said."),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help='Only the evidence of these: part of a name, or "Theorem 3.2".'),
]

_COMMANDS = ("show", "check", "errata", "coverage")


def in_full(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with `show`, which may be left out, in its place."""
    if words[:1] == ["theorems"] and (len(words) == 1 or words[1] not in (*_COMMANDS, "--help")):
        return ["theorems", "show", *words[1:]]
    return list(words)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(cls=Listed, help="Show what was found about the theorems of the sources.")
    group.command(name="show")(_show)
    group.command(name="check")(_check)
    group.command(name="errata")(_errata)
    group.command(name="coverage")(_coverage)
    app.add_typer(group, name="theorems")


def _show(words: Words = None) -> None:
    """Show the theorems of the sources, and what was found about each; `show` may be left out."""
    from dpverify.evidence.theorems import find, theorems
    from dpverify.report.papers.theorems import theorems_table

    rows = [theorem.to_dict() for theorem in (find(" ".join(words)) if words else theorems())]
    print_result({"theorems": rows}, theorems_table(rows, findings=bool(words)))


def _errata() -> None:
    """Print what is wrong or misleading in the documents, as Markdown: docs/errata.md."""
    from dpverify.evidence.theorems import theorems
    from dpverify.report.papers.errata import errata_page

    typer.echo(errata_page([theorem.to_dict() for theorem in theorems()]), nl=False)


def _coverage() -> None:
    """Print which claims of the documents have an entry, as Markdown: docs/theorems.md."""
    from dpverify.evidence.theorems import theorems
    from dpverify.papers.statements import outcomes
    from dpverify.papers.theorem import READING, RULE
    from dpverify.report.papers.errata import coverage_page

    known = theorems()
    entries = [theorem.to_dict() for theorem in known]
    typer.echo(coverage_page(entries, outcomes(known), (READING, RULE)), nl=False)


def _check(
    names: Names = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only what takes a second or less.")] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write the figures down, for the findings to quote (in a source tree).")
    ] = False,
) -> None:
    """Run the evidence again; exits with 1 if anything contradicts it."""
    from dpverify.evidence.theorems import Checked, check, find, theorems
    from dpverify.papers.figures import record as write_down
    from dpverify.report.papers.theorems import checked_table

    chosen = {theorem.name: theorem for name in names or () for theorem in find(name)} if names else None

    def progress(done: int, total: int, evidence: Any) -> None:
        typer.echo(f"[{done + 1}/{total}] {evidence.method.value}: {evidence.check}", err=True)

    asked = chosen.values() if chosen else theorems()
    results: list[Checked] = list(check(asked, quick=quick, anew=record, progress=progress))
    if record:
        write_down({each.evidence.check: each.figures for each in results if each.figures})
    rows = [each.to_dict() for each in results]
    print_result({"checks": rows, "agrees": all(row["agrees"] for row in rows)}, checked_table(rows))
    if not all(row["agrees"] for row in rows):
        raise typer.Exit(1)
