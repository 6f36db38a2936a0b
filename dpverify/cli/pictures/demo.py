"""The command `dpverify demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.options import integer
from dpverify.cli.output import console, show, write_figure
from protocols.classes.optional import needing

__all__ = ["register"]

_FIGURE = "dpverify-demo.png"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(demo)


def demo(
    output: Annotated[Path, typer.Option(help=f"The folder, which must exist, that {_FIGURE} is written to.")] = Path(),
    seed: Annotated[int, integer(within="[0, inf)", help="The same seed gives the same numbers.")] = 0,
) -> None:
    """Learn digits from 1,347 users, with and without privacy. In less than a minute."""
    # Before the work, not after it: that there is nowhere to write to is known at once.
    if not output.is_dir():
        raise ValueError(f"--output={str(output)!r} must be a folder that exists.")
    with needing("The demonstration", "'.[learn,plot]'"):
        from dpverify import demo as demonstration
        from dpverify.report import plots, tables
    from dpverify.report.plans.comparisons import plan_table

    figure = output / _FIGURE
    plots.check_path(figure, "--output")
    with console(stderr=True).status("starting") as status:
        result = demonstration.run(seed=seed, progress=lambda line: status.update(f"{line} ..."))
        status.update("the same for 30,000 users ...")
        many = demonstration.many_users()
    shown = [part for said in demonstration.CONCLUSION for part in ("", said)]
    show(tables.demo_table(result), *shown, "", plan_table(many))
    if write_figure("--output", figure, lambda: plots.demo_figure(result)):
        typer.echo(f"Figure: {figure.resolve()}")
