"""The command that checks a plan, as a line for the shell."""

from __future__ import annotations

import functools
import shlex
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import typer

from dpverify.changes import Full, L2Ball
from dpverify.cli.accounts.account import account
from dpverify.digits import shortest, unrounded

if TYPE_CHECKING:
    from dpverify.planning.plan import PlanRow

__all__ = ["account_command"]


@functools.cache
def _options(bitsum: str) -> tuple[Any, ...]:
    return tuple(typer.main.get_command(account).commands[bitsum].params)  # type: ignore[attr-defined]


def account_command(row: PlanRow, delta: float | Fraction) -> str | None:
    """Return the `dpverify account` that encloses what a plan's parameters really give, or None where there is none.

    The parameters are written in full: what is read back are the floats of the plan. Delta and squared change are what
    was typed, or the shortest decimals that are rounded to the same floats. The plan's change counts the S bitsums of
    every instance that replacing a user costs as so many more instances.
    """
    values = {
        "users": row.protocol.users,
        "instances": row.change.instances,
        "squared_change": None
        if isinstance(row.change, Full)
        else shortest(row.change.squared_change, downwards=False),
        "ball": isinstance(row.change, L2Ball),
        **row.parameters,
        "adversary": row.guarantee.threat_model.value,
        "delta": unrounded(delta) if isinstance(delta, Fraction) else shortest(delta, downwards=True),
        **({} if row.honest is None else {"honest": row.honest}),
    }
    words = ["dpverify", "account", row.bitsum]
    for option in _options(row.bitsum):
        value = values.get(option.name or "")
        if value is None and option.required:  # a field that is called otherwise, as the command has one of its name
            return None
        if value is not None and value is not False:
            words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return shlex.join(words)
