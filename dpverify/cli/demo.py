"""The command `dpverify demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.options import integer
from dpverify.cli.output import console

__all__ = ["register"]

_FIGURE = "dpverify-demo.png"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(demo)


def demo(
    output: Annotated[Path, typer.Option(help=f"The folder that {_FIGURE} is written to.")] = Path(),
    seed: Annotated[int, integer(within="[0, inf)", help="The same seed gives the same numbers.")] = 0,
) -> None:
    """Learn digits from 1,347 users, without privacy and with it, in less than a minute."""
    # Before the work, not after it: an unwritable folder is known at once.
    output.mkdir(parents=True, exist_ok=True)
    progress = console(stderr=True)
    with progress.status("starting") as status:
        from dpverify import demo as demonstration
        from dpverify.report import plots, tables

        result = demonstration.run(seed=seed, progress=lambda line: status.update(f"{line} ..."))
        status.update("the same for 30,000 users ...")
        many = demonstration.many_users()
        status.update("drawing ...")
        figure = output / _FIGURE
        plots.save(plots.demo_figure(result), figure)
    screen = console()
    screen.print(tables.demo_table(result))
    for line in demonstration.CONCLUSION:
        screen.print(line, markup=False)
    screen.print(tables.plan_table(many))
    screen.print(f"Figure: {figure.resolve()}", markup=False, soft_wrap=True)
