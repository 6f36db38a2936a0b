"""What commands that choose share: options, whether they fit to a kernel, and how plans are printed with checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from dpverify.cli import protocol_names as known_names
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
from dpverify.guarantee import Number, ThreatModel

if TYPE_CHECKING:
    from dpverify.planning.plan import PlanRow
    from dpverify.shown import Drawn

__all__ = [
    "ALL",
    "LISTED",
    "Bandwidth",
    "Delta",
    "Dimension",
    "Epsilon",
    "Kernel",
    "Sparsity",
    "Written",
    "bitsums",
    "changed",
    "check",
    "check_kernel",
    "chosen",
    "given",
    "kernels",
    "none_found",
    "written",
]

ALL = "all"
LISTED = f"{', '.join(known_names.bitsums())}, or all"
"""What may be typed for a bitsum, as help says it."""
Written = Callable[[Any], None]
Epsilon = Annotated[
    str, exact("--epsilon", within="(0, inf)", help="Budget of the whole, in nats, in {}; a decimal is taken exactly.")
]
Delta = Annotated[
    str, exact("--delta", within="[0, 1)", help="Budget of the whole, in {}; a decimal is taken exactly.")
]
Sparsity = Annotated[
    int, integer("--sparsity", within="[1, inf)", help="S, the bitsums per instance that replacing one user costs.")
]


def kernels() -> tuple[str, ...]:
    """Return the kernels that density estimators are planned for."""
    from dpverify.planning.kernels import rungs

    return tuple(rungs.kernels())


Kernel = Annotated[
    str | None,
    choice("--kernel", known=kernels, help="Plan a density estimator for this kernel: features, range and bitsum."),
]
Dimension = Annotated[int | None, integer("--dimension", within="[1, inf)", help="d, of a kernel's points.")]
Bandwidth = Annotated[
    float | None, number("--bandwidth", within="[1e-100, 1e100]", help="Of a kernel, in the units of its points.")
]


def bitsums() -> tuple[str, ...]:
    """Return the names of all bitsums, and the word for all of them."""
    return (*known_names.bitsums(), ALL)


def chosen(names: Sequence[str], known: Sequence[str] | None = None) -> Sequence[str]:
    """Return the names that were typed, or all that are known: of bitsums unless others are given."""
    if ALL not in names:
        return names
    return bitsums()[:-1] if known is None else known


def changed(
    squared_change: SquaredChange = None,
    ball: Ball = False,
    sparsity: Sparsity = 1,
    adversary: Annotated[
        ThreatModel | None,
        threat_model("By default communication (central and local for those baselines); model for pure's sum alone."),
    ] = None,
    honest: Honest = None,
) -> dict[str, Any]:
    """Return what a user can change and who looks on, by the names that a plan takes."""
    return {
        "squared_change": squared_change,
        "ball": ball,
        "sparsity": sparsity,
        "threat_model": adversary,
        "honest": honest,
    }


def written(plot: Plot = None, as_csv: Table = None) -> Written:
    """Return what writes a result to the files that were asked for, once they are found to be writable."""
    check_files(plot, as_csv)
    return partial(write_files, plot, as_csv)


def given(**options: Any) -> dict[str, bool]:
    """Return which options were typed, by their names there."""
    usual = {"sparsity": 1, "ball": False}
    return {f"--{name.replace('_', '-')}": value != usual.get(name) for name, value in options.items()}


def check_kernel(kernel: str | None, *, alone: dict[str, bool], chosen: dict[str, bool]) -> bool:
    """Return whether there is a kernel, once the options are found to fit to that.

    - kernel: As given.
    - alone, chosen: Which options are there, of those that only a kernel has, and of those that it chooses.
    """
    for name in (name for name in (alone if kernel is None else chosen) if (chosen | alone)[name]):
        raise ValueError(
            f"{name} must be omitted " + ("without --kernel." if kernel is None else "with --kernel, which chooses it.")
        )
    if kernel is not None and not alone["--dimension"]:
        raise ValueError("--dimension must be given with --kernel.")
    return kernel is not None


def none_found(result: Drawn, failures: Sequence[str]) -> ValueError:
    """Print what was found where a format was asked for, and return the error that has all reasons.

    Readers of a format find the reasons where those of other rows are.
    """
    print_result(result.to_dict())
    return ValueError("\n".join(dict.fromkeys(failures)))


def check(row: PlanRow, delta: Number, entry: dict[str, Any]) -> str:
    """Put the command that checks a plan into its plain values, and return it folded for the screen, or nothing."""
    from dpverify.cli.audits.checks import account_command
    from dpverify.cli.examples import folded
    from dpverify.report.tables import WIDTH

    command = account_command(row, delta)  # type: ignore[arg-type]
    if command is None:
        return ""
    entry["check"] = command
    return folded(command, min(WIDTH, console().width))
