"""Commands with the options of a protocol, and those of what is done with any."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

__all__ = ["made_by"]


def made_by(protocol: Callable[..., Any], run: Callable[..., None]) -> Callable[..., None]:
    """Return a command: its options are those of a protocol, which the function makes of them, and those of a run.

    Parameters
    ----------
    protocol : callable
        Its parameters are annotated as options, and its docstring is the help text.
    run : callable
        `run(protocol, **options)`, whose further parameters are annotated likewise.
    """
    own = inspect.signature(protocol).parameters

    @functools.wraps(protocol)
    def command(**options: Any) -> None:
        parameters = {name: options.pop(name) for name in own}
        run(protocol(**parameters), **options)

    every = [*own.values(), *list(inspect.signature(run).parameters.values())[1:]]
    required = [parameter for parameter in every if parameter.default is parameter.empty]
    optional = [parameter for parameter in every if parameter.default is not parameter.empty]
    hints = {**_hints(protocol), **_hints(run)}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
            for parameter in required + optional
        ]
    )
    command.__annotations__ = {parameter.name: hints[parameter.name] for parameter in every}
    return command


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    # The protocols' names are for the type checker alone: importing them is slow.
    names = ("BitsumProtocol", "BucketSums", "KernelDensityProtocol", "VectorSum")
    return get_type_hints(function, localns=dict.fromkeys(names, object), include_extras=True)
