"""How help is laid out: what every command of a group is for, under headings, and options on narrow screens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Listed", "of_each", "on_few_columns", "under_headings"]


class Listed(TyperGroup):
    """A group whose help lists every command with its whole first sentence, which typer would cut to one line."""

    headings: Mapping[str, Collection[str]] = {}
    """Headings, and the commands under each; all under one where it is empty."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        indent = max(map(len, commands), default=0)
        for heading, names in (self.headings or {"Commands": tuple(commands)}).items():
            rows = [
                (name.ljust(indent), command.get_short_help_str(10_000))
                for name in names
                if (command := commands.get(name)) is not None
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def under_headings(headings: Mapping[str, Collection[str]]) -> type[Listed]:
    """Return the class of a group with these headings, and the commands under each."""
    return type("Listed", (Listed,), {"headings": headings})


def of_each(command: Any) -> None:
    """Have the help of a command say of what a list is: `<path>` for `<list[Path]>`, as its metavar has the dots.

    - command: The one whose help is asked for.
    """
    for parameter in command.params:
        if shown := getattr(parameter, "display_type", None):  # of some versions of typer
            parameter.display_type = lambda ctx, shown=shown: re.sub(
                r"list\[(\w+)\]", lambda found: found[1].lower(), shown(ctx) or ""
            )


def on_few_columns(command: Any) -> None:
    """Have the help of a command say what an option is for below the option, if it would be a narrow column beside it.

    - command: The one whose help is asked for.
    """
    context = command.context_class
    base: Any = context.formatter_class

    class Formatter(base):  # type: ignore[misc]
        def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
            rows = list(rows)
            if max(len(name) for name, _ in rows) > self.width // 3:
                rows, col_max = [(name.rstrip(), text) for name, text in rows], 2
            super().write_dl(rows, col_max, col_spacing)

    command.context_class = type("Narrow", (context,), {"formatter_class": Formatter})
