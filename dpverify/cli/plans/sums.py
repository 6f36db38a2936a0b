"""The command `dpverify sums`: protocols for a sum of integers, or of vectors, side by side."""

from __future__ import annotations

from typing import Annotated, Any

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
    largest: Annotated[int | None, integer(within="[1, inf)", help="L: a user holds an integer from 0 to L.")] = None,
    dimension: Annotated[
        int | None, integer(within="[1, inf)", help="d: a user holds a vector of norm at most 1 instead.")
    ] = None,
    instances: Annotated[
        int, integer(within="[1, inf)", help="I, the sums that each user takes part in, with an integer for each.")
    ] = 1,
    max_bytes: Annotated[
        Any,
        integer(
            "--bytes",
            within="[1, inf)",
            help="Limits for a user with a vector; by default 100,300,1000,3000.",
            several=True,
        ),
    ] = None,
) -> None:
    """Compare sums of integers or vectors with a trusted curator.

    At one budget, with messages and bytes of each: for integers the protocols, for vectors what bytes buy (10 s).
    """
    from dpverify.guarantee import Budget
    from dpverify.planning.sums.integers import plan_sums
    from dpverify.planning.sums.vectors import BYTES, vector_front

    budget = Budget(epsilon, delta)
    if (largest is None) == (dimension is None):
        raise ValueError("Either --largest or --dimension must be given: a sum is of integers or of vectors.")
    found: Any
    if largest is not None:
        if max_bytes is not None:
            raise ValueError("--bytes must be omitted with --largest: it is of vectors.")
        found = plan_sums(budget, users=users, largest=largest, instances=instances)
    elif dimension is not None:
        if instances != 1:
            raise ValueError(f"--instances={instances} must be 1 for vectors.")
        found = vector_front(budget, users=users, dimension=dimension, max_bytes=max_bytes or BYTES)
    if not found.plans and wanted() is None:
        raise ValueError("\n".join(dict.fromkeys(found.failures.values())))
    print_result(found)
