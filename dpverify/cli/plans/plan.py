"""The command `dpverify plan`: parameters that meet a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.names import BITSUMS
from dpverify.cli.options import choice, exact, integer, number
from dpverify.cli.output import (
    Ball,
    Honest,
    Plot,
    SquaredChange,
    Table,
    check_files,
    console,
    print_result,
    threat_model,
    write_files,
)
from dpverify.cli.plans.density import Bandwidth, Dimension, KernelOrNone, check_kernel, plan_kernel
from dpverify.cli.progress import told
from dpverify.guarantee import Budget, ThreatModel

if TYPE_CHECKING:
    from dpverify.planning.sweeps.comparison import Comparison, PlanGrid

__all__ = ["register"]

_ALL = "all"
_EXACT = "exact"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(plan)


def _bitsums() -> tuple[str, ...]:
    from dpverify.planning.sweeps.comparison import BITSUMS

    return BITSUMS


def _methods() -> tuple[str, ...]:
    from dpverify.planning.plan import METHODS

    return METHODS


def _compositions() -> tuple[str, ...]:
    from dpverify.composition.theorems import CompositionTheorem
    from dpverify.planning.plan import EXACT

    return (*CompositionTheorem, EXACT)


def _chosen(names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    return known if _ALL in names else names


def plan(
    epsilon: Annotated[
        Any,
        exact(within="(0, inf)", help="Budget of the whole, in nats, in {}; a decimal is taken exactly.", several=True),
    ],
    delta: Annotated[
        Any, exact(within="[0, 1)", help="Budget of the whole, in {}; a decimal is taken exactly.", several=True)
    ],
    users: Annotated[Any, integer(within="[1, inf)", help="n, the number of users; public.", several=True)],
    instances: Annotated[
        Any,
        integer(
            within="[1, inf)",
            help="I, the bitsum instances that each user takes part in; --kernel chooses it.",
            several=True,
        ),
    ] = None,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    bitsum: Annotated[
        Any,
        choice(
            known=lambda: (*_bitsums(), _ALL),
            several=True,
            help=f"{', '.join(BITSUMS)}, or all, the default; with --kernel the default is rr, which sends the fewest "
            "messages, and all is a row for each.",
        ),
    ] = None,
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
    error_margin: Annotated[
        float | None,
        number(
            within="(0, 1]",
            help="The fewest messages at an error this share above its infimum over all communication, in {}; by "
            "default 0.01. For --method exact, without --max-messages; see front.",
        ),
    ] = None,
    adversary: Annotated[
        ThreatModel | None,
        threat_model("By default communication (central and local for those baselines); model for pure's sum alone."),
    ] = None,
    honest: Honest = None,
    kernel: KernelOrNone = None,
    dimension: Dimension = None,
    bandwidth: Bandwidth = None,
    plot: Plot = None,
    as_csv: Table = None,
) -> None:
    """Find protocol parameters that meet a privacy budget. Adjacency is replace-one.

    Several values of --epsilon, --delta, --users, --instances and --bitsum, with commas between them, make one table,
    as they do with --kernel.
    """
    check_files(plot, as_csv)
    check_kernel(
        kernel,
        dimension,
        alone={"--dimension": dimension is not None, "--bandwidth": bandwidth is not None},
        chosen={
            "--instances": instances is not None,
            "--squared-change": squared_change is not None,
            "--ball": ball,
            "--error-margin": error_margin is not None,
            "--method": method not in {_ALL, _EXACT},
            "--composition": composition not in {None, _EXACT},
            "--sparsity": sparsity != 1,
            "--threat-model": adversary is not None,
        },
    )
    if kernel is not None and dimension is not None:
        plan_kernel(
            kernel,
            dimension,
            [Budget(e, d) for e in epsilon for d in delta],
            users=users,
            bandwidth=1.0 if bandwidth is None else bandwidth,
            bitsums=_chosen(bitsum or ("rr",), _bitsums()),
            max_messages=max_messages,
            honest=honest,
            every_rung=bitsum != (_ALL,),
            plot=plot,
            as_csv=as_csv,
        )
        return
    from dpverify.cli.audits.checks import account_command
    from dpverify.cli.examples import folded
    from dpverify.planning.sweeps.comparison import plan_grid
    from dpverify.planning.sweeps.setting import FailedPlan
    from dpverify.report.plans.comparisons import plan_table
    from dpverify.report.tables import WIDTH

    with told("plans") as progress:
        grid = plan_grid(
            [(e, d) for e in epsilon for d in delta],
            users=users,
            instances=instances,
            bitsums=_chosen(bitsum or (_ALL,), _bitsums()),
            methods=_chosen((method,), _methods()),
            squared_change=squared_change,
            ball=ball,
            composition=composition,
            sparsity=sparsity,
            max_messages_per_user=max_messages,
            error_margin=error_margin,
            threat_model=adversary,
            honest=honest,
            progress=progress,
        )
    alone = max(map(len, (epsilon, delta, users, instances))) == 1
    found: Comparison | PlanGrid = grid.comparisons[0] if alone else grid
    result, checks = found.to_dict(), []
    if not found.plans:
        print_result(result)  # readers of JSON find the reasons where those of other rows are
        raise ValueError("\n".join(dict.fromkeys(failure.error for failure in found.failures)))
    for (one, row), entry in zip(grid.rows, result["rows"], strict=True):
        if isinstance(row, FailedPlan):
            continue
        check = account_command(row, one.budget.exact_delta)
        if check is not None:
            entry["check"] = check
            checks.append((row, folded(check, min(WIDTH, console().width))))
    print_result(result, plan_table(found, checks=checks if alone else ()))
    write_files(plot, as_csv, found)
