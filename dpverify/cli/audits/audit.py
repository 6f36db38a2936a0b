"""The command `dpverify audit`: parses arguments, runs the audit and prints what it returns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.accounts.account import BucketP, Buckets, BucketShape
from dpverify.cli.accounts.density import kernel_density
from dpverify.cli.audits.black_box import audit_black_box
from dpverify.cli.audits.clients import audit_the_client
from dpverify.cli.audits.learners import classifier, decoding, user_level
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
from dpverify.cli.commands import made_by, taking
from dpverify.cli.declared import declaring, fitting
from dpverify.cli.options import integer

if TYPE_CHECKING:
    from protocols.histogram import BucketSums

__all__ = ["audit_any", "register"]

audit = typer.Typer(cls=declaring("audit", lambda claims: (audit_any, {})), rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    audit.command("mechanism")(audit_black_box)
    audit.command("client")(audit_the_client)
    app.add_typer(
        audit,
        name="audit",
        help="Test whether a running implementation keeps its promise. Exit status: 0 consistent, 1 violation found, "
        "2 bad input or a target that fails, 3 undecided, 130 interrupted.",
    )


def audit_any(
    reference: Any,
    claim_epsilon: ClaimEpsilon = None,
    claim_delta: ClaimDelta = None,
    trials: Trials = 20_000,
    target: Annotated[
        str | None,
        typer.Option(
            help="module:callable or path/to/file.py:callable, called as f(inputs, rng) for what is published, such as "
            "f(bits, rng) for an estimate of the sum, in processes of its own whose output goes to the standard error; "
            "our own protocol if omitted.",
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
    """Audit a protocol."""
    from dpverify.audit.protocol import audit_protocol
    from dpverify.claims.bitsum.base import BitsumClaims
    from dpverify.claims.registry import mechanism_claims_of

    claim = claimed(claim_epsilon, claim_delta)
    if fewer_users and not isinstance(mechanism_claims_of(reference), BitsumClaims):
        raise ValueError("--fewer-users must be omitted: only binary sums are audited with fewer users.")
    audited = functools.partial(
        audit_protocol,
        reference,
        claim,
        implementation=target,
        fewer_users=fewer_users,
        trials=trials,
        level=level,
        detect=detect,
        seed=seed,
        workers=workers,
        timeout=None if target is None else timeout,
    )
    carried_out(audited, resume, plot, verbose)


def _command(protocol: Callable[..., Any]) -> Callable[..., None]:
    return made_by(protocol, fitting(audit_any, {"fewer_users": None}))


audit.command("kde")(_command(kernel_density))
audit.command("classifier")(_command(classifier))
audit.command("decoding")(_command(taking(kernel_density)(decoding)))
audit.command("user-level-classifier")(_command(user_level))

Users = Annotated[int, integer(within="[1, inf)", help="n, in {}.")]


@audit.command("histogram")
@_command
def audit_histogram(users: Users, buckets: Buckets, shape: BucketShape, p: BucketP) -> BucketSums:
    """Histogram: a count per bucket, each with one negative binomial noise."""
    from dpverify.claims.shared.buckets import under_estimating
    from protocols.histogram import Histogram

    return Histogram(under_estimating(users, shape, p), buckets)


@audit.command("selection")
@_command
def audit_selection(users: Users, buckets: Buckets, shape: BucketShape, p: BucketP) -> BucketSums:
    """Fullest bucket, from the same messages as a histogram."""
    from dpverify.claims.shared.buckets import under_estimating
    from protocols.selection import Selection

    return Selection(under_estimating(users, shape, p), buckets)
