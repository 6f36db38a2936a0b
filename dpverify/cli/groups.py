"""Groups of commands whose help says of each what it is for: in a whole sentence, and under headings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Listed", "under_headings"]


class Listed(TyperGroup):
    """A group whose help lists every command with its whole first sentence, which typer would cut to one line."""

    headings: Mapping[str, tuple[str, ...]] = {}
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


def under_headings(headings: Mapping[str, tuple[str, ...]]) -> type[Listed]:
    """Return the class of a group with these headings, and the commands under each."""
    return type("Listed", (Listed,), {"headings": headings})
