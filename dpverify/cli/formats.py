"""The formats in which a result is printed in place of its table: an option behind every command that shows one."""

# No `from __future__ import annotations` here: typer would evaluate the annotations of `chosen` anew.

import inspect
import json
from collections.abc import Callable, Container
from typing import Annotated, Any

import typer

from protocols.classes.frozen import dataclass

__all__ = ["FORMATS", "Format", "choose", "offer_formats", "wanted"]


@dataclass(frozen=True)
class Format:
    """One format.

    - help: What its option is for.
    - text: Returns the text that stands for a result's plain values.
    """

    help: str
    text: Callable[[Any], str]


def _json(plain: Any) -> str:
    return json.dumps(plain, indent=2, allow_nan=False)


FORMATS = {"json": Format("Print one JSON object instead of a table.", _json)}
"""By what is typed for each behind `--`; a format that is added here is known to every command."""
_wanted: str | None = None


def choose(name: str | None) -> None:
    """Print results in this format from now on, or by their own tables."""
    global _wanted
    _wanted = name


def wanted() -> Format | None:
    """Return the format that was asked for, None for a table."""
    return None if _wanted is None else FORMATS[_wanted]


def offer_formats(program: Any, without: Container[str]) -> None:
    """Add the options to all commands of a group.

    - program: The command line.
    - without: Commands that show no result, as typed.
    """
    options = _options()

    def offer(command: Any, path: tuple[str, ...]) -> None:
        commands = getattr(command, "commands", None)
        if commands is None and " ".join(path) not in without:
            (command.added if hasattr(command, "added") else command.params).extend(options)
        for name, each in (commands or {}).items():
            offer(each, (*path, name))

    offer(program, ())


def _options() -> list[Any]:
    """Return the options, as typer makes them of a function's parameters."""

    def option(name: str) -> inspect.Parameter:
        def chosen(typed: bool) -> None:
            if typed:
                choose(name)

        kind = typer.Option(f"--{name}", help=FORMATS[name].help, expose_value=False, callback=chosen)
        return inspect.Parameter(
            f"as_{name}", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, kind]
        )

    def shown() -> None:
        pass

    parameters = [option(name) for name in FORMATS]
    shown.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command()(shown)
    return list(typer.main.get_command(single).params)
