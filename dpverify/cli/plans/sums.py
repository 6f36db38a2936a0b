"""The command `dpverify sums`: protocols for a sum of numbers, or of vectors, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from dpverify.cli.formats import wanted
from dpverify.cli.options import integer, number
from dpverify.cli.output import Users, print_result
from dpverify.cli.plans.shared import Delta, Epsilon
from dpverify.cli.progress import told

__all__ = ["WITHIN", "Front", "held", "register"]

WITHIN = 0.05
"""How much more error than the least a recommended row has at most, unless it is typed."""

Largest = Annotated[
    float | None, number(within="(-inf, inf)", help="b: a user holds an integer from a to b; 0 is the default of a.")
]
Smallest = Annotated[float | None, number(within="(-inf, inf)", help="a: for a rating from 1 to 5 it is 1.")]
Real = Annotated[bool, typer.Option("--real", help="A user holds any number from a to b.")]
Dimensions = Annotated[
    int | None, integer(within="[1, inf)", help="d: a user holds a vector of norm at most 1 instead.")
]


Front = Callable[..., Any]
"""Makes a result of budget, users and instances, and if wanted `within`."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(sums)


def held(
    largest: Largest = None,
    smallest: Smallest = None,
    real: Real = False,
    dimension: Dimensions = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="With --dimension: beside what published protocols need (10 s more).")
    ] = False,
) -> list[Front]:
    """Return what makes fronts of sums of what users hold instead of bits: none if it is bits."""
    if largest is None and (real or smallest is not None):
        raise ValueError("--largest must be given with --smallest or --real.")
    if peers and dimension is None:
        raise ValueError("--dimension must be given with --peers.")

    def numbers(budget: Any, users: int, instances: int, within: float = WITHIN) -> Any:
        from dpverify.planning.sums.fronts import sum_front

        assert largest is not None
        span: dict[str, Any] = {"smallest": smallest or 0, "largest": largest}
        return sum_front(budget, users=users, instances=instances, real=real, within=within, **span)

    def vectors(budget: Any, users: int, instances: int, within: float = WITHIN) -> Any:
        from dpverify.planning.sums.vectors import vector_front

        assert dimension is not None
        _check_once(instances)
        if within != WITHIN:
            raise ValueError(f"--within={within:g} must be omitted for vectors, of which no row is recommended.")
        return vector_front(budget, users=users, dimension=dimension, peers=peers)

    return [make for make, asked in ((numbers, largest), (vectors, dimension)) if asked is not None]


def _check_once(instances: int) -> None:
    if instances != 1:
        raise ValueError(f"--instances={instances} must be 1 for vectors.")


def sums(
    epsilon: Epsilon,
    delta: Delta,
    users: Users,
    largest: Largest = None,
    smallest: Smallest = None,
    real: Real = False,
    steps: Annotated[
        int | None, integer(within="[1, inf)", help="Of real numbers how many steps are sent; fitted when omitted.")
    ] = None,
    dimension: Dimensions = None,
    instances: Annotated[
        int, integer(within="[1, inf)", help="I, the sums that each user takes part in, with an integer for each.")
    ] = 1,
    augmented: Annotated[
        bool, typer.Option("--augmented", help="Show as well what a shuffler can do that draws the noise itself.")
    ] = False,
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
    """Compare sums of numbers or vectors with a trusted curator.

    At one budget, with messages and bytes of each: for numbers the protocols, for vectors what bytes buy (5 s).
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
        if augmented:
            span["protocols"] = ["split-and-mix", "poisson-sum", "nb-sum", "augmented-sum"]
        with told("protocols") as progress:
            found = plan_sums(budget, users=users, instances=instances, progress=progress, **span)
    elif dimension is not None:
        _check_once(instances)
        if real or augmented or smallest is not None or steps is not None:
            raise ValueError(
                "--smallest, --real, --steps and --augmented must be omitted with --dimension: they are of numbers."
            )
        limits = max_bytes or BYTES
        with told("limits") as progress:
            found = vector_front(budget, users=users, dimension=dimension, max_bytes=limits, progress=progress)
    if not found.plans and wanted() is None:
        raise ValueError("\n".join(dict.fromkeys(found.failures.values())))
    print_result(found)
