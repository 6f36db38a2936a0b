"""The command `dpverify means`: estimators of a mean side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from dpverify.cli.formats import wanted
from dpverify.cli.options import integer
from dpverify.cli.output import Users, print_result
from dpverify.cli.plans.shared import Delta, Epsilon
from dpverify.cli.progress import told

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(means)


def means(
    epsilon: Epsilon,
    delta: Delta,
    users: Users,
    instances: Annotated[
        int, integer(within="[1, inf)", help="I, the means that each user takes part in, with a value for each.")
    ] = 1,
) -> None:
    """Compare local, shuffled and central means at one budget. Of values in [0, 1], by their exact errors."""
    from dpverify.guarantee import Budget
    from dpverify.planning.means import plan_means

    with told("estimators") as progress:
        found = plan_means(Budget(epsilon, delta), users=users, instances=instances, progress=progress)
    if not found.plans and wanted() is None:
        raise ValueError("\n".join(dict.fromkeys(found.failures.values())))
    print_result(found)
