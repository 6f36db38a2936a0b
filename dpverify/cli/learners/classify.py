"""The commands `dpverify classify` and `dpverify predict`: a private classifier on the user's own embeddings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.formats import wanted
from dpverify.cli.options import choice, exact, integer, listed_floats, number
from dpverify.cli.output import print_result
from dpverify.cli.plans.shared import kernels
from dpverify.cli.progress import told
from dpverify.cli.protocol_names import either, shuffled

if TYPE_CHECKING:
    from dpverify.learning.files.data import DataFile

__all__ = ["readable", "register"]

_MODEL = ".npz"
_SECOND = {"auto": "auto", "yes": True, "no": False}
_LEARNERS = {
    "density": ("label_epsilon", "kernel", "bandwidth", "bitsum", "bits"),
    "discriminant": ("second_moment", "ratio"),
}
"""And the parameters that each has for itself."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(classify)
    app.command()(predict)


_LABELS = typer.Option(help="The column (parquet), array (npz) or other npy file that holds the labels.")


def classify(
    context: typer.Context,
    data: Annotated[Path, typer.Argument(help="An npy, npz or parquet file: one user's point per row.")],
    labels: Annotated[str, _LABELS],
    epsilon: Annotated[
        str,
        exact(
            "--epsilon",
            within="(0, inf)",
            help="For a user's point, in {} nats; her label's is on top, but of `discriminant`, where it is of both.",
        ),
    ] = "1",
    delta: Annotated[str, exact("--delta", within="(0, 1)", help="In {}.")] = "1e-6",
    learner: Annotated[
        str,
        choice(
            "--learner",
            known=lambda: tuple(_LEARNERS),
            help="`density`: labels by randomized response, and a density of each class. `discriminant`: label and "
            "point in one vector under one budget, for class means and, from enough users on, their covariance.",
        ),
    ] = "density",
    label_epsilon: Annotated[
        float,
        number(
            "--label-epsilon", within="(0, 700]", help="Of a user's published label, in {} nats, on top of epsilon."
        ),
    ] = 5.0,
    second_moment: Annotated[
        str,
        choice(
            "--second-moment",
            known=lambda: tuple(_SECOND),
            help="Whether users of `discriminant` send what the covariance takes: auto, yes or no.",
        ),
    ] = "auto",
    ratio: Annotated[
        float,
        number(
            "--ratio",
            within="(1, inf)",
            help="Of `discriminant`, in {}: the error over a trusted curator's; the smaller, the more messages.",
        ),
    ] = 1.1,
    kernel: Annotated[
        str, choice("--kernel", known=kernels, help="inner-product, gaussian, laplacian or exponential.")
    ] = "inner-product",
    bandwidth: Annotated[
        float | None,
        number("--bandwidth", within="(0, inf)", help="Of the other kernels, for scaled points; a public default."),
    ] = None,
    bitsum: Annotated[str, choice("--bitsum", known=shuffled, help=f"The bitsum: {either(shuffled())}.")] = "rr",
    bits: Annotated[
        int | None,
        integer("--bits", within="[1, inf)", help="Features of a user, one bit each; by default 1024, or d."),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="What every user does to her point, by public numbers: `unit` (norm 1), a radius, or bounds LOW,HIGH "
            "of every coordinate."
        ),
    ] = "unit",
    classes: Annotated[
        str | None,
        typer.Option(help="The public labels, with commas between; by default those in the data, which become public."),
    ] = None,
    holdout: Annotated[
        float, number("--holdout", within="[0, 1)", help="The share of the rows that take no part and are for a test.")
    ] = 0.0,
    test: Annotated[Path | None, typer.Option(help="Another file with labels, to test on.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the model to this npz file, which holds published values only.")
    ] = None,
    seed: Annotated[
        int | None,
        integer(
            "--seed", within="[0, inf)", help="For experiments: who knows it can take the noise away. By default none."
        ),
    ] = None,
) -> None:
    """Learn a classifier from points that users keep to themselves. On your own embeddings.

    The file may be larger than memory. Try it: `dpverify classify points.npz --labels y --epsilon 1 --holdout 0.2
    --output model.npz`, and then `dpverify predict model.npz others.npy`.
    """
    if test is not None and holdout:
        raise ValueError(f"--holdout={holdout!r} must be omitted with --test, which is what is tested on.")
    _check_own(context, learner)
    from dpverify.files import check_path

    if output is not None:
        check_path(output, "--output", (_MODEL,), _read(data, test, labels))
    from dpverify.learning.classifier import PrivateDensityClassifier
    from dpverify.learning.evaluate import learn
    from dpverify.learning.files.model import Model, save_model
    from dpverify.learning.joint.discriminant import PrivateDiscriminant

    public_scale = _scale(scale)
    with readable(data=data, test=test, labels=labels):
        file = _opened(data, labels)
        tests = None if test is None else _opened(test, labels)
        shared: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "public_scale": public_scale,
            "classes": None if classes is None else _typed(classes, file).tolist(),
            "random_state": seed,
        }
        classifier: Model
        if learner == "discriminant":
            classifier = PrivateDiscriminant(second_moment=_SECOND[second_moment], ratio=ratio, **shared)  # type: ignore[arg-type]
        else:
            classifier = PrivateDensityClassifier(
                label_epsilon=label_epsilon, kernel=kernel, bandwidth=bandwidth, bitsum=bitsum, bits=bits, **shared
            )
        with told("rows") as progress, _said():
            learned = learn(
                classifier,
                file,
                holdout=holdout,
                test=tests,
                progress=progress,
                planning=lambda done, plans: progress(done, plans, "planning"),
            )
    if output is not None:
        save_model(classifier, output)
    print_result(learned)


def predict(
    model: Annotated[Path, typer.Argument(help="A model that `dpverify classify --output` has written.")],
    data: Annotated[Path, typer.Argument(help="An npy, npz or parquet file: one point per row.")],
    labels: Annotated[str | None, _LABELS] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write one label per line to this file; by default to the standard output.")
    ] = None,
) -> None:
    """Predict the labels of points with a learned model. With --labels, say how many of them are right."""
    from dpverify.files import check_path, write_text

    if output is not None:
        check_path(output, "--output", read=_read(model, data, labels))
    from dpverify.learning.evaluate import right_among
    from dpverify.learning.files.model import load_model

    found: list[Any] = []
    right = 0
    with readable(model=model, data=data, labels=labels):
        classifier = load_model(model, proved=False)  # no guarantee is stated here
        if wanted() is None:
            _check_lines(model, classifier.classes_.tolist())
        file = _opened(data, labels)
        names = getattr(classifier, "feature_names_in_", None)
        file.check_alike(str(model), classifier.n_features_in_, None if names is None else tuple(names))
        with told("rows") as progress, _said():
            for points, truth in file.chunks():
                predicted = classifier.predict(points)
                found += predicted.tolist()
                if truth is not None:
                    right += right_among(predicted, truth)
                progress(len(found), file.rows)
    accuracy = right / len(found) if labels is not None and found else None
    lines = "".join(f"{label}\n" for label in found)
    if output is not None:
        write_text(lines, output)
    print_result({"predictions": found, "accuracy": accuracy})
    if wanted() is not None:
        return
    if output is None:
        typer.echo(lines, nl=False)
    if accuracy is not None:
        typer.echo(f"Accuracy: {accuracy:.3f} on {len(found):,} rows.", err=True)


def _check_own(context: typer.Context, learner: str) -> None:
    """Refuse options that were typed and are another learner's."""
    for other, names in _LEARNERS.items():
        for name in names if other != learner else ():
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise ValueError(
                    f"--{name.replace('_', '-')} must be omitted with --learner {learner}: it is of {other}."
                )


def _check_lines(model: Path, labels: list[Any]) -> None:
    """Refuse labels that are no line of text, as each prediction is to be one."""
    for label in labels:
        if isinstance(label, str) and ("".join(label.splitlines()) != label or not _is_text(label)):
            raise ValueError(f"--json must be given, as {model} has the label {label!r}, which is no line of text.")


def _is_text(label: str) -> bool:
    """Return whether a label has no lone surrogates."""
    return label.encode("utf-8", "replace").decode("utf-8") == label


def _read(*files: Path | str | None) -> list[Path]:
    """Return the files that a command reads; labels may be in one of their own."""
    return [Path(file) for file in files if file is not None]


def _opened(path: Path, labels: str | None) -> DataFile:
    from dpverify.learning.files.data import open_data

    return open_data(path, labels)


def _typed(classes: str, file: DataFile) -> Any:
    """Return the labels that were typed, as numbers where the file has numbers."""
    import numpy as np

    words = [word.strip() for word in classes.split(",")]
    first = next(file.label_chunks(), np.array([""]))
    if first.dtype.kind in "US":
        return np.unique(words)
    try:
        return np.unique([int(word) for word in words])
    except ValueError:
        raise ValueError(f"--classes={classes!r} must be whole numbers, as the labels of {file.path} are.") from None


def _scale(text: str) -> Any:
    """Return what --scale means."""
    if text == "unit":
        return text
    numbers = listed_floats(text)
    if len(numbers) not in (1, 2):
        raise ValueError(f"--scale={text!r} must be `unit`, a radius, or two numbers LOW,HIGH.")
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


@contextmanager
def readable(**files: Path | str | None) -> Iterator[None]:
    """Say of a file that cannot be read, or is none of those wanted, what it is, in one sentence.

    - **files: By the argument or option that names each.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        said = str(error)
        if isinstance(error, OSError):
            said = f"{error.filename or 'The data'} cannot be read: {error.strerror or error}."
        for name, path in files.items():
            if path is not None and said.startswith(f"{path} "):
                raise ValueError(f"{name}={str(path)!r}{said.removeprefix(str(path))}") from None
        if isinstance(error, OSError):
            raise ValueError(said) from None
        raise


@contextmanager
def _said() -> Iterator[None]:
    """Say warnings in one line each, on the standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        typer.echo(f"Note: {text}", err=True)
