"""The command `dpverify audit`: parses arguments, runs the audit and prints what it returns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.audits.black_box import audit_black_box
from dpverify.cli.audits.trials import (
    ClaimDelta,
    ClaimEpsilon,
    Detect,
    Level,
    Plot,
    Resume,
    Seed,
    Timeout,
    Trials,
    Verbose,
    Workers,
    carried_out,
    claimed,
)
from dpverify.cli.commands import made_by
from dpverify.cli.groups import Listed
from dpverify.cli.options import number
from dpverify.cli.output import Users

if TYPE_CHECKING:
    from protocols.bitsum import BitsumProtocol

__all__ = ["any_protocol", "register"]

audit = typer.Typer(cls=Listed, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    audit.command("mechanism")(audit_black_box)
    app.add_typer(
        audit,
        name="audit",
        help="Test whether a running implementation keeps its promise. Exit status: 0 consistent, 1 violation found, "
        "2 bad input or a target that fails, 3 undecided, 130 interrupted.",
    )


def any_protocol(
    reference: Any,
    claim_epsilon: ClaimEpsilon = None,
    claim_delta: ClaimDelta = None,
    trials: Trials = 20_000,
    target: Annotated[
        str | None,
        typer.Option(
            help="module:callable or path/to/file.py:callable, called as f(bits, rng) for an estimate of the sum, in "
            "processes of its own whose output goes to the standard error; our own protocol if omitted.",
        ),
    ] = None,
    level: Level = 0.01,
    detect: Detect = 0.1,
    timeout: Timeout = 120.0,
    workers: Workers = 1,
    resume: Resume = None,
    seed: Seed = 0,
    plot: Plot = None,
    fewer_users: Annotated[
        bool,
        typer.Option("--fewer-users", help="A binary sum that promises the same where fewer users take part."),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Audit a protocol, whether a command is written for it here or not."""
    from dpverify.audit.protocol import audit_protocol
    from dpverify.claims.bitsum.base import BitsumClaims
    from dpverify.claims.registry import mechanism_claims_of

    claim = claimed(claim_epsilon, claim_delta)
    if fewer_users and not isinstance(mechanism_claims_of(reference), BitsumClaims):
        raise ValueError("--fewer-users must be omitted: only binary sums are audited with fewer users.")
    promised = {"fewer_users": True} if fewer_users else {}
    audited = functools.partial(
        audit_protocol,
        reference,
        claim,
        implementation=target,
        **promised,
        trials=trials,
        level=level,
        detect=detect,
        seed=seed,
        workers=workers,
        timeout=None if target is None else timeout,
    )
    carried_out(audited, resume, plot, verbose)


def _command(protocol: Callable[..., BitsumProtocol]) -> Callable[..., None]:
    return made_by(protocol, any_protocol)


Drop = Annotated[float, number(within="[0, 1)", help="q, in {}.")]
FloodShape = Annotated[float, number(within="(0, inf)", help="r', positive.")]
FloodP = Annotated[float, number(within="[0, 1)", help="p', in {}.")]
NoiseP = Annotated[float, number(within="[0, 1)", help="p of the noise, in {}.")]
Shape = Annotated[float, number(within="(0, inf)", help="r of the noise, in {}; 1 is geometric.")]


@audit.command("rr")
@_command
def audit_randomized_response(
    users: Users, flip_probability: Annotated[float, number(within="[0, 1/2)", help="p, in {}.")]
) -> BitsumProtocol:
    """Randomized response."""
    from protocols.bitsum import RandomizedResponse

    return RandomizedResponse(users, flip_probability)


@audit.command("3nb")
@_command
def audit_three_nb(
    users: Users, p: NoiseP, flood_shape: FloodShape, flood_p: FloodP, shape: Shape = 1.0
) -> BitsumProtocol:
    """Correlated noise from three negative binomials."""
    from protocols.bitsum import ThreeNB

    return ThreeNB(users, p, flood_shape, flood_p, shape)


@audit.command("nb")
@_command
def audit_negative_binomial(
    users: Users,
    shape: Annotated[float, number(within="(0, inf)", help="r, positive, over all users.")],
    p: Annotated[float, number(within="[0, 1)", help="p, in {}: the larger, the more noise.")],
) -> BitsumProtocol:
    """One negative binomial noise."""
    from protocols.bitsum import NegativeBinomial

    return NegativeBinomial(users, shape, p)


@audit.command("poisson")
@_command
def audit_poisson(
    users: Users,
    mean: Annotated[float, number(within="[0, inf)", help="Mean of the noise, over all users.")],
) -> BitsumProtocol:
    """One Poisson noise."""
    from protocols.bitsum import Poisson

    return Poisson(users, mean)


@audit.command("pure")
@_command
def audit_pure(
    users: Users,
    p: NoiseP,
    drop_probability: Drop = 0.0,
    flood_shape: FloodShape = 1.0,
    flood_p: FloodP = 0.0,
    shape: Shape = 1.0,
) -> BitsumProtocol:
    """Divisible noise, and ones dropped now and then."""
    from protocols.bitsum import Pure

    return Pure(users, p, drop_probability, flood_shape, flood_p, shape)


@audit.command("central-discrete-laplace")
@_command
def audit_discrete_laplace(
    users: Users,
    p: Annotated[float, number(within="[0, 1)", help="p, in {}: the noise's pmf is proportional to p^|z|.")],
) -> BitsumProtocol:
    """Central discrete Laplace noise, added by a trusted curator."""
    from protocols.bitsum import CentralDiscreteLaplace

    return CentralDiscreteLaplace(users, p)


@audit.command("central-discrete-gaussian")
@_command
def audit_discrete_gaussian(
    users: Users,
    sigma: Annotated[
        float, number(within="(0, inf)", help="The noise's parameter, about its standard deviation, in {}.")
    ],
) -> BitsumProtocol:
    """Central discrete Gaussian noise, added by a trusted curator."""
    from protocols.bitsum import CentralDiscreteGaussian

    return CentralDiscreteGaussian(users, sigma)


@audit.command("local-rr")
@_command
def audit_local_randomized_response(
    users: Users, flip_probability: Annotated[float, number(within="[0, 1/2)", help="p, in {}.")]
) -> BitsumProtocol:
    """Randomized response without a shuffler."""
    from protocols.bitsum import LocalRandomizedResponse

    return LocalRandomizedResponse(users, flip_probability)
