"""What the commands share: common options, the console, and printing a result."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.formats import wanted
from dpverify.cli.options import choice, exact, integer
from dpverify.guarantee import ThreatModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console, RenderableType

    from dpverify.shown import Drawn, Shown

__all__ = [
    "AtDelta",
    "AtEpsilon",
    "Ball",
    "Certificate",
    "Honest",
    "Instances",
    "Plot",
    "SquaredChange",
    "Table",
    "Users",
    "check_certified",
    "check_files",
    "console",
    "print_result",
    "show",
    "threat_model",
    "write_certified",
    "write_figure",
    "write_files",
    "write_rows",
]

Users = Annotated[int, integer(within="[1, inf)", help="n, the number of users; public.")]
Instances = Annotated[int, integer(within="[1, inf)", help="I, the bitsum instances that each user takes part in.")]
SquaredChange = Annotated[
    str | None,
    exact(
        "--squared-change",
        within="(0, inf)",
        help="T^2, at most I: replacing a user moves the probability of her bit of instance j by t_j, and the squares "
        "add up to no more, as for points of bounded norm; by default every bit may change fully.",
    ),
]
Ball = Annotated[
    bool,
    typer.Option(
        "--ball",
        help="With --squared-change: her bits also come from points of a ball, so that the squares of 2b - 1, b the "
        "probability of a 1, add up to T^2 at most before and after, as for features of norm at most T times their "
        "range. In truth it is never more epsilon.",
    ),
]
Honest = Annotated[
    str | None,
    exact(
        "--honest",
        within="(0, inf)",
        help="The guarantee holds as long as so many users, or below 1 such a share of them (1.0 is all), follow the "
        "protocol, whatever the others send; by default all n must.",
    ),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Draw it to this file: PNG, SVG or PDF.")]
Certificate = Annotated[
    Path | None,
    typer.Option("--certificate", help="Write a proof for `dpverify check` of the epsilon that it can show at delta."),
]
Table = Annotated[Path | None, typer.Option("--csv", help="Write all rows to this file, with every field.")]
AtDelta = Annotated[
    str | None, exact("--delta", within="[0, 1)", help="Compute epsilon at this delta, in {}; a decimal is exact.")
]
AtEpsilon = Annotated[
    str | None, exact("--epsilon", within="[0, inf)", help="Compute delta at this epsilon, in {}; a decimal is exact.")
]


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output or standard error, 80 columns wide where there is no terminal."""
    from rich.console import Console

    from dpverify.report.tables import WIDTH

    found = Console(stderr=stderr, highlight=False)
    # A pipe has no width: rich would take that of COLUMNS, if set, or of another stream.
    return found if found.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH)


def print_result(result: Shown | dict[str, Any], table: RenderableType | None = None) -> None:
    """Print a result in the format that was asked for, or else as a table.

    - result: The result, or its plain values.
    - table: The result's own by default; plain values have none, and nothing is printed but in a format. A str is
      printed as it is.
    """
    from dpverify.shown import Shown, named, plain

    form = wanted()
    if form is not None:
        typer.echo(form.text(plain(result)))
    elif isinstance(table, str):
        typer.echo(table)
    elif table is not None:
        show(table)
    elif isinstance(result, Shown):
        show(named(result.table_by)(result))


def show(*parts: RenderableType) -> None:
    """Print tables and texts."""
    screen = console()
    # Captured first: a closed pipe is an OSError of ours to tell, not an exit status that rich chooses.
    with screen.capture() as captured:
        for part in parts:
            screen.print(part, markup=False, crop=False)
    typer.echo(captured.get(), nl=False, color=screen.color_system is not None)


def write_figure(option: str, path: Path, draw: Callable[[], Figure]) -> bool:
    """Draw and write a figure, and return whether it worked; if not, one sentence says so, and the report stands.

    - option: What asked for it, as typed.
    - path: Where, as `dpverify.report.plots.check_path` accepts it.
    - draw: Returns the figure.
    """
    from dpverify.report.plots import save

    try:
        save(draw(), path)
    except Exception as error:  # whatever it is, the report has been computed and is right
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        typer.echo(f"{option}={str(path)!r} cannot be written: {reason.removesuffix('.')}.", err=True)
        return False
    return True


def check_files(plot: Path | None, table: Path | None = None) -> None:
    """Check, before the work for them, that `--plot` and `--csv` can be written, and are two files.

    Raises ValueError if one of them cannot be written there, or both are the same.
    """
    if plot is not None:
        from dpverify.report.plots import check_path

        check_path(plot, "--plot")
    if table is not None:
        from dpverify import files

        files.check_path(table, "--csv")
        if plot is not None and plot.resolve() == table.resolve():
            raise ValueError(f"--csv={str(table)!r} must be another file than --plot, which would replace it.")


def write_rows(table: Path | None, result: Shown) -> bool:
    """Write a result's rows, where that is asked for; a sentence says if it does not work, and False is returned."""
    if table is None:
        return True
    from dpverify import files
    from dpverify.shown import plain, records

    text = files.csv_text(records(plain(result), result.rows_by))
    try:
        files.write_text(text, table)
    except OSError as error:
        typer.echo(f"--csv={str(table)!r} cannot be written: {error.strerror}.", err=True)
        return False
    return True


def write_files(plot: Path | None, table: Path | None, result: Drawn) -> None:
    """Write a result's figure and its rows, where they are asked for; a sentence says which one does not work.

    Raises typer.Exit: With status 2, if one of them cannot be written.
    """
    written = write_rows(table, result)
    if plot is not None:

        def draw() -> Figure:
            from dpverify.report.plots import drawn_figure

            return drawn_figure(result)

        written = write_figure("--plot", plot, draw) and written
    if not written:
        raise typer.Exit(2)


def write_certified(
    file: Path | None, made: Callable[[], dict[str, Any]], epsilon: float, budget: Fraction | None = None
) -> None:
    """Write the certificate of a result that was printed, if a file is given; a sentence says if there is none.

    - file: Where, once `check_certified` has found that it can be written.
    - made: Returns the certificate.
    - epsilon: What was printed: if the certificate shows more, that is said.
    - budget: The epsilon that was planned for: if the certificate shows more, so is what to plan for.

    Raises typer.Exit: With status 2, if there is no certificate, or it cannot be written.
    """
    if file is None:
        return
    from dpverify.digits import rounded_down, rounded_up
    from dpverify.planning.certificate import write_certificate

    try:
        given = made()
        write_certificate(file, given)
    except (TypeError, ValueError, OSError) as reason:
        typer.echo(f"--certificate={str(file)!r} cannot be written: {reason}", err=True)
        raise typer.Exit(2) from None
    shown = given["epsilon"]
    more = f", above the {rounded_down(epsilon, 7)} of this account" if Fraction(shown) > Fraction(epsilon) else ""
    typer.echo(f"{file} shows epsilon {shown}{more}: dpverify check {file}", err=True)
    if budget is not None and Fraction(shown) > budget:
        above, less = rounded_up(Fraction(shown) - budget, 3), rounded_down(budget * budget / Fraction(shown), 4)
        told = f"that is {above} above its epsilon; to show no more than it, plan for about {less}"
        typer.echo(f"NOT WITHIN THE BUDGET: {told}.", err=True)


def check_certified(file: Path | None, epsilon: str | None = None) -> None:
    """Check, before the work for it, that a certificate can be written to a file, and that it is of a delta."""
    if file is not None:
        if epsilon is not None:
            raise ValueError(f"epsilon={epsilon} must be omitted: certificates are of a delta that is given.")
        from dpverify import files

        files.check_path(file, "--certificate")


def threat_model(help: str) -> Any:
    """Return the option `--threat-model`."""
    return choice("--threat-model", known=lambda: tuple(ThreatModel), help=help)
