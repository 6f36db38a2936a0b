"""`dpverify account days`, and `--and`: what different runs on the same users give together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.cli.accounts.meaning import Meant, TradeOffFile, check_meant, print_meant
from dpverify.cli.accounts.runs import TypedRun
from dpverify.cli.formats import wanted
from dpverify.cli.options import integer
from dpverify.cli.output import AtDelta, AtEpsilon, check_files, threat_model, write_files
from dpverify.guarantee import ThreatModel

__all__ = ["account_days", "account_together"]

AtMost = Annotated[
    int | None,
    integer(
        "--at-most", within="[1, inf)", help="In how many runs the same user takes part at most; by default in all."
    ),
]


def account_days(
    file: Annotated[
        Path,
        typer.Argument(
            help="A .json file, one list of objects, or a .csv file: protocol, its parameters by name, and if wanted "
            "instances (runs), honest (users) and day (a name)."
        ),
    ],
    delta: AtDelta = None,
    epsilon: AtEpsilon = None,
    at_most: AtMost = None,
    adversary: Annotated[
        ThreatModel | None, threat_model("Whose view; by default the first that all days are accounted for.")
    ] = None,
    curve: Annotated[bool, typer.Option("--curve", help="Print epsilon after the runs, one after the other.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw that curve to this .png, .svg or .pdf file.")] = None,
    meant: Meant = False,
    trade_off: TradeOffFile = None,
) -> None:
    """Account different days on the same users: a file of protocols."""
    from dpverify.planning.schedules.days import read_days

    check_files(plot)
    if (curve or plot is not None) and delta is None:
        raise ValueError("--curve and --plot need --delta.")
    check_meant(trade_off)
    _print(read_days(file), delta, epsilon, at_most, adversary, curve, plot, meant, trade_off)


def account_together(runs: Sequence[TypedRun]) -> None:
    """Account runs of different protocols, and print what they give together.

    - runs: Behind one of them stand --delta or --epsilon.
    """
    from dpverify.planning.schedules.schedule import Day

    given = {name: [getattr(run, name) for run in runs if getattr(run, name)] for name in ("delta", "epsilon")}
    if len(given["delta"]) + len(given["epsilon"]) != 1:
        raise ValueError("exactly one of --delta and --epsilon must be given, once for all protocols.")
    adversaries = {run.adversary for run in runs if run.adversary is not None}
    if len(adversaries) > 1:
        raise ValueError(f"--threat-model must be one for all protocols, not {' and '.join(sorted(adversaries))}.")
    days = [Day(*run.entry) for run in runs]
    at = {name: values[0] if values else None for name, values in given.items()}
    _print(days, at["delta"], at["epsilon"], None, next(iter(adversaries), None), False, None)


def _print(
    days: Sequence[Any],
    delta: str | None,
    epsilon: str | None,
    at_most: int | None,
    adversary: ThreatModel | None,
    curve: bool,
    plot: Path | None,
    meant: bool = False,
    trade_off: Path | None = None,
) -> None:
    from dpverify.planning.schedules.result import account_schedule
    from dpverify.planning.schedules.schedule import Schedule
    from dpverify.report.plans.schedules import schedule_table

    if (delta is None) == (epsilon is None):
        raise ValueError("exactly one of --delta and --epsilon must be given.")
    result = account_schedule(Schedule(days, at_most, adversary), delta=delta, epsilon=epsilon)
    shown = result.to_dict()
    if curve and wanted() is not None:
        shown["curve"] = [{"runs": runs, "epsilon": end.to_dict()} for runs, end in result.cumulative()]
    print_meant(result, meant, trade_off, shown, schedule_table(result, curve=curve))
    write_files(plot, None, result)
