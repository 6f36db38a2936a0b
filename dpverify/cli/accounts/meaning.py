"""`--meaning` and `--trade-off` of the commands `dpverify account ...`: what the best attacker reaches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.output import print_result, write_figure
from dpverify.shown import named

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpverify.planning.result import AccountResult

__all__ = ["Meant", "TradeOffFile", "check_meant", "print_meant"]

Meant = Annotated[
    bool,
    typer.Option(
        "--meaning",
        help="Say what the best attacker reaches: advantage, false negatives and guesses, both ends proved.",
    ),
]
TradeOffFile = Annotated[
    Path | None,
    typer.Option("--trade-off", help="Draw false negatives against false positives to this .png, .svg or .pdf file."),
]


def check_meant(trade_off: Path | None) -> None:
    """Check, before the work for it, that the figure can be written."""
    if trade_off is not None:
        from dpverify.report.plots import check_path

        check_path(trade_off, "--trade-off")


def print_meant(
    result: AccountResult,
    meant: bool,
    trade_off: Path | None,
    values: dict[str, Any] | None = None,
    table: RenderableType | None = None,
) -> None:
    """Print an account, and what it means if that is asked for.

    - result: The account.
    - meant: Whether to print what it means, too: under `meaning` of the plain values.
    - trade_off: Where to draw it.
    - values: The plain values of the account, by default its own.
    - table: Its table, by default its own.

    Raises typer.Exit: With status 2, if the figure cannot be written.
    """
    if not meant and trade_off is None:
        print_result(result if values is None else values, table)
        return
    meaning = result.meaning()
    values = result.to_dict() if values is None else values
    table = named(result.table_by)(result) if table is None else table
    if meant:
        from rich.console import Group

        values = {**values, "meaning": meaning.to_dict()["risks"]}
        table = Group(table, "", named(meaning.table_by)(meaning))
    print_result(values, table)
    if trade_off is not None:
        from dpverify.report.plots import drawn_figure

        if not write_figure("--trade-off", trade_off, lambda: drawn_figure(meaning)):
            raise typer.Exit(2)
