"""The command `dpverify canaries`: an audit in one run, by guessing secret bits of many users."""

from __future__ import annotations

from typing import Annotated

import typer

from dpverify.cli.audits.trials import Verbose, claimed
from dpverify.cli.options import exact, integer, number
from dpverify.cli.output import print_result

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(canaries)


def canaries(
    target: Annotated[
        str,
        typer.Argument(
            help="module:callable or path/to/file.py:callable, called as f(secrets, rng): it runs the mechanism once "
            "on data with these secret bits, and returns a score for each from the output, positive for a guess of 1."
        ),
    ],
    claim_epsilon: Annotated[
        str | None, exact(within="(0, inf)", help="Claimed epsilon for replacing one secret bit, in nats.")
    ] = None,
    claim_delta: Annotated[str | None, exact(within="[0, 1)", help="Claimed delta, in {}.")] = None,
    claim_mu: Annotated[
        float | None,
        number(within="(0, inf)", help="Claimed mu of Gaussian differential privacy, instead of epsilon and delta."),
    ] = None,
    canaries: Annotated[int, integer(within="[1, inf)", help="m, the secret bits of one run, in {}.")] = 1000,
    guesses: Annotated[
        int | None,
        integer(
            within="[1, inf)",
            help="The surest so many guesses count; by default the fewest that find a fault with power 0.999, or all.",
        ),
    ] = None,
    repeat: Annotated[int, integer(within="[1, inf)", help="Independent runs, with new secrets each.")] = 1,
    level: Annotated[float, number(within="[0.0001, 1)", help="Largest probability of a false alarm, in {}.")] = 0.01,
    detect: Annotated[
        float,
        number(
            within="(0, inf)", help="A pass must exclude guesses as good as (1 + this) times epsilon makes possible."
        ),
    ] = 0.5,
    control: Annotated[
        str | None,
        typer.Option(
            help="A positive control: a callable as the target, with a fault put in. A pass needs it refuted; without "
            "one, guesses that beat chance."
        ),
    ] = None,
    timeout: Annotated[float, number(within="(0, inf)", help="Seconds that one run may take.")] = 600.0,
    seed: Annotated[int, integer(within="[0, inf)", help="The same seed gives the same report.")] = 0,
    verbose: Verbose = False,
) -> None:
    """Audit a mechanism in one run, by secret bits guessed right. Exit status as of `audit`."""
    from rich.console import Group
    from rich.text import Text

    from dpverify.audit.one_run import audit_one_run
    from dpverify.report.audits import audit_table
    from dpverify.statistics.bounds.claims import GaussianDP

    budget = claimed(claim_epsilon, claim_delta)
    curve = None if claim_mu is None else GaussianDP(claim_mu)
    claim = budget or curve
    if claim is None or (budget and curve):
        raise ValueError("state one claim: --claim-epsilon and --claim-delta, or --claim-mu.")
    report = audit_one_run(
        target,
        claim,
        canaries=canaries,
        guesses=guesses,
        runs=repeat,
        level=level,
        detect=detect,
        seed=seed,
        timeout=timeout,
        control=control,
    )
    print_result(report, Group(audit_table(report, verbose), Text(report.lower_ends)))
    raise typer.Exit(report.exit_code)
