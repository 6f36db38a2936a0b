"""The commands `dpverify account ...`: what a protocol's parameters really guarantee."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.accounts.days import account_days
from dpverify.cli.accounts.density import kernel_density
from dpverify.cli.accounts.meaning import Meant, TradeOffFile, check_meant, print_meant
from dpverify.cli.accounts.runs import TypedRun, taken
from dpverify.cli.accounts.steps import account_steps
from dpverify.cli.commands import made_by
from dpverify.cli.declared import Changes, Run, declaring, fitting
from dpverify.cli.options import integer, number
from dpverify.cli.output import (
    AtDelta,
    AtEpsilon,
    Ball,
    Certificate,
    Honest,
    Instances,
    SquaredChange,
    check_certified,
    threat_model,
    write_certified,
)
from dpverify.guarantee import Adjacency, ThreatModel

if TYPE_CHECKING:
    from protocols.histogram import BucketSums

__all__ = ["account_any", "register"]


_ANY_USERS = "n; it does not matter for the privacy of this noise."
AnyUsers = Annotated[int, integer(within="[1, inf)", help=_ANY_USERS)]


def account_any(
    protocol: Any,
    instances: Instances = 1,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    adversary: Annotated[ThreatModel | None, threat_model("Whose view.")] = None,
    delta: AtDelta = None,
    epsilon: AtEpsilon = None,
    honest: Honest = None,
    certificate: Certificate = None,
    meant: Meant = False,
    trade_off: TradeOffFile = None,
) -> None:
    """Account a protocol."""
    run = TypedRun(protocol, instances, delta, epsilon, adversary, honest)
    in_part = {"--squared-change": squared_change, "--ball": ball or None}
    apart = {"--certificate": certificate, "--meaning": meant or None, "--trade-off": trade_off}
    if taken(run, **in_part, **apart):
        return
    check_certified(certificate, epsilon)
    check_meant(trade_off)
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
        adjacency=Adjacency.REPLACE_ONE,
    )
    print_meant(result, meant, trade_off)
    write_certified(certificate, result.certificate, result.epsilon.upper)


_IN_FULL: Changes = dict.fromkeys(("squared_change", "ball", "adversary"))


def _fitted(claims: Any) -> tuple[Run, Changes]:
    """Return what is special: a bitsum may change in part, and noise of 0 is none."""
    from dpverify.claims.base import MoreUsers
    from dpverify.claims.bitsum.base import BitsumClaims

    changes: dict[str, Any] = {}
    if claims.noise:
        (field,) = (field for field in dataclasses.fields(claims.protocol) if field.name == claims.noise)
        changes[claims.noise] = {"within": field.metadata["within"].replace("[0,", "(0,")}
    if not isinstance(claims, BitsumClaims):
        return account_any, {**changes, **_IN_FULL}
    changes["adversary"] = None
    if claims.seen:
        annotation = Annotated[ThreatModel, threat_model(claims.seen)]
        changes["adversary"] = {"default": claims.threat_models[0], "annotation": annotation}
    if claims.more_users is MoreUsers.SAME:
        changes["users"] = {"default": 1, "help": _ANY_USERS}
    return account_any, changes


account = typer.Typer(cls=declaring("account", _fitted), rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(account, name="account", help="Compute what parameters really guarantee, as an interval.")


def _command(protocol: Callable[..., Any]) -> Callable[..., None]:
    return made_by(protocol, fitting(account_any, _IN_FULL))


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


account.command("kde")(_command(kernel_density))
account.command("days")(account_days)
account.command("steps")(account_steps)
