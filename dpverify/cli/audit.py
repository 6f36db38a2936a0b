"""The command `dpverify audit`: parses arguments, runs the audit and prints what it returns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpverify.cli.output import AsJson, Users, console, print_result

if TYPE_CHECKING:
    from protocols.bitsum import BitsumProtocol

__all__ = ["register"]

_WATCHED_USERS = 200
"""Up to so many users our own protocols run message by message, beyond that by the sampler of their views."""

audit = typer.Typer(rich_markup_mode=None)

ClaimEpsilon = Annotated[str | None, typer.Option(help="Claimed epsilon of one instance, in nats.")]
ClaimDelta = Annotated[str | None, typer.Option(help="Claimed delta of one instance, in [0, 1).")]
Trials = Annotated[int, typer.Option(help="Runs per dataset.")]
TargetName = Annotated[
    str | None,
    typer.Option(
        "--target", help="module:callable, called as f(bits, rng) for an estimate of the sum; our own if omitted."
    ),
]
Level = Annotated[float, typer.Option(help="Largest probability of a false alarm, over all tests together.")]
Detect = Annotated[float, typer.Option(help="Relative size of the faults that a pass must exclude.")]
Workers = Annotated[int, typer.Option(help="Processes; the outputs do not depend on it.")]
Resume = Annotated[Path | None, typer.Option(help="Keep finished runs in this file, and go on from it if it exists.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same report.")]
Plot = Annotated[Path | None, typer.Option(help="Write a figure to this PNG file.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.add_typer(
        audit,
        name="audit",
        help="Test whether a running implementation keeps its promise. Exit status: 0 consistent, 1 violation found, "
        "2 bad input, 3 undecided.",
    )


def _audit(
    reference: BitsumProtocol,
    claim_epsilon: str | None,
    claim_delta: str | None,
    trials: int,
    target: str | None,
    level: float,
    detect: float,
    workers: int,
    resume: Path | None,
    seed: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    from dpverify.audit.target import Target
    from dpverify.auditing import Implementation, audit_bitsum
    from dpverify.guarantee import Budget
    from dpverify.report.audit import audit_figure, audit_table
    from dpverify.report.plots import save

    if (claim_epsilon is None) != (claim_delta is None):
        raise ValueError("claim_epsilon and claim_delta must be given together, or neither.")
    claim = None if claim_epsilon is None or claim_delta is None else Budget(claim_epsilon, claim_delta)
    if target is None:
        many = reference.users > _WATCHED_USERS
        implementation = Implementation.of(reference, aggregated=many, watched=True)
    else:
        implementation = Implementation(Target(target), name=target)
    with console(stderr=True).status("running ...") as status:
        try:
            report = audit_bitsum(
                reference,
                claim,
                implementation=implementation,
                trials=trials,
                level=level,
                detect=detect,
                seed=seed,
                workers=workers,
                checkpoint=resume,
                progress=lambda done, total: status.update(f"{done:,} of {total:,} runs ..."),
            )
        except KeyboardInterrupt:
            kept = "nothing was kept" if resume is None else f"finished runs are kept in {resume}"
            typer.echo(f"Interrupted; {kept}.", err=True)
            raise typer.Exit(130) from None
    if plot is not None:
        save(audit_figure(report), plot)
    print_result(report.to_dict(), audit_table(report), as_json)
    raise typer.Exit(report.exit_code)


@audit.command("rr")
def audit_randomized_response(
    users: Users,
    flip_probability: Annotated[float, typer.Option(help="p, in [0, 1/2).")],
    claim_epsilon: ClaimEpsilon = None,
    claim_delta: ClaimDelta = None,
    trials: Trials = 20_000,
    target: TargetName = None,
    level: Level = 0.01,
    detect: Detect = 0.1,
    workers: Workers = 1,
    resume: Resume = None,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Randomized response."""
    from protocols.bitsum import RandomizedResponse

    protocol = RandomizedResponse(users, flip_probability)
    _audit(protocol, claim_epsilon, claim_delta, trials, target, level, detect, workers, resume, seed, plot, as_json)


@audit.command("3nb")
def audit_three_nb(
    users: Users,
    p: Annotated[float, typer.Option(help="p of the geometric noise, in [0, 1).")],
    flood_shape: Annotated[float, typer.Option(help="r', positive.")],
    flood_p: Annotated[float, typer.Option(help="p', in [0, 1).")],
    claim_epsilon: ClaimEpsilon = None,
    claim_delta: ClaimDelta = None,
    trials: Trials = 20_000,
    target: TargetName = None,
    level: Level = 0.01,
    detect: Detect = 0.1,
    workers: Workers = 1,
    resume: Resume = None,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Correlated noise from three negative binomials."""
    from protocols.bitsum import ThreeNB

    protocol = ThreeNB(users, p, flood_shape, flood_p)
    _audit(protocol, claim_epsilon, claim_delta, trials, target, level, detect, workers, resume, seed, plot, as_json)


@audit.command("nb")
def audit_negative_binomial(
    users: Users,
    shape: Annotated[float, typer.Option(help="r, positive, over all users.")],
    p: Annotated[float, typer.Option(help="p, in [0, 1): the larger, the more noise.")],
    claim_epsilon: ClaimEpsilon = None,
    claim_delta: ClaimDelta = None,
    trials: Trials = 20_000,
    target: TargetName = None,
    level: Level = 0.01,
    detect: Detect = 0.1,
    workers: Workers = 1,
    resume: Resume = None,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """One negative binomial noise."""
    from protocols.bitsum import NegativeBinomial

    protocol = NegativeBinomial(users, shape, p)
    _audit(protocol, claim_epsilon, claim_delta, trials, target, level, detect, workers, resume, seed, plot, as_json)


@audit.command("poisson")
def audit_poisson(
    users: Users,
    mean: Annotated[float, typer.Option(help="Mean of the noise, over all users.")],
    claim_epsilon: ClaimEpsilon = None,
    claim_delta: ClaimDelta = None,
    trials: Trials = 20_000,
    target: TargetName = None,
    level: Level = 0.01,
    detect: Detect = 0.1,
    workers: Workers = 1,
    resume: Resume = None,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """One Poisson noise."""
    from protocols.bitsum import Poisson

    protocol = Poisson(users, mean)
    _audit(protocol, claim_epsilon, claim_delta, trials, target, level, detect, workers, resume, seed, plot, as_json)


@audit.command("pure")
def audit_pure(
    users: Users,
    p: Annotated[float, typer.Option(help="p of the geometric noise, in [0, 1).")],
    drop_probability: Annotated[float, typer.Option(help="q, in [0, 1).")] = 0.0,
    flood_shape: Annotated[float, typer.Option(help="r', positive.")] = 1.0,
    flood_p: Annotated[float, typer.Option(help="p', in [0, 1).")] = 0.0,
    claim_epsilon: ClaimEpsilon = None,
    claim_delta: ClaimDelta = None,
    trials: Trials = 20_000,
    target: TargetName = None,
    level: Level = 0.01,
    detect: Detect = 0.1,
    workers: Workers = 1,
    resume: Resume = None,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Discrete Laplace noise, and ones dropped now and then."""
    from protocols.bitsum import Pure

    protocol = Pure(users, p, drop_probability, flood_shape, flood_p)
    _audit(protocol, claim_epsilon, claim_delta, trials, target, level, detect, workers, resume, seed, plot, as_json)
