"""What every command that audits is told, and how it runs, is interrupted, and ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.options import exact, integer, number
from dpverify.cli.output import console, print_result, write_figure

if TYPE_CHECKING:
    from dpverify.audit.outcome import AuditReport
    from dpverify.guarantee import Budget

__all__ = [
    "ClaimDelta",
    "ClaimEpsilon",
    "Detect",
    "Level",
    "Plot",
    "Resume",
    "Seed",
    "Timeout",
    "Trials",
    "Verbose",
    "Workers",
    "carried_out",
    "claimed",
]

_INTERRUPTED = 130
"""The exit status after Ctrl-C."""

ClaimEpsilon = Annotated[str | None, exact(within="(0, inf)", help="Claimed epsilon of one instance, in nats.")]
ClaimDelta = Annotated[str | None, exact(within="[0, 1)", help="Claimed delta of one instance, in {}.")]
Trials = Annotated[int, integer(within="[100, inf)", help="Runs per dataset, in {}.")]
Level = Annotated[
    float, number(within="[0.0001, 1)", help="Largest probability of a false alarm, over all tests together, in {}.")
]
Detect = Annotated[float, number(within="(0, 1)", help="Relative size of the faults that a pass must exclude, in {}.")]
Timeout = Annotated[
    float, number(within="(0, inf)", help="Seconds that the target may take for a block of up to 1,000 runs.")
]
Workers = Annotated[int, integer(within="[1, inf)", help="Processes; the outputs do not depend on it.")]
Resume = Annotated[Path | None, typer.Option(help="Keep finished runs in this file, and go on from it if it exists.")]
Seed = Annotated[int, integer(within="[0, inf)", help="The same seed gives the same report.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Every test by itself, and all that was looked at.")]
Plot = Annotated[Path | None, typer.Option(help="Write a figure to this .png, .svg or .pdf file.")]


def claimed(epsilon: str | None, delta: str | None) -> Budget | None:
    """Return the claim of two options, None if neither is given.

    Raises
    ------
    ValueError
        If only one is.
    """
    from dpverify.guarantee import Budget

    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None:
        raise ValueError("--claim-epsilon and --claim-delta must be given together, or neither.")
    return Budget(epsilon, delta)


def carried_out(audited: Callable[..., AuditReport], resume: Path | None, plot: Path | None, verbose: bool) -> None:
    """Run an audit, print its report and exit with its verdict.

    Parameters
    ----------
    audited : callable
        Takes `progress`, and the `checkpoint` that `resume` is.
    resume, plot, verbose
        The options.
    """
    from dpverify.report.audits import audit_figure, audit_table
    from dpverify.report.plots import check_path

    if plot is not None:
        check_path(plot)  # before the work, not after it
    try:
        with console(stderr=True).status("running ...") as status:

            def progress(done: int, total: int) -> Any:
                return status.update(f"{done:,} of {total:,} runs ...")

            report = audited(checkpoint=resume, progress=progress)
    except KeyboardInterrupt:
        kept = "nothing was kept" if resume is None else f"finished runs are kept in {resume}"
        typer.echo(f"Interrupted; {kept}.", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    print_result(report, audit_table(report, verbose))
    if plot is not None:
        write_figure("--plot", plot, lambda: audit_figure(report))
    raise typer.Exit(report.exit_code)
