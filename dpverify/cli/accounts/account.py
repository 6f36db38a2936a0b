"""The commands `dpverify account ...`: what a protocol's parameters really guarantee."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.accounts.days import account_days
from dpverify.cli.accounts.density import kernel_density
from dpverify.cli.accounts.runs import TypedRun, taken
from dpverify.cli.commands import made_by
from dpverify.cli.groups import Listed
from dpverify.cli.options import integer, number
from dpverify.cli.output import (
    AtDelta,
    AtEpsilon,
    Ball,
    Honest,
    Instances,
    SquaredChange,
    Users,
    print_result,
    threat_model,
)
from dpverify.guarantee import ThreatModel

if TYPE_CHECKING:
    from protocols.bitsum import BitsumProtocol
    from protocols.histogram import BucketSums
    from protocols.vector_sum import VectorSum

__all__ = ["any_protocol", "in_full", "register"]

account = typer.Typer(cls=Listed, rich_markup_mode=None)

Shape = Annotated[
    float, number(within="(0, inf)", help="r of the noise, in {}: 1 is geometric, as in the source, and large normal.")
]
AnyUsers = Annotated[int, integer(within="[1, inf)", help="n; it does not matter for the privacy of this noise.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(account, name="account", help="Compute what parameters really guarantee, as an interval.")


def _account(
    protocol: BitsumProtocol,
    instances: int,
    squared_change: str | None,
    ball: bool,
    delta: str | None,
    epsilon: str | None,
    honest: str | None,
    adversary: ThreatModel | None = None,
) -> None:
    run = TypedRun(protocol, instances, delta, epsilon, adversary, honest)
    if taken(run, **{"--squared-change": squared_change, "--ball": ball or None}):
        return
    from dpverify.planning.account import account

    if (delta is None) == (epsilon is None):
        raise ValueError("exactly one of --delta and --epsilon must be given.")
    result = account(
        protocol,
        instances=instances,
        squared_change=squared_change,
        ball=ball,
        delta=delta,
        epsilon=epsilon,
        threat_model=adversary,
        honest=honest,
    )
    print_result(result)


def any_protocol(
    protocol: Any,
    instances: Instances = 1,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    delta: AtDelta = None,
    epsilon: AtEpsilon = None,
    honest: Honest = None,
) -> None:
    """Account a protocol for which no command is written here."""
    _account(protocol, instances, squared_change, ball, delta, epsilon, honest)


def in_full(
    protocol: Any,
    instances: Instances = 1,
    delta: AtDelta = None,
    epsilon: AtEpsilon = None,
    honest: Honest = None,
) -> None:
    """Account a protocol of ours for which there are full changes only."""
    _account(protocol, instances, None, False, delta, epsilon, honest)


def _bitsum(
    protocol: BitsumProtocol,
    instances: Instances,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    delta: AtDelta = None,
    epsilon: AtEpsilon = None,
    honest: Honest = None,
) -> None:
    _account(protocol, instances, squared_change, ball, delta, epsilon, honest)


def _of_a_bitsum(protocol: Callable[..., BitsumProtocol]) -> Callable[..., None]:
    return made_by(protocol, _bitsum)


@account.command("rr")
@_of_a_bitsum
def account_randomized_response(
    users: Users,
    flip_probability: Annotated[float, number(within="(0, 1/2)", help="p, in {}.")],
) -> BitsumProtocol:
    """Randomized response."""
    from protocols.bitsum import RandomizedResponse

    return RandomizedResponse(users, flip_probability)


@account.command("3nb")
@_of_a_bitsum
def account_three_nb(
    users: Users,
    p: Annotated[float, number(within="(0, 1)", help="p of the noise, in {}: the larger, the more noise.")],
    flood_shape: Annotated[float, number(within="(0, inf)", help="r', in {}.")],
    flood_p: Annotated[float, number(within="[0, 1)", help="p', in {}.")],
    shape: Shape = 1.0,
) -> BitsumProtocol:
    """Correlated noise from three negative binomials."""
    from protocols.bitsum import ThreeNB

    return ThreeNB(users, p, flood_shape, flood_p, shape)


@account.command("nb")
@_of_a_bitsum
def account_negative_binomial(
    shape: Annotated[float, number(within="(0, inf)", help="r, in {}.")],
    p: Annotated[float, number(within="(0, 1)", help="p, in {}: the larger, the more noise.")],
    users: AnyUsers = 1,
) -> BitsumProtocol:
    """One negative binomial noise."""
    from protocols.bitsum import NegativeBinomial

    return NegativeBinomial(users, shape, p)


@account.command("poisson")
@_of_a_bitsum
def account_poisson(
    mean: Annotated[float, number(within="(0, inf)", help="The mean of the noise, in {}.")],
    users: AnyUsers = 1,
) -> BitsumProtocol:
    """One Poisson noise."""
    from protocols.bitsum import Poisson

    return Poisson(users, mean)


@account.command("pure")
def account_pure(
    instances: Instances,
    p: Annotated[float, number(within="(0, 1)", help="p of the noise, in {}: the larger, the more noise.")],
    drop_probability: Annotated[float, number(within="[0, 1)", help="q, in {}.")] = 0.0,
    flood_shape: Annotated[float, number(within="(0, inf)", help="r', in {}.")] = 1.0,
    flood_p: Annotated[float, number(within="[0, 1)", help="p', in {}.")] = 0.0,
    shape: Shape = 1.0,
    adversary: Annotated[
        ThreatModel, threat_model("communication (the counts of +1 and -1) or model (their difference alone).")
    ] = ThreatModel.COMMUNICATION,
    users: AnyUsers = 1,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    delta: AtDelta = None,
    epsilon: AtEpsilon = None,
    honest: Honest = None,
) -> None:
    """Drop bits, and add noise and a flood; --delta 0 gives the largest privacy loss."""
    from protocols.bitsum import Pure

    protocol = Pure(users, p, drop_probability, flood_shape, flood_p, shape)
    _account(protocol, instances, squared_change, ball, delta, epsilon, honest, adversary)


@account.command("central-gaussian")
@_of_a_bitsum
def account_gaussian(
    sigma: Annotated[float, number(within="(0, inf)", help="The noise's standard deviation, in {}.")],
    users: AnyUsers = 1,
) -> BitsumProtocol:
    """Central normal noise, added by a trusted curator."""
    from protocols.bitsum import CentralGaussian

    return CentralGaussian(users, sigma)


@account.command("central-discrete-gaussian")
@_of_a_bitsum
def account_discrete_gaussian(
    sigma: Annotated[
        float, number(within="(0, inf)", help="The noise's parameter, about its standard deviation, in {}.")
    ],
    users: AnyUsers = 1,
) -> BitsumProtocol:
    """Central discrete Gaussian noise, added by a trusted curator."""
    from protocols.bitsum import CentralDiscreteGaussian

    return CentralDiscreteGaussian(users, sigma)


@account.command("central-discrete-laplace")
@_of_a_bitsum
def account_discrete_laplace(
    p: Annotated[float, number(within="(0, 1)", help="p, in {}: the noise's pmf is proportional to p^|z|.")],
    users: AnyUsers = 1,
) -> BitsumProtocol:
    """Central discrete Laplace noise, added by a trusted curator."""
    from protocols.bitsum import CentralDiscreteLaplace

    return CentralDiscreteLaplace(users, p)


@account.command("local-rr")
@_of_a_bitsum
def account_local_randomized_response(
    flip_probability: Annotated[float, number(within="(0, 1/2)", help="p, in {}.")],
    users: AnyUsers = 1,
) -> BitsumProtocol:
    """Randomized response without a shuffler."""
    from protocols.bitsum import LocalRandomizedResponse

    return LocalRandomizedResponse(users, flip_probability)


def _command(protocol: Callable[..., Any]) -> Callable[..., None]:
    return made_by(protocol, in_full)


Buckets = Annotated[int, integer(within="[2, inf)", help="The size of the universe, in {}.")]
BucketShape = Annotated[float, number(within="(0, inf)", help="r of the noise of every bucket, in {}.")]
BucketP = Annotated[float, number(within="(0, 1)", help="p of that noise, in {}: the larger, the more noise.")]


@account.command("histogram")
@_command
def account_histogram(buckets: Buckets, shape: BucketShape, p: BucketP, users: AnyUsers = 1) -> BucketSums:
    """Histogram: a count per bucket, each with one negative binomial noise."""
    from dpverify.claims.shared.buckets import under_estimating
    from protocols.histogram import Histogram

    return Histogram(under_estimating(users, shape, p), buckets)


@account.command("selection")
@_command
def account_selection(buckets: Buckets, shape: BucketShape, p: BucketP, users: AnyUsers = 1) -> BucketSums:
    """Fullest bucket, from the same messages as a histogram."""
    from dpverify.claims.shared.buckets import under_estimating
    from protocols.selection import Selection

    return Selection(under_estimating(users, shape, p), buckets)


@account.command("vector-sum")
@_command
def account_vector_sum(
    users: Users,
    dimension: Annotated[int, integer(within="[1, inf)", help="d, the coordinates of a user's vector.")],
    levels: Annotated[int, integer(within="[1, inf)", help="k: coordinates are rounded to one of k + 1 values.")],
    blanket_probability: Annotated[
        float, number(within="(0, 1)", help="gamma, in {}: the probability that a report is a random one.")
    ],
    sampled: Annotated[int, integer(within="[1, inf)", help="t, the coordinates that a user reports, at most d.")] = 1,
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Sample one coordinate from each of t blocks.")
    ] = False,
) -> VectorSum:
    """Vector sum: sampled coordinates, rounded and randomized."""
    from protocols.vector_sum import VectorSum

    return VectorSum(users, dimension, levels, blanket_probability, sampled, stratified)


account.command("kde")(_command(kernel_density))
account.command("days")(account_days)
