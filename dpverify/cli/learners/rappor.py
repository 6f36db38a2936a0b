"""The command `dpverify rappor`: parameters for strings that are reported again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.options import exact, integer
from dpverify.cli.output import Users, check_files, print_result, write_files

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(rappor)


def rappor(
    epsilon_one: Annotated[
        str, exact(within="(0, inf)", help="Largest loss of one report, in nats; below --epsilon-limit.")
    ],
    epsilon_limit: Annotated[
        str, exact(within="(0, inf)", help="Largest loss of any number of reports on one value, in nats.")
    ],
    users: Users,
    candidates: Annotated[int, integer(within="[1, inf)", help="Strings to look for, in {}.")] = 1000,
    bits: Annotated[int, integer(within="[2, 10000000]", help="k, the bits of the Bloom filter, in {}.")] = 128,
    hashes: Annotated[
        int | None, integer(within="[1, inf)", help="h, at most k/2; a few numbers of them by default.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw epsilon against reports: PNG, SVG or PDF.")] = None,
) -> None:
    """Find RAPPOR's parameters from the privacy of reports. Of one, and of all on the same value together."""
    check_files(plot)
    from dpverify.planning.rappor import plan_rappor

    tried = [number for number in (1, 2, 4) if 2 * number <= bits] if hashes is None else [hashes]
    found = plan_rappor(epsilon_one, epsilon_limit, users=users, candidates=candidates, bits=bits, hashes=tried)
    print_result(found)
    write_files(plot, None, found)
