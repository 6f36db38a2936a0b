"""What every command that audits is told, and how it runs, is interrupted, and ends."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.options import exact, integer, number
from dpverify.cli.output import check_files, console, print_result, write_figure

if TYPE_CHECKING:
    from dpverify.audit.outcome import AuditReport
    from dpverify.guarantee import Budget
    from dpverify.statistics.bounds.claims import CurveClaim

__all__ = [
    "ClaimCurve",
    "ClaimDelta",
    "ClaimEpsilon",
    "ClaimMu",
    "ClaimRenyi",
    "ClaimRho",
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
    "claimed_any",
]

_INTERRUPTED = 130
"""The exit status after Ctrl-C."""

ClaimEpsilon = Annotated[str | None, exact(within="(0, inf)", help="Claimed epsilon of one instance, in nats.")]
ClaimDelta = Annotated[str | None, exact(within="[0, 1)", help="Claimed delta of one instance, in {}.")]
ClaimMu = Annotated[
    float | None, number(within="(0, inf)", help="Claimed in place of both: Gaussian differential privacy of this mu.")
]
ClaimRho = Annotated[
    float | None, number(within="(0, inf)", help="Or zero-concentrated differential privacy of this rho.")
]
ClaimRenyi = Annotated[
    str | None,
    typer.Option(metavar="ORDER:EPSILON", help="Or a Renyi divergence of this order of at most so many nats."),
]
ClaimCurve = Annotated[
    Path | None,
    typer.Option(help="Or all points of a curve: a .csv file with the columns epsilon and delta, in both directions."),
]
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

    Raises ValueError if only one is.
    """
    from dpverify.guarantee import Budget

    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None:
        raise ValueError("--claim-epsilon and --claim-delta must be given together, or neither.")
    return Budget(epsilon, delta)


def claimed_any(
    epsilon: str | None,
    delta: str | None,
    mu: float | None,
    rho: float | None,
    renyi: str | None,
    curve: Path | None,
) -> Budget | CurveClaim | None:
    """Return the claim of the options for any kind of it, None if none is given.

    Raises ValueError if several are, or the order or the file is not as it must be.
    """
    budget = claimed(epsilon, delta)
    if sum(given is not None for given in (budget, mu, rho, renyi, curve)) > 1:
        raise ValueError(
            "One claim at most must be given: --claim-epsilon with --claim-delta, --claim-mu, --claim-rho, "
            "--claim-renyi or --claim-curve."
        )
    from dpverify.statistics.bounds.claims import GaussianDP, TradeOffCurve
    from dpverify.statistics.bounds.renyi_claims import ConcentratedDP, RenyiDP

    if mu is not None:
        return GaussianDP(mu)
    if rho is not None:
        return ConcentratedDP(rho)
    if renyi is not None:
        try:
            order, divergence = map(float, renyi.split(":"))
            return RenyiDP(order, divergence)
        except ValueError:
            raise ValueError(
                f"--claim-renyi={renyi!r} must be an order above 1, a colon and a positive epsilon."
            ) from None
    return budget if curve is None else TradeOffCurve(_points_in(curve))


def _points_in(path: Path) -> list[tuple[float, float]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [(float(row["epsilon"]), float(row["delta"])) for row in csv.DictReader(file, skipinitialspace=True)]
    except (OSError, KeyError, TypeError, ValueError, csv.Error):
        message = f"--claim-curve={str(path)!r} must be a .csv file with the columns epsilon and delta, all numbers."
        raise ValueError(message) from None


def carried_out(audited: Callable[..., AuditReport], resume: Path | None, plot: Path | None, verbose: bool) -> None:
    """Run an audit, print its report and exit with its verdict.

    - audited: Takes `progress`, and the `checkpoint` that `resume` is.
    - resume, plot, verbose: The options.
    """
    from dpverify.report.audits import audit_figure, audit_table

    check_files(plot)  # before the work, not after it
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
