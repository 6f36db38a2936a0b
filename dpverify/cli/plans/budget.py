"""The command `dpverify budget`: what each instance may spend."""

from __future__ import annotations

from typing import Annotated

import typer

from dpverify.cli.options import choice, integer
from dpverify.cli.output import Instances, print_result
from dpverify.cli.plans.shared import Delta, Epsilon, Sparsity
from dpverify.cli.protocol_names import bitsums

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(budget)


def budget(
    epsilon: Epsilon,
    delta: Delta,
    instances: Instances = 1,
    sparsity: Sparsity = 1,
    bitsum: Annotated[
        str | None,
        choice(known=bitsums, help=f"Compose the exact law of a protocol too, given --users: {', '.join(bitsums())}."),
    ] = None,
    users: Annotated[int | None, integer(within="[1, inf)", help="n, with --bitsum.")] = None,
) -> None:
    """Split a budget: what each of many instances may spend. One row for every composition theorem."""
    from dpverify.guarantee import Budget
    from dpverify.planning.budgets import split_budget

    if (bitsum is None) != (users is None):
        raise ValueError("--bitsum and --users must be given together, or neither.")
    found = split_budget(Budget(epsilon, delta), instances, sparsity=sparsity, bitsum=bitsum, users=users)
    print_result(found)
