"""The commands `dpverify least` and `dpverify front`: plans backwards, and error against messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.groups import Listed
from dpverify.cli.names import BITSUMS
from dpverify.cli.options import choice, exact, integer, number
from dpverify.cli.output import (
    Ball,
    Honest,
    Instances,
    Plot,
    SquaredChange,
    Table,
    Users,
    check_files,
    console,
    print_result,
    threat_model,
    write_files,
)
from dpverify.cli.plans.density import Bandwidth, Dimension, KernelOrNone, check_kernel, least_kernel
from dpverify.cli.progress import told
from dpverify.guarantee import ThreatModel

if TYPE_CHECKING:
    from dpverify.planning.sweeps.least_plans import LeastPlans

__all__ = ["register"]

_ALL = "all"
_OF_DENSITIES = (
    "Of users and epsilon also for a density estimator, with --kernel: for an error of a density, or for a margin "
    "between the densities of two classes. plan --kernel has its error against messages."
)


def _bitsums() -> tuple[str, ...]:
    from dpverify.planning.sweeps.comparison import BITSUMS

    return (*BITSUMS, _ALL)


def _chosen(bitsum: Sequence[str] | None) -> Sequence[str]:
    from dpverify.planning.sweeps.fronts import SHUFFLED

    if bitsum is None:
        return SHUFFLED
    return _bitsums()[:-1] if _ALL in bitsum else bitsum


Epsilon = Annotated[
    str, exact("--epsilon", within="(0, inf)", help="Budget of the whole, in nats, in {}; a decimal is taken exactly.")
]
Delta = Annotated[
    str, exact("--delta", within="[0, 1)", help="Budget of the whole, in {}; a decimal is taken exactly.")
]
Rmse = Annotated[
    float, number("--rmse", within="(0, inf)", help="The root mean squared error of one bitsum in users, at most.")
]
RmseOrNone = Annotated[
    float | None,
    number(
        "--rmse",
        within="(0, inf)",
        help="The root mean squared error of one bitsum in users, at most; with --kernel, of a density, up to 1.",
    ),
]
InstancesOrNone = Annotated[
    int | None,
    integer(
        "--instances",
        within="[1, inf)",
        help="I, the bitsum instances that each user takes part in; --kernel chooses it.",
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
        known=_bitsums,
        several=True,
        help=f"{', '.join(BITSUMS)}, or all; by default those that need no trusted curator and gain from the shuffler, "
        "and with --kernel rr.",
    ),
]
Sparsity = Annotated[
    int, integer("--sparsity", within="[1, inf)", help="S, the bitsums per instance that replacing one user costs.")
]
Adversary = Annotated[
    ThreatModel | None,
    threat_model("By default communication (central and local for those baselines); model for pure's sum alone."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(cls=Listed, help=f"Find the least users, epsilon or messages for an error. {_OF_DENSITIES}")
    group.command(name="users")(_users)
    group.command(name="epsilon")(_epsilon)
    group.command(name="messages")(_messages)
    app.add_typer(group, name="least")
    app.command(name="front")(_front)


def _of_density(
    option: str,
    error: float | None,
    bitsum: Sequence[str] | None,
    *,
    kernel: str | None,
    dimension: int | None,
    bandwidth: float | None,
    margin: float | None,
    confidence: float | None,
    chosen: dict[str, bool],
) -> dict[str, Any] | None:
    """Return the options of a search for a density estimator, once all are found to fit; None without a kernel."""
    alone = {"--dimension": dimension, "--bandwidth": bandwidth, "--margin": margin, "--confidence": confidence}
    given = {name: value is not None for name, value in alone.items()}
    check_kernel(kernel, dimension, alone=given, chosen=chosen)
    if (error is not None) is (kernel is not None and margin is not None):
        raise ValueError(
            f"{option} must be given."
            if kernel is None
            else f"exactly one of the options '{option}' and '--margin' must be given with --kernel."
        )
    if confidence is not None and margin is None:
        raise ValueError("--confidence must be omitted without --margin, which it belongs to.")
    if kernel is None:
        return None
    return {
        "error": error,
        "margin": margin,
        "confidence": confidence,
        "bandwidth": 1.0 if bandwidth is None else bandwidth,
        "bitsums": _chosen(bitsum or ("rr",)),
        "every_rung": bitsum != (_ALL,),
    }


def _of_bitsums(
    instances: int | None, squared_change: Any, ball: bool, sparsity: int, adversary: ThreatModel | None
) -> dict[str, bool]:
    """Return which options are there that a kernel chooses."""
    return {
        "--instances": instances is not None,
        "--squared-change": squared_change is not None,
        "--ball": ball,
        "--sparsity": sparsity != 1,
        "--threat-model": adversary is not None,
    }


def _users(
    epsilon: Epsilon,
    delta: Delta,
    error: Annotated[
        float | None,
        number(
            within="(0, 1]",
            help="The root mean squared error of one bitsum divided by n, at most, in {}: an error in users hardly "
            "depends on how many there are. With --kernel, of a density.",
        ),
    ] = None,
    instances: InstancesOrNone = None,
    bitsum: Bitsum = None,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    sparsity: Sparsity = 1,
    adversary: Adversary = None,
    honest: Honest = None,
    kernel: KernelOrNone = None,
    dimension: Dimension = None,
    bandwidth: Bandwidth = None,
    margin: Margin = None,
    confidence: Confidence = None,
    plot: Plot = None,
    as_csv: Table = None,
) -> None:
    """Find the least number of users with whom a share of them is estimated this well.

    The plan for it is shown to reach the error, and the plan for one user fewer not to; with --kernel, for
    one less in the fourth digit.
    """
    check_files(plot, as_csv)
    density = _of_density(
        "--error",
        error,
        bitsum,
        kernel=kernel,
        dimension=dimension,
        bandwidth=bandwidth,
        margin=margin,
        confidence=confidence,
        chosen=_of_bitsums(instances, squared_change, ball, sparsity, adversary),
    )
    if density is not None:
        from dpverify.planning.kernels.least_density import least_density_users

        least_kernel(
            least_density_users,
            kernel,
            dimension,
            (epsilon, delta),
            honest=honest,
            plot=plot,
            as_csv=as_csv,
            **density,
        )
        return
    assert error is not None
    assert instances is not None
    from dpverify.planning.sweeps.least import least_users

    with told("protocols") as progress:
        found = least_users(
            (epsilon, delta),
            error=error,
            instances=instances,
            bitsums=_chosen(bitsum),
            squared_change=squared_change,
            ball=ball,
            sparsity=sparsity,
            threat_model=adversary,
            honest=honest,
            progress=progress,
        )
    _print(found, plot, as_csv)


def _epsilon(
    delta: Delta,
    users: Users,
    rmse: RmseOrNone = None,
    instances: InstancesOrNone = None,
    bitsum: Bitsum = None,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    sparsity: Sparsity = 1,
    adversary: Adversary = None,
    honest: Honest = None,
    kernel: KernelOrNone = None,
    dimension: Dimension = None,
    bandwidth: Bandwidth = None,
    margin: Margin = None,
    confidence: Confidence = None,
    plot: Plot = None,
    as_csv: Table = None,
) -> None:
    """Find the least epsilon, to four digits, at which a bitsum is estimated this well.

    The plan for it is shown to reach the error, and the plan for one less in the fourth digit not to.
    """
    check_files(plot, as_csv)
    density = _of_density(
        "--rmse",
        rmse,
        bitsum,
        kernel=kernel,
        dimension=dimension,
        bandwidth=bandwidth,
        margin=margin,
        confidence=confidence,
        chosen=_of_bitsums(instances, squared_change, ball, sparsity, adversary),
    )
    if density is not None:
        if rmse is not None and rmse > 1.0:
            raise ValueError(f"--rmse={rmse} must be in (0, 1] with --kernel: it is the error of a density.")
        from dpverify.planning.kernels.least_density import least_density_epsilon

        least_kernel(
            least_density_epsilon,
            kernel,
            dimension,
            delta,
            users=users,
            honest=honest,
            plot=plot,
            as_csv=as_csv,
            **density,
        )
        return
    assert rmse is not None
    assert instances is not None
    from dpverify.planning.sweeps.least import least_epsilon

    with told("protocols") as progress:
        found = least_epsilon(
            delta,
            rmse=rmse,
            users=users,
            instances=instances,
            bitsums=_chosen(bitsum),
            squared_change=squared_change,
            ball=ball,
            sparsity=sparsity,
            threat_model=adversary,
            honest=honest,
            progress=progress,
        )
    _print(found, plot, as_csv)


def _messages(
    epsilon: Epsilon,
    delta: Delta,
    rmse: Rmse,
    users: Users,
    instances: Instances,
    bitsum: Bitsum = None,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    sparsity: Sparsity = 1,
    adversary: Adversary = None,
    honest: Honest = None,
    plot: Plot = None,
    as_csv: Table = None,
) -> None:
    """Find the fewest messages per user and instance at which a bitsum is estimated this well; see front."""
    check_files(plot, as_csv)
    from dpverify.planning.sweeps.least import least_messages

    with told("protocols") as progress:
        found = least_messages(
            (epsilon, delta),
            rmse=rmse,
            users=users,
            instances=instances,
            bitsums=_chosen(bitsum),
            squared_change=squared_change,
            ball=ball,
            sparsity=sparsity,
            threat_model=adversary,
            honest=honest,
            progress=progress,
        )
    _print(found, plot, as_csv)


def _print(found: LeastPlans, plot: Any, as_csv: Any) -> None:
    from dpverify.cli.audits.checks import account_command
    from dpverify.cli.examples import folded
    from dpverify.planning.sweeps.least_plans import Least
    from dpverify.report.plans.least import least_table
    from dpverify.report.tables import WIDTH

    result, checks = found.to_dict(), []
    for row, entry in zip(found.rows, result["rows"], strict=True):
        check = account_command(row.row, row.row.guarantee.delta) if isinstance(row, Least) else None
        if check is not None:
            entry["check"] = check
            checks.append(folded(check, min(WIDTH, console().width)))
    if not found.found:
        print_result(result)
        raise ValueError("\n".join(dict.fromkeys(row.error for row in found.failures)))
    print_result(result, least_table(found, checks=checks))
    write_files(plot, as_csv, found)


def _front(
    epsilon: Epsilon,
    delta: Delta,
    users: Users,
    instances: Instances,
    bitsum: Bitsum = None,
    within: Annotated[
        float,
        number(
            within="[0, inf)",
            help="Recommended is the row of fewest messages whose error is at most this share above the least, in {}.",
        ),
    ] = 0.05,
    squared_change: SquaredChange = None,
    ball: Ball = False,
    sparsity: Sparsity = 1,
    adversary: Adversary = None,
    honest: Honest = None,
    plot: Plot = None,
    as_csv: Table = None,
) -> None:
    """Show error against messages, and recommend a plan. Marked are those that no other beats in both.

    Plans of a density estimator are shown so by plan --kernel.
    """
    check_files(plot, as_csv)
    from dpverify.cli.audits.checks import account_command
    from dpverify.cli.examples import folded
    from dpverify.planning.sweeps.fronts import front
    from dpverify.report.plans.fronts import front_table
    from dpverify.report.tables import WIDTH

    with told("plans") as progress:
        found = front(
            (epsilon, delta),
            users=users,
            instances=instances,
            bitsums=_chosen(bitsum),
            within=within,
            squared_change=squared_change,
            ball=ball,
            sparsity=sparsity,
            threat_model=adversary,
            honest=honest,
            progress=progress,
        )
    result, check = found.to_dict(), account_command(found.recommended.row, found.budget.exact_delta)
    if check is not None:
        result["check"] = check
    print_result(result, front_table(found, check=folded(check or "", min(WIDTH, console().width))))
    write_files(plot, as_csv, found)
