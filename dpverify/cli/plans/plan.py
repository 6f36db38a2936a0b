"""The command `dpverify plan`: parameters that meet a budget."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpverify.cli.commands import taking
from dpverify.cli.options import choice, exact, integer, number
from dpverify.cli.output import Certificate, check_certified, print_result, write_certified
from dpverify.cli.plans.shared import (
    ALL,
    LISTED,
    Bandwidth,
    Dimension,
    Kernel,
    Written,
    bitsums,
    changed,
    check,
    check_kernel,
    chosen,
    given,
    none_found,
    written,
)
from dpverify.cli.progress import told
from dpverify.guarantee import Budget

__all__ = ["register"]

_EXACT = "exact"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(plan)


def _methods() -> tuple[str, ...]:
    from dpverify.planning.plan import METHODS

    return METHODS


def _compositions() -> tuple[str, ...]:
    from dpverify.composition.theorems import CompositionTheorem
    from dpverify.planning.plan import EXACT

    return (*CompositionTheorem, EXACT)


def _featured(kernel: Kernel = None, dimension: Dimension = None, bandwidth: Bandwidth = None) -> dict[str, Any]:
    return {"kernel": kernel, "dimension": dimension, "bandwidth": bandwidth}


@taking(changed, _featured, written)
def plan(
    changes: dict[str, Any],
    features: dict[str, Any],
    write: Written,
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
            help="I, the bitsum instances that each user takes part in, by default 1; --kernel chooses it.",
            several=True,
        ),
    ] = None,
    bitsum: Annotated[
        Any,
        choice(
            known=bitsums,
            several=True,
            help=f"{LISTED}, the default; with --kernel the default is rr, which sends the fewest "
            "messages, and all is a row for each.",
        ),
    ] = None,
    method: Annotated[str, choice(known=lambda: (*_methods(), ALL), help="published, exact or all.")] = ALL,
    composition: Annotated[
        str | None,
        choice(
            known=_compositions,
            help="basic, advanced, optimal or exact; by default advanced if published, exact if exact.",
        ),
    ] = None,
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
    certificate: Certificate = None,
) -> None:
    """Find protocol parameters that meet a privacy budget. Adjacency is replace-one.

    Several values of --epsilon, --delta, --users, --instances and --bitsum, with commas between them, make one table,
    as they do with --kernel.
    """
    check_certified(certificate)
    asked = given(instances=instances, error_margin=error_margin, certificate=certificate, **changes)
    asked |= {"--method": method not in {ALL, _EXACT}, "--composition": composition not in {None, _EXACT}}
    del asked["--honest"]
    kernel = features.pop("kernel")
    budgets, told_by = [Budget(e, d) for e in epsilon for d in delta], told("plans")
    if check_kernel(kernel, alone=given(**features), chosen=asked):
        from dpverify.planning.kernels.densities import plan_densities

        with told_by as progress:
            densities = plan_densities(
                kernel,
                features["dimension"],
                budgets,
                users=users,
                bandwidth=features["bandwidth"] or 1.0,
                bitsums=chosen(bitsum or ("rr",)),
                max_messages_per_user=max_messages,
                honest=changes["honest"],
                every_rung=bitsum != (ALL,),
                progress=progress,
            )
        if not densities.plans:
            raise none_found(densities, [one.error for one in densities.failures])
        result = densities.plans[0] if len(densities.entries) == 1 else densities
        print_result(result)
        write(result)
        return
    from dpverify.planning.sweeps.comparison import plan_grid
    from dpverify.planning.sweeps.setting import FailedPlan
    from dpverify.report.plans.comparisons import plan_table

    counts = instances or (1,)
    names, methods = chosen(bitsum or (ALL,)), chosen((method,), _methods())
    if certificate is not None and max(map(len, (names, methods, budgets, users, counts))) > 1:
        raise ValueError(f"--certificate={str(certificate)!r} must be of one row: one --bitsum and one --method.")
    with told_by as progress:
        grid = plan_grid(
            budgets,
            users=users,
            instances=counts,
            bitsums=names,
            methods=methods,
            composition=composition,
            max_messages_per_user=max_messages,
            error_margin=error_margin,
            progress=progress,
            **changes,
        )
    alone = max(map(len, (epsilon, delta, users, counts))) == 1
    found = grid.comparisons[0] if alone else grid
    if not found.plans:
        raise none_found(found, [failure.error for failure in found.failures])
    plain, checks = found.to_dict(), []
    for (one, row), entry in zip(grid.rows, plain["rows"], strict=True):
        if not isinstance(row, FailedPlan) and (command := check(row, one.budget.exact_delta, entry)):
            checks.append((row, command))
    print_result(plain, plan_table(found, checks=checks if alone else ()))
    write(found)
    if certificate is not None:
        row = found.plans[0]
        write_certified(certificate, row.certificate, row.guarantee.epsilon, budgets[0].exact_epsilon)
