"""The commands `dpverify least` and `dpverify front`: plans backwards, and error against messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from dpverify.cli.accounts.steps import least_noise
from dpverify.cli.commands import taking
from dpverify.cli.groups import Listed
from dpverify.cli.options import choice, integer, number
from dpverify.cli.output import Instances, Users, print_result
from dpverify.cli.plans.shared import (
    ALL,
    LISTED,
    Bandwidth,
    Delta,
    Dimension,
    Epsilon,
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
from dpverify.cli.plans.sums import WITHIN, held
from dpverify.cli.plans.sums import Front as SumsFront
from dpverify.cli.progress import told

__all__ = ["register"]

_OF_DENSITIES = (
    "Of users and epsilon also for a density estimator, with --kernel: for an error of a density, or for a margin "
    "between the densities of two classes. plan --kernel has its error against messages."
)


_ERROR = "The root mean squared error of one bitsum divided by n, at most, in {}"
_SHARE = ", a share: 10 of 1,000 users are 0.01"
Error = Annotated[float, number("--error", within="(0, 1]", help=f"{_ERROR}.", what=_SHARE)]
ErrorOrNone = Annotated[
    float | None, number("--error", within="(0, 1]", help=f"{_ERROR}; with --kernel, of a density.", what=_SHARE)
]
InstancesOrNone = Annotated[
    int | None,
    integer(
        "--instances",
        within="[1, inf)",
        help="I, the bitsum instances that each user takes part in, by default 1; --kernel chooses it.",
    ),
]
Margin = Annotated[
    float | None,
    number(
        "--margin",
        within="(0, 2]",
        help="With --kernel, in place of the error: two classes of so many users whose densities at a point differ by "
        "this are told apart there.",
    ),
]
Confidence = Annotated[
    float | None,
    number(
        "--confidence", within="(0, 1)", help="With --margin: the least probability of that, in {}; by default 0.9."
    ),
]
Bitsum = Annotated[
    Any,
    choice(
        "--bitsum",
        known=bitsums,
        several=True,
        help=f"{LISTED}; by default those that need no trusted curator and gain from the shuffler, "
        "and with --kernel rr.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(cls=Listed, help=f"Find the least users, epsilon or messages for an error. {_OF_DENSITIES}")
    group.command(name="users")(_users)
    group.command(name="epsilon")(_epsilon)
    group.command(name="messages")(_messages)
    group.command(name="noise")(least_noise)
    app.add_typer(group, name="least")
    app.command(name="front")(_front)


def _featured(
    kernel: Kernel = None,
    dimension: Dimension = None,
    bandwidth: Bandwidth = None,
    margin: Margin = None,
    confidence: Confidence = None,
) -> dict[str, Any]:
    return {
        "kernel": kernel, "dimension": dimension, "bandwidth": bandwidth, "margin": margin, "confidence": confidence,
    }  # fmt: skip


def _is_density(error: float | None, instances: int | None, changes: dict[str, Any], features: dict[str, Any]) -> bool:
    """Return whether a density estimator is asked for, once all options are found to fit."""
    kernel = features["kernel"]
    alone, asked = given(**features), given(instances=instances, **changes)
    del alone["--kernel"], asked["--honest"]
    check_kernel(kernel, alone=alone, chosen=asked)
    if (error is not None) is (kernel is not None and alone["--margin"]):
        raise ValueError(
            "--error must be given."
            if kernel is None
            else "exactly one of the options '--error' and '--margin' must be given with --kernel."
        )
    if alone["--confidence"] and not alone["--margin"]:
        raise ValueError("--confidence must be omitted without --margin, which it belongs to.")
    return kernel is not None


@taking(changed, _featured, written)
def _users(
    changes: dict[str, Any],
    features: dict[str, Any],
    write: Written,
    epsilon: Epsilon,
    delta: Delta,
    error: ErrorOrNone = None,
    instances: InstancesOrNone = None,
    bitsum: Bitsum = None,
) -> None:
    """Find the least number of users with whom a share of them is estimated this well.

    The plan for it is shown to reach the error, and the plan for one user fewer not to; with --kernel, for
    one less in the fourth digit.
    """
    budget = (epsilon, delta)
    if _is_density(error, instances, changes, features):
        from dpverify.planning.kernels.least_density import least_density_users

        _print_densities(least_density_users, budget, features, bitsum, write, error=error, honest=changes["honest"])
    else:
        from dpverify.planning.sweeps.least import least_users

        _print(least_users, budget, bitsum, write, error=error, instances=instances or 1, **changes)


@taking(changed, _featured, written)
def _epsilon(
    changes: dict[str, Any],
    features: dict[str, Any],
    write: Written,
    delta: Delta,
    users: Users,
    error: ErrorOrNone = None,
    instances: InstancesOrNone = None,
    bitsum: Bitsum = None,
) -> None:
    """Find the least epsilon, to four digits, at which a bitsum is estimated this well.

    The plan for it is shown to reach the error, and the plan for one less in the fourth digit not to.
    """
    if _is_density(error, instances, changes, features):
        from dpverify.planning.kernels.least_density import least_density_epsilon

        own = {"users": users, "error": error, "honest": changes["honest"]}
        _print_densities(least_density_epsilon, delta, features, bitsum, write, **own)
    else:
        from dpverify.planning.sweeps.least import least_epsilon

        _print(least_epsilon, delta, bitsum, write, error=error, users=users, instances=instances or 1, **changes)


@taking(changed, written)
def _messages(
    changes: dict[str, Any],
    write: Written,
    epsilon: Epsilon,
    delta: Delta,
    error: Error,
    users: Users,
    instances: Instances = 1,
    bitsum: Bitsum = None,
) -> None:
    """Find the fewest messages per user and instance at which a bitsum is estimated this well; see front."""
    from dpverify.planning.sweeps.least import least_messages

    _print(least_messages, (epsilon, delta), bitsum, write, error=error, users=users, instances=instances, **changes)


def _of_sums(bitsum: tuple[str, ...] | None) -> Any:
    from dpverify.planning.sweeps.fronts import SHUFFLED

    return SHUFFLED if bitsum is None else chosen(bitsum)


def _print(find: Callable[..., Any], spent: Any, bitsum: Any, write: Written, **options: Any) -> None:
    """Print the least of something for an error of a bitsum."""
    from dpverify.planning.sweeps.least_plans import Least
    from dpverify.report.plans.least import least_table

    with told("protocols") as progress:
        found = find(spent, bitsums=_of_sums(bitsum), progress=progress, **options)
    if not found.found:
        raise none_found(found, [row.error for row in found.failures])
    plain = found.to_dict()
    rows = zip(found.rows, plain["rows"], strict=True)
    checks = [check(row.row, row.row.guarantee.delta, entry) for row, entry in rows if isinstance(row, Least)]
    print_result(plain, least_table(found, checks=list(filter(None, checks))))
    write(found)


def _print_densities(
    find: Callable[..., Any], spent: Any, features: dict[str, Any], bitsum: Any, write: Written, **options: Any
) -> None:
    """Print the least of something for an error of a density."""
    kernel, dimension = features.pop("kernel"), features.pop("dimension")
    features["bandwidth"] = features["bandwidth"] or 1.0
    rungs, options = bitsum != (ALL,), options | features
    with told("answers") as progress:
        found = find(
            kernel, dimension, spent, bitsums=chosen(bitsum or ("rr",)), every_rung=rungs, progress=progress, **options
        )
    if not found.rows:
        raise none_found(found, found.failures)
    print_result(found)
    write(found)


@taking(changed, held, written)
def _front(
    changes: dict[str, Any],
    fronts: list[SumsFront],
    write: Written,
    epsilon: Epsilon,
    delta: Delta,
    users: Users,
    instances: Instances = 1,
    bitsum: Bitsum = None,
    within: Annotated[
        float,
        number(
            within="[0, inf)",
            help="Recommended is the row of fewest messages whose error is at most this share above the least, in {}.",
        ),
    ] = WITHIN,
) -> None:
    """Show error against messages, and recommend a plan. Marked are those that no other beats in both.

    Of sums of bits, of numbers (--largest) or of vectors (--dimension); plan --kernel shows those of a density so.
    """
    from dpverify.guarantee import Budget
    from dpverify.planning.sweeps.fronts import front
    from dpverify.report.plans.fronts import front_table

    if fronts:
        alone = given(bitsum=bitsum, **changes) | {"--dimension": len(fronts) > 1}
        for name in (name for name, typed in alone.items() if typed):
            raise ValueError(f"{name} must be omitted for sums of numbers or vectors.")
        beside = fronts[0](Budget(epsilon, delta), users, instances, within=within)
        print_result(beside)
        write(beside)
        return
    own = {"users": users, "instances": instances, "within": within}
    with told("plans") as progress:
        found = front((epsilon, delta), bitsums=_of_sums(bitsum), progress=progress, **own, **changes)  # type: ignore[arg-type]
    plain = found.to_dict()
    command = check(found.recommended.row, found.budget.exact_delta, plain)
    print_result(plain, front_table(found, check=command))
    write(found)
