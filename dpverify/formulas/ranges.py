"""The range of each argument of a formula: written once, checked in every number system, and shown with the formula."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from dpverify.formulas.contexts import Context, check_range, whole
from protocols.validation import read_range

__all__ = ["ranges"]

_Formula = TypeVar("_Formula", bound=Callable[..., Any])


def ranges(**within: str) -> Callable[[_Formula], _Formula]:
    """Have a formula take these arguments as numbers of its context that lie in a range, `"(0, 1/2]"` or so.

    What is annotated `int` stays one. The ranges end the formula's documentation; outside them it raises
    FormulaRangeError, or ValueError for an integer.
    """

    def declared(function: _Formula) -> _Formula:
        parameters = inspect.signature(function).parameters
        names = list(parameters)[1:]
        counted = {name for name in names if parameters[name].annotation == "int"}

        def taken(ctx: Context, name: str, value: Any) -> Any:
            low, high, low_open, high_open = read_range(within[name])
            if name in counted:
                return whole(name, value, low=low, high=high)
            return check_range(name, ctx.convert(value), low=low, high=high, low_open=low_open, high_open=high_open)

        @functools.wraps(function)
        def formula(ctx: Context, *arguments: Any, **named: Any) -> Any:
            given = {**dict(zip(names, arguments, strict=False)), **named}
            checked = {name: taken(ctx, name, given[name]) for name in within if name in given}
            return function(ctx, *arguments[len(names) :], **{**given, **checked})

        said = (f"{name} {'an integer ' if name in counted else ''}in {interval}" for name, interval in within.items())
        formula.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n    Range: {', '.join(said)}."
        return formula  # type: ignore[return-value]

    return declared
