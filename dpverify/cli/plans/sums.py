"""The command `dpverify sums`: protocols for a sum of integers side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from dpverify.cli.formats import wanted
from dpverify.cli.options import integer
from dpverify.cli.output import Users, print_result
from dpverify.cli.plans.shared import Delta, Epsilon

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(sums)


def sums(
    epsilon: Epsilon,
    delta: Delta,
    users: Users,
    largest: Annotated[int, integer(within="[1, inf)", help="L: a user holds an integer from 0 to L.")],
    instances: Annotated[
        int, integer(within="[1, inf)", help="I, the sums that each user takes part in, with an integer for each.")
    ] = 1,
) -> None:
    """Compare protocols for a sum of integers with a trusted curator.

    At one budget, with messages and bytes of each.
    """
    from dpverify.guarantee import Budget
    from dpverify.planning.sums.integers import plan_sums

    found = plan_sums(Budget(epsilon, delta), users=users, largest=largest, instances=instances)
    if not found.plans and wanted() is None:
        raise ValueError("\n".join(dict.fromkeys(found.failures.values())))
    print_result(found)
