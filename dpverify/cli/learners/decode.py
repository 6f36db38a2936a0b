"""The command `dpverify decode`: the words that tell the classes of a learned model apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.learners.classify import readable
from dpverify.cli.options import choice, integer
from dpverify.cli.output import Table, check_files, print_result, write_rows
from dpverify.cli.progress import told

__all__ = ["register"]

_SCORES = ("distinctive", "density")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(decode)


def decode(
    model: Annotated[Path, typer.Argument(help="A model that `dpverify classify --output` has written.")],
    vocabulary: Annotated[
        Path, typer.Argument(help="An npy, npz or parquet file: one vector per row, embedded as the points were.")
    ],
    words: Annotated[
        str, typer.Option(help="The column (parquet), array (npz) or other npy file that holds the words.")
    ] = "words",
    top: Annotated[int, integer("--top", within="[1, inf)", help="How many words of each class.")] = 10,
    score: Annotated[
        str,
        choice(
            "--score",
            known=lambda: _SCORES,
            help="distinctive: what tells a class from the others; density: as in the source.",
        ),
    ] = "distinctive",
    as_csv: Table = None,
) -> None:
    """Show what the classes of a learned model are about. The words of a public vocabulary that they rank highest.

    It uses what the model publishes, so it costs no privacy.
    """
    check_files(None, as_csv)
    from dpverify.learning.decoding import decode as decoded
    from dpverify.learning.files.data import open_data
    from dpverify.learning.files.model import load_model
    from dpverify.learning.joint.discriminant import PrivateDiscriminant

    with readable(model=model, vocabulary=vocabulary, words=words):
        classifier = load_model(model)
        if isinstance(classifier, PrivateDiscriminant):
            raise ValueError(
                f"{model} must be a model of `classify --learner density`: words are decoded of densities."
            )
        with told("words") as progress:
            found = decoded(classifier, open_data(vocabulary, words), top, score=score, progress=progress)  # type: ignore[arg-type]
    print_result(found)
    if not write_rows(as_csv, found):
        raise typer.Exit(2)
