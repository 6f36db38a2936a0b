"""The command `dpverify reproduce`: the sources' experiments, on the user's data or on digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.learners.classify import readable
from dpverify.cli.options import integer
from dpverify.cli.output import check_files, console, print_result, write_files

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(reproduce)


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="An experiment, or words of its description; all are listed by default.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="An npz file with vectors X and labels y; by default scikit-learn's digits, which few users hold."
        ),
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="For decoding, with --data: an npz file with words and their vectors X.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer settings and runs, for a first look.")] = False,
    seed: Annotated[int, integer(within="[0, inf)", help="The same seed gives the same numbers.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw it to this file (png, svg or pdf).")] = None,
    as_csv: Annotated[Path | None, typer.Option("--csv", help="Write the rows to this file.")] = None,
) -> None:
    """Make a figure or table of the sources again. As published, with exact accounting, and with joint changes.

    Each of the source's sentences on it is judged by the numbers that came out.
    """
    from dpverify.files import write_text
    from dpverify.report.papers.reproductions import experiments_table, reproduction_csv
    from dpverify.reproduction.embeddings import bundled, read
    from dpverify.reproduction.experiment import Setting, experiments, find_experiments

    found = experiments() if name is None else find_experiments(name)
    if not found:
        raise ValueError(
            f"NAME={name!r} must be part of an experiment's name or description; `dpverify reproduce` lists all."
        )
    if len(found) > 1:
        for option, path in (("--plot", plot), ("--csv", as_csv)):
            if path is not None:
                raise ValueError(f"{option} must be given with the name of one experiment; {len(found)} were found.")
        listed = [{"name": one.name, "source": one.source, "what": one.what} for one in found]
        print_result({"experiments": listed}, experiments_table(found))
        return
    if vocabulary is not None and data is None:
        raise ValueError("--vocabulary must be given with --data: its vectors are embedded as the points are.")
    if vocabulary is not None and not found[0].decodes:
        raise ValueError(f"--vocabulary must be omitted for {found[0].name}, which decodes no words.")
    check_files(plot, as_csv)
    with readable(data=data, vocabulary=vocabulary):
        embeddings = bundled() if data is None else read(data, vocabulary)
    with console(stderr=True).status("starting") as status:
        setting = Setting(embeddings, quick, seed, lambda line: status.update(f"{line} ..."))
        result = found[0].run(setting)
    print_result(result)
    if as_csv is not None:
        write_text(reproduction_csv(result), as_csv)
    write_files(plot, None, result)
