"""Rows that stay readable at any width: as a table where its words fit, and below each other where they do not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["Rows", "parts_of"]

_GAP = 2
"""Columns between two columns."""


class Rows:
    """Rows under headers, of which no word is ever split to make a table fit, and nothing is cut off.

    - headers: One per column.
    - numbers: The headers whose columns are aligned to the right.
    """

    def __init__(self, headers: Sequence[str], numbers: Collection[str] = ()) -> None:
        self._headers = tuple(headers)
        self._numbers = frozenset(numbers)
        self._rows: list[tuple[Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Append a row; a string is taken as it is, without markup.

        Raises ValueError if there are not as many cells as headers.
        """
        if len(cells) != len(self._headers):
            raise ValueError(f"cells={cells!r} must have one entry for each of {len(self._headers)} headers.")
        self._rows.append(tuple(cell if isinstance(cell, Text) else Text(cell) for cell in cells))

    def to_dict(self) -> dict[str, Any]:
        """Return the headers, which of them are of numbers, and the rows, as plain texts."""
        rows = [[cell.plain for cell in row] for row in self._rows]
        return {
            "headers": list(self._headers),
            "numbers": [each in self._numbers for each in self._headers],
            "rows": rows,
        }

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text()
        widths = self._widths(options.max_width)
        yield from self._records() if widths is None else [self._table(widths)]
        yield Text()

    def _widths(self, available: int) -> list[int] | None:
        """Return the widths of the columns, none below its longest word, or None if they cannot fit."""
        columns = list(zip(map(Text, self._headers), *self._rows, strict=True))
        widths = [max(cell.cell_len for cell in column) for column in columns]
        least = [
            max(Text(word).cell_len for cell in column for word in (cell.plain.split() or [""])) for column in columns
        ]
        excess = sum(widths) + _GAP * (len(widths) - 1) - available
        for _ in range(max(0, excess)):
            # The widest first, so that long columns share what there is.
            shrinking = [column for column in range(len(widths)) if widths[column] > least[column]]
            if not shrinking:
                return None
            widths[max(shrinking, key=widths.__getitem__)] -= 1
        return widths

    def _table(self, widths: Sequence[int]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
        for header, width in zip(self._headers, widths, strict=True):
            table.add_column(
                Text(header), justify="right" if header in self._numbers else "left", width=width, overflow="fold"
            )
        for row in self._rows:
            table.add_row(*row)
        return table

    def _records(self) -> RenderResult:
        for row in self._rows:
            for column, (header, cell) in enumerate(zip(self._headers, row, strict=True)):
                line = Text(f"{header}: " if header else "").append_text(cell)
                yield Padding(line, (0, 0, 0, 2 if column else 0), expand=False)


def parts_of(table: Group) -> list[dict[str, Any]]:
    """Return what a terminal would show, its rows and its lines in their order, as plain values for a page.

    - table: Of `Rows` and of `Text` alone.
    """
    return [each.to_dict() if isinstance(each, Rows) else {"text": str(each)} for each in table.renderables]
