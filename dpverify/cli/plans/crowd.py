"""The command `dpverify crowd`: what is left of plans where users drop out or cheat."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.cli.options import choice, exact, integer
from dpverify.cli.output import Honest, Users, check_files, print_result, write_files
from dpverify.cli.plans.shared import (
    ALL,
    LISTED,
    Bandwidth,
    Dimension,
    Epsilon,
    bitsums,
    check_kernel,
    chosen,
    given,
    kernels,
)
from dpverify.cli.progress import told

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(crowd)


def crowd(
    epsilon: Epsilon,
    delta: Annotated[str, exact(within="(0, 1)", help="Budget of the whole, in {}; a decimal is taken exactly.")],
    users: Users,
    instances: Annotated[
        int | None,
        integer(
            within="[1, inf)",
            help="I, the bitsum instances that each user takes part in, by default 1; not with --kernel.",
        ),
    ] = None,
    bitsum: Annotated[Any, choice(known=bitsums, several=True, help=f"{LISTED}, the default.")] = None,
    honest: Honest = None,
    malicious: Annotated[
        int | None, integer(within="[0, inf)", help="Show as well how far so many users can move the estimates.")
    ] = None,
    kernel: Annotated[
        str | None, choice(known=kernels, help="Of a density estimator for this kernel: that of least error.")
    ] = None,
    dimension: Dimension = None,
    bandwidth: Bandwidth = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the table to this file: PNG, SVG or PDF.")] = None,
) -> None:
    """Show epsilon against the share of honest users. They follow the protocol, which is planned for all users."""
    check_files(plot)
    from dpverify.guarantee import Budget
    from dpverify.planning import crowds

    alone, asked = given(dimension=dimension, bandwidth=bandwidth), given(instances=instances)
    check_kernel(kernel, alone=alone, chosen=asked)
    shares = [share for share in crowds.FRACTIONS if float(share) * users >= 1]
    common: dict[str, Any] = {"users": users, "fractions": shares, "honest": honest}
    common["malicious"], budget = malicious, Budget(epsilon, delta)
    if kernel is not None and dimension is not None:
        if bitsum is not None and len(bitsum) > 1:
            raise ValueError(f"--bitsum={','.join(bitsum)!r} must be one with --kernel.")
        width, name = bandwidth or 1.0, "rr" if bitsum in {None, (ALL,)} else bitsum[0]
        found = crowds.crowd_density(kernel, dimension, budget, bandwidth=width, bitsum=name, **common)
    else:
        with told("plans and accounts") as progress:
            found = crowds.crowd(
                budget, instances=instances or 1, bitsums=chosen(bitsum or (ALL,)), progress=progress, **common
            )
    if not found.plans:
        raise ValueError("\n".join(dict.fromkeys(row.error for row in found.failures)))
    print_result(found)
    write_files(plot, None, found)
