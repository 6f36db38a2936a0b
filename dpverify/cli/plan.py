"""The command `dpverify plan`: parameters that meet a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from dpverify.cli.output import AsJson, Instances, Users, print_result
from dpverify.cli.output import threat_model as named_threat_model

__all__ = ["register"]

_ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(plan)


def _chosen(name: str, value: str, known: Sequence[str]) -> tuple[str, ...]:
    if value not in (*known, _ALL):
        raise ValueError(f"{name}={value!r} must be one of {', '.join((*known, _ALL))}.")
    return tuple(known) if value == _ALL else (value,)


def plan(
    epsilon: Annotated[str, typer.Option(help="Budget of the whole, in nats; a decimal is taken exactly.")],
    delta: Annotated[str, typer.Option(help="Budget of the whole, in [0, 1); a decimal is taken exactly.")],
    users: Users,
    instances: Instances,
    bitsum: Annotated[str, typer.Option(help="rr, 3nb, another protocol by name, or all.")] = _ALL,
    method: Annotated[str, typer.Option(help="published, exact or all.")] = _ALL,
    composition: Annotated[
        str | None,
        typer.Option(help="basic, advanced, optimal or exact; by default advanced if published, exact if exact."),
    ] = None,
    sparsity: Annotated[int, typer.Option(help="S, the bitsums per instance that one user can change.")] = 1,
    max_messages: Annotated[
        float | None, typer.Option(help="At most so many expected messages per user and instance.")
    ] = None,
    threat_model: Annotated[
        str | None,
        typer.Option(
            help="By default communication (central and local for those baselines); model for pure's sum alone."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find protocol parameters that meet a privacy budget (replace-one adjacency)."""
    from dpverify.calibrate import METHODS
    from dpverify.comparison import BITSUMS, compare
    from dpverify.guarantee import Budget
    from dpverify.report.tables import plan_table

    comparison = compare(
        Budget(epsilon, delta),
        users=users,
        instances=instances,
        bitsums=_chosen("bitsum", bitsum, BITSUMS),
        methods=_chosen("method", method, METHODS),
        composition=composition,
        sparsity=sparsity,
        max_messages_per_user=max_messages,
        threat_model=named_threat_model(threat_model),
    )
    if not comparison.plans:
        raise ValueError("\n".join(dict.fromkeys(failure.error for failure in comparison.failures)))
    print_result(comparison.to_dict(), plan_table(comparison), as_json)
