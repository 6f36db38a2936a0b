"""The command `dpverify plan`: parameters that meet a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from dpverify.cli.density import check_kernel, kernels, plan_kernel
from dpverify.cli.names import BITSUMS
from dpverify.cli.options import choice, exact, integer, number
from dpverify.cli.output import AsJson, Ball, HonestFraction, SquaredChange, Users, print_result, threat_model
from dpverify.guarantee import Budget, ThreatModel

__all__ = ["register"]

_ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(plan)


def _bitsums() -> tuple[str, ...]:
    from dpverify.planning.comparison import BITSUMS

    return BITSUMS


def _methods() -> tuple[str, ...]:
    from dpverify.planning.plan import METHODS

    return METHODS


def _compositions() -> tuple[str, ...]:
    from dpverify.composition.theorems import CompositionTheorem
    from dpverify.planning.plan import EXACT

    return (*CompositionTheorem, EXACT)


def _chosen(name: str, known: Sequence[str]) -> Sequence[str]:
    return known if name == _ALL else (name,)


def plan(
    epsilon: Annotated[
        str, exact(within="(0, inf)", help="Budget of the whole, in nats, in {}; a decimal is taken exactly.")
    ],
    delta: Annotated[str, exact(within="[0, 1)", help="Budget of the whole, in {}; a decimal is taken exactly.")],
    users: Users,
    instances: Annotated[
        int | None,
        integer(within="[1, inf)", help="I, the bitsum instances that each user takes part in; --kernel chooses it."),
    ] = None,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    bitsum: Annotated[str, choice(known=lambda: (*_bitsums(), _ALL), help=f"{', '.join(BITSUMS)}, or all.")] = _ALL,
    method: Annotated[str, choice(known=lambda: (*_methods(), _ALL), help="published, exact or all.")] = _ALL,
    composition: Annotated[
        str | None,
        choice(
            known=_compositions,
            help="basic, advanced, optimal or exact; by default advanced if published, exact if exact.",
        ),
    ] = None,
    sparsity: Annotated[
        int, integer(within="[1, inf)", help="S, the bitsums per instance that replacing one user costs.")
    ] = 1,
    max_messages: Annotated[
        float | None,
        number(
            within="(0, inf)",
            help="At most so many expected messages per user and instance; with --kernel, over all bits.",
        ),
    ] = None,
    adversary: Annotated[
        ThreatModel | None,
        threat_model("By default communication (central and local for those baselines); model for pure's sum alone."),
    ] = None,
    honest_fraction: HonestFraction = None,
    kernel: Annotated[
        str | None,
        choice(known=kernels, help="Plan a density estimator for this kernel: features, range and bitsum."),
    ] = None,
    dimension: Annotated[int | None, integer(within="[1, inf)", help="d, of a kernel's points.")] = None,
    bandwidth: Annotated[
        float | None, number(within="(0, inf)", help="Of a kernel, in the units of its points.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find protocol parameters that meet a privacy budget (replace-one adjacency)."""
    check_kernel(
        kernel,
        dimension,
        alone={"--dimension": dimension is not None, "--bandwidth": bandwidth is not None},
        chosen={
            "--instances": instances is not None,
            "--squared-change": squared_change is not None,
            "--ball": ball,
        },
    )
    if kernel is not None and dimension is not None:
        plan_kernel(
            kernel,
            dimension,
            Budget(epsilon, delta),
            users=users,
            bandwidth=1.0 if bandwidth is None else bandwidth,
            bitsums=("rr",) if bitsum == _ALL else (bitsum,),
            max_messages=max_messages,
            honest_fraction=honest_fraction,
            as_json=as_json,
        )
        return
    assert instances is not None
    from dpverify.cli.checks import account_command, folded
    from dpverify.planning.comparison import FailedPlan, compare
    from dpverify.report.tables import WIDTH, plan_table

    comparison = compare(
        Budget(epsilon, delta),
        users=users,
        instances=instances,
        bitsums=_chosen(bitsum, _bitsums()),
        methods=_chosen(method, _methods()),
        squared_change=squared_change,
        ball=ball,
        composition=composition,
        sparsity=sparsity,
        max_messages_per_user=max_messages,
        threat_model=adversary,
        honest_fraction=honest_fraction,
    )
    result, checks = comparison.to_dict(), []
    if not comparison.plans:
        if as_json:  # readers of JSON find the reasons where those of other rows are
            print_result(result, "", as_json)
        raise ValueError("\n".join(dict.fromkeys(failure.error for failure in comparison.failures)))
    for row, entry in zip(comparison.rows, result["rows"], strict=True):
        check = None if isinstance(row, FailedPlan) else account_command(row, comparison, sparsity)
        if check is not None:
            entry["check"] = check
            checks.append(folded(check, WIDTH))
    print_result(result, plan_table(comparison, checks=checks), as_json)
