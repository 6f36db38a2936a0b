"""Commands with the options of a protocol, and those of what is done with any."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

__all__ = ["made_by", "taking"]


def made_by(protocol: Callable[..., Any], run: Callable[..., None]) -> Callable[..., None]:
    """Return a command: its options are those of a protocol, which the function makes of them, and those of a run.

    - protocol: Its parameters are annotated as options, and its docstring is the help text.
    - run: `run(protocol, **options)`, whose further parameters are annotated likewise.
    """
    command = taking(protocol, last=True)(run)
    command.__name__, command.__doc__ = getattr(protocol, "__name__", ""), protocol.__doc__
    return command


def taking(*makers: Callable[..., Any], last: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what turns a function into a command, or what makes something, that has the options of others, too.

    - *makers: What each makes of its options is one of the function's first arguments.
    - last: Whether the function's own options stand behind those of the others.
    """

    def commanding(run: Callable[..., Any]) -> Callable[..., Any]:
        owns = [inspect.signature(maker).parameters for maker in makers]

        def command(**options: Any) -> Any:
            made = [maker(**{name: options.pop(name) for name in own}) for maker, own in zip(makers, owns, strict=True)]
            return run(*made, **options)

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        mine = list(inspect.signature(run).parameters.values())[len(makers) :]
        theirs = [parameter for own in owns for parameter in own.values()]
        ordered = theirs + mine if last else mine + theirs
        hints = {name: hint for one in (*makers, run) for name, hint in _hints(one).items()}
        command.__annotations__ = {parameter.name: hints[parameter.name] for parameter in ordered}
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
                for parameter in sorted(ordered, key=lambda each: each.default is not each.empty)
            ]
        )
        return command

    return commanding


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    # What options make is named for the type checker alone: importing it is slow.
    names = ("BucketSums", "KernelDensityProtocol", "Pair")
    return get_type_hints(function, localns=dict.fromkeys(names, object), include_extras=True)
