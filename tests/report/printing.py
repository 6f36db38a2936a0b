"""What a table prints."""

import io

from rich.console import Console, RenderableType


def printed(table: RenderableType, width: int = 4000) -> str:
    """Return a table as text, in lines of at most `width` columns and without colour."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(table)
    return out.getvalue()
