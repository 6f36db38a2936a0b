"""The command `dpverify aggregate`: from batches to estimates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.options import integer, number
from dpverify.cli.output import print_result

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(aggregate)


def aggregate(
    manifest: Annotated[Path, typer.Argument(help="The manifest that clients have answered.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Batches, folders of these, .parquet files with the columns query, instance and symbol, "
            "or .json files of --sums."
        ),
    ],
    users: Annotated[
        int | None,
        integer(
            "--users",
            within="[1, inf)",
            help="How many users' messages are in the .parquet files, if not one each.",
        ),
    ] = None,
    confidence: Annotated[float, number("--confidence", within="(0, 1)", help="Of the intervals, in {}.")] = 0.95,
    alarm: Annotated[
        float, number("--alarm", within="(0, 1)", help="In {}: how likely users who follow the protocols raise one.")
    ] = 1e-6,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="What is spent is written here first: see `dpverify spent`.")
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            "--candidates",
            help="A file with a string in each line: named beside their cells, or all that RAPPOR tells.",
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="QUERY=FILE, points in .npy, .npz or .parquet: where a density is estimated."),
    ] = None,
    sums: Annotated[
        Path | None, typer.Option("--sums", help="Write what was counted, to be added elsewhere, and tell nothing.")
    ] = None,
) -> None:
    """Estimate from released batches, with exact intervals.

    Intervals are by the exact law of the noise. An alarm, with exit status 1, tells that no users who all follow the
    protocols send this.
    """
    import numpy as np

    from dpverify import files as written
    from dpverify.collection.analysis.aggregate import aggregate as aggregated
    from dpverify.collection.analysis.sums import Reader
    from dpverify.collection.manifest import Manifest
    from dpverify.learning.files.data import read_chunks
    from dpverify.spending.ledger import PrivacyLedger
    from protocols.validation import check_file

    texts = [] if candidates is None else [candidates]
    named: dict[str, str] = {}
    for each in at or []:
        query, _, path_of = each.rpartition("=")
        if not query or not path_of or query in named:
            raise ValueError(f"--at={each!r} must be QUERY=FILE, each query once.")
        named[query] = path_of
    check_file("manifest", manifest, "a manifest, as dpverify design --manifest writes it")
    for name, paths, wanted in (
        ("files", [path for path in files if not path.is_dir()], "batches, folders of these, or sums"),
        ("--candidates", texts, "a file with a candidate on each line"),
        ("--at", [*map(Path, named.values())], "QUERY=FILE, of points"),
    ):
        for path in paths:
            check_file(name, path, wanted)
    if sums is not None:
        written.check_path(sums, "--sums", (".json",), read=[manifest, *texts, *files])
    plan = Manifest.read(manifest)
    found = Reader(plan.data, plan.hash).files(files, users)
    if sums is not None:
        written.write_text(found.to_json(), sums)
        return
    paid_from = None if ledger is None else PrivacyLedger(ledger)
    # Of lines as files have them: `splitlines` would end one at a form feed or U+2028, which strings may hold.
    try:
        known = [line.rstrip("\n") for path in texts for line in path.open(encoding="utf-8-sig")]
    except UnicodeDecodeError:
        raise ValueError(f"--candidates={str(candidates)!r} must be text in UTF-8.") from None
    points = {name: np.concatenate([np.asarray(part) for part in read_chunks(path)]) for name, path in named.items()}
    made = aggregated(
        plan, found, confidence=confidence, level=alarm, ledger=paid_from, candidates=known, points=points
    )
    print_result(made)
    if made.alarms:
        raise typer.Exit(1)
