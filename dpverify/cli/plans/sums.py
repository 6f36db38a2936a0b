"""The command `dpverify sums`: protocols for a sum of numbers, or of vectors, side by side."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpverify.cli.formats import wanted
from dpverify.cli.options import integer, number
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
    largest: Annotated[
        float | None,
        number(within="(-inf, inf)", help="b: a user holds an integer from a to b; 0 is the default of a."),
    ] = None,
    smallest: Annotated[float | None, number(within="(-inf, inf)", help="a: for a rating from 1 to 5 it is 1.")] = None,
    real: Annotated[bool, typer.Option("--real", help="A user holds any number from a to b.")] = False,
    steps: Annotated[
        int | None, integer(within="[1, inf)", help="Of real numbers how many steps are sent; fitted when omitted.")
    ] = None,
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
    """Compare sums of integers, real numbers or vectors with a trusted curator.

    At one budget, with messages and bytes of each: for numbers the protocols, for vectors what bytes buy (10 s).
    """
    from dpverify.guarantee import Budget
    from dpverify.planning.sums.integers import plan_sums
    from dpverify.planning.sums.vectors import BYTES, vector_front

    budget = Budget(epsilon, delta)
    if (largest is None) == (dimension is None):
        raise ValueError("Either --largest or --dimension must be given: a sum is of numbers or of vectors.")
    found: Any
    if largest is not None:
        if max_bytes is not None:
            raise ValueError("--bytes must be omitted with --largest: it is of vectors.")
        span: dict[str, Any] = {"largest": largest, "smallest": smallest or 0, "real": real, "steps": steps}
        found = plan_sums(budget, users=users, instances=instances, **span)
    elif dimension is not None:
        if instances != 1:
            raise ValueError(f"--instances={instances} must be 1 for vectors.")
        if real or smallest is not None or steps is not None:
            raise ValueError("--smallest, --real and --steps must be omitted with --dimension: they are of numbers.")
        found = vector_front(budget, users=users, dimension=dimension, max_bytes=max_bytes or BYTES)
    if not found.plans and wanted() is None:
        raise ValueError("\n".join(dict.fromkeys(found.failures.values())))
    print_result(found)
